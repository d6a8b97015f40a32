import type { Exchange } from '#core/event.js'
import { ChurnMap } from '#core/memory.js'

/**
 * Keeps the order within an exchange: an action waits while something earlier holds the exchange, such as a
 * schema check, a missing list of tools, or a question to the shared state.
 */
export class Holds<Key> {
  readonly #exchanges = new ChurnMap<Key, Exchange>()
  readonly #underWay = new ChurnMap<Exchange, { holds: number; readonly waiting: (() => void)[] }>()
  #whenDone: (() => void) | undefined

  /** Actions of the exchange wait until `release`. */
  hold(key: Key, exchange: Exchange): void {
    this.#exchanges.set(key, exchange)
    const underWay = this.#underWay.get(exchange)
    if (underWay === undefined) this.#underWay.set(exchange, { holds: 1, waiting: [] })
    else underWay.holds++
  }

  release(key: Key): void {
    const exchange = this.#exchanges.get(key)
    if (exchange === undefined) return
    this.#exchanges.delete(key)
    const underWay = this.#underWay.get(exchange)
    if (underWay !== undefined && --underWay.holds === 0) {
      this.#underWay.delete(exchange)
      // An action may hold the exchange again.
      for (const act of underWay.waiting) this.after(exchange, act)
    }
    if (this.#exchanges.size > 0) return
    const done = this.#whenDone
    this.#whenDone = undefined
    done?.()
  }

  /** Runs an action when nothing holds the exchange, or at once. */
  after(exchange: Exchange, act: () => void): void {
    const underWay = this.#underWay.get(exchange)
    if (underWay === undefined) act()
    else underWay.waiting.push(act)
  }

  /** Runs an action when nothing holds any exchange, or at once. */
  afterAll(act: () => void): void {
    if (this.#exchanges.size === 0) act()
    else this.#whenDone = act
  }
}
