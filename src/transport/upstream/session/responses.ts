import { wholePipe, type Exchange } from '../../../core/event.js'
import type { Frame } from '../../../protocol/frame.js'
import { isString } from '../../../protocol/json.js'
import { errorBody, withId } from '../error-body.js'
import type { Call } from '../calls.js'
import { bodyKind, messageOf, messagesOf, misfit, type Between, type Reading } from '../messages.js'
import { isModernRequest } from '../../http/metadata.js'
import { cursor, type Cursor } from '../events.js'
import { resume, type Backoff } from './resume.js'
import { discard, failureOf, type HttpReply } from '../pool.js'

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
    const exchange = call?.exchange ?? wholePipe
    if (bodyKind(reply) === 'json') {
      const answer = await messageOf(reply, this.#reading(position, call))
      if (answer !== undefined) this.#options.told(exchange, answer)
      return
    }
    for await (const heard of this.messagesOf(reply, position, call)) if ('bytes' in heard) this.#options.told(exchange, heard)
  }

  messagesOf(reply: HttpReply, position = cursor(), call?: Call): AsyncIterable<Frame | Between> {
    return messagesOf(reply, this.#reading(position, call))
  }

  #reading(position: Cursor, call: Call | undefined): Reading {
    const { limits, latch } = this.#options
    return { limits, latch, asked: () => [...(call?.unanswered ?? [])], cursor: position }
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
