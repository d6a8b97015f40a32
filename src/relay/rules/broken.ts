import {
  isArray, isObject, mapped, member, omit, withMembers, type Json, type JsonObject, type Meter,
} from '#relay/protocol/json.js'
import { jsonSchemaKeywords, schemasIn } from '#relay/protocol/json-schema.js'
import { stepsAlong } from './problem.js'

type Steps = readonly (string | number)[]

/**
 * The schema without the keywords that have a broken value. It accepts whatever the rest of it accepts, but
 * where a keyword that accepts less when another accepts more, such as `if`, names a changed one in `$defs`.
 * @param places JSON Pointers into the schema, as findings have them
 * @param isTyped the schema must name the type object
 */
export const withoutBroken = (
  schema: Json, places: readonly string[], isTyped: boolean, meter: Meter,
): JsonObject => {
  let made = schema
  for (const place of places) {
    const steps = stepsAlong(made, place, meter)
    if (steps !== undefined) made = without(made, steps, meter)
  }
  if (!isObject(made)) return { type: 'object' }
  const wasTyped = isObject(schema) && member(schema, 'type') !== undefined
  const isWhole = places.includes('')
  return isTyped && (wasTyped || isWhole) && member(made, 'type') === undefined
    ? withMembers(made, { type: 'object' }, meter) : made
}

/** @param steps lead to a keyword or into its value, or to a subschema that is none */
const without = (schema: Json, [keyword, ...rest]: Steps, meter: Meter): JsonObject => {
  if (keyword === undefined || !isObject(schema)) return {}
  const name = String(keyword)
  const held = member(schema, name)
  const inside = nonMonotonic.has(name) || held === undefined ? undefined : within(held, name, rest, meter)
  const open = closing.filter(one => tells(name, one)).reduce(omit, schema)
  return inside === undefined
    ? (companions.get(name) ?? []).reduce(omit, omit(open, name))
    : withMembers(open, { [name]: inside }, meter)
}

/** The value of a keyword with a change in one of its subschemas; undefined where the keyword is left out. */
const within = (held: Json, keyword: string, steps: Steps, meter: Meter): Json | undefined => {
  const [step, ...rest] = steps
  const schemas = schemasIn(keyword)
  if (step === undefined || schemas === undefined) return undefined
  if (schemas === 'members') {
    const one = isObject(held) ? member(held, String(step)) : undefined
    return isObject(held) && one !== undefined
      ? withMembers(held, { [step]: without(one, rest, meter) }, meter) : undefined
  }
  if (!isArray(held)) return without(held, steps, meter)
  // Any value would fit a subschema that says nothing: as an alternative, it would make the others void.
  if (rest.length === 0) return undefined
  return mapped(held, meter, (one, index) => (index === step ? without(one, rest, meter) : one))
}

/** Keywords that accept less when a schema in them accepts more. */
const nonMonotonic: ReadonlySet<string> = new Set(['not', 'if', 'oneOf', 'contains'])

/** What would accept less without the keyword. */
const companions: ReadonlyMap<string, readonly string[]> = new Map([
  ['prefixItems', ['items']], ['minContains', ['contains']], ['properties', ['additionalProperties']],
  ['patternProperties', ['additionalProperties']],
])

/** Keywords that refuse what no other keyword has spoken of. */
const closing = ['unevaluatedProperties', 'unevaluatedItems']

const tells = (name: string, closed: string): boolean => {
  const { of, schemas, allowsMembers } = jsonSchemaKeywords.get(name) ?? {}
  if (name === closed) return false
  return closed === 'unevaluatedItems'
    ? (of === 'array' && schemas !== undefined) || allowsMembers === true
    : name === 'properties' || allowsMembers === true
}
