import { isObject, isString, member, type Json } from '../../protocol/json.js'
import { isLegacy, type Dialect } from '../dialect.js'
import type { Place } from '../document.js'
import { arrays } from './arrays.js'
import { assertions } from './assertions.js'
import { combinations } from './combinations.js'
import type { Scope } from './evaluate.js'
import type { Evaluated } from './evaluated.js'
import { objects } from './objects.js'
import { references } from './references.js'
import type { Run } from './run.js'
import { unevaluated } from './unevaluated.js'

/** One keyword of one schema, applied to a value. `seen` is given where somebody goes by what was evaluated. */
export type Check = (value: Json, run: Run, scope: Scope, seen: Evaluated | undefined) => boolean

/** Makes the check of a keyword from its value and its place; undefined when there is nothing to check. */
export interface Keyword {
  readonly name: string
  /** The dialects that have it; all when absent. */
  readonly dialects?: readonly Dialect[]
  check(value: Json, place: Place, run: Run): Check | undefined
}

export interface Compiled {
  readonly checks: readonly Check[]
  /** Whether the schema itself goes by what was evaluated. */
  readonly tracks: boolean
}

/** In the order of evaluation: what is cheap and says most first, what depends on the others last. */
const keywords: readonly Keyword[] = [...assertions, ...references, ...objects, ...arrays, ...combinations, ...unevaluated]

/** What of a schema says something of a value; up to draft-07 nothing does that stands beside a reference. */
export const keywordsAt = ({ schema, resource: { dialect } }: Place): readonly Keyword[] => {
  if (!isObject(schema)) return []
  const alone = isLegacy(dialect) && isString(member(schema, '$ref'))
  return (alone ? references : keywords).filter(
    ({ name, dialects }) => Object.hasOwn(schema, name) && dialects?.includes(dialect) !== false,
  )
}

/** Making the checks is work too, and charged to the evaluation that is the first to need them. */
export const compile = (place: Place, run: Run): Compiled => {
  run.spend(200)
  const { schema } = place
  const checks: Check[] = []
  let tracks = false
  for (const keyword of keywordsAt(place)) {
    const value = isObject(schema) ? member(schema, keyword.name) : undefined
    const check = value === undefined ? undefined : keyword.check(value, place, run)
    if (check === undefined) continue
    checks.push(check)
    tracks ||= unevaluated.includes(keyword)
  }
  return { checks, tracks }
}
