import type { SchemaProblem } from '#relay/core/vocabulary.js'
import { isList, isRecord, type Data } from '#relay/protocol/unmetered.js'
import { wirePath } from '#relay/protocol/quote.js'
import type { Budget } from './budget.js'
import { checksOf, type SchemaChecks } from './keywords/index.js'
import type { Check, Subschema } from './keywords/keyword.js'
import { Evaluated } from './keywords/evaluated.js'
import { type Mismatch, Run } from './run.js'
import type { SchemaNode, SchemaStep } from './schema-node.js'

/**
 * The influence of `format` on the verdict. `alone`: formats can only make a valid value invalid.
 * `entangled`: with a non-monotonic keyword (`not`, `oneOf`) they can also make an invalid value valid.
 */
type Formats = 'none' | 'alone' | 'entangled'

export interface ReadSchema {
  readonly root: SchemaNode
  readonly formats: Formats
}

export interface SchemaReading {
  /** Undefined when the schema is invalid. */
  readonly schema: ReadSchema | undefined
  /** `path` is a JSON Pointer into the schema. */
  readonly problems: readonly SchemaProblem[]
}

/** The deepest nesting of schemas in an evaluation: on the main thread, and on the worker's larger stack. */
export const mainThreadDepth = 300
export const workerDepth = 5000

/** Most problems that are reported of a value. */
const maxProblems = 20

const none: readonly never[] = []

/** A schema that is compiled at its first use: most schemas of a list are never used. */
class Validator implements Subschema {
  #checks: SchemaChecks | undefined

  constructor(private readonly node: SchemaNode) {}

  matches(value: Data, run: Run, seen: Evaluated | undefined): boolean {
    const checks = (this.#checks ??= checksOf(this.node, run.budget, validatorOf))
    if (checks.flat && typeof value !== 'object') {
      run.spend(4)
      return holds(checks, value, run, undefined)
    }
    run.enter()
    const { resource } = this.node
    const outer = run.scope
    if (outer?.resource !== resource) run.scope = { resource, outer }
    const own = checks.tracks || seen !== undefined ? new Evaluated(run.budget) : undefined
    const valid = holds(checks, value, run, own)
    if (valid && own !== undefined) seen?.merge(own)
    run.scope = outer
    run.leave()
    return valid
  }

  matchesBelow(step: string | number, value: Data, run: Run): boolean {
    if (!run.tracing) return this.matches(value, run, undefined)
    run.path.push(step)
    const valid = this.matches(value, run, undefined)
    run.path.pop()
    return valid
  }
}

const holds = (checks: SchemaChecks, value: Data, run: Run, seen: Evaluated | undefined): boolean => {
  if (typeof value === 'string') return all(checks.string, value, run, seen)
  if (typeof value === 'number') return all(checks.number, value, run, seen)
  if (value === null) return all(checks.null, value, run, seen)
  if (typeof value === 'boolean') return all(checks.boolean, value, run, seen)
  if (isList(value)) return all(checks.array, value, run, seen)
  return isRecord(value) ? all(checks.object, value, run, seen) : run.fail('is no JSON')
}

/** Runs the checks up to the first that fails, or all of them where mismatches are collected. */
const all = <Value>(
  checks: readonly Check<Value>[], value: Value, run: Run, seen: Evaluated | undefined,
): boolean => {
  const only = checks[0]
  if (checks.length < 2) return only === undefined || only(value, run, seen)
  let valid = true
  for (let index = 0; index < checks.length; index++) {
    if (checks[index]?.(value, run, seen) === true) continue
    valid = false
    if (!run.collecting) break
  }
  return valid
}

// A validator lives as long as its schema. The official meta-schemas are compiled once for the process.
const validators = new WeakMap<SchemaNode, Validator>()

export const validatorOf = (node: SchemaNode): Validator => {
  const known = validators.get(node)
  if (known !== undefined) return known
  const made = new Validator(node)
  validators.set(node, made)
  return made
}

/** Steps for clipping a text for a message. */
const costOfClip = ({ length }: string): number => (length > 80 ? 50 + 2 * Math.min(length, 4096) : 10)

/** A JSON Pointer with clipped parts, for messages. */
export const clippedPointer = (path: readonly SchemaStep[], budget: Budget): string => {
  for (const step of path) budget.spend(typeof step === 'number' ? 5 : costOfClip(step))
  return wirePath(...path)
}

/** One evaluation. @returns undefined when the value is valid, else mismatches, up to `max` */
const evaluate = (
  root: SchemaNode, value: Data, budget: Budget, depth: number, formats: boolean, max: number,
): readonly Mismatch[] | undefined => {
  const run = new Run(budget, depth, formats, max)
  if (validatorOf(root).matches(value, run, undefined)) return undefined
  return run.mismatches.length > 0 ? run.mismatches : [{ path: [], message: 'does not match' }]
}

/** The mismatches of a value, formats aside. Most values match, so the first pass collects nothing. */
export const mismatchesOf = (
  root: SchemaNode, value: Data, budget: Budget, depth: number,
): readonly Mismatch[] => {
  const collect = (max: number) => evaluate(root, value, budget, depth, false, max)
  return collect(0) === undefined ? none : (collect(maxProblems) ?? none)
}

/** The problem of a check without a verdict. */
export const unchecked = (why: string): readonly SchemaProblem[] =>
  [{ kind: 'unchecked', path: '', message: `could not be judged${why}` }]

/**
 * Validates a value. The problems are mismatches or, if there are none, formats that do not hold. Paths are
 * JSON Pointers into the value.
 * @throws Exhausted; RangeError when the native stack does not suffice
 */
export const verdict = (
  { schema, problems }: SchemaReading, value: Data, budget: Budget, depth: number,
): readonly SchemaProblem[] => {
  if (schema === undefined) return unchecked(`: the schema cannot be used: ${problems[0]?.message ?? ''}`)
  const { root, formats } = schema
  const pass = (asserting: boolean, max: number) => evaluate(root, value, budget, depth, asserting, max)
  // Most values are valid, so the first pass collects no mismatches. A value that is valid with formats as
  // assertions is also valid without them, unless the formats are `entangled`.
  if (pass(formats === 'alone', 0) === undefined && formats !== 'entangled') return none
  const report = (kind: SchemaProblem['kind'], mismatches: readonly Mismatch[]): readonly SchemaProblem[] =>
    mismatches.map(({ path, message }) => ({ kind, path: clippedPointer(path, budget), message }))
  const mismatches = pass(false, maxProblems)
  if (mismatches !== undefined) return report('mismatch', mismatches)
  return formats === 'none' ? none : report('format', pass(true, maxProblems) ?? none)
}
