import { createHash, randomBytes } from 'node:crypto'

/** The budget is used up. The worker thread, with a larger budget, takes over; else there is no verdict. */
export class Exhausted extends Error {
  /** @param pattern set when matching it exhausted the budget: it gets a smaller budget afterwards */
  constructor(message?: string, readonly pattern?: { overran: boolean }) {
    super(message)
  }
}

/** Steps for a millisecond of validation: a step takes at most about 10 ns, and most take less. */
export const stepsPerMs = 100_000

/**
 * The worker thread adds these steps to its budget for each character of a value, so that no value is
 * without a verdict for its length alone.
 */
export const stepsPerCharacter = 5

/**
 * The main thread's budget for one check, or for reading one schema: enough for 1 MB of ordinary rows, or for
 * 2,000 subschemas. The worker thread does the rest, so that no other session waits longer.
 */
export const mainThreadSteps = 1_000_000
export const mainThreadBytes = 1024 * 1024

/** V8 stores numbers up to here without allocation. */
const maxAtOnce = 2 ** 30

/**
 * Limits the work for an untrusted schema or value. All work that grows with the input is paid for in steps,
 * mostly in advance. Steps are not time: on a busy machine the verdicts are the same.
 */
export class Budget {
  /** The last result of matching that took long. */
  longest: { readonly pattern: object; readonly text: string; readonly matches: boolean } | undefined
  #left: number
  #more: number
  #kept = 0

  /** @param isLast whether no other thread has a larger budget */
  constructor(steps: number, readonly isLast = false) {
    this.#left = Math.min(steps, maxAtOnce)
    this.#more = steps - this.#left
  }

  get left(): number {
    return this.#left + this.#more
  }

  /** Bytes of memory that stay allocated for a schema: nodes, checks, automata. */
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
   * Does work that may fail alone: in the last budget it gets most of the steps that are left, and the result
   * is undefined when they do not suffice.
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
    this.#left = Math.min(left, maxAtOnce)
    this.#more = left - this.#left
  }
}

/** Steps for hashing or copying a name. */
export const costOfName = (text: string): number => 2 + (text.length >> 2)

/** V8 hashes texts over 16,383 characters by length alone: in a Map, all of one length would collide. */
const maxKey = 1000

// Without the salt, a sender could compute the key of a long text, and send that key as a short text.
const salt = randomBytes(16)

/** The key for a text from the wire in a Map or Set. */
export const nameKey = (text: string): string =>
  text.length <= maxKey ? text : createHash('sha256').update(salt).update(text).digest('base64')
