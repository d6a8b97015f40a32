import { randomBytes } from 'node:crypto'
import { isArray, isObject, type Json } from '#protocol/unmetered.js'
import { costOfMany, costOfMembers, costOfName, manyMembers, nameKey, type Budget } from './budget.js'

/** Deeper than any value that the relay forwards: a limit for values from the library's callers. */
const deepest = 1024

/**
 * Whether two JSON values are equal (2020-12 core, 4.2.2); ends at the first difference.
 * @param known the value from the schema: its members are looked up in the other, which may have very many
 */
export const equal = (known: Json, other: Json, budget: Budget): boolean => {
  budget.spend(3)
  if (typeof known === 'string') {
    budget.spend(known.length >> 6)
    return known === other
  }
  if (isArray(known)) {
    if (!isArray(other) || known.length !== other.length) return false
    return known.every((item, index) => equal(item, other[index] ?? null, budget))
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

// Salted, so that a sender cannot find values whose hashes collide.
const random = randomBytes(8)
const [salt, second] = [random.readInt32LE(0), random.readInt32LE(4)]
const double = new Float64Array(1)
const words = new Int32Array(double.buffer)

const mix = (hash: number, value: number): number => {
  const mixed = Math.imul(hash ^ value, 0x9e3779b1)
  return mixed ^ (mixed >>> 15)
}

const hashOfText = (text: string, budget: Budget): number => {
  budget.spend(1 + (text.length >> 3))
  let hash = second
  for (let at = 0; at < text.length; at++) hash = mix(hash, text.charCodeAt(at))
  return hash
}

/** A hash that does not depend on the order of members. */
const hashOf = (value: Json, budget: Budget, depth: number): number => {
  if (depth > deepest) throw new RangeError('nested too deep to compare')
  budget.spend(5)
  if (typeof value === 'string') return hashOfText(value, budget)
  if (typeof value === 'number') {
    // 0 and -0 are equal.
    double[0] = value + 0
    return mix(mix(salt, words[0] ?? 0), words[1] ?? 0)
  }
  if (isArray(value)) {
    let hash = salt ^ value.length
    for (const item of value) hash = mix(hash, hashOf(item, budget, depth + 1))
    return hash
  }
  if (!isObject(value)) return mix(salt, value === null ? 1 : value ? 2 : 3)
  let hash = mix(salt, 4)
  let count = 0
  for (const name in value) {
    budget.spend(++count > manyMembers ? costOfMany : 4)
    hash = (hash + mix(hashOfText(name, budget), hashOf(value[name] ?? null, budget, depth + 1))) | 0
  }
  return hash
}

/** A set of JSON values by JSON Schema's equality, at the cost of a look-up. */
export class Distinct {
  readonly #strings = new Set<string>()
  readonly #others = new Map<number, Json[]>()

  has(value: string | number, budget: Budget): boolean {
    if (typeof value === 'number') return this.#others.get(hashOf(value, budget, 0))?.includes(value) === true
    budget.spend(costOfName(value))
    return this.#strings.has(nameKey(value))
  }

  /** @returns false when the value was there already */
  add(value: Json, budget: Budget): boolean {
    budget.spend(10)
    if (typeof value === 'string') {
      const before = this.#strings.size
      budget.spend(costOfName(value))
      this.#strings.add(nameKey(value))
      return this.#strings.size > before
    }
    const hash = hashOf(value, budget, 0)
    budget.spend(30)
    const alike = this.#others.get(hash)
    if (alike === undefined) this.#others.set(hash, [value])
    else if (alike.some(other => equal(other, value, budget))) return false
    else alike.push(value)
    return true
  }
}
