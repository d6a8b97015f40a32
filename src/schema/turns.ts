/** Work that is done at once in one turn of the event loop, in milliseconds; a list of 400 ordinary tools takes about that. */
const perTurn = 15

/** Spreads many small pieces of work over turns of the event loop, so that together they do not hold it up. */
export class Turns {
  readonly #waiting: (() => void)[] = []
  #spent = 0
  #scheduled = false

  /** @returns the result at once while there is time in this turn, else a promise of it */
  run<Result>(work: () => Result | Promise<Result>): Result | Promise<Result> {
    if (this.#spent < perTurn && this.#waiting.length === 0) return this.#timed(work)
    return new Promise(resolve => this.#waiting.push(() => resolve(this.#timed(work))))
  }

  #timed<Result>(work: () => Result): Result {
    this.#schedule()
    const from = performance.now()
    try {
      return work()
    } finally {
      this.#spent += performance.now() - from
    }
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
