import { pointer } from '../../protocol/json.js'
import { clip } from '../../protocol/quote.js'

/** What one evaluation found: where in the value, and which keyword. */
export interface Mismatch {
  /** JSON Pointer into the value, its parts fit for a message. */
  readonly path: string
  readonly message: string
}

/** The evaluation was given up: its steps are spent, or it needs a pattern whose time is not bounded. */
export class Spent extends Error {
  /** @param late whether it was the clock, not the steps */
  constructor(readonly late = false) {
    super()
  }
}

export interface Allowance {
  /** Steps before the evaluation is given up, of about 10 ns each; a whole number. */
  readonly steps: number
  /** On the clock of `performance.now()`. */
  readonly deadline?: number
  /** How deep schemas may be nested in each other's evaluation: each level takes a few frames of the native stack. */
  readonly depth: number
  /** Whether patterns without a bound on their time may be matched: only where somebody else can put an end to it. */
  readonly anyPattern: boolean
  /** Whether `format` is an assertion. */
  readonly formats: boolean
  /** How many mismatches to collect; 0 when only the verdict matters. */
  readonly mismatches: number
}

/**
 * What a check may cost on the main thread: 1 MB of ordinary rows passes, and nothing else waits longer than that. What is not
 * done by then goes to the worker thread.
 */
export const mainThread: Pick<Allowance, 'steps' | 'depth'> = { steps: 1_000_000, depth: 300 }

const stepsBetweenLooks = 20_000

/** One evaluation: what it may still cost, where in the value it stands, what it found. */
export class Run {
  readonly mismatches: Mismatch[] = []
  readonly path: (string | number)[] = []
  readonly allowance: Allowance
  #steps: number
  #nextLook: number
  #depth = 0
  #quiet = 0

  constructor(allowance: Allowance) {
    this.allowance = allowance
    this.#steps = allowance.steps
    this.#nextLook = allowance.steps - stepsBetweenLooks
  }

  /** Whether anybody wants to know where. */
  get tracing(): boolean {
    return this.allowance.mismatches > 0
  }

  get spent(): number {
    return this.allowance.steps - this.#steps
  }

  /** Whether to go on after a failure, to find more. */
  get collecting(): boolean {
    return this.#quiet === 0 && this.mismatches.length < this.allowance.mismatches
  }

  /** @param steps a whole number: that keeps the sum out of the heap */
  spend(steps: number): void {
    this.#steps -= steps
    if (this.#steps < 0) throw new Spent()
    if (this.#steps > this.#nextLook) return
    this.#nextLook = this.#steps - stepsBetweenLooks
    this.look()
  }

  /**
   * Looks at the clock: every so many steps, and before something whose cost cannot be told beforehand. The names of an object's members, of which there
   * may be a million, are listed for every schema that wants them.
   */
  look(): void {
    const { deadline } = this.allowance
    if (deadline !== undefined && performance.now() > deadline) throw new Spent(true)
  }

  enter(): void {
    if (++this.#depth > this.allowance.depth) throw new Spent()
    this.spend(5)
  }

  leave(): void {
    this.#depth--
  }

  /** Evaluates what may fail without the whole failing: a branch of `anyOf`, a `not`. */
  aside(evaluate: () => boolean): boolean {
    this.#quiet++
    const valid = evaluate()
    this.#quiet--
    return valid
  }

  fail(message: string, ...below: readonly (string | number)[]): false {
    if (this.collecting) {
      const path = pointer(...[...this.path, ...below].map(part => (typeof part === 'number' ? part : clip(part))))
      this.mismatches.push({ path, message })
    }
    return false
  }
}
