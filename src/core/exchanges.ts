import type { Id, IdKey } from '../protocol/json-rpc.js'
import type { Exchange } from './event.js'

/** Something that was asked and not yet answered. */
export interface Pending {
  readonly exchange: Exchange
  readonly id: Id
  readonly key: IdKey
}

/**
 * What one side asked and the other has not yet answered. Each request is taken out by its one answer.
 *
 * In a session an id is in flight once, whichever stream its answer comes by (a resumed stream is another exchange).
 * Without a session each exchange has ids of its own: two clients that both ask with 1 never meet.
 */
export class Exchanges<Asked extends Pending> {
  readonly #pending = new Map<string, Asked>()
  readonly #scope: (exchange: Exchange) => string

  constructor(stateless: boolean) {
    // No key holds a line end: keys are JSON texts.
    this.#scope = stateless ? exchange => `${exchange}\n` : () => ''
  }

  get size(): number {
    return this.#pending.size
  }

  /** @returns false when a request of this id is in flight: the first lives, this one is not taken in */
  open(asked: Asked): boolean {
    const key = this.#scope(asked.exchange) + asked.key
    if (this.#pending.has(key)) return false
    this.#pending.set(key, asked)
    return true
  }

  find(exchange: Exchange, key: IdKey): Asked | undefined {
    return this.#pending.get(this.#scope(exchange) + key)
  }

  /**
   * The request that an answer with another type or spelling of its id must have meant: `"1"` or `1.0` for 1.
   * Such an answer never passes, but its request must not wait for ever.
   */
  findMeant(exchange: Exchange, key: IdKey): Asked | undefined {
    const meaning = meaningOf(key)
    return this.#in(exchange).find(asked => meaningOf(asked.key) === meaning)
  }

  /** The only request in flight, where there is no other: an answer without a usable id can mean nothing else. */
  findOnly(exchange: Exchange): Asked | undefined {
    const all = this.#in(exchange)
    return all.length === 1 ? all[0] : undefined
  }

  /** @returns false when the request was answered before */
  close(asked: Asked): boolean {
    const key = this.#scope(asked.exchange) + asked.key
    return this.#pending.get(key) === asked && this.#pending.delete(key)
  }

  all(): readonly Asked[] {
    return [...this.#pending.values()]
  }

  on(exchange: Exchange): readonly Asked[] {
    return this.all().filter(asked => asked.exchange === exchange)
  }

  #in(exchange: Exchange): readonly Asked[] {
    const scope = this.#scope(exchange)
    return this.all().filter(asked => this.#scope(asked.exchange) === scope)
  }
}

/** What a lenient reader (`Number(id)`) makes of an id. */
const meaningOf = (key: IdKey): string => {
  const value: unknown = JSON.parse(key)
  const number = typeof value === 'string' && value.trim() === '' ? NaN : Number(value)
  return Number.isNaN(number) ? String(value) : String(number)
}
