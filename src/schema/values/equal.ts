import { isArray, isObject, type Json } from '../../protocol/json.js'
import type { Budget } from '../budget.js'
import { costOfName, nameKey } from './name-key.js'

/** Deeper than any value that the relay lets through; a bound against values from elsewhere. */
const deepest = 1024

/** To list the members of an object and look one up costs ten times as much, for each, where there are many: V8 sorts those of a large object. */
export const manyMembers = 200
export const costOfMany = 40

export const costOfMembers = (count: number): number => (count > manyMembers ? costOfMany : 4) * count

/**
 * Whether two JSON values are equal as JSON Schema has it; ends at the first difference.
 * @param known the one whose members are looked for in the other, so that another's large object need not be listed
 */
export const equal = (known: Json, other: Json, budget: Budget): boolean => {
  budget.spend(3)
  if (typeof known === 'string') {
    budget.spend(known.length >> 6)
    return known === other
  }
  if (isArray(known)) {
    return isArray(other) && known.length === other.length && known.every((item, index) => equal(item, other[index] ?? null, budget))
  }
  if (!isObject(known)) return known === other
  if (!isObject(other)) return false
  const keys = Object.keys(known)
  budget.spend(costOfMembers(keys.length))
  for (const key of keys) {
    if (!Object.hasOwn(other, key) || !equal(known[key] ?? null, other[key] ?? null, budget)) return false
  }
  const { length } = Object.keys(other)
  budget.spend(costOfMembers(length))
  return keys.length === length
}

/** A text that two JSON values other than strings share exactly when they are equal: keys sorted, numbers by value. */
const canonicalText = (value: Json, budget: Budget, depth: number): string => {
  if (depth > deepest) throw new RangeError('nested too deep to compare')
  budget.spend(25)
  if (typeof value === 'string') {
    budget.spend(value.length >> 1)
    return JSON.stringify(value)
  }
  if (isArray(value)) return `[${value.map(item => canonicalText(item, budget, depth + 1)).join()}]`
  if (!isObject(value)) {
    budget.spend(20)
    return String(value)
  }
  const keys = Object.keys(value).sort()
  budget.spend(2 * costOfMembers(keys.length))
  return `{${keys.map(key => `${canonicalText(key, budget, 0)}:${canonicalText(value[key] ?? null, budget, depth + 1)}`).join()}}`
}

/** A set of JSON values by JSON Schema's equality, at the cost of a look-up for strings and of a text for the rest. */
export class Distinct {
  readonly #strings = new Set<string>()
  // Numbers are here as well: V8 hashes them without a seed, so that anybody can find many that collide.
  readonly #texts = new Set<string>()
  readonly #budget: Budget

  constructor(budget: Budget) {
    this.#budget = budget
  }

  /** @returns false when the value was there already */
  add(value: Json): boolean {
    const before = this.#strings.size + this.#texts.size
    if (typeof value === 'string') {
      this.#budget.spend(10 + costOfName(value))
      this.#strings.add(nameKey(value))
    } else {
      const text = canonicalText(value, this.#budget, 0)
      this.#budget.spend(costOfName(text))
      this.#texts.add(nameKey(text))
    }
    return this.#strings.size + this.#texts.size > before
  }
}
