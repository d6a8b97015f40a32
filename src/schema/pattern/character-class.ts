import type { Budget } from '../budget.js'

/** Code points as sorted, disjoint, inclusive ranges. */
export type Ranges = readonly (readonly [number, number])[]

/** One character: of the ranges, with the property, or of one of the others; negated, any but these. */
export interface CharacterClass {
  readonly type: 'class'
  readonly ranges: Ranges
  /** `\p{…}` or `\P{…}`, as it is written. */
  readonly property?: string
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

/** Making one takes V8 about 50 to 110 µs; those of all the names that there are would take 10 MB. */
const costOfProperty = 12_000
const mostProperties = 100

const properties = new Map<string, RegExp>()

const propertyOf = (escape: string, budget: Budget): RegExp | undefined => {
  const known = properties.get(escape)
  if (known !== undefined || !/^\\[pP]\{\w{1,60}(?:=\w{1,60})?\}$/.test(escape)) return known
  budget.spend(costOfProperty)
  try {
    const made = new RegExp(`^${escape}$`, 'u')
    if (properties.size < mostProperties) properties.set(escape, made)
    return made
  } catch {
    return undefined
  }
}

/** Whether `\p{…}` or `\P{…}` names a property that the engine's Unicode tables have. */
export const isProperty = (escape: string, budget: Budget): boolean => propertyOf(escape, budget) !== undefined

const hasProperty = (escape: string, code: number, budget: Budget): boolean => {
  budget.spend(10)
  return propertyOf(escape, budget)?.test(String.fromCodePoint(code)) === true
}
