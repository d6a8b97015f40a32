import { isArray, isObject, member, omit, type Json, type JsonObject } from '#protocol/json.js'
import { isTyped } from './accepts.js'
import { anySchema } from './finish.js'
import { acceptsAnything, elements, merged, mergedAlternatives } from './merge.js'
import { put, type Node, type Rewriting } from './node.js'
import { describe } from './words.js'

/** The simplest schema that accepts what at least one of the schemas accepts. */
export const anyOf = (schemas: readonly Json[], { rules, meter, knows }: Rewriting): Json => {
  const [first, ...others] = schemas
  if (first === undefined || schemas.some(schema => acceptsAnything(schema, meter))) return anySchema(rules)
  return others.length === 0 ? first : knows('anyOf') ? { anyOf: [...schemas] } : anySchema(rules)
}

/** Rewrites `anyOf` or `oneOf` for the profile. */
export const union = (
  node: Node, keyword: 'anyOf' | 'oneOf', value: Json, rewriting: Rewriting,
): void => {
  const { keywords, place, source } = node
  const { meter, knows } = rewriting
  if (!isArray(value)) return void keywords.set(keyword, value)
  const sources = elements(value, meter)
  const widened = sources.map(one => rewriting.rewritten(one, place))
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
    } else if (knows('allOf')) return void node.otherSchemas.push({ allOf: [{ anyOf: schemas }] })
    node.isExact = false
    tell()
  }
}

/** Rewrites `allOf` for the profile. */
export const intersection = (node: Node, value: Json, rewriting: Rewriting): void => {
  if (!isArray(value)) return void node.keywords.set('allOf', value)
  const widened = elements(value, rewriting.meter).map(one => rewriting.rewritten(one, node.place))
  const schemas = widened.map(one => rewriting.spelled(one))
  const isExact = widened.every(({ schema, isExact }, index) => isExact && schema === schemas[index])
  if (rewriting.isTaken(node, 'allOf')) return put(node, 'allOf', { schema: schemas, isExact })
  node.isExact &&= isExact && !schemas.includes(false)
  node.otherSchemas.push(...schemas.filter(isObject))
}

/** Merges the alternatives of the root into one object. A strict profile needs this for every object. */
export const folded = (schema: JsonObject, node: Node, rewriting: Rewriting): JsonObject => {
  const { meter, rules: { notAtRoot = [], isStrict } } = rewriting
  const isAnObject = member(schema, 'properties') !== undefined || member(schema, 'type') === 'object'
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
    if (objects.length > 0)
      made = merged(made, mergedAlternatives(objects, meter, schemas => anyOf(schemas, rewriting)), meter)
  }
  return made
}
