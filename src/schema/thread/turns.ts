import { FairQueue } from './fair-queue.js'

/** Steps in one turn of the event loop, about 5 ms, after which no other check is begun in it. */
const perTurn = 500_000
/** Fewer are not worth finding out when the turn ends. */
const few = perTurn / 10

/** Spreads work over turns of the event loop, so that together it does not hold it up. */
class Turns {
  readonly #waiting = new FairQueue<() => void>()
  #spent = 0
  #scheduled = false

  /** Whether there is time left in this turn, and nobody waits for it. */
  get isOpen(): boolean {
    return this.#spent < perTurn && this.#waiting.isEmpty
  }

  /** @param who asks for it; they take turns */
  later<Result>(who: string, work: () => Result | Promise<Result>): Promise<Result> {
    return new Promise(resolve => this.#waiting.push(who, () => resolve(work())))
  }

  /** Notes what a piece of work took. */
  spend(steps: number): void {
    this.#spent += steps
    if (this.#spent > few) this.#schedule()
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      this.#spent = 0
      while (this.#spent < perTurn) {
        const next = this.#waiting.shift()
        if (next === undefined) return
        next()
      }
      this.#schedule()
    })
  }
}

/** One event loop, one allowance: all checkers share it. */
export const turns = new Turns()
