import { costOfMembers } from '#relay/protocol/unmetered.js'
import { costOfName, nameKey, type Budget } from '../budget.js'
import { eachHolds, ofSchema, type Keyword } from './keyword.js'

/** The members and items of a value that were evaluated, which `unevaluated…` skips. */
export class Evaluated {
  allMembers = false
  /** All items before this one. */
  items = 0
  readonly #members = new Set<string>()
  readonly #items = new Set<number>()
  readonly #budget: Budget

  constructor(budget: Budget) {
    budget.spend(15)
    this.#budget = budget
  }

  addMember(name: string): void {
    this.#budget.spend(3 + costOfName(name))
    this.#members.add(nameKey(name))
  }

  addItem(index: number): void {
    this.#budget.spend(5)
    this.#items.add(index)
  }

  hasMember(name: string): boolean {
    this.#budget.spend(costOfName(name))
    return this.allMembers || this.#members.has(nameKey(name))
  }

  hasItem(index: number): boolean {
    return index < this.items || this.#items.has(index)
  }

  merge(other: Evaluated): void {
    this.#budget.spend(5 * (other.#members.size + other.#items.size))
    this.allMembers ||= other.allMembers
    this.items = Math.max(this.items, other.items)
    for (const name of other.#members) this.#members.add(name)
    for (const index of other.#items) this.#items.add(index)
  }
}

const unevaluatedProperties = ofSchema('unevaluatedProperties', schema => ({
  object(object, run, seen) {
    const names = Object.keys(object)
    run.spend(costOfMembers(names.length))
    const valid = eachHolds(names, run, name =>
      seen?.hasMember(name) === true || schema.matchesBelow(name, object[name] ?? null, run))
    if (seen !== undefined) seen.allMembers = true
    return valid
  },
}), { tracks: true })

const unevaluatedItems = ofSchema('unevaluatedItems', schema => ({
  array(items, run, seen) {
    const valid = eachHolds(items.entries(), run, ([index, item]) => {
      run.spend(1)
      return seen?.hasItem(index) === true || schema.matchesBelow(index, item, run)
    })
    if (seen !== undefined) seen.items = items.length
    return valid
  },
}), { tracks: true })

export const unevaluated: readonly Keyword[] = [unevaluatedProperties, unevaluatedItems]
