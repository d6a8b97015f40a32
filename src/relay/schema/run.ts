import { Exhausted, type Budget } from './budget.js'
import type { SchemaResource, SchemaStep } from './schema-node.js'

/** A keyword that does not hold, at a path in the value. */
export interface Mismatch {
  readonly path: readonly SchemaStep[]
  readonly message: string
}

/** The dynamic scope, innermost resource first (2020-12 core, 7.1). */
export interface Scope {
  readonly resource: SchemaResource
  readonly outer: Scope | undefined
}

const none: never[] = []

/** One evaluation: its budget, its path in the value, its mismatches. */
export class Run {
  readonly mismatches: Mismatch[]
  readonly path: SchemaStep[]
  readonly budget: Budget
  /** Whether `format` is an assertion. */
  readonly formats: boolean
  scope: Scope | undefined
  #depth = 0
  #muted = 0

  /**
   * @param maxDepth how deep schemas may be nested in each other's evaluation, by the size of the stack
   * @param max how many mismatches to collect; 0 when only the verdict matters
   */
  constructor(
    budget: Budget, private readonly maxDepth: number, formats: boolean, private readonly max: number,
  ) {
    this.budget = budget
    this.formats = formats
    // When nothing is collected, these lists stay empty and can be shared.
    this.mismatches = max > 0 ? [] : none
    this.path = max > 0 ? [] : none
  }

  /** Whether mismatches are collected at all, with their paths. */
  get tracing(): boolean {
    return this.max > 0
  }

  /** True while further mismatches are kept: the evaluation then goes on after a mismatch. */
  get collecting(): boolean {
    return this.#muted === 0 && this.mismatches.length < this.max
  }

  spend(steps: number): void {
    this.budget.spend(steps)
  }

  enter(): void {
    if (++this.#depth > this.maxDepth) throw new Exhausted()
    this.budget.spend(5)
  }

  leave(): void {
    this.#depth--
  }

  /** Collects no mismatches until `unmute`. */
  mute(): void {
    this.#muted++
  }

  unmute(): void {
    this.#muted--
  }

  fail(message: string, ...below: readonly SchemaStep[]): false {
    if (!this.collecting) return false
    this.budget.spend(20 + this.path.length)
    this.mismatches.push({ path: [...this.path, ...below], message })
    return false
  }
}
