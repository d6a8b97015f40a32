import type { Frame } from '#relay/protocol/frame.js'
import { errorCode } from '#relay/protocol/json-rpc.js'
import { modernErrors } from '../../http/headers.js'
import type { SseEvent } from '../../sse/event.js'
import type { UpstreamCall } from '../calls.js'
import { bodyKind, cursor, readStreamEvent, readEvents, type Received, type StreamReading } from '../messages.js'
import { discard, failureOf, sameOrigin, type HttpReply, type HttpRequests } from '../pool.js'

export interface LegacyOptions extends Pick<StreamReading, 'limits' | 'latch'> {
  readonly upstream: HttpRequests
  /** The operator's headers, by lower-case name, for every request. */
  readonly headers: ReadonlyMap<string, string>
  readonly onMessage: (frame: Frame) => void
  /** The stream, and with it the session, is over. */
  readonly ended: (reason: string) => void
}

/**
 * Whether a server that refuses `initialize` may support HTTP+SSE only (2026-07-28, backward compatibility).
 * @param error the JSON-RPC error in the response
 */
export const mayBeLegacy = (status: number, error: Frame | undefined): boolean =>
  [400, 404, 405].includes(status) && (error === undefined || !isModernRefusal(error, status))

const isModernRefusal = ({ message }: Frame, status: number): boolean => {
  if (message.kind !== 'error') return false
  const { code } = message.error
  return modernErrors.has(code) || (status === 404 && code === errorCode.methodNotFound)
}

/** Longest wait for the server to name its endpoint, in milliseconds. */
const endpointMs = 10_000

/** HTTP+SSE of 2024-11-05: one stream has all messages; its first event names the endpoint for POSTs. */
export class LegacySse {
  readonly #over = new AbortController()
  #endpoint: URL | undefined

  constructor(private readonly options: LegacyOptions) {}

  /** @returns false when the server does not support HTTP+SSE */
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

  /** @returns why the requests that are still unanswered get no answer */
  async post(call: UpstreamCall): Promise<string> {
    const { upstream, headers } = this.options
    const { bytes, envelope } = call.frame
    const reply = await upstream.request({
      method: 'POST',
      ...(this.#endpoint && { url: this.#endpoint }),
      headers: new Map([
        ['content-type', 'application/json'], ...(envelope?.trace?.headers() ?? []), ...headers,
      ]),
      body: bytes,
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
    const { upstream, headers } = this.options
    const reply = await upstream.request({
      method: 'GET',
      headers: new Map([['accept', 'text/event-stream'], ...headers]),
      signal: this.#over.signal,
    })
    if (reply.status === 200 && bodyKind(reply) === 'sse') {
      return new Promise(resolve => void this.#follow(reply, resolve))
    }
    discard(reply)
    return false
  }

  /** @param opened called with whether the first event names the endpoint; later calls have no effect */
  async #follow(reply: HttpReply, opened: (isOpen: boolean) => void): Promise<void> {
    const { upstream, limits, latch, onMessage, ended } = this.options
    const report = (message: Received): undefined => {
      if ('bytes' in message) onMessage(message)
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
        const message = readStreamEvent(event, limits)
        return message instanceof Promise ? message.then(report) : report(message)
      })
    } catch (error) {
      reason = failureOf(error)
    }
    opened(false)
    if (this.#endpoint !== undefined) ended(reason)
  }
}

const streamCut = 'the server\'s stream ended'

/** Must be of the server's own origin, so that a server cannot send the client's messages elsewhere. */
const endpointOf = (event: SseEvent, url: URL): URL | undefined => {
  if (event.kind !== 'message' || event.name !== 'endpoint') return undefined
  return sameOrigin(event.data.toString(), url)
}
