import {
  each, isArray, isObject, isString, mapped, member, omit, type Json, type JsonObject, type Meter,
} from '#relay/protocol/json.js'
import { jsonSchemaKeywords } from '#relay/protocol/json-schema.js'
import {
  copy, elements, isTyped, isTypedUnion, propertiesOf, requiredOf, schemaType, schemaTypes, untyped,
} from './merge.js'
import { anySchema, type Node, type Rewriting } from './node.js'
import type { SchemaRules } from './profile.js'

/**
 * The last step for each schema, whose keywords the profile knows by now. Rewrites lists of types, types
 * beside unions, missing `items`, and whatever a strict profile demands. The result accepts every value
 * that the schema accepts, except for a strict profile.
 */
export const withProfileRules = (schema: JsonObject, node: Node, rewriting: Rewriting): JsonObject => {
  const { rules, meter } = rewriting
  const { oneType, untypedUnions, requiredIsDeclared, isStrict, needsItems } = rules
  const refuse = (message: string) => rewriting.refuse(node.place, message)
  let made = schema
  if (oneType === true && isArray(member(made, 'type'))) {
    refuse('takes one type')
    made = separated(made, meter, branch => withProfileRules(branch, node, rewriting))
  }
  if (untypedUnions === true && isTypedUnion(made)) {
    made = untyped(made, rewriting)
    refuse('takes no type beside anyOf')
  }
  if (requiredIsDeclared === true) made = declared(made, rules, meter, refuse)
  if (isStrict === true) made = closed(made, node.place.level, rewriting, refuse)
  if (needsItems === true && isTyped(member(made, 'type'), 'array') && member(made, 'items') === undefined) {
    made = { ...copy(made, meter), items: anySchema(rules) }
    refuse('needs items for an array')
  }
  return made
}

/** A list of types becomes alternatives. */
const separated = (
  schema: JsonObject, meter: Meter, finished: (branch: JsonObject) => JsonObject,
): JsonObject => {
  const types = schemaTypes(member(schema, 'type'), meter)
  const left = omit(schema, 'type')
  const [first, ...more] = types
  if (first !== undefined && more.length === 0) return { ...copy(left, meter), type: first }
  if (first === undefined || member(schema, 'anyOf') !== undefined) return left
  const made = new Map<string, Json>()
  const branches = new Map(types.map(type => [type, new Map<string, Json>([['type', type]])]))
  const main = types.find(type => type !== 'null') ?? first
  for (const [keyword, value] of each(left, meter)) {
    const of = keyword === 'format' ? main : jsonSchemaKeywords.get(keyword)?.of
    const its = types.filter(type => type === of || (of === 'number' && type === 'integer'))
    if (of === undefined) made.set(keyword, value)
    for (const type of its) branches.get(type)?.set(keyword, value)
  }
  // If the profile left an `enum` here, all its values are strings.
  if (made.has('enum')) return { ...Object.fromEntries(made), type: 'string' }
  const all = [...branches.values()].map(one => finished(Object.fromEntries(one)))
  return { ...Object.fromEntries(made), anyOf: all }
}

type Refuse = (message: string) => void

/** Names that are required, but not declared: a strict profile declares them, others do not name them. */
const declared = (schema: JsonObject, rules: SchemaRules, meter: Meter, refuse: Refuse): JsonObject => {
  const names = requiredOf(schema, meter)
  const properties = propertiesOf(schema)
  const missing = names.filter(name => member(properties, name) === undefined)
  if (missing.length === 0) return schema
  refuse('takes only names in required that are in properties')
  if (rules.isStrict === true) {
    const added = missing.map((name): [string, Json] => [name, anySchema(rules)])
    return { ...copy(schema, meter), properties: Object.fromEntries([...each(properties, meter), ...added]) }
  }
  const kept = names.filter(name => member(properties, name) !== undefined)
  return kept.length === 0 ? omit(schema, 'required') : { ...copy(schema, meter), required: [...kept] }
}

/** Every object lists all its members, all of them are required, and the optional ones may be null. */
const closed = (
  schema: JsonObject, level: number, { rules, meter, knows }: Rewriting, refuse: Refuse,
): JsonObject => {
  const said = saying(schema, rules, meter)
  if (said !== schema) refuse('needs a type')
  const isAnObject = isTyped(member(said, 'type'), 'object') || member(said, 'properties') !== undefined
  if (!isAnObject) return said
  const { depth = Infinity } = rules
  if (level >= depth) {
    refuse(`takes objects of ${depth} levels at most`)
    const about = member(schema, 'description')
    return { ...(about !== undefined && { description: about }), ...copy(anySchema(rules), meter) }
  }
  const properties = propertiesOf(said)
  const required = new Set(requiredOf(said, meter))
  const all = mapped(properties, meter, (one, name) => {
    if (required.has(name)) return one
    refuse('needs all properties in required')
    return isObject(one) ? nullable(one, rules, meter) : one
  })
  if (knows('additionalProperties') && member(said, 'additionalProperties') !== false)
    refuse('needs "additionalProperties": false: only members that are named can be given')
  return {
    ...copy(said, meter), ...(member(said, 'type') === undefined && { type: 'object' }), properties: all,
    required: [...each(all, meter)].map(([name]) => name),
    // Two profiles together may demand and refuse it. A client that demands it adds it to what lacks it.
    ...(knows('additionalProperties') && { additionalProperties: false }),
  }
}

/** The schema with a type, if it says none. */
const saying = (schema: JsonObject, rules: SchemaRules, meter: Meter): JsonObject => {
  if (['type', 'anyOf', '$ref', 'properties'].some(keyword => member(schema, keyword) !== undefined)) return schema
  const values = member(schema, 'enum')
  const kinds = isArray(values) ? [...new Set(elements(values, meter).map(schemaType))] : []
  const of = [...each(schema, meter)].map(([keyword]) => jsonSchemaKeywords.get(keyword)?.of)
    .find(type => type !== undefined)
  const found = kinds.length > 0 ? kinds : of !== undefined ? [of] : []
  const [first] = found
  return first === undefined
    ? { ...copy(schema, meter), ...copy(anySchema(rules), meter) }
    : { ...copy(schema, meter), type: found.length === 1 ? first : found }
}

/** The schema, which accepts null too. */
const nullable = (schema: JsonObject, { oneType }: SchemaRules, meter: Meter): JsonObject => {
  const [type, union, values] = [member(schema, 'type'), member(schema, 'anyOf'), member(schema, 'enum')]
  const types = schemaTypes(type, meter)
  const isNull = (one: Json) => isObject(one) && isTyped(member(one, 'type'), 'null')
  if (isArray(union) && type === undefined) {
    const branches = elements(union, meter)
    return branches.some(isNull) ? schema : { ...copy(schema, meter), anyOf: [...branches, { type: 'null' }] }
  }
  if (isString(member(schema, '$ref')) || (oneType === true && types.length > 0 && !types.includes('null'))) {
    const about = member(schema, 'description')
    const whole = { anyOf: [about === undefined ? schema : omit(schema, 'description'), { type: 'null' }] }
    return about === undefined ? whole : { description: about, ...whole }
  }
  const made = copy(schema, meter)
  if (isArray(values) && !elements(values, meter).includes(null)) made['enum'] = [...elements(values, meter), null]
  if (types.length > 0 && !types.includes('null')) made['type'] = [...types, 'null']
  return made
}
