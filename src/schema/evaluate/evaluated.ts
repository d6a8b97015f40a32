import type { Run } from './run.js'

/** Which members and items of a value were looked at: what `unevaluatedProperties` and `unevaluatedItems` go by. */
export class Evaluated {
  allMembers = false
  /** All items before this one. */
  items = 0
  readonly #members = new Set<string>()
  readonly #items = new Set<number>()
  readonly #run: Run

  constructor(run: Run) {
    run.spend(15)
    this.#run = run
  }

  addMember(key: string): void {
    this.#run.spend(4)
    this.#members.add(key)
  }

  addItem(index: number): void {
    this.#run.spend(4)
    this.#items.add(index)
  }

  hasMember(key: string): boolean {
    return this.allMembers || this.#members.has(key)
  }

  hasItem(index: number): boolean {
    return index < this.items || this.#items.has(index)
  }

  merge(other: Evaluated): void {
    this.#run.spend(4 * (other.#members.size + other.#items.size))
    this.allMembers ||= other.allMembers
    this.items = Math.max(this.items, other.items)
    for (const key of other.#members) this.#members.add(key)
    for (const index of other.#items) this.#items.add(index)
  }
}
