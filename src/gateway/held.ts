import { wholePipe, type Exchange, type Side } from '../core/event.js'
import type { Transport } from '../transport/transport.js'

/** What can take no more: a peer that does not read, or the queue of what waits in the relay. */
type Full = Side | 'queue'

/** The client as far as one exchange goes, the others as a whole. */
type Place = Exchange | Exclude<Full, 'client'>

/** Whom a full one holds back, so that nothing piles up here: who feeds it, and of a server that speaks HTTP the one exchange only. */
export class Held {
  readonly #ends: Readonly<Record<Side, Transport>>
  /** By where it is full. */
  readonly #held = new Map<Place, { readonly sides: Set<Side>; readonly where: Exchange }>()
  /** Each response of the server's can be left unread by itself. */
  readonly #isDivided: boolean

  constructor(ends: Readonly<Record<Side, Transport>>) {
    this.#ends = ends
    this.#isDivided = ends.server.open !== undefined
  }

  hold(side: Side, full: Full, exchange: Exchange): void {
    const where = this.#isDivided && full === 'client' ? exchange : wholePipe
    // One request and its refusal: there is nothing more to come by it.
    if (side === 'client' && where !== wholePipe) return
    const place = placeOf(full, exchange)
    const held = this.#held.get(place) ?? { sides: new Set(), where }
    this.#held.set(place, held)
    if (held.sides.has(side)) return
    held.sides.add(side)
    this.#ends[side].pause(where)
  }

  release(full: Full, exchange: Exchange): void {
    const place = placeOf(full, exchange)
    const held = this.#held.get(place)
    if (held === undefined) return
    this.#held.delete(place)
    const others = [...this.#held.values()]
    for (const side of held.sides) {
      if (!others.some(other => other.where === held.where && other.sides.has(side))) this.#ends[side].resume(held.where)
    }
  }
}

/** Only a client has readers of its own for each of its exchanges. */
const placeOf = (full: Full, exchange: Exchange): Place => (full === 'client' ? exchange : full)
