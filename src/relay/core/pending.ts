import type { Exchange } from './vocabulary.js'
import { meaningOf } from '#relay/protocol/message.js'
import type { Id, IdKey } from '#relay/protocol/json-rpc.js'
import { ChurnGroups, ChurnMap, type Ledger } from './memory.js'
import { stdioExchange } from './event.js'

/** A request in flight. */
export interface Pending {
  readonly exchange: Exchange
  readonly id: Id
  readonly key: IdKey
  /** Its memory now, in bytes. */
  readonly weight: number
  /** The part of it that is in the ledger. */
  kept: number
}

/**
 * The requests of one side that the other has not answered yet.
 *
 * In a session, an id is unique over all exchanges: the response may come on another stream, such as a
 * resumed one. Without a session, an id is unique within its exchange only, because two clients may use the
 * same id.
 */
export class PendingRequests<Kind extends Pending> {
  readonly #scopes = new ChurnMap<Exchange, ChurnMap<IdKey, Kind>>()
  /** Requests by exchange, where the scope is the session. */
  readonly #exchanges = new ChurnGroups<Exchange, Kind>()
  /** Requests with unusually spelled ids, by the meaning of the id to a lenient reader. */
  readonly #odd = new ChurnMap<Exchange, ChurnGroups<string, Kind>>()
  readonly #stateless: boolean
  readonly #ledger: Ledger
  #size = 0

  constructor(stateless: boolean, ledger: Ledger) {
    this.#stateless = stateless
    this.#ledger = ledger
  }

  get size(): number {
    return this.#size
  }

  /** Whether there is memory for one more. The first always has room. */
  hasRoom(pending: Kind): boolean {
    return this.#size === 0 || this.#ledger.hasRoom(pending.weight)
  }

  /** Updates the ledger after the request's weight has changed. */
  reweigh(pending: Kind): void {
    const { weight } = pending
    this.#ledger.add(weight - pending.kept)
    pending.kept = weight
  }

  /** @returns false when a request with this id is in flight already; then this one is not added */
  open(pending: Kind): boolean {
    const { exchange, key } = pending
    const scope = this.#scope(exchange)
    const those = this.#scopes.get(scope) ?? new ChurnMap()
    if (those.has(key)) return false
    if (those.size === 0) this.#scopes.set(scope, those)
    those.set(key, pending)
    if (exchange !== scope) this.#exchanges.add(exchange, pending)
    const meaning = meaningOf(key)
    if (key !== meaning && key !== JSON.stringify(meaning)) {
      const odd = this.#odd.get(scope) ?? new ChurnGroups()
      this.#odd.set(scope, odd)
      odd.add(meaning, pending)
    }
    this.#size++
    this.reweigh(pending)
    return true
  }

  find(exchange: Exchange, key: IdKey): Kind | undefined {
    return this.#scopes.get(this.#scope(exchange))?.get(key)
  }

  /**
   * As `find`, on any exchange of the same client: a response may come by another HTTP request. Without a
   * session, clients are told apart by their credentials, and an id that one client uses several times at
   * once is ambiguous.
   */
  findAnywhere(exchange: Exchange, key: IdKey): Kind | undefined {
    const here = this.find(exchange, key)
    if (here !== undefined || !this.#stateless) return here
    const those = this.#scopes.values().flatMap(scope => scope.get(key) ?? [])
    const [only, ...others] = those.filter(pending => pending.exchange.context === exchange.context)
    return others.length === 0 ? only : undefined
  }

  /**
   * The request that a response means by another type or spelling of its id: `"1"` or `1.0` for 1.
   */
  findMeant(exchange: Exchange, key: IdKey): Kind | undefined {
    const meaning = meaningOf(key)
    const [odd] = this.#odd.get(this.#scope(exchange))?.of(meaning) ?? []
    return this.find(exchange, meaning) ?? this.find(exchange, JSON.stringify(meaning)) ?? odd
  }

  /** @returns false when the request was removed before */
  close(pending: Kind): boolean {
    const { exchange, key } = pending
    const scope = this.#scope(exchange)
    const those = this.#scopes.get(scope)
    if (those?.get(key) !== pending) return false
    those.delete(key)
    // The scope of a session stays, because the next request would create it again.
    if (those.size === 0 && scope !== stdioExchange) this.#scopes.delete(scope)
    if (exchange !== scope) this.#exchanges.delete(exchange, pending)
    const odd = this.#odd.get(scope)
    if (odd !== undefined) {
      odd.delete(meaningOf(key), pending)
      if (odd.size === 0) this.#odd.delete(scope)
    }
    this.#size--
    this.#ledger.add(-pending.kept)
    pending.kept = 0
    return true
  }

  /** The first that was opened. */
  oldest(): Kind | undefined {
    return this.#scopes.values().find(({ size }) => size > 0)?.first()
  }

  all(): readonly Kind[] {
    return this.#scopes.values().flatMap(those => those.values())
  }

  on(exchange: Exchange): readonly Kind[] {
    if (exchange === this.#scope(exchange)) return this.#scopes.get(exchange)?.values() ?? []
    return this.#exchanges.of(exchange)
  }

  #scope(exchange: Exchange): Exchange {
    return this.#stateless ? exchange : stdioExchange
  }
}
