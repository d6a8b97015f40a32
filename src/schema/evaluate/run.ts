import { wirePath } from '../../protocol/quote.js'
import { Exhausted, type Budget } from '../budget.js'
import type { Resource, Step } from '../document/place.js'

/** What one evaluation found: where in the value, and which keyword. */
export interface Mismatch {
  readonly path: readonly Step[]
  readonly message: string
}

/** The resources that the evaluation has come through, innermost first (2020-12 core, 7.1). */
export interface Scope {
  readonly resource: Resource
  readonly outer: Scope | undefined
}

const none: never[] = []

/** One evaluation: what it may still cost, where in the value it stands, what it found. */
export class Run {
  readonly mismatches: Mismatch[]
  readonly path: Step[]
  readonly budget: Budget
  /** Whether `format` is an assertion. */
  readonly formats: boolean
  scope: Scope | undefined
  readonly #most: number
  readonly #deepest: number
  #depth = 0
  #quiet = 0

  /**
   * @param depth how deep schemas may be nested in each other's evaluation: each level takes a few frames of the native stack
   * @param most how many mismatches to collect; 0 when only the verdict matters
   */
  constructor(budget: Budget, depth: number, formats: boolean, most: number) {
    this.budget = budget
    this.formats = formats
    this.#deepest = depth
    this.#most = most
    // Nobody writes to these where nothing is collected.
    this.mismatches = most > 0 ? [] : none
    this.path = most > 0 ? [] : none
  }

  /** Whether anybody wants to know where. */
  get tracing(): boolean {
    return this.#most > 0
  }

  /** Whether to go on after a failure, to find more. */
  get collecting(): boolean {
    return this.#quiet === 0 && this.mismatches.length < this.#most
  }

  spend(steps: number): void {
    this.budget.spend(steps)
  }

  enter(): void {
    if (++this.#depth > this.#deepest) throw new Exhausted()
    this.budget.spend(5)
  }

  leave(): void {
    this.#depth--
  }

  /** From here on nothing is told, up to `unmute`. */
  mute(): void {
    this.#quiet++
  }

  unmute(): void {
    this.#quiet--
  }

  fail(message: string, ...below: readonly Step[]): false {
    if (!this.collecting) return false
    this.budget.spend(20 + this.path.length)
    this.mismatches.push({ path: [...this.path, ...below], message })
    return false
  }
}

/** What a text costs, in steps, that is made fit for a message. */
const costOfClip = ({ length }: string): number => (length > 80 ? 50 + 2 * Math.min(length, 4096) : 10)

/** A JSON Pointer, its parts fit for a message. */
export const clippedPointer = (path: readonly Step[], budget: Budget): string => {
  for (const step of path) budget.spend(typeof step === 'number' ? 5 : costOfClip(step))
  return wirePath(...path)
}
