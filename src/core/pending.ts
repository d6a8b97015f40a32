import { meaningOf, written } from '../protocol/message.js'
import type { Id, IdKey } from '../protocol/json-rpc.js'
import { ChurnGroups, ChurnMap, type Ledger, weights } from './memory.js'
import { type Exchange, stdioExchange } from './event.js'
import { isString } from '../protocol/json.js'

/** Something that was asked and not yet answered. */
export interface Pending {
  readonly exchange: Exchange
  readonly id: Id
  readonly key: IdKey
  /** The memory that it keeps now, in bytes. */
  readonly weight: number
  /** What of that is in the ledger. */
  kept: number
}

/**
 * What one side asked and the other has not yet answered. Each is taken out by its one answer.
 *
 * In a session an id is in flight once, whichever stream its answer comes by (a resumed stream is another exchange).
 * Without a session each exchange has ids of its own: two clients that both ask with 1 never meet.
 */
export class PendingRequests<Kind extends Pending> {
  readonly #scopes = new ChurnMap<Exchange, ChurnMap<IdKey, Kind>>()
  /** Where an exchange is not the whole of its scope. */
  readonly #exchanges = new ChurnGroups<Exchange, Kind>()
  /** By what a lenient reader takes their ids for, those that are not spelt as it would spell them. */
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

  /** Whether one more may be kept: one alone always may. */
  hasRoom(pending: Kind): boolean {
    return this.#size === 0 || this.#ledger.hasRoom(pending.weight)
  }

  /** The pending request keeps more or less than before. */
  reweigh(pending: Kind): void {
    const { weight } = pending
    this.#ledger.add(weight - pending.kept)
    pending.kept = weight
  }

  /** @returns false when a request of this id is in flight: the first lives, this one is not taken in */
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
   * As `find`, whatever the exchange: an answer may come by another one than the question went by. Without a session only the
   * credentials tell clients apart, and an id that one of them has in flight several times names none of them.
   */
  findAnywhere(exchange: Exchange, key: IdKey): Kind | undefined {
    const here = this.find(exchange, key)
    if (here !== undefined || !this.#stateless) return here
    const those = this.#scopes.values().flatMap(scope => scope.get(key) ?? [])
    const [only, ...others] = those.filter(pending => pending.exchange.context === exchange.context)
    return others.length === 0 ? only : undefined
  }

  /**
   * The request that an answer with another type or spelling of its id must have meant: `"1"` or `1.0` for 1.
   * Such an answer never passes, but its request must not wait for ever.
   */
  findMeant(exchange: Exchange, key: IdKey): Kind | undefined {
    const meaning = meaningOf(key)
    const [odd] = this.#odd.get(this.#scope(exchange))?.of(meaning) ?? []
    return this.find(exchange, meaning) ?? this.find(exchange, JSON.stringify(meaning)) ?? odd
  }

  /** The only request in flight, where there is no other: an answer without a usable id can mean nothing else. */
  findOnly(exchange: Exchange): Kind | undefined {
    const those = this.#scopes.get(this.#scope(exchange))
    return those?.size === 1 ? those.first() : undefined
  }

  /** @returns false when the request was answered before */
  close(pending: Kind): boolean {
    const { exchange, key } = pending
    const scope = this.#scope(exchange)
    const those = this.#scopes.get(scope)
    if (those?.get(key) !== pending) return false
    those.delete(key)
    // The pipe's stays: one request after the other would make it anew.
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

  /** The one that came first. */
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

/** So many ids of ours are remembered, and so many bytes of them: an answer may come late, or twice. */
const maxMade = 1000
const maxBytes = 128 * 1024

/** Of a longer id of the client's only the beginning is imitated, in characters. */
const longestLike = 256

/** Ids of the relay's own requests: of the form that the client's have, so that a server cannot tell them apart. */
export class OwnIds {
  readonly #made = new Set<IdKey>()
  readonly #ledger: Ledger
  /** The greatest number that the client has used. */
  #greatest = 0
  #state: number

  /** @param nonce unguessable */
  constructor(nonce: string, session: Ledger) {
    this.#ledger = session.account(maxBytes)
    this.#state = Buffer.from(nonce).reduce((state, one) => (Math.imul(state, 31) + one) | 0, 1) || 1
  }

  saw(id: Id): void {
    if (!isString(id) && Number.isSafeInteger(id) && id > this.#greatest) this.#greatest = id
  }

  /**
   * An id that the client will not use.
   * @param like an id of the client's. After a number comes a greater one, far from those that the client will count through; in a text
   *   digits and letters are others, and a text that is too short to be one of many is made longer
   */
  next(like: Id): Id {
    const id = isString(like) ? this.#textLike(like.slice(0, longestLike)) : this.#greater()
    const key = written(id)
    this.#made.add(key)
    this.#ledger.add(weightOf(key))
    for (const oldest of this.#made) {
      if (this.#made.size <= maxMade && this.#ledger.kept <= maxBytes) break
      this.#made.delete(oldest)
      this.#ledger.add(-weightOf(oldest))
    }
    return id
  }

  /** Whether it is one of ours: what names it must never reach the client. */
  isOurs(key: IdKey): boolean {
    return this.#made.has(key)
  }

  #greater(): number {
    const greater = this.#greatest + 100_000 + this.#random(900_000)
    // Beyond the greatest there is only what a client that has come so far will not count to again.
    if (greater > Number.MAX_SAFE_INTEGER) return -1 - this.#random(2 ** 31)
    return (this.#greatest = greater)
  }

  #textLike(like: string): string {
    const made = like.replace(/[0-9a-fA-F]/g, character => this.#alike(character))
    const varied = like.replace(/[^0-9a-fA-F]/g, '').length
    return varied >= 16 ? made : made + Array.from({ length: 12 }, () => String(this.#random(10))).join('')
  }

  #alike(character: string): string {
    if (character >= '0' && character <= '9') return String(this.#random(10))
    return String.fromCharCode((character < 'a' ? 65 : 97) + this.#random(6))
  }

  /** A whole number below the bound (xorshift). */
  #random(bound: number): number {
    this.#state ^= this.#state << 13
    this.#state ^= this.#state >>> 17
    this.#state ^= this.#state << 5
    return (this.#state >>> 0) % bound
  }
}

const weightOf = (key: IdKey): number => weights.ownId + 2 * key.length
