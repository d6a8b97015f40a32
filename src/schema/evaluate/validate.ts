import type { SchemaProblem } from '../../core/check.js'
import type { Json } from '../../protocol/unmetered.js'
import type { Budget } from '../budget.js'
import type { Place } from '../document/place.js'
import { clippedPointer, Run, type Mismatch } from './run.js'
import type { Validator } from './validator.js'

/**
 * What `format` can do to the verdict. `alone`: it can only make a valid value invalid, so that a value which is valid with it is
 * valid without it; `entangled`: it may turn a verdict round (`not`, `oneOf`, …).
 */
type Formats = 'none' | 'alone' | 'entangled'

/** A schema that can be used. */
export interface Schema {
  readonly root: Place
  readonly validator: Validator
  readonly formats: Formats
}

/** How deep schemas may be nested in each other's evaluation, by the size of the native stack. */
export const mainThreadDepth = 300
export const workerDepth = 5000

/** Problems of a value are reported up to this number. */
const most = 20

/** One evaluation. @returns undefined when the value is valid, else mismatches, up to so many */
const evaluate = (validator: Validator, value: Json, budget: Budget, depth: number, formats: boolean, mismatches: number): readonly Mismatch[] | undefined => {
  const run = new Run(budget, depth, formats, mismatches)
  if (validator.matches(value, run, undefined)) return undefined
  return run.mismatches.length > 0 ? run.mismatches : [{ path: [], message: 'does not match' }]
}

/** What of a value does not match, formats aside. Most values match: that is found out first, without keeping account of where one is. */
export const mismatchesOf = (validator: Validator, value: Json, budget: Budget, depth: number): readonly Mismatch[] =>
  evaluate(validator, value, budget, depth, false, 0) === undefined ? [] : (evaluate(validator, value, budget, depth, false, most) ?? [])

/**
 * The verdict on a value: nothing, mismatches, or where there are none the formats that it breaks. Paths are pointers into the value.
 * @throws Exhausted; RangeError when the native stack does not suffice
 */
export const validate = ({ validator, formats }: Schema, value: Json, budget: Budget, depth: number): readonly SchemaProblem[] => {
  // Most values are valid: that is found out first, without keeping account of where one is.
  if (evaluate(validator, value, budget, depth, formats === 'alone', 0) === undefined && formats !== 'entangled') return valid
  const pass = (asserting: boolean) => evaluate(validator, value, budget, depth, asserting, most)
  const told = (kind: SchemaProblem['kind'], mismatches: readonly Mismatch[]): readonly SchemaProblem[] =>
    mismatches.map(({ path, message }) => ({ kind, path: clippedPointer(path, budget), message }))
  const base = pass(false)
  if (base !== undefined) return told('mismatch', base)
  return formats === 'none' ? valid : told('format', pass(true) ?? valid)
}

const valid: readonly never[] = []
