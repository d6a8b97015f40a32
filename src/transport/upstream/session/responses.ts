import { setTimeout as delay } from 'node:timers/promises'
import { stdioExchange, type Exchange } from '../../../core/event.js'
import type { Frame } from '../../../protocol/frame.js'
import { isString } from '../../../protocol/json.js'
import { isModernRequest } from '../../http/headers.js'
import type { Call } from '../calls.js'
import { errorBody, withId } from '../error-body.js'
import {
  bodyKind, cursor, misfit, readMessages, type Between, type Cursor, type Reading, type Told,
} from '../messages.js'
import { discard, failureOf, type HttpReply } from '../pool.js'
import type { Agreed, HttpHandshake } from './handshake.js'

export interface ResponseOptions extends Pick<Reading, 'limits' | 'latch'> {
  readonly backoff: Backoff
  /** Asks for the rest of a stream. */
  readonly get: (lastEventId: string | undefined, signal: AbortSignal) => Promise<HttpReply>
  /** A message has come, by whichever stream. */
  readonly told: (exchange: Exchange, frame: Frame) => void
}

export const refusedWith = ({ status }: HttpReply): string => {
  const hint = status === 401 ? ': it asks for credentials, to be given by --header Authorization=VALUE' : ''
  return `the server answered HTTP ${status}${hint}`
}

/** Reads responses to the end, over as many connections as it takes: where the session is ours, so is resuming its streams. */
export class HttpResponses {
  readonly #options: ResponseOptions

  constructor(options: ResponseOptions) {
    this.#options = options
  }

  /** What comes of a POST. @returns why there will be no answer to what has none by now */
  async answer(call: Call, reply: HttpReply): Promise<string> {
    const { exchange, frame, unanswered } = call
    const kind = bodyKind(reply)
    if (kind === 'error') {
      const error = await this.error(call, reply)
      if (error !== undefined) this.#options.told(exchange, error)
      return refusedWith(reply)
    }
    if (kind === 'other') {
      discard(reply)
      const instead = unanswered.size > 0 ? misfit(reply, [...unanswered]) : ''
      if (isString(instead)) return instead
      this.#options.told(exchange, instead)
      return 'the response could not be read'
    }
    const position = cursor()
    let reason = 'the response ended before the answer'
    try {
      await this.read(reply, position, call)
    } catch (error) {
      reason = failureOf(error)
    }
    const resumable = kind === 'sse' && position.lastEventId !== undefined && !isModernRequest(frame)
    return resumable && unanswered.size > 0 ? this.#resumed(call, position) : reason
  }

  /** What an HTTP error says; through a pipe nothing passes but messages. */
  async error({ unanswered }: Call, reply: HttpReply): Promise<Frame | undefined> {
    const { limits, latch } = this.#options
    const body = await errorBody(reply, { limits, latch, asked: () => [...unanswered] })
    return body === undefined || body.message.kind === 'page' ? undefined : withId(body)
  }

  /** Tells every message of a body. @throws what the connection fails with */
  async read(reply: HttpReply, position: Cursor, call?: Call): Promise<void> {
    await this.readWith(reply, heard => {
      if ('bytes' in heard) this.#options.told(call?.exchange ?? stdioExchange, heard)
    }, position, call)
  }

  /** The same, but that `told` is called in place of that of the options. */
  readWith(
    reply: HttpReply, told: (heard: Frame | Between) => Told, position = cursor(), call?: Call,
  ): Promise<void> {
    const { limits, latch } = this.#options
    const asked = () => [...(call?.unanswered ?? [])]
    return readMessages(reply, { limits, latch, asked, cursor: position }, told)
  }

  async #resumed(call: Call, position: Cursor): Promise<string> {
    const { unanswered, signal } = call
    const outcome = await resume({
      cursor: position,
      backoff: this.#options.backoff,
      signal,
      open: () => this.#options.get(position.lastEventId, signal),
      read: reply => this.read(reply, position, call),
      done: () => unanswered.size === 0,
    })
    if (outcome === undefined || isString(outcome)) return outcome ?? ''
    discard(outcome)
    return `the stream was cut, and the server does not resume it (HTTP ${outcome.status})`
  }
}

