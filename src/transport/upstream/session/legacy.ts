import type { Frame } from '../../../protocol/frame.js'
import { errorCode } from '../../../protocol/json-rpc.js'
import { modernErrors } from '../../http/headers.js'
import type { SseEvent } from '../../sse/event.js'
import type { Call } from '../calls.js'
import { bodyKind, cursor, read, readEvents, type Between, type Reading } from '../messages.js'
import { discard, failureOf, type HttpReply, type HttpUpstream } from '../pool.js'

export interface LegacyOptions extends Pick<Reading, 'limits' | 'latch'> {
  readonly upstream: HttpUpstream
  /** The operator's, by lower-case name, on every request. */
  readonly headers: ReadonlyMap<string, string>
  readonly told: (frame: Frame) => void
  /** The stream is over, and with it the session. */
  readonly ended: (reason: string) => void
}

/**
 * Whether a server that refuses `initialize` like this may be one that knows HTTP+SSE only (2026-07-28, backward compatibility).
 * @param error the JSON-RPC error in its response
 */
export const mayBeLegacy = (status: number, error: Frame | undefined): boolean =>
  (status === 400 || status === 404 || status === 405) && (error === undefined || !isModernRefusal(error, status))

const isModernRefusal = ({ message }: Frame, status: number): boolean =>
  message.kind === 'error' && (modernErrors.has(message.error.code) || (status === 404 && message.error.code === errorCode.methodNotFound))

/** Longest wait for the server to name its endpoint, in milliseconds. */
const endpointMs = 10_000

/**
 * The HTTP+SSE transport of 2024-11-05: one stream on which the server says everything, first of all the address that takes what
 * the client says.
 */
export class LegacySse {
  readonly #options: LegacyOptions
  readonly #over = new AbortController()
  #endpoint: URL | undefined

  constructor(options: LegacyOptions) {
    this.#options = options
  }

  /** @returns false when this is no such server */
  async open(): Promise<boolean> {
    const timer = setTimeout(() => this.close(), endpointMs)
    try {
      return await this.#open()
    } catch {
      return false
    } finally {
      clearTimeout(timer)
    }
  }

  /** @returns why there will be no answer to what has none by now */
  async post(call: Call): Promise<string> {
    const { upstream, headers } = this.#options
    const reply = await upstream.request({
      method: 'POST',
      ...(this.#endpoint && { url: this.#endpoint }),
      headers: new Map([['content-type', 'application/json'], ...(call.frame.envelope?.trace?.headers() ?? []), ...headers]),
      body: call.frame.bytes,
      signal: call,
    })
    discard(reply)
    if (reply.status >= 300) return `the server answered HTTP ${reply.status}`
    if (call.unanswered.size === 0) call.settle()
    await call.settled
    return streamCut
  }

  close(): void {
    this.#over.abort()
  }

  async #open(): Promise<boolean> {
    const { upstream, headers } = this.#options
    const { signal } = this.#over
    const reply = await upstream.request({ method: 'GET', headers: new Map([['accept', 'text/event-stream'], ...headers]), signal })
    if (reply.status === 200 && bodyKind(reply) === 'sse') {
      return new Promise(resolve => void this.#follow(reply, resolve))
    }
    discard(reply)
    return false
  }

  /** @param opened told whether the first event names the endpoint; what is told after that changes nothing */
  async #follow(reply: HttpReply, opened: (isOpen: boolean) => void): Promise<void> {
    const { upstream, limits, latch, told, ended } = this.#options
    const heard = (message: Frame | Between): undefined => {
      if ('bytes' in message) told(message)
    }
    let reason = streamCut
    try {
      await readEvents(reply, { limits, latch, cursor: cursor() }, event => {
        if (this.#endpoint === undefined) {
          if (event.kind === 'fields' || event.kind === 'comment') return undefined
          this.#endpoint = endpointOf(event, upstream.url)
          opened(this.#endpoint !== undefined)
          return this.#endpoint === undefined ? 'enough' : undefined
        }
        const message = read(event, limits)
        return message instanceof Promise ? message.then(heard) : heard(message)
      })
    } catch (error) {
      reason = failureOf(error)
    }
    opened(false)
    if (this.#endpoint !== undefined) ended(reason)
  }
}

const streamCut = 'the server\'s stream ended'

/** Only of the server's own origin: what the client says must not be led elsewhere by what the server says. */
const endpointOf = (event: SseEvent, url: URL): URL | undefined => {
  if (event.kind !== 'message' || event.name !== 'endpoint') return undefined
  const text = event.data.toString()
  const endpoint = URL.canParse(text, url.href) ? new URL(text, url) : undefined
  return endpoint?.origin === url.origin && endpoint.username === '' && endpoint.password === '' ? endpoint : undefined
}
