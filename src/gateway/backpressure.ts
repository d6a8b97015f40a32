import { type Exchange, type Side, stdioExchange } from '#core/event.js'
import type { Transport } from '#transport/transport.js'

/** A peer that does not read, or the relay's queue above its high-water mark. */
type Full = Side | 'queue'

/** One exchange of the client, or the server or the queue as a whole. */
type Place = Exchange | Exclude<Full, 'client'>

/** Backpressure: pauses the producer for a full consumer; for HTTP upstreams only the affected exchange. */
export class Backpressure {
  readonly #ends: Readonly<Record<Side, Transport>>
  /** The paused sides, by the full place. */
  readonly #paused = new Map<Place, { readonly sides: Set<Side>; readonly where: Exchange }>()
  /** True when each response of the server can be paused by itself. */
  readonly #isPerExchange: boolean

  constructor(ends: Readonly<Record<Side, Transport>>) {
    this.#ends = ends
    this.#isPerExchange = ends.server.open !== undefined
  }

  pause(side: Side, full: Full, exchange: Exchange): void {
    const where = this.#isPerExchange && full === 'client' ? exchange : stdioExchange
    // A client's HTTP request has one body, which was read: there is nothing to pause.
    if (side === 'client' && where !== stdioExchange) return
    const place = placeOf(full, exchange)
    const paused = this.#paused.get(place) ?? { sides: new Set(), where }
    this.#paused.set(place, paused)
    if (paused.sides.has(side)) return
    paused.sides.add(side)
    this.#ends[side].pause(where)
  }

  resume(full: Full, exchange: Exchange): void {
    const place = placeOf(full, exchange)
    const paused = this.#paused.get(place)
    if (paused === undefined) return
    this.#paused.delete(place)
    const others = [...this.#paused.values()]
    for (const side of paused.sides) {
      if (!others.some(other => other.where === paused.where && other.sides.has(side)))
        this.#ends[side].resume(paused.where)
    }
  }
}

/** Only the client reads its exchanges separately. */
const placeOf = (full: Full, exchange: Exchange): Place => (full === 'client' ? exchange : full)
