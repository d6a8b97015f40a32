import { isObject, type Json } from '../../protocol/json.js'
import type { Place, Resource } from '../document.js'
import { compile, type Compiled } from './compile.js'
import { Evaluated } from './evaluated.js'
import type { Run } from './run.js'

/** The resources that the evaluation has come through, innermost first (2020-12 core, 7.1). */
export interface Scope {
  readonly resource: Resource
  readonly outer: Scope | undefined
}

/**
 * Whether a value matches a schema, by the letter of its dialect.
 * @param seen is told what was looked at, when the schema is applied on behalf of another
 * @throws Spent when the run's allowance is used up
 */
export const evaluate = (place: Place, value: Json, run: Run, scope: Scope | undefined, seen: Evaluated | undefined): boolean => {
  if (!isObject(place.schema)) {
    run.spend(1)
    return place.schema || run.fail('nothing is allowed here (false)')
  }
  run.enter()
  const compiled = compiledOf(place)
  const inner = scope?.resource === place.resource ? scope : { resource: place.resource, outer: scope }
  const own = seen !== undefined || compiled.tracks ? new Evaluated() : undefined
  let valid = true
  for (const check of compiled.checks) {
    if (check(value, run, inner, own)) continue
    valid = false
    if (!run.collecting) break
  }
  if (valid && own !== undefined) seen?.merge(own, run)
  run.leave()
  return valid
}

// Compiled when first evaluated, once for each place: most schemas of a list are never used.
const cache = new WeakMap<Place, Compiled>()

const compiledOf = (place: Place): Compiled => {
  const known = cache.get(place)
  if (known !== undefined) return known
  const compiled = compile(place)
  cache.set(place, compiled)
  return compiled
}
