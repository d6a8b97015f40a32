import { isString } from '../protocol/json.js'
import type { Id, IdKey } from '../protocol/json-rpc.js'
import { wholePipe, type Exchange } from './event.js'

/** Something that was asked and not yet answered. */
export interface Pending {
  readonly exchange: Exchange
  readonly id: Id
  readonly key: IdKey
  /** What it keeps in memory. */
  readonly bytes: number
}

/**
 * What one side asked and the other has not yet answered. Each is taken out by its one answer.
 *
 * In a session an id is in flight once, whichever stream its answer comes by (a resumed stream is another exchange).
 * Without a session each exchange has ids of its own: two clients that both ask with 1 never meet.
 */
export class PendingRequests<Kind extends Pending> {
  readonly #scopes = new Map<Exchange, Map<IdKey, Kind>>()
  readonly #exchanges = new Map<Exchange, Set<Kind>>()
  /** By what a lenient reader takes their ids for, those that are not spelt as it would spell them. */
  readonly #odd = new Map<Exchange, Map<string, Set<Kind>>>()
  readonly #stateless: boolean
  #size = 0
  #bytes = 0

  constructor(stateless: boolean) {
    this.#stateless = stateless
  }

  get size(): number {
    return this.#size
  }

  get bytes(): number {
    return this.#bytes
  }

  /** @returns false when a request of this id is in flight: the first lives, this one is not taken in */
  open(pending: Kind): boolean {
    const scope = this.#scope(pending.exchange)
    const those = this.#scopes.get(scope)
    if (those === undefined) this.#scopes.set(scope, new Map([[pending.key, pending]]))
    else if (those.has(pending.key)) return false
    else those.set(pending.key, pending)
    add(this.#exchanges, pending.exchange, pending)
    const meaning = meaningOf(pending.key)
    if (pending.key !== meaning && pending.key !== JSON.stringify(meaning)) {
      const odd = this.#odd.get(scope) ?? new Map<string, Set<Kind>>()
      this.#odd.set(scope, odd)
      add(odd, meaning, pending)
    }
    this.#size++
    this.#bytes += pending.bytes
    return true
  }

  find(exchange: Exchange, key: IdKey): Kind | undefined {
    return this.#scopes.get(this.#scope(exchange))?.get(key)
  }

  /** As `find`, whatever the exchange: an answer may come by another one than the question went by. */
  findAnywhere(exchange: Exchange, key: IdKey): Kind | undefined {
    const here = this.find(exchange, key)
    if (here !== undefined || !this.#stateless) return here
    for (const those of this.#scopes.values()) if (those.has(key)) return those.get(key)
    return undefined
  }

  /**
   * The request that an answer with another type or spelling of its id must have meant: `"1"` or `1.0` for 1.
   * Such an answer never passes, but its request must not wait for ever.
   */
  findMeant(exchange: Exchange, key: IdKey): Kind | undefined {
    const meaning = meaningOf(key)
    const [odd] = this.#odd.get(this.#scope(exchange))?.get(meaning) ?? []
    return this.find(exchange, meaning) ?? this.find(exchange, JSON.stringify(meaning)) ?? odd
  }

  /** The only request in flight, where there is no other: an answer without a usable id can mean nothing else. */
  findOnly(exchange: Exchange): Kind | undefined {
    const those = this.#scopes.get(this.#scope(exchange))
    if (those?.size !== 1) return undefined
    const [only] = those.values()
    return only
  }

  /** @returns false when the request was answered before */
  close(pending: Kind): boolean {
    const scope = this.#scope(pending.exchange)
    const those = this.#scopes.get(scope)
    if (those?.get(pending.key) !== pending) return false
    those.delete(pending.key)
    // The pipe's stays: one request after the other would make it anew.
    if (those.size === 0 && scope !== wholePipe) this.#scopes.delete(scope)
    remove(this.#exchanges, pending.exchange, pending)
    const odd = this.#odd.get(scope)
    if (odd !== undefined) {
      remove(odd, meaningOf(pending.key), pending)
      if (odd.size === 0) this.#odd.delete(scope)
    }
    this.#size--
    this.#bytes -= pending.bytes
    return true
  }

  /** The one that came first. */
  oldest(): Kind | undefined {
    for (const those of this.#exchanges.values()) for (const pending of those) return pending
    return undefined
  }

  all(): readonly Kind[] {
    return [...this.#exchanges.values()].flatMap(those => [...those])
  }

  on(exchange: Exchange): readonly Kind[] {
    return [...(this.#exchanges.get(exchange) ?? [])]
  }

  #scope(exchange: Exchange): Exchange {
    return this.#stateless ? exchange : wholePipe
  }
}

const add = <Key, Kind>(map: Map<Key, Set<Kind>>, key: Key, pending: Kind): void => {
  const those = map.get(key)
  if (those === undefined) map.set(key, new Set([pending]))
  else those.add(pending)
}

const remove = <Key, Kind>(map: Map<Key, Set<Kind>>, key: Key, pending: Kind): void => {
  const those = map.get(key)
  if (those?.delete(pending) === true && those.size === 0 && key !== wholePipe) map.delete(key)
}

/** What a lenient reader (`Number(id)`) makes of an id. */
const meaningOf = (key: IdKey): string => {
  // What most clients use: it means itself.
  if (/^(?:0|[1-9]\d{0,14})$/.test(key)) return key
  const value: unknown = JSON.parse(key)
  const number = isString(value) && value.trim() === '' ? NaN : Number(value)
  return Number.isNaN(number) ? String(value) : String(number)
}
