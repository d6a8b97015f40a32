import {
  each, isArray, isObject, isString, lengthOf, mapped, member, omit, type Json, type JsonArray,
  type JsonObject, type Meter,
} from '#relay/protocol/json.js'
import { jsonSchemaKeywords } from '#relay/protocol/json-schema.js'
import { anySchema, type Rewriting } from './node.js'

/** Keywords that mean something only together. */
const groups = [
  ['if', 'then', 'else'], ['contains', 'minContains', 'maxContains'], ['prefixItems', 'items'],
]

/**
 * A schema that accepts each value that both schemas accept, and perhaps more. If both have a keyword whose
 * two values cannot be combined, the value from the first schema stays.
 */
export const merged = (first: JsonObject, second: JsonObject, rewriting: Rewriting): JsonObject => {
  const { meter, rules } = rewriting
  const made = new Map<string, Json>(each(first, meter))
  for (const [keyword, value] of each(second, meter)) {
    const own = member(first, keyword)
    const group = groups.find(names => names.includes(keyword))
    if (keyword.startsWith('unevaluated')) continue
    if (own !== undefined) made.set(keyword, common(keyword, own, value, rewriting))
    else if (group?.some(name => member(first, name) !== undefined) !== true) made.set(keyword, value)
  }
  // What these may apply to depends on the other keywords of one schema.
  made.delete('unevaluatedProperties')
  made.delete('unevaluatedItems')
  const whole = Object.fromEntries(made)
  return rules.untypedUnions === true && isTypedUnion(whole) ? untyped(whole, rewriting) : whole
}

/** Merges schemas in pairs, so that no member is copied more often than there are rounds. */
export const mergedAll = (schemas: readonly JsonObject[], rewriting: Rewriting): JsonObject => {
  let left = schemas
  while (left.length > 1) {
    left = left.flatMap((first, index) => {
      const second = left[index + 1]
      return index % 2 === 1 ? [] : [second === undefined ? first : merged(first, second, rewriting)]
    })
  }
  return left[0] ?? {}
}

const common = (keyword: string, first: Json, second: Json, rewriting: Rewriting): Json => {
  const { meter } = rewriting
  switch (keyword) {
    case 'properties':
    case 'patternProperties':
      return isObject(first) && isObject(second) ? members(first, second, rewriting) : first
    case 'required': {
      if (!isArray(first) || !isArray(second)) return first
      return [...new Set([...each(first, meter), ...each(second, meter)].map(([, name]) => name))]
    }
    case 'type':
      return types(first, second, meter)
    case 'enum': {
      if (!isArray(first) || !isArray(second)) return first
      // Objects and lists are not compared: that may take long, and the result may be wider.
      const others = new Set(elements(second, meter))
      if (![...others, ...elements(first, meter)].every(isScalar)) return first
      const kept = mapped(first, meter, one => (others.has(one) ? one : undefined))
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

const members = (first: JsonObject, second: JsonObject, rewriting: Rewriting): JsonObject => {
  const { meter } = rewriting
  const made = new Map<string, Json>(each(first, meter))
  // Copying a member takes longer than looking at it.
  meter.pay(4 * made.size)
  for (const [name, schema] of each(second, meter)) {
    const own = member(first, name)
    if (own === undefined || own === true) made.set(name, schema)
    else if (isObject(own) && isObject(schema)) made.set(name, merged(own, schema, rewriting))
    else if (schema === false) made.set(name, false)
  }
  return Object.fromEntries(made)
}

export const isTypedUnion = (schema: JsonObject): boolean =>
  member(schema, 'type') !== undefined && isArray(member(schema, 'anyOf'))

/** The type of a union goes into the alternatives that have none. */
export const untyped = (schema: JsonObject, { meter, rules }: Rewriting): JsonObject => {
  const [type = 'object', union] = [member(schema, 'type'), member(schema, 'anyOf')]
  if (!isArray(union)) return schema
  const branches = mapped(union, meter, branch =>
    !isObject(branch) || member(branch, 'type') !== undefined || member(branch, 'anyOf') !== undefined
      ? branch
      : { type, ...(type === 'array' && { items: anySchema(rules) }), ...copy(branch, meter) })
  return { ...copy(omit(schema, 'type'), meter), anyOf: branches }
}

const types = (first: Json, second: Json, meter: Meter): Json => {
  const [a, b] = [schemaTypes(first, meter), schemaTypes(second, meter)]
  const shared = a.flatMap(type => {
    if (b.includes(type)) return [type]
    if (type === 'number' && b.includes('integer')) return ['integer']
    return type === 'integer' && b.includes('number') ? ['integer'] : []
  })
  return shared.length === 0 ? first : shared.length === 1 ? (shared[0] ?? first) : shared
}

const isScalar = (value: Json): boolean => typeof value !== 'object' || value === null

export const isTyped = (type: Json | undefined, wanted: string): boolean =>
  type === wanted || (isArray(type) && Array.prototype.includes.call(type, wanted))

/** Whether it asserts nothing, so that leaving it out changes no verdict on arguments. */
export const isAnnotation = (keyword: string): boolean => {
  const known = jsonSchemaKeywords.get(keyword)
  if (known === undefined || known.asserts !== undefined) return true
  return /^\$|^format$/.test(keyword) && !/Ref$|^\$ref$/.test(keyword)
}

export const schemaTypes = (type: Json | undefined, meter: Meter): readonly string[] => {
  if (isString(type)) return [type]
  return isArray(type) ? elements(type, meter).filter(isString) : []
}

/** The name of a value's type. */
export const schemaType = (value: Json): string =>
  (value === null ? 'null' : isArray(value) ? 'array' : typeof value)

/** Whether it accepts every value. */
export const acceptsAnything = (schema: Json, meter: Meter): boolean =>
  schema === true
  || (isObject(schema) && [...each(schema, meter)].every(([keyword]) => isAnnotation(keyword)))

export const copy = (schema: JsonObject, meter: Meter): Record<string, Json> =>
  Object.fromEntries(each(schema, meter))

export const elements = (array: JsonArray, meter: Meter): readonly Json[] =>
  [...each(array, meter)].map(([, element]) => element)

export const propertiesOf = (schema: JsonObject): JsonObject => {
  const properties = member(schema, 'properties')
  return isObject(properties) ? properties : {}
}

export const requiredOf = (schema: JsonObject, meter: Meter): readonly string[] => {
  const required = member(schema, 'required')
  return isArray(required) && lengthOf(required) > 0 ? elements(required, meter).filter(isString) : []
}
