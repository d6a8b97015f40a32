import {
  each, equal, isArray, isObject, isString, lengthOf, mapped, member, type Json, type JsonArray,
  type JsonObject, type Meter,
} from '#protocol/json.js'
import { isAnnotation } from './accepts.js'

/** Keywords that mean something only together. */
const groups = [
  ['if', 'then', 'else'], ['contains', 'minContains', 'maxContains'], ['prefixItems', 'items'],
]

/**
 * A schema that accepts each value that both schemas accept, and perhaps more. If both have a keyword whose
 * two values cannot be combined, the value from the first schema stays.
 */
export const merged = (first: JsonObject, second: JsonObject, meter: Meter): JsonObject => {
  const made = new Map<string, Json>(each(first, meter))
  for (const [keyword, value] of each(second, meter)) {
    const own = member(first, keyword)
    const group = groups.find(names => names.includes(keyword))
    if (keyword.startsWith('unevaluated')) continue
    if (own !== undefined) made.set(keyword, common(keyword, own, value, meter))
    else if (group?.some(name => member(first, name) !== undefined) !== true) made.set(keyword, value)
  }
  // What these may apply to depends on the other keywords of one schema.
  made.delete('unevaluatedProperties')
  made.delete('unevaluatedItems')
  return Object.fromEntries(made)
}

const common = (keyword: string, first: Json, second: Json, meter: Meter): Json => {
  switch (keyword) {
    case 'properties':
    case 'patternProperties':
      return isObject(first) && isObject(second) ? members(first, second, meter) : first
    case 'required': {
      if (!isArray(first) || !isArray(second)) return first
      return [...new Set([...each(first, meter), ...each(second, meter)].map(([, name]) => name))]
    }
    case 'type':
      return types(first, second, meter)
    case 'enum': {
      if (!isArray(first) || !isArray(second)) return first
      const kept = mapped(first, meter, one => (includes(second, one, meter) ? one : undefined))
      return kept.length > 0 ? kept : first
    }
    case 'allOf':
      return isArray(first) && isArray(second)
        ? [...elements(first, meter), ...elements(second, meter)]
        : first
    case 'additionalProperties':
      return second === false ? false : first
    default:
      return first
  }
}

const members = (first: JsonObject, second: JsonObject, meter: Meter): JsonObject => {
  const made = new Map<string, Json>(each(first, meter))
  for (const [name, schema] of each(second, meter)) {
    const own = member(first, name)
    if (own === undefined || own === true) made.set(name, schema)
    else if (isObject(own) && isObject(schema)) made.set(name, merged(own, schema, meter))
    else if (schema === false) made.set(name, false)
  }
  return Object.fromEntries(made)
}

const types = (first: Json, second: Json, meter: Meter): Json => {
  const [a, b] = [typesOf(first, meter), typesOf(second, meter)]
  const shared = a.flatMap(type => {
    if (b.includes(type)) return [type]
    if (type === 'number' && b.includes('integer')) return ['integer']
    return type === 'integer' && b.includes('number') ? ['integer'] : []
  })
  return shared.length === 0 ? first : shared.length === 1 ? (shared[0] ?? first) : shared
}

export const typesOf = (type: Json | undefined, meter: Meter): readonly string[] => {
  if (isString(type)) return [type]
  return isArray(type) ? elements(type, meter).filter(isString) : []
}

/** The name of a value's type. */
export const typeOf = (value: Json): string =>
  (value === null ? 'null' : isArray(value) ? 'array' : typeof value)

/** Whether it accepts every value. */
export const acceptsAnything = (schema: Json, meter: Meter): boolean =>
  schema === true ||
  (isObject(schema) && [...each(schema, meter)].every(([keyword]) => isAnnotation(keyword)))

export const elements = (array: JsonArray, meter: Meter): readonly Json[] =>
  [...each(array, meter)].map(([, element]) => element)

export const includes = (array: JsonArray, value: Json, meter: Meter): boolean =>
  elements(array, meter).some(one => equal(one, value))

/** Merges alternative schemas of objects into one schema that accepts what at least one of them accepts. */
export const mergedAlternatives = (
  branches: readonly JsonObject[], meter: Meter, alternatives: (schemas: readonly Json[]) => Json,
): JsonObject => {
  const namesOf = (branch: JsonObject) => [...each(propertiesOf(branch), meter)].map(([name]) => name)
  const names = new Set(branches.flatMap(namesOf))
  const properties = [...names].map((name): [string, Json] => {
    meter.pay(branches.length)
    const schemas = branches.map(branch => schemaOfMember(branch, name)).filter(schema => schema !== false)
    const different = [...new Map(schemas.map(one => [textOf(one, meter), one])).values()]
    return [name, different.length === 1 ? (different[0] ?? true) : alternatives(different)]
  })
  const [first, ...others] = branches.map(branch => requiredOf(branch, meter))
  meter.pay((first?.length ?? 0) * others.length)
  const sets = others.map(names => new Set(names))
  const required = (first ?? []).filter(name => sets.every(names => names.has(name)))
  const isClosed = branches.every(branch => member(branch, 'additionalProperties') === false)
  return {
    ...(properties.length > 0 && { properties: Object.fromEntries(properties) }),
    ...(required.length > 0 && { required: [...required] }),
    ...(isClosed && branches.every(branch => member(branch, 'patternProperties') === undefined) && {
      additionalProperties: false,
    }),
  }
}

const textOf = (schema: Json, meter: Meter): string => {
  const text = JSON.stringify(schema)
  meter.payText(text)
  return text
}

/** What a schema says of a member: false when it may not be there. */
const schemaOfMember = (branch: JsonObject, name: string): Json => {
  const own = member(propertiesOf(branch), name)
  if (own !== undefined) return own
  const isPatterned = member(branch, 'patternProperties') !== undefined
  return isPatterned || (member(branch, 'additionalProperties') ?? true)
}

export const propertiesOf = (schema: JsonObject): JsonObject => {
  const properties = member(schema, 'properties')
  return isObject(properties) ? properties : {}
}

export const requiredOf = (schema: JsonObject, meter: Meter): readonly string[] => {
  const required = member(schema, 'required')
  return isArray(required) && lengthOf(required) > 0 ? elements(required, meter).filter(isString) : []
}
