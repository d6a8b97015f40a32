import type { Exchange } from '../core/event.js'

/** The checks that are under way, and what has to wait for them, so that order is kept. */
export class Judging {
  readonly #checks = new Map<number, Exchange | undefined>()
  readonly #waiting = new Map<Exchange, (() => void)[]>()
  #whenDone: (() => void) | undefined

  /** @param exchange of the message that is judged; undefined when it belongs to none */
  began(check: number, exchange: Exchange | undefined): void {
    this.#checks.set(check, exchange)
  }

  /** To be told when everything that came of the check is done. */
  ended(check: number): void {
    const exchange = this.#checks.get(check)
    this.#checks.delete(check)
    if (exchange !== undefined && !this.#isUnderWay(exchange)) {
      const waiting = this.#waiting.get(exchange) ?? []
      this.#waiting.delete(exchange)
      for (const act of waiting) act()
    }
    if (this.#checks.size === 0) this.#whenDone?.()
  }

  /** Does something at once, or after what is being judged of the exchange. */
  after(exchange: Exchange, act: () => void): void {
    if (!this.#isUnderWay(exchange)) return act()
    const waiting = this.#waiting.get(exchange)
    if (waiting === undefined) this.#waiting.set(exchange, [act])
    else waiting.push(act)
  }

  /** Does something when nothing is being judged any more. */
  afterAll(act: () => void): void {
    if (this.#checks.size === 0) act()
    else this.#whenDone = act
  }

  exchangeOf(check: number): Exchange | undefined {
    return this.#checks.get(check)
  }

  #isUnderWay(exchange: Exchange): boolean {
    return [...this.#checks.values()].includes(exchange)
  }
}
