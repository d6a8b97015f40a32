import { isArray, isObject, type Json } from '../protocol/json.js'

/** Deeper than any value that the relay lets through; a bound against values from elsewhere. */
const deepest = 512

/**
 * A text that two JSON values share exactly when JSON Schema holds them equal: keys sorted, numbers by value.
 * @throws RangeError on nesting beyond any frame's
 */
export const canonical = (value: Json, depth = 0): string => {
  if (depth > deepest) throw new RangeError('nested too deep to compare')
  if (isArray(value)) return `[${value.map(item => canonical(item, depth + 1)).join()}]`
  if (!isObject(value)) return JSON.stringify(value)
  const members = Object.keys(value).sort().map(key => `${JSON.stringify(key)}:${canonical(value[key] ?? null, depth + 1)}`)
  return `{${members.join()}}`
}

/** A set of JSON values by JSON Schema's equality, at the cost of a look-up for scalars and of one text for the rest. */
export class Distinct {
  readonly #scalars = new Set<Json>()
  readonly #composites = new Set<string>()

  has(value: Json): boolean {
    return isScalar(value) ? this.#scalars.has(value) : this.composite && this.#composites.has(canonical(value))
  }

  /** @returns false when the value was there already */
  add(value: Json): boolean {
    const before = this.size
    if (isScalar(value)) this.#scalars.add(value)
    else this.#composites.add(canonical(value))
    return this.size > before
  }

  /** Whether there are arrays or objects in it, which cost more to compare. */
  get composite(): boolean {
    return this.#composites.size > 0
  }

  get size(): number {
    return this.#scalars.size + this.#composites.size
  }
}

export const isScalar = (value: Json): boolean => typeof value !== 'object' || value === null