/** How often and how soon a cut stream is asked for again. */
export interface Backoff {
  /** Before the first attempt, in milliseconds; doubled before each further one. */
  readonly firstMs: number
  readonly mostMs: number
  /** In a row that bring nothing. */
  readonly attempts: number
}

/** Half a minute in all. */
export const backoff: Backoff = { firstMs: 500, mostMs: 30_000, attempts: 6 }

export interface Resumable {
  readonly cursor: Cursor
  readonly backoff: Backoff
  readonly signal: AbortSignal
  /** Asks for the rest: a stream, or an error response. */
  readonly open: () => Promise<HttpReply>
  /** Reads what came of it; rejects when it is cut. */
  readonly read: (reply: HttpReply) => Promise<void>
  /** Nothing more is wanted of the stream. */
  readonly done: () => boolean
}

/** Longest wait that a server may ask for, and the shortest, in milliseconds: neither for ever nor in a tight loop. */
const mostRetryMs = 300_000
const leastRetryMs = 10

/**
 * Asks for the rest of a stream until nothing more is wanted of it, or the server does not give it.
 * @returns the response that refused it, or else the reason why it was given up; undefined when it is done
 */
export const resume = async (stream: Resumable): Promise<HttpReply | string | undefined> => {
  const { cursor, backoff, signal } = stream
  let reason = ''
  for (let failures = 0; failures < backoff.attempts; failures++) {
    if (stream.done() || signal.aborted) return undefined
    const before = cursor.events
    try {
      await delay(waitOf(failures, stream), undefined, { signal })
      const reply = await stream.open()
      if (reply.status >= 400 && reply.status < 500 && reply.status !== 429) return reply
      reason = `HTTP ${reply.status}`
      if (reply.status >= 400) discard(reply)
      else await stream.read(reply)
    } catch (error) {
      reason = failureOf(error)
    }
    if (cursor.events > before) failures = -1
  }
  return `the stream was cut and could not be resumed: ${reason}`
}

const waitOf = (failures: number, { cursor: { retryMs }, backoff }: Resumable): number => {
  const asked = retryMs === undefined ? undefined : Math.min(Math.max(retryMs, leastRetryMs), mostRetryMs)
  if (failures === 0) return asked ?? backoff.firstMs
  return Math.max(asked ?? 0, Math.min(backoff.firstMs * 2 ** failures, backoff.mostMs))
}

export interface Listening {
  readonly handshake: HttpHandshake
  readonly agreed: Agreed
  readonly backoff: Backoff
  /** Reads a stream to its end; rejects when it is cut. */
  readonly read: (reply: HttpReply, position: Cursor) => Promise<void>
}

/**
 * Reads what the server says unasked, for as long as the session lasts and the server offers it (2025-11-25, listening for
 * messages); `agreed.stream` says how it stands.
 * @returns true when the server has lost the session
 */
export const listen = async ({ handshake, agreed, backoff, read }: Listening): Promise<boolean> => {
  const { signal } = agreed.over
  const position = cursor()
  agreed.stream = 'open'
  try {
    const first = await handshake.get(undefined, signal)
    if (first.status >= 400) {
      discard(first)
      if (first.status < 500 && first.status !== 429) {
        agreed.stream = 'refused'
        return false
      }
    } else await read(first, position)
  } catch {
    // Cut: the rest is asked for, a bounded number of times.
  }
  const outcome = await resume({
    cursor: position,
    backoff,
    signal,
    open: () => handshake.get(position.lastEventId, signal),
    read: reply => read(reply, position),
    done: () => false,
  })
  // Given up for now: the next response to something else shows that the server is back.
  agreed.stream = 'closed'
  if (outcome === undefined || typeof outcome === 'string') return false
  discard(outcome)
  if (outcome.status !== 404 || agreed.id === undefined) agreed.stream = 'refused'
  return agreed.stream === 'closed'
}
