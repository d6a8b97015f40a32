import type { SchemaProblem } from '../../core/check.js'
import { isArray, isObject, isString, type Json } from '../../protocol/unmetered.js'
import { clip } from '../../protocol/quote.js'
import type { Budget } from '../budget.js'
import type { Place, Step } from '../place.js'
import { mismatchesOf, type Mismatch, type Reading } from '../evaluate.js'
import { keywordsOf, refersAlone } from '../keywords/index.js'
import { metaschemaOf, officialResource } from './official.js'
import { Reader, TooManySubschemas } from './reader.js'

export const unusable = (problems: readonly SchemaProblem[]): Reading => ({ schema: undefined, problems })

/**
 * Reads a schema that keeps the limits of bytes and depth: its dialect, ids and anchors, where its references lead; and validates it
 * by the meta-schema of its dialect.
 * @param subschemas the most that there may be
 * @param depth as for an evaluation
 * @throws Exhausted; RangeError when the native stack does not suffice
 */
export const read = (json: Json, subschemas: number, budget: Budget, depth: number): Reading => {
  const reader = new Reader(subschemas, budget, officialResource)
  try {
    const root = reader.open(json)
    reader.resolveReferences()
    for (const region of reader.regions) validateRegion(region, reader, depth)
    const cycle = root && findCycle(root, budget)
    if (cycle !== undefined) reader.report('schema', cycle, [], 'refers to itself without end ($ref)')
    if (root === undefined || reader.problems.length > 0) return unusable(reader.problems)
    const formats = !reader.formats ? 'none' : reader.turns ? 'entangled' : 'alone'
    return { schema: { root, formats }, problems: [] }
  } catch (error) {
    if (error instanceof TooManySubschemas) return unusable([{ kind: 'cost', path: '', message: 'has too many subschemas' }])
    throw error
  }
}

/** What lies in a region, and is of its dialect. */
const validateRegion = (region: Place, reader: Reader, depth: number): void => {
  const { regions, budget } = reader
  const { dialect } = region.resource
  budget.spend(5 * regions.length)
  const others = new Set(regions.filter(other => other.resource.dialect !== dialect).map(other => other.schema))
  const value = others.size === 0 ? region.schema : without(region.schema, others, budget)
  for (const mismatch of mismatchesOf(metaschemaOf(dialect).root, value, budget, depth)) {
    reader.report('schema', region, mismatch.path, inWords(mismatch, region, budget))
  }
}

/** A copy with empty schemas in place of some. */
const without = (json: Json, schemas: ReadonlySet<Json>, budget: Budget): Json => {
  budget.spend(10)
  if (isArray(json)) return json.map(item => without(item, schemas, budget))
  if (!isObject(json)) return json
  if (schemas.has(json)) return {}
  const keys = Object.keys(json)
  budget.spend(20 * keys.length)
  return Object.fromEntries(keys.map(key => [key, without(json[key] ?? null, schemas, budget)]))
}

/** The meta-schema speaks of its own keywords; what is meant is the keyword of the schema that has the wrong value. */
const inWords = ({ path, message }: Mismatch, region: Place, budget: Budget): string => {
  let place = region
  let steps: Step[] = []
  let length = 0
  for (const step of path) {
    steps.push(step)
    length += isString(step) ? step.length : 0
    budget.spend(20 * steps.length + length)
    const child = place.child(...steps)
    if (child === undefined) continue
    place = child
    steps = []
    length = 0
  }
  const [name] = steps
  if (name === undefined) return message
  const keyword = keywordsOf(place.resource.dialect).get(String(name))
  return `${keyword?.expected ?? message.replace(/ \([$\w]+\)$/, '')} (${clip(String(name))})`
}

/** What a schema applies by its dialect's keywords: to the same value, and to what is below it. What only the dynamic scope finds is not known here. */
const appliedBy = (place: Place): { readonly here: readonly Place[]; readonly below: readonly Place[] } => {
  const here = [...place.targets.values()].map(target => target.place)
  const below: Place[] = []
  if (refersAlone(place)) return { here, below }
  const keywords = keywordsOf(place.resource.dialect)
  const has = (keyword: string) => typeof place.schema === 'object' && Object.hasOwn(place.schema, keyword)
  for (const child of place.children) {
    const keyword = keywords.get(String(child.steps[0]))
    if (keyword?.applies === 'here' && (keyword.needs === undefined || has(keyword.needs))) here.push(child)
    else if (keyword?.applies === 'below') below.push(child)
  }
  return { here, below }
}

/**
 * A schema that leads back to itself without going down into the value: evaluating it would never end. One that is never applied
 * cannot do any harm.
 */
const findCycle = (root: Place, budget: Budget): Place | undefined => {
  const done = new Set<Place>()
  const open = new Set<Place>()
  const starts = [root]
  for (const start of starts) {
    // An explicit stack: a chain of references may be as long as there are schemas.
    const stack: { place: Place; rest: Place[] }[] = []
    const enter = (place: Place) => {
      const { here, below } = appliedBy(place)
      budget.spend(30 + 10 * (here.length + below.length))
      starts.push(...below)
      open.add(place)
      stack.push({ place, rest: [...here] })
    }
    if (!done.has(start)) enter(start)
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const next = top.rest.pop()
      if (next === undefined) {
        open.delete(top.place)
        done.add(top.place)
        stack.pop()
      } else if (open.has(next)) return next
      else if (!done.has(next)) enter(next)
    }
  }
  return undefined
}
