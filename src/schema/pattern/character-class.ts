import type { Budget } from '../budget.js'

/** Code points as sorted, disjoint, inclusive ranges. */
export type Ranges = readonly (readonly [number, number])[]

/** One character: of the ranges, with the property, or of one of the others; negated, any but these. */
export interface CharacterClass {
  readonly type: 'class'
  readonly ranges: Ranges
  /** The test for `\p{…}` or `\P{…}`. */
  readonly property?: RegExp
  readonly others: readonly CharacterClass[]
  readonly negated: boolean
}

export const classOf = (ranges: Ranges, negated = false, others: readonly CharacterClass[] = []): CharacterClass => {
  const merged: [number, number][] = []
  for (const [from, to] of [...ranges].sort((a, b) => a[0] - b[0])) {
    const last = merged.at(-1)
    if (last !== undefined && from <= last[1] + 1) last[1] = Math.max(last[1], to)
    else merged.push([from, to])
  }
  return { type: 'class', ranges: merged, others, negated }
}

export const contains = ({ ranges, property, others, negated }: CharacterClass, code: number, budget: Budget): boolean =>
  (isWithin(ranges, code) ||
    (property !== undefined && hasProperty(property, code, budget)) ||
    others.some(other => contains(other, code, budget))) !== negated

const hasProperty = (property: RegExp, code: number, budget: Budget): boolean => {
  budget.spend(10)
  return property.test(String.fromCodePoint(code))
}

const isWithin = (ranges: Ranges, code: number): boolean => {
  let low = 0
  let high = ranges.length - 1
  while (low <= high) {
    const middle = (low + high) >> 1
    const [from, to] = ranges[middle] ?? [0, 0]
    if (code < from) high = middle - 1
    else if (code > to) low = middle + 1
    else return true
  }
  return false
}

/** Making one takes V8 about 50 to 110 µs and 25 KB. */
const costOfProperty = 15_000
const bytesOfProperty = 25_000
const maxProperties = 100

/** The properties that were asked for last, of all patterns. */
const properties = new Map<string, RegExp>()

/** The test for `\p{…}` or `\P{…}`; undefined when the engine's Unicode tables have no such property. */
export const propertyOf = (escape: string, budget: Budget): RegExp | undefined => {
  if (!/^\\[pP]\{\w{1,60}(?:=\w{1,60})?\}$/.test(escape)) return undefined
  let property = properties.get(escape)
  properties.delete(escape)
  if (property === undefined) {
    budget.spend(costOfProperty)
    try {
      property = new RegExp(`^${escape}$`, 'u')
    } catch {
      return undefined
    }
    budget.keep(bytesOfProperty)
    for (const oldest of properties.keys()) if (properties.size >= maxProperties) properties.delete(oldest)
  }
  properties.set(escape, property)
  return property
}
