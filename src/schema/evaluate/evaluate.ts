import type { Json } from '../../protocol/json.js'
import type { Place, Resource } from '../document.js'
import { compile } from './compile.js'
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
  if (typeof place.schema === 'boolean') {
    run.spend(1)
    return place.schema || run.fail('nothing is allowed here (false)')
  }
  run.enter()
  const compiled = (place.compiled ??= compile(place, run))
  const inner = scope?.resource === place.resource ? scope : { resource: place.resource, outer: scope }
  const own = seen !== undefined || compiled.tracks ? new Evaluated(run) : undefined
  let valid = true
  for (const check of compiled.checks) {
    if (check(value, run, inner, own)) continue
    valid = false
    if (!run.collecting) break
  }
  if (valid && own !== undefined) seen?.merge(own)
  run.leave()
  return valid
}

/** Evaluates a member or an item of the value that is being evaluated. */
export const below = (place: Place, key: string | number, child: Json, run: Run, scope: Scope): boolean => {
  if (!run.tracing) return evaluate(place, child, run, scope, undefined)
  run.path.push(key)
  const valid = evaluate(place, child, run, scope, undefined)
  run.path.pop()
  return valid
}
