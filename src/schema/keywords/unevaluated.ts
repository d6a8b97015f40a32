import { costOfMembers, costOfName, nameKey, type Budget } from '../budget.js'
import { eachHolds, type Checks, type Keyword } from './keyword.js'

/** Which members and items of a value were looked at: what `unevaluatedProperties` and `unevaluatedItems` go by. */
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

const unevaluatedProperties: Keyword = {
  name: 'unevaluatedProperties',
  applies: 'below',
  tracks: true,
  checks(_, site): Checks | undefined {
    const schema = site.subschema('unevaluatedProperties')
    if (schema === undefined) return undefined
    return {
      object(object, run, seen) {
        const names = Object.keys(object)
        run.spend(costOfMembers(names.length))
        const valid = eachHolds(names, run, name =>
          seen?.hasMember(name) === true || schema.matchesBelow(name, object[name] ?? null, run))
        if (seen !== undefined) seen.allMembers = true
        return valid
      },
    }
  },
}

const unevaluatedItems: Keyword = {
  name: 'unevaluatedItems',
  applies: 'below',
  tracks: true,
  checks(_, site): Checks | undefined {
    const schema = site.subschema('unevaluatedItems')
    if (schema === undefined) return undefined
    return {
      array(items, run, seen) {
        const valid = eachHolds(items.entries(), run, ([index, item]) => {
          run.spend(1)
          return seen?.hasItem(index) === true || schema.matchesBelow(index, item, run)
        })
        if (seen !== undefined) seen.items = items.length
        return valid
      },
    }
  },
}

export const unevaluated: readonly Keyword[] = [unevaluatedProperties, unevaluatedItems]
