import { costOfMembers, isList, isRecord, type Data } from '#relay/protocol/unmetered.js'
import { costOfName, nameKey, type Budget } from './budget.js'

/** Deeper than any value that the relay forwards: a limit for values from the library's callers. */
const deepest = 1024

/** A text that equal values have in common, whatever the order of members. */
const textOf = (value: Data, budget: Budget, depth: number): string => {
  if (depth > deepest) throw new RangeError('nested too deep to compare')
  budget.spend(10)
  if (typeof value === 'string') {
    budget.spend(value.length >> 2)
    return JSON.stringify(value)
  }
  // A template writes 0 and -0 alike. Without the letter, V8 would hash a short integer without its seed.
  if (typeof value === 'number') return `n${value}`
  if (isList(value)) return `[${value.map(item => textOf(item, budget, depth + 1)).join(',')}]`
  if (!isRecord(value)) return String(value)
  const names = Object.keys(value)
  budget.spend(costOfMembers(names.length) + 10 * names.length)
  return `{${names.sort().map(name =>
    `${textOf(name, budget, depth)}:${textOf(value[name] ?? null, budget, depth + 1)}`).join(',')}}`
}

/** A set of JSON values by JSON Schema's equality, at the cost of a look-up. */
export class Distinct {
  readonly #keys = new Set<string>()

  has(value: string | number, budget: Budget): boolean {
    return this.#keys.has(this.#keyOf(value, budget))
  }

  /** @returns false when the value was there already */
  add(value: Data, budget: Budget): boolean {
    const before = this.#keys.size
    budget.spend(20)
    this.#keys.add(this.#keyOf(value, budget))
    return this.#keys.size > before
  }

  /** V8 hashes a text with a secret seed, so a sender cannot find values whose hashes collide. */
  #keyOf(value: Data, budget: Budget): string {
    const text = textOf(value, budget, 0)
    budget.spend(costOfName(text))
    return nameKey(text)
  }
}
