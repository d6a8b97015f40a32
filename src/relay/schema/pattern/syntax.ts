import type { Budget } from '../budget.js'

/** The syntax tree of a regular expression of ECMA-262. */
export type Syntax =
  | CharacterClass
  | { readonly type: 'sequence'; readonly parts: readonly Syntax[] }
  | { readonly type: 'choice'; readonly options: readonly Syntax[] }
  | Repeat
  | { readonly type: 'assert'; readonly what: Assertion }
  | LookAround
  /** A capturing group, by its number from 1 on. */
  | { readonly type: 'group'; readonly body: Syntax; readonly index: number }
  | { readonly type: 'reference'; readonly group: { readonly index: number } }

export type Assertion = 'start' | 'end' | 'boundary' | 'inside'

export interface LookAround {
  readonly type: 'look'
  readonly body: Syntax
  readonly behind: boolean
  readonly negated: boolean
  /** An inner look-around has a smaller number than the outer one. */
  readonly index: number
}

export interface Repeat {
  readonly type: 'repeat'
  readonly body: Syntax
  readonly min: number
  readonly max: number
  readonly lazy: boolean
  /** The numbers of the first capturing group inside the repetition and of the first one after it. */
  readonly groups: readonly [number, number]
}

export interface ParsedPattern {
  readonly root: Syntax
  /** Whether the pattern is matched by code points (the `u` flag), not by code units. */
  readonly unicode: boolean
  /** The count of capturing groups. */
  readonly groups: number
  readonly looks: readonly LookAround[]
  readonly words: boolean
  /** Whether the pattern has a back reference. */
  readonly refers: boolean
  /** The large maxima of the pattern's repetitions, sorted, each once. */
  readonly bounds: readonly number[]
}

/** Code points as sorted, disjoint, inclusive ranges. */
export type Ranges = readonly (readonly [number, number])[]

/** A character that is in the ranges, has the property, or is in another class; negated: any other one. */
export interface CharacterClass {
  readonly type: 'class'
  readonly ranges: Ranges
  /** The test for `\p{…}` or `\P{…}`. */
  readonly property?: RegExp
  readonly others: readonly CharacterClass[]
  readonly negated: boolean
}

export const classOf = (
  ranges: Ranges, negated = false, others: readonly CharacterClass[] = [],
): CharacterClass => {
  const merged: [number, number][] = []
  for (const [from, to] of [...ranges].sort((a, b) => a[0] - b[0])) {
    const last = merged.at(-1)
    if (last !== undefined && from <= last[1] + 1) last[1] = Math.max(last[1], to)
    else merged.push([from, to])
  }
  return { type: 'class', ranges: merged, others, negated }
}

export const contains = (one: CharacterClass, code: number, budget: Budget): boolean => {
  const { ranges, property, others, negated } = one
  return (isWithin(ranges, code)
    || (property !== undefined && hasProperty(property, code, budget))
    || others.some(other => contains(other, code, budget))) !== negated
}

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

/** What one property costs: V8 takes about 50 to 110 µs and 25 KB to make its RegExp. */
const costOfProperty = 15_000
const bytesOfProperty = 25_000
const maxProperties = 100

/** A cache for all patterns; the least recently used property is evicted. */
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
