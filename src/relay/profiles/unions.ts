import {
  each, isArray, isObject, member, omit, withMembers, type Json, type JsonObject, type Meter,
} from '#relay/protocol/json.js'
import { acceptsAnything, elements, isTyped, merged, propertiesOf, requiredOf } from './merge.js'
import { anySchema, nodeBeside, put, type Node, type Rewriting } from './node.js'
import { describe, described } from './words.js'

/** The simplest schema that accepts what at least one of the schemas accepts. */
export const anyOf = (schemas: readonly Json[], { rules, meter, knows }: Rewriting): Json => {
  const [first, ...others] = schemas
  const known = schemas.filter(schema => !acceptsAnything(schema, meter))
  if (first === undefined || known.length < schemas.length) return withWords(anySchema(rules), known, meter)
  if (others.length === 0) return first
  const values = knows('enum') ? enumerated(schemas, meter) : undefined
  return values ?? (knows('anyOf') ? { anyOf: [...schemas] } : withWords(anySchema(rules), known, meter))
}

/** The schema of any value, which tells the model what is usual. */
const withWords = (any: JsonObject, schemas: readonly Json[], meter: Meter): JsonObject => {
  const [first, ...others] = schemas
  if (first === undefined) return any
  const about = others.length === 0 && isObject(first) ? member(first, 'description') : undefined
  return withMembers(any, { description: described(about, [describe(schemas, meter)]) }, meter)
}

/** One list of values in place of alternatives that are nothing else, such as constants. */
const enumerated = (schemas: readonly Json[], meter: Meter): JsonObject | undefined => {
  const values: Json[] = []
  const types = new Set<Json | undefined>()
  for (const schema of schemas) {
    if (!isObject(schema)) return undefined
    const [only, list, type] = [member(schema, 'const'), member(schema, 'enum'), member(schema, 'type')]
    if ([...each(schema, meter)].some(([keyword]) => !/^(?:const|enum|type)$/.test(keyword))) return undefined
    if ((only === undefined) !== isArray(list)) return undefined
    types.add(type)
    values.push(...(isArray(list) ? elements(list, meter) : [only ?? null]))
  }
  if (types.size !== 1 || !values.every(value => typeof value !== 'object')) return undefined
  const [type] = types
  return { ...(type !== undefined && { type }), enum: [...new Set(values)] }
}

/** Rewrites `anyOf` or `oneOf` for the profile. */
export const union = (
  node: Node, keyword: 'anyOf' | 'oneOf', value: Json, rewriting: Rewriting,
): void => {
  const { keywords, place, source } = node
  const { meter, knows } = rewriting
  if (!isArray(value)) return void keywords.set(keyword, value)
  const sources = elements(value, meter)
  const widened = sources.map((one, index) => rewriting.rewritten(one, nodeBeside(place, keyword, index)))
  const isExact = widened.every(one => one.isExact)
  const schemas = widened.map(({ schema }) => schema).filter(schema => schema !== false)
  const tell = () =>
    node.notes.push(`${keyword === 'oneOf' ? 'exactly one of' : 'one of'}: ${describe(sources, meter)}`)
  if (schemas.length === 0 || schemas.some(schema => acceptsAnything(schema, meter))) {
    // The union is left out: the keywords beside it decide. Members that its branches evaluated no longer
    // count for `unevaluatedProperties`, so the result is not exact.
    node.isExact = false
    if (sources.some(schema => !acceptsAnything(schema, meter))) tell()
  } else if (keyword === 'oneOf' && knows('oneOf') && isExact) keywords.set('oneOf', schemas)
  else {
    node.isExact &&= keyword === 'anyOf' && isExact
    // `folded` may later merge the branches of this union into one object. If the schema has `anyOf` and
    // `oneOf`, the `oneOf` becomes an `anyOf` inside `allOf`.
    if (member(source, 'anyOf') === undefined || keyword === 'anyOf') {
      if (knows('anyOf')) return void keywords.set('anyOf', schemas)
    } else if (rewriting.isTaken(node, 'allOf')) return void node.otherSchemas.push({ allOf: [{ anyOf: schemas }] })
    node.isExact = false
    tell()
  }
}

