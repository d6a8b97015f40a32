import type { Exchange } from '#relay/core/vocabulary.js'
import { stdioExchange } from '#relay/core/event.js'
import type { Frame } from '#relay/protocol/frame.js'
import type { TransportEvent } from '#relay/transport/transport.js'
import type { EraOutgoing } from './exchanges.js'

/** Most messages, and bytes of them, that wait for a stream of the client. */
const maxWaiting = 256
const maxWaitingBytes = 256 * 1024

/** The streams on which a legacy client of an HTTP server hears what answers none of its requests. */
export class Streams {
  readonly #out: EraOutgoing
  readonly #isOwn: boolean
  /** Opened by GET, the newest last. */
  readonly #open = new Set<Exchange>()
  /** By their text: a change that was not told yet is told once. */
  readonly #waiting = new Map<string, Frame>()
  #bytes = 0

  /** @param isOwn false where the client's transport has one pipe, or chooses the stream by itself */
  constructor(out: EraOutgoing, isOwn: boolean) {
    this.#out = out
    this.#isOwn = isOwn
  }

  /** GET opens a stream; DELETE ends the session. */
  asked({ exchange, method }: Extract<TransportEvent, { readonly type: 'bare-request' }>): void {
    const type = method === 'GET' ? [['content-type', ['text/event-stream']] as const] : []
    this.#out.act({ type: 'hand', event: { type: 'head', exchange, status: 200, headers: new Map(type) } })
    if (method === 'DELETE') return this.#out.act({ type: 'complete', exchange })
    this.#open.add(exchange)
    for (const frame of this.#waiting.values()) this.#out.send(exchange, frame)
    this.#waiting.clear()
    this.#bytes = 0
  }

  ended(exchange: Exchange): void {
    this.#open.delete(exchange)
  }

  deliver(frame: Frame): void {
    const newest = [...this.#open].at(-1)
    if (!this.#isOwn || newest !== undefined) return this.#out.send(newest ?? stdioExchange, frame)
    const text = frame.bytes.toString('latin1')
    const isFull = this.#waiting.size >= maxWaiting || this.#bytes + text.length > maxWaitingBytes
    if (isFull || this.#waiting.has(text)) return
    this.#bytes += text.length
    this.#waiting.set(text, frame)
  }
}
