import { costOfName, nameKey, type Budget } from '../budget.js'

/** The members and items of a value that were evaluated, which `unevaluated…` skips. */
export class Evaluated {
  allMembers = false
  /** All items before this one. */
  items = 0
  readonly #members = new Set<string>()
  readonly #items = new Set<number>()

  constructor(private readonly budget: Budget) {
    budget.spend(15)
  }

  addMember(name: string): void {
    this.budget.spend(3 + costOfName(name))
    this.#members.add(nameKey(name))
  }

  addItem(index: number): void {
    this.budget.spend(5)
    this.#items.add(index)
  }

  hasMember(name: string): boolean {
    this.budget.spend(costOfName(name))
    return this.allMembers || this.#members.has(nameKey(name))
  }

  hasItem(index: number): boolean {
    return index < this.items || this.#items.has(index)
  }

  merge(other: Evaluated): void {
    this.budget.spend(5 * (other.#members.size + other.#items.size))
    this.allMembers ||= other.allMembers
    this.items = Math.max(this.items, other.items)
    for (const name of other.#members) this.#members.add(name)
    for (const index of other.#items) this.#items.add(index)
  }
}
