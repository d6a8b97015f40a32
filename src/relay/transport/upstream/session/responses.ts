import type { Exchange } from '#relay/core/vocabulary.js'
import { exchangeNamed, stdioExchange } from '#relay/core/event.js'
import type { Frame } from '#relay/protocol/frame.js'
import { isString } from '#relay/protocol/json.js'
import { isModernRequest } from '../../http/headers.js'
import { pause, realTimers } from '../../timers.js'
import { errorBody, readAnswer, withId } from '../answer.js'
import type { UpstreamCall } from '../calls.js'
import {
  bodyKind, cursor, type MaybeStop, type StreamCursor, type StreamReading,
} from '../messages.js'
import { discard, failureOf, type HttpReply } from '../pool.js'
import type { Agreed } from './handshake.js'
import { losesSession, type SessionRefusal } from './lost-session.js'

interface ResponseOptions extends Pick<StreamReading, 'limits' | 'latch'> {
  readonly backoff: Backoff
  /** Requests the rest of a stream. */
  readonly get: (lastEventId: string | undefined, signal: AbortSignal) => Promise<HttpReply>
  /** Waits while the answer may come on another stream. @returns why it has not come */
  readonly elsewhere: (call: UpstreamCall, reason: string) => Promise<string>
  /** Gets every message, from any stream. */
  readonly onMessage: (exchange: Exchange, frame: Frame) => void
}

export const refusedWith = ({ status }: HttpReply): string => {
  const hint = status === 401 ? ': it asks for credentials, to be given by --header Authorization=VALUE' : ''
  return `the server answered HTTP ${status}${hint}`
}

/** A stream that answers no request, and the responses to notifications. */
const unasked = exchangeNamed('unasked')

/** A frame that is no message concerns only the requests of the POST whose response it came in. */
export const exchangeFor = (call: UpstreamCall | undefined, { message }: Frame): Exchange =>
  message.kind === 'unusable' && call?.hasRequests !== true ? unasked : (call?.exchange ?? stdioExchange)

/** Reads responses to the end, and resumes their streams when a connection is cut. */
export class HttpResponses {
  constructor(private readonly options: ResponseOptions) {}

  /**
   * Reads the response to a POST.
   * @param isLost whether an error says that the server has lost the session: it is not reported
   * @returns that error, or why the requests that are still unanswered get no answer
   */
  async answer(
    call: UpstreamCall, reply: HttpReply, isLost: (frame: Frame) => boolean,
  ): Promise<Frame | string> {
    const kind = bodyKind(reply)
    const position = cursor()
    let mayBeElsewhere = kind !== 'other' || reply.status === 202
    let reason: string
    let lost: Frame | undefined
    try {
      reason = await this.read(reply, position, call, received => {
        if (isLost(received)) lost = received
        else this.options.onMessage(exchangeFor(call, received), received)
        return lost && 'enough'
      })
    } catch (error) {
      reason = failureOf(error)
      mayBeElsewhere = false
    }
    if (lost !== undefined) return lost
    const resumable = kind === 'sse' && position.lastEventId !== undefined && !isModernRequest(call.frame)
    if (!resumable || call.isAnswered) return mayBeElsewhere ? this.options.elsewhere(call, reason) : reason
    const outcome = await this.#resume(position, call.signal, call)
    if (outcome === undefined || isString(outcome)) return outcome ?? ''
    discard(outcome)
    return `the stream was cut, and the server does not resume it (HTTP ${outcome.status})`
  }

  /** The body of an HTTP error. A stdio client cannot get a page. */
  async refusal(reply: HttpReply, call?: UpstreamCall): Promise<Refused> {
    const { limits, latch } = this.options
    const body = await errorBody(reply, { limits, latch, asked: () => [...(call?.unanswered ?? [])] })
    const frame = body === undefined || body.message.kind === 'page' ? undefined : withId(body)
    return { ...reply, frame, ...saidBy(body) }
  }

  /** Reads messages, for `onMessage` of the options unless another one is given. @returns as `readAnswer` */
  read(
    reply: HttpReply, position: StreamCursor, call?: UpstreamCall, onMessage?: (frame: Frame) => MaybeStop,
  ): Promise<string> {
    const { limits, latch } = this.options
    const asked = () => [...(call?.unanswered ?? [])]
    return readAnswer(reply, { limits, latch, asked, cursor: position }, received => {
      if (!('bytes' in received)) return undefined
      if (onMessage) return onMessage(received)
      this.options.onMessage(exchangeFor(call, received), received)
      return undefined
    })
  }

