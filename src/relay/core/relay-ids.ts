import { isString } from '#relay/protocol/json.js'
import type { Id, IdKey } from '#relay/protocol/json-rpc.js'
import { written } from '#relay/protocol/message.js'
import { type Ledger, weights } from './memory.js'

/** Relay-made ids that are remembered for late or repeated responses, and their bytes. */
const maxMade = 1000
const maxBytes = 128 * 1024

/** Characters of a client's id that are imitated. */
const longestLike = 256

/** Ids for relay-made requests, in the form of the client's, so that a server cannot tell them apart. */
export class RelayIds {
  readonly #made = new Set<IdKey>()
  readonly #ledger: Ledger
  /** The greatest number used as an id so far. */
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
   * @param like an id that the client uses. The new id is a much greater number, or a string with other
   *   hexadecimal digits; short strings are made longer
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

  /** True for a relay-made id: a message with it must never reach the client. */
  isRelayMade(key: IdKey): boolean {
    return this.#made.has(key)
  }

  #greater(): number {
    const greater = this.#greatest + 100_000 + this.#random(900_000)
    // Beyond the safe integers: negative numbers, which a client that counts up does not use.
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

  /** An integer below the bound (xorshift). */
  #random(bound: number): number {
    this.#state ^= this.#state << 13
    this.#state ^= this.#state >>> 17
    this.#state ^= this.#state << 5
    return (this.#state >>> 0) % bound
  }
}

const weightOf = (key: IdKey): number => weights.relayId + 2 * key.length
