import type { Exchange, Side } from '#relay/core/vocabulary.js'
import { stdioExchange } from '#relay/core/event.js'
import type { Transport } from '#relay/transport/transport.js'

/** A peer that does not read, or the full queue of the relay. */
type Consumer = Side | 'queue'

/** A client is full on one exchange; the server and the queue are full as a whole. */
type ConsumerKey = Exchange | Exclude<Consumer, 'client'>

/** Backpressure: pauses the producer for a full consumer; for HTTP upstreams only the affected exchange. */
export class Backpressure {
  /** For each full consumer: the sides that are paused for it, and the exchange on which they are paused. */
  readonly #paused = new Map<ConsumerKey, { readonly sides: Set<Side>; readonly pausedOn: Exchange }>()
  /** True for an HTTP server, of which each response can be paused alone. */
  readonly #isPerExchange: boolean

  constructor(private readonly ends: Readonly<Record<Side, Transport>>) {
    this.#isPerExchange = ends.server.open !== undefined
  }

  pause(side: Side, consumer: Consumer, exchange: Exchange): void {
    const pausedOn = this.#isPerExchange && consumer === 'client' ? exchange : stdioExchange
    // A client's HTTP request has one body, which was read: there is nothing to pause.
    if (side === 'client' && pausedOn !== stdioExchange) return
    const key = keyOf(consumer, exchange)
    const paused = this.#paused.get(key) ?? { sides: new Set(), pausedOn }
    this.#paused.set(key, paused)
    if (paused.sides.has(side)) return
    paused.sides.add(side)
    this.ends[side].pause(pausedOn)
  }

  resume(consumer: Consumer, exchange: Exchange): void {
    const key = keyOf(consumer, exchange)
    const paused = this.#paused.get(key)
    if (paused === undefined) return
    this.#paused.delete(key)
    const others = [...this.#paused.values()]
    for (const side of paused.sides) {
      if (!others.some(other => other.pausedOn === paused.pausedOn && other.sides.has(side)))
        this.ends[side].resume(paused.pausedOn)
    }
  }
}

const keyOf = (consumer: Consumer, exchange: Exchange): ConsumerKey =>
  consumer === 'client' ? exchange : consumer