  /**
   * Reads the stream of unsolicited messages while the session lasts and the server offers it (2025-11-25,
   * listening for messages), and keeps `agreed.stream` up to date.
   * @returns true when the server has lost the session
   */
  async listen(agreed: Agreed): Promise<boolean> {
    const position = cursor()
    agreed.stream = 'open'
    const outcome = await this.#resume(position, agreed.over.signal)
    // Opened again when the server answers another request.
    agreed.stream = 'closed'
    if (outcome === undefined || isString(outcome)) return false
    const refusal = await this.refusal(outcome).catch(() => undefined)
    const isLost = position.streams > 0 && agreed.id !== undefined
      && refusal !== undefined && losesSession(refusal)
    if (!isLost) agreed.stream = 'refused'
    return isLost
  }

  /**
   * Requests the rest of a stream until it is not needed any more, or the server refuses it.
   * @param call whose answers the stream brings; undefined for the stream of unsolicited messages, which is
   * opened at once: a client waits for the other ones
   * @returns the response that refused it, or the reason for giving up; undefined when it is done
   */
  async #resume(
    position: StreamCursor, signal: AbortSignal, call?: UpstreamCall,
  ): Promise<HttpReply | string | undefined> {
    const { backoff, get } = this.options
    const isUnsolicited = call === undefined
    let reason = ''
    let isFirst = isUnsolicited
    let brief = 0
    for (let failures = 0; failures < backoff.attempts; failures++) {
      if (call?.isAnswered === true || signal.aborted) return undefined
      const { events, retryMs } = position
      let openedAt = Infinity
      try {
        const ms = isFirst ? 0 : waitMs({ retryMs, brief, failures, isUnsolicited }, backoff)
        isFirst = false
        if (ms > 0) await pause(ms, signal)
        const reply = await get(position.lastEventId, signal)
        openedAt = realTimers.now()
        if (reply.status >= 400 && reply.status < 500 && reply.status !== 429) return reply
        reason = `HTTP ${reply.status}`
        if (reply.status >= 400) discard(reply)
        else {
          position.streams += 1
          await this.read(reply, position, call)
        }
      } catch (error) {
        reason = failureOf(error)
      }
      if (position.events > events) failures = -1
      brief = realTimers.now() - openedAt >= briefMs ? 0 : brief + 1
    }
    return `the stream was cut and could not be resumed: ${reason}`
  }
}

/** An HTTP error, and the JSON-RPC message in it. */
interface Refused extends SessionRefusal {
  readonly frame: Frame | undefined
}

export const saidBy = (frame: Frame | undefined): Pick<SessionRefusal, 'code' | 'text'> => {
  const message = frame?.message
  if (message?.kind === 'error')
    return { code: message.error.code, text: `${message.error.message}\n${frame?.bytes.toString() ?? ''}` }
  return { text: message?.kind === 'page' ? message.text : (frame?.bytes.toString() ?? '') }
}

/** How often and how soon resuming a cut stream is tried. */
export interface Backoff {
  /** Before the first attempt, in milliseconds; doubled before each further one. */
  readonly firstMs: number
  readonly maxMs: number
  /** Attempts in a row without an event. */
  readonly attempts: number
}

/** Gives up after half a minute. */
export const backoff: Backoff = { firstMs: 500, maxMs: 30_000, attempts: 6 }

/** Bounds of the server's `retry:`, in milliseconds. */
const maxRetryMs = 300_000
const minRetryMs = 10

/** A stream that ends sooner than this, in milliseconds, is asked for less often. */
const briefMs = 2000

interface Attempts {
  /** The server's `retry:`. */
  readonly retryMs: number | undefined
  /** Streams in a row that ended soon. */
  readonly brief: number
  /** Attempts in a row without an event. */
  readonly failures: number
  readonly isUnsolicited: boolean
}

/** The longest wait for a stream that a client waits for, in times of the first wait. */
const maxAwaited = 4

/**
 * How long to wait before a stream is asked for again: longer after each one that ended soon. The server's
 * `retry:` decides where it asks for a pause, and the stream brings events.
 */
export const waitMs = (
  { retryMs, brief, failures, isUnsolicited }: Attempts, { firstMs, maxMs }: Backoff,
): number => {
  const asked = retryMs === undefined ? undefined : Math.min(Math.max(retryMs, minRetryMs), maxRetryMs)
  if (brief === 0) return asked ?? firstMs
  if (asked !== undefined && asked >= firstMs && failures === 0) return asked
  const longest = failures === 0 && !isUnsolicited ? maxAwaited * firstMs : maxMs
  return Math.max(asked ?? 0, Math.min(firstMs * 2 ** brief, longest))
}
