import { isArray, type Json, type JsonObject } from '../../protocol/unmetered.js'
import type { Dialect } from '../../protocol/json-schema.js'
import type { Budget } from '../budget.js'
import type { Place, Target } from '../place.js'
import type { Evaluated } from './unevaluated.js'
import type { Run } from '../evaluate.js'

/** The kinds of values that checks are for. */
export interface Kinds {
  readonly null: null
  readonly boolean: boolean
  readonly number: number
  readonly string: string
  readonly array: readonly Json[]
  readonly object: JsonObject
}

/** A keyword of one schema, applied to a value. `seen` is given where somebody goes by what was evaluated. */
export type Check<Value> = (value: Value, run: Run, seen: Evaluated | undefined) => boolean

/** The checks of a keyword, for each kind of value that it concerns. */
export type Checks = { readonly [Kind in keyof Kinds]?: Check<Kinds[Kind]> | undefined }

/** A schema as others apply it. */
export interface Subschema {
  /**
   * Whether a value matches it, by the letter of its dialect.
   * @param seen is told what was looked at, when the schema is applied on behalf of another
   * @throws Exhausted
   */
  matches(value: Json, run: Run, seen: Evaluated | undefined): boolean
  /** Whether a member or an item of the value matches that is being evaluated. */
  matchesBelow(step: string | number, value: Json, run: Run): boolean
}

/** A keyword's place: what its check is made from. */
export interface Site {
  readonly dialect: Dialect
  /** Pays for the making of the check. */
  readonly budget: Budget
  /** The value of another keyword beside it. */
  sibling(keyword: string): Json | undefined
  subschema(keyword: string, key?: string | number): Subschema | undefined
  /** The schema of a place that only the evaluation finds. */
  subschemaAt(place: Place): Subschema
  target(keyword: string): Target | undefined
}

/**
 * What a keyword does. Which dialects have it, and where schemas stand in it, is in protocol/json-schema.ts; what its
 * value must look like is in the official meta-schemas.
 */
export interface Keyword {
  readonly name: string
  /** Whether the schemas in its value are applied to the value itself, or to what is below it; none are that are only referred to. */
  readonly applies?: 'here' | 'below'
  /** Whether it may make a value valid that something in its schemas does not hold for. */
  readonly turns?: true
  /** The keyword without which this one says nothing. */
  readonly needs?: string
  /** What its value must be, in words, where the meta-schema's own keyword would say it badly. */
  readonly expected?: string
  /** What is wrong with its value that no meta-schema says; undefined when nothing is. */
  fault?(value: Json, budget: Budget): string | undefined
  /** Makes its checks; undefined when there is nothing to check. */
  checks?(value: Json, site: Site): Checks | undefined
  /** Whether its checks go by what the others evaluated. */
  readonly tracks?: true
}

/** The same check for values of any kind. */
export const forAll = (check: Check<Json>): Checks =>
  ({ null: check, boolean: check, number: check, string: check, array: check, object: check })

/** The schemas of a keyword whose value is an array of them. */
export const schemasOf = (value: Json, site: Site, keyword: string): readonly Subschema[] =>
  isArray(value) ? value.flatMap((_, index) => site.subschema(keyword, index) ?? []) : []

export const sizeMessage = (name: string, most: boolean, limit: number, noun: string): string =>
  `must have at ${most ? 'most' : 'least'} ${limit} ${noun}${limit === 1 ? '' : 's'} (${name})`

/**
 * Whether a value matches a schema that may fail without the whole failing: a branch of `anyOf`, a `not`. Its mismatches are
 * not collected, and what it evaluated counts only if it matches.
 */
export const attempt = (branch: Subschema, value: Json, run: Run, seen: Evaluated | undefined): boolean => {
  run.mute()
  const valid = branch.matches(value, run, seen)
  run.unmute()
  return valid
}

/** Whether something holds for each of them; after the first for which it does not, only while mismatches are collected. */
export const eachHolds = <One>(all: Iterable<One>, run: Run, holds: (one: One) => boolean): boolean => {
  let valid = true
  for (const one of all) {
    if (holds(one)) continue
    valid = false
    if (!run.collecting) break
  }
  return valid
}