/** Rewrites `allOf` for the profile. */
export const intersection = (node: Node, value: Json, rewriting: Rewriting): void => {
  if (!isArray(value)) return void node.keywords.set('allOf', value)
  const widened = elements(value, rewriting.meter)
    .map((one, index) => rewriting.rewritten(one, nodeBeside(node.place, 'allOf', index)))
  const schemas = widened.map(one => rewriting.spelled(one))
  const isExact = widened.every(({ schema, isExact }, index) => isExact && schema === schemas[index])
  if (rewriting.isTaken(node, 'allOf')) return put(node, 'allOf', { schema: schemas, isExact })
  node.isExact &&= isExact && !schemas.includes(false)
  node.otherSchemas.push(...schemas.filter(isObject))
}

/** Merges alternative schemas of objects into one schema that accepts what at least one of them accepts. */
const mergedAlternatives = (branches: readonly JsonObject[], rewriting: Rewriting): JsonObject => {
  const { meter, rules } = rewriting
  const namesOf = (branch: JsonObject) => [...each(propertiesOf(branch), meter)].map(([name]) => name)
  const names = new Set(branches.flatMap(namesOf))
  // Each schema is written once, although it may stand for many names.
  const texts = new Map<Json, string>()
  const textOf = (schema: Json): string => {
    const text = texts.get(schema) ?? JSON.stringify(schema)
    // Writing takes longer than a step for 64 bytes of text.
    if (!texts.has(schema)) meter.pay(1 + (text.length >>> 3))
    texts.set(schema, text)
    return text
  }
  const properties = [...names].map((name): [string, Json] => {
    meter.pay(4 * branches.length)
    const schemas = branches.map(branch => schemaOfMember(branch, name, rules.isStrict === true))
      .filter(schema => schema !== false)
    return [name, anyOf([...new Map(schemas.map(one => [textOf(one), one])).values()], rewriting)]
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

/** What a schema says of a member: false when it may not be there. */
const schemaOfMember = (branch: JsonObject, name: string, isStrict: boolean): Json => {
  const own = member(propertiesOf(branch), name)
  if (own !== undefined || isStrict) return own ?? false
  const isPatterned = member(branch, 'patternProperties') !== undefined
  return isPatterned || (member(branch, 'additionalProperties') ?? true)
}

/**
 * Declares the members of schemas that apply under a condition which the profile does not know, so that the
 * model can name them.
 * @param isCertain one of the schemas applies in any case
 */
export const conditional = (
  node: Node, schemas: readonly Json[], isCertain: boolean, rewriting: Rewriting,
): void => {
  const { meter, rules: { propertyName } } = rewriting
  const objects = schemas.filter(isObject)
  const branches = isCertain ? objects : [...objects, {}]
  const { properties } = mergedAlternatives(branches, rewriting)
  const own = member(node.source, 'properties')
  const added = isObject(properties)
    ? [...each(properties, meter)].filter(([name]) => !isObject(own) || member(own, name) === undefined)
        .filter(([name]) => !node.place.isRoot || propertyName?.test(name) !== false)
    : []
  if (added.length > 0) node.otherSchemas.push({ properties: Object.fromEntries(added) })
}

/** Merges the alternatives of the root into one object. A strict profile needs this for every object. */
export const folded = (schema: JsonObject, node: Node, rewriting: Rewriting): JsonObject => {
  const { meter, rules: { notAtRoot = [], isStrict } } = rewriting
  const isAnObject = member(schema, 'properties') !== undefined || isTyped(member(schema, 'type'), 'object')
  let made = schema
  for (const keyword of ['anyOf', 'oneOf'] as const) {
    const alternatives = member(made, keyword)
    const isFolded = node.place.isRoot ? notAtRoot.includes(keyword) : isStrict === true && isAnObject
    if (!isArray(alternatives) || !isFolded) continue
    const branches = elements(alternatives, meter).filter(isObject)
    const own = member(node.source, keyword) ?? member(node.source, 'oneOf')
    const sources = isArray(own) ? elements(own, meter) : branches
    const isOne = member(node.source, 'oneOf') !== undefined && member(node.source, 'anyOf') === undefined
    node.isExact = false
    node.notes.push(`${isOne ? 'exactly one of' : 'one of'}: ${describe(sources, meter)}`)
    const objects = branches.filter(branch => {
      const type = member(branch, 'type')
      return type === undefined || isTyped(type, 'object')
    })
    made = omit(made, keyword)
    if (objects.length > 0) made = merged(made, mergedAlternatives(objects, rewriting), rewriting)
  }
  return made
}
