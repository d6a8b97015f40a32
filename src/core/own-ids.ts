import { isString } from '../protocol/json.js'
import { written } from '../protocol/message.js'
import type { Id, IdKey } from '../protocol/json-rpc.js'
import { weights, type Ledger } from './ledger.js'

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
