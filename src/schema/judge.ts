import type { SchemaProblem } from '../core/check.js'
import { isObject, type Json } from '../protocol/json.js'
import { Acceptor } from './accept.js'
import type { Place } from './document.js'
import { evaluate } from './evaluate/evaluate.js'
import { Run, type Allowance } from './evaluate/run.js'
import type { Inspected } from './inspect.js'

/** A schema that can be used, with what is known of it before it is. */
export interface Plan {
  readonly root: Place
  /** To be asked first: it has most of the values to itself. */
  readonly acceptor: Acceptor
  /**
   * What `format` can do to the verdict. `alone`: it can only make a valid value invalid, so that a value which is
   * valid with it is valid without it; `entangled`: it may turn a verdict round (`not`, `oneOf`, …).
   */
  readonly formats: 'none' | 'alone' | 'entangled'
}

const turning = ['not', 'if', 'oneOf', 'contains'] as const

export const planFor = (root: Place, { places }: Inspected): Plan => {
  const has = (keyword: string) => places.some(({ schema }) => isObject(schema) && Object.hasOwn(schema, keyword))
  return { root, acceptor: new Acceptor(root), formats: !has('format') ? 'none' : turning.some(has) ? 'entangled' : 'alone' }
}

/** Problems of a value are reported up to this number. */
const most = 20

/**
 * The verdict on a value: nothing, mismatches, or where there are none the formats that it breaks.
 * Paths are pointers into the value.
 * @throws Spent when the allowance does not suffice; RangeError when the native stack does not
 */
export const judge = (
  { root, formats }: Plan,
  value: Json,
  allowance: Omit<Allowance, 'formats' | 'mismatches'>,
): SchemaProblem[] => {
  let { steps } = allowance
  const pass = (asserting: boolean, mismatches: number) => {
    const run = new Run({ ...allowance, steps, formats: asserting, mismatches })
    const valid = evaluate(root, value, run, undefined, undefined)
    steps -= run.spent
    return { valid, mismatches: run.mismatches }
  }
  // Most values are valid: that is found out first, without keeping account of where one is.
  if (pass(formats === 'alone', 0).valid && formats !== 'entangled') return []
  const base = pass(false, most)
  if (!base.valid) return base.mismatches.map(mismatch => ({ kind: 'mismatch', ...mismatch }))
  if (formats === 'none') return []
  const strict = pass(true, most)
  return strict.valid ? [] : strict.mismatches.map(mismatch => ({ kind: 'format', ...mismatch }))
}

