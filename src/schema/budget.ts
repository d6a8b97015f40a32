/** The budget is used up: the verdict must be found where there is more of it, or there is none. */
export class Exhausted extends Error {
  /** @param pattern the one whose matching took so long, if it was that: one that overran once is given less time again */
  constructor(readonly pattern?: { overran: boolean }) {
    super()
  }
}

/** A step takes at most about 10 ns, most take less. The number says how many a millisecond of validation is worth. */
export const stepsPerMs = 100_000

/**
 * What the main thread does at once for one check, or to read one schema: 1 MB of ordinary rows passes, or 2,000 subschemas, and nobody else
 * waits longer than that. What needs more goes to the worker thread.
 */
export const mainThreadSteps = 1_000_000

/** A number up to here is kept out of the heap. */
const mostAtOnce = 2 ** 30

/**
 * What a stranger's schema or value may still cost. Whatever grows with what was sent is paid for in steps, mostly before it is done. Steps, not
 * time: a machine that is busy changes no verdict.
 */
export class Budget {
  #left: number
  #more: number
  #kept = 0

  constructor(steps: number) {
    this.#left = Math.min(steps, mostAtOnce)
    this.#more = steps - this.#left
  }

  get left(): number {
    return this.#left + this.#more
  }

  /** Bytes of memory that are held for later, because of what was paid for: places of schemas, checks, automata. */
  get kept(): number {
    return this.#kept
  }

  keep(bytes: number): void {
    this.#kept += bytes
  }

  /**
   * @param steps a whole number
   * @throws Exhausted when there are fewer left
   */
  spend(steps: number): void {
    if ((this.#left -= steps) < 0) this.#refill()
  }

  #refill(): void {
    const left = this.left
    if (left < 0) throw new Exhausted()
    this.#left = Math.min(left, mostAtOnce)
    this.#more = left - this.#left
  }
}
