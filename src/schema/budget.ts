/** The budget is used up: the verdict must be found where there is more of it, or there is none. */
export class Exhausted extends Error {
  /** @param pattern the one whose matching took so long, if it was that: one that overran once is given less time again */
  constructor(message?: string, readonly pattern?: { overran: boolean }) {
    super(message)
  }
}

/** A step takes at most about 10 ns, most take less. The number says how many a millisecond of validation is worth. */
export const stepsPerMs = 100_000

/** What each character of a value that is judged on the worker thread is worth beside that: its length alone costs no verdict. */
export const stepsPerCharacter = 5

/**
 * What the main thread does at once for one check, or to read one schema: 1 MB of ordinary rows passes, or 2,000 subschemas, and nobody else
 * waits longer than that. What needs more goes to the worker thread.
 */
export const mainThreadSteps = 1_000_000
export const mainThreadBytes = 1024 * 1024

/** A number up to here is kept out of the heap. */
const mostAtOnce = 2 ** 30

/**
 * What a stranger's schema or value may still cost. Whatever grows with what was sent is paid for in steps, mostly before it is done. Steps, not
 * time: a machine that is busy changes no verdict.
 */
export class Budget {
  /** What matching a text by a pattern came to, where it took long. */
  longest: { readonly pattern: object; readonly text: string; readonly matches: boolean } | undefined
  #left: number
  #more: number
  #kept = 0

  /** @param isLast whether there is nobody else who has more */
  constructor(steps: number, readonly isLast = false) {
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

  /**
   * Work that may fail alone: where nobody else has more to spend, it is given most of what is left, and is undefined
   * when that does not suffice.
   */
  attempt<Result>(work: (budget: Budget) => Result): Result | undefined {
    if (!this.isLast) return work(this)
    const share = Math.floor((this.left / 8) * 7)
    const own = new Budget(share)
    try {
      return work(own)
    } catch (error) {
      if (error instanceof Exhausted || error instanceof RangeError) return undefined
      throw error
    } finally {
      this.keep(own.kept)
      this.spend(Math.min(share, share - own.left))
    }
  }

  #refill(): void {
    const left = this.left
    if (left < 0) throw new Exhausted()
    this.#left = Math.min(left, mostAtOnce)
    this.#more = left - this.#left
  }
}
