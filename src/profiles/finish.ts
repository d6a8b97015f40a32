import {
  each, isArray, isObject, isString, mapped, member, omit, type Json, type JsonObject, type Meter,
} from '#protocol/json.js'
import { jsonSchemaKeywords } from '#protocol/json-schema.js'
import { isTyped } from './accepts.js'
import { elements, propertiesOf, requiredOf, typeOf, typesOf } from './merge.js'
import type { SchemaRules } from './profile.js'

/**
 * Stands for any value in a strict profile. Allows only scalars, because objects must name their members.
 */
const anyStrict: JsonObject = { type: ['string', 'number', 'boolean', 'null'] }

/** The schema of any value, in the language of a profile. */
export const anySchema = ({ isStrict, noBooleans }: SchemaRules): Json =>
  isStrict === true ? anyStrict : noBooleans === true ? {} : true

/**
 * The last step for each schema, whose keywords the profile knows by now. Rewrites lists of types, types
 * beside unions, missing `items`, and whatever a strict profile demands. The result accepts every value
 * that the schema accepts, except for a strict profile.
 * @param level how many objects are around the schema
 */
export const withProfileRules = (
  schema: JsonObject, rules: SchemaRules, level: number, meter: Meter,
): JsonObject => {
  const one = rules.typeLists === 'null' ? separated(schema, meter) : schema
  const typed = rules.untypedUnions === true ? untyped(one, meter) : one
  const whole = rules.requiredIsDeclared === true ? declared(typed, rules, meter) : typed
  const strict = rules.isStrict === true ? closed(whole, rules, level, meter) : whole
  return rules.needsItems === true && isTyped(member(strict, 'type'), 'array') &&
    member(strict, 'items') === undefined
    ? { ...copy(strict, meter), items: anySchema(rules) === true ? {} : anySchema(rules) }
    : strict
}

const copy = (schema: JsonObject, meter: Meter): Record<string, Json> =>
  Object.fromEntries(each(schema, meter))

/** A list of types becomes alternatives; null may stand beside one type. */
const separated = (schema: JsonObject, meter: Meter): JsonObject => {
  const list = member(schema, 'type')
  if (!isArray(list)) return schema
  const types = typesOf(list, meter)
  const others = types.filter(type => type !== 'null')
  const left = omit(schema, 'type')
  if (types.length === 1) return { ...copy(left, meter), type: types[0] ?? 'null' }
  if (others.length === 1 && types.length === 2) return schema
  if (member(schema, 'anyOf') !== undefined) return left
  const made = new Map<string, Json>()
  const branches = new Map(types.map(type => [type, new Map<string, Json>([['type', type]])]))
  for (const [keyword, value] of each(left, meter)) {
    const of = jsonSchemaKeywords.get(keyword)?.of
    const its = types.filter(type => type === of || (of === 'number' && type === 'integer'))
    if (of === undefined) made.set(keyword, value)
    for (const type of its) branches.get(type)?.set(keyword, value)
  }
  // If the profile left an `enum` here, all its values are strings.
  if (made.has('enum')) return { ...Object.fromEntries(made), type: 'string' }
  const needy = branches.get('array')
  if (needy !== undefined && !needy.has('items')) needy.set('items', {})
  return { ...Object.fromEntries(made), anyOf: [...branches.values()].map(one => Object.fromEntries(one)) }
}

/** The type of a union goes into the alternatives that have none. */
const untyped = (schema: JsonObject, meter: Meter): JsonObject => {
  const [type, union] = [member(schema, 'type'), member(schema, 'anyOf')]
  if (type === undefined || !isArray(union)) return schema
  const branches = mapped(union, meter, branch =>
    !isObject(branch) || member(branch, 'type') !== undefined || member(branch, 'anyOf') !== undefined
      ? branch : { type, ...copy(branch, meter) })
  return { ...copy(omit(schema, 'type'), meter), anyOf: branches }
}

/** Names that are required, but not declared: a strict profile declares them, others do not name them. */
const declared = (schema: JsonObject, rules: SchemaRules, meter: Meter): JsonObject => {
  const names = requiredOf(schema, meter)
  const properties = propertiesOf(schema)
  const missing = names.filter(name => member(properties, name) === undefined)
  if (missing.length === 0) return schema
  if (rules.isStrict === true) {
    const added = missing.map((name): [string, Json] => [name, anyStrict])
    return { ...copy(schema, meter), properties: Object.fromEntries([...each(properties, meter), ...added]) }
  }
  const kept = names.filter(name => member(properties, name) !== undefined)
  return kept.length === 0 ? omit(schema, 'required') : { ...copy(schema, meter), required: [...kept] }
}

/** Every object lists all its members, all of them are required, and the optional ones may be null. */
const closed = (schema: JsonObject, rules: SchemaRules, level: number, meter: Meter): JsonObject => {
  const said = saying(schema, meter)
  const isAnObject = isTyped(member(said, 'type'), 'object') || member(said, 'properties') !== undefined
  if (!isAnObject) return said
  if (level >= (rules.depth ?? Infinity)) {
    const about = member(schema, 'description')
    return { ...(about !== undefined && { description: about }), ...copy(anyStrict, meter) }
  }
  const properties = propertiesOf(said)
  const required = new Set(requiredOf(said, meter))
  const all = mapped(properties, meter, (one, name) =>
    (required.has(name) || !isObject(one) ? one : nullable(one, meter)))
  return {
    ...copy(said, meter), ...(member(said, 'type') === undefined && { type: 'object' }), properties: all,
    required: [...each(all, meter)].map(([name]) => name), additionalProperties: false,
  }
}

/** The schema with a type, if it says none. */
const saying = (schema: JsonObject, meter: Meter): JsonObject => {
  if (['type', 'anyOf', '$ref', 'properties'].some(keyword => member(schema, keyword) !== undefined)) return schema
  const values = member(schema, 'enum')
  const kinds = isArray(values) ? [...new Set(elements(values, meter).map(typeOf))] : []
  const of = [...each(schema, meter)].map(([keyword]) => jsonSchemaKeywords.get(keyword)?.of)
    .find(type => type !== undefined)
  const found = kinds.length > 0 ? kinds : of !== undefined ? [of] : undefined
  const type = found === undefined ? anyStrict['type'] : found.length === 1 ? found[0] : found
  return { ...copy(schema, meter), type: type ?? 'string' }
}

/** The schema, which accepts null too. */
const nullable = (schema: JsonObject, meter: Meter): JsonObject => {
  const [type, union, values] = [member(schema, 'type'), member(schema, 'anyOf'), member(schema, 'enum')]
  const made = copy(schema, meter)
  if (isArray(values) && !elements(values, meter).includes(null)) made['enum'] = [...elements(values, meter), null]
  if (isArray(union)) {
    const isNull = (one: Json) => isObject(one) && isTyped(member(one, 'type'), 'null')
    if (type === undefined && !elements(union, meter).some(isNull))
      made['anyOf'] = [...elements(union, meter), { type: 'null' }]
  } else if (isString(member(schema, '$ref'))) return { anyOf: [schema, { type: 'null' }] }
  const types = typesOf(type, meter)
  if (types.length > 0 && !types.includes('null')) made['type'] = [...types, 'null']
  return made
}
