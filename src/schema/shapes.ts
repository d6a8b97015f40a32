import type { Dialect } from './dialect.js'

/**
 * What a keyword's value must look like, and where schemas stand in it: the meta-schemas as a table.
 * A listing of hundreds of tools is checked by it in one walk, without compiling anything; a test holds it against
 * the meta-schemas.
 */
export type Shape =
  | 'schema'
  | 'schema-or-boolean'
  | 'schemas'
  | 'schema-or-schemas'
  | 'schema-map'
  | 'dependencies'
  | 'some-dependencies'
  | 'string'
  | 'id'
  | 'anchor'
  | 'anchor-2019'
  | 'pattern'
  | 'pattern-map'
  | 'boolean'
  | 'boolean-map'
  | 'number'
  | 'positive'
  | 'count'
  | 'type'
  | 'array'
  | 'values'
  | 'strings'
  | 'some-strings'
  | 'strings-map'

type Table = readonly (readonly [Shape, readonly string[]])[]

const draft04: Table = [
  ['schema', ['not']],
  ['schema-or-boolean', ['additionalItems', 'additionalProperties']],
  ['schemas', ['allOf', 'anyOf', 'oneOf']],
  ['schema-or-schemas', ['items']],
  ['schema-map', ['definitions', 'properties']],
  ['pattern-map', ['patternProperties']],
  ['some-dependencies', ['dependencies']],
  ['string', ['id', '$schema', 'title', 'description']],
  ['pattern', ['pattern']],
  ['boolean', ['exclusiveMaximum', 'exclusiveMinimum', 'uniqueItems']],
  ['number', ['maximum', 'minimum']],
  ['positive', ['multipleOf']],
  ['count', ['maxLength', 'minLength', 'maxItems', 'minItems', 'maxProperties', 'minProperties']],
  ['type', ['type']],
  ['values', ['enum']],
  ['some-strings', ['required']],
]

const draft06: Table = [
  ['schema', ['additionalItems', 'additionalProperties', 'contains', 'propertyNames']],
  ['string', ['$id', '$ref', 'format']],
  ['number', ['exclusiveMaximum', 'exclusiveMinimum']],
  ['array', ['examples']],
  ['strings', ['required']],
  ['dependencies', ['dependencies']],
]

const draft07: Table = [
  ['schema', ['if', 'then', 'else']],
  ['string', ['$comment', 'contentMediaType', 'contentEncoding']],
  ['boolean', ['readOnly', 'writeOnly']],
  ['array', ['enum']],
]

const draft2019: Table = [
  ['schema', ['unevaluatedItems', 'unevaluatedProperties', 'contentSchema']],
  ['schema-map', ['$defs', 'dependentSchemas']],
  ['strings-map', ['dependentRequired']],
  ['id', ['$id']],
  ['anchor-2019', ['$anchor']],
  ['string', ['$recursiveRef']],
  ['boolean', ['deprecated', '$recursiveAnchor']],
  ['boolean-map', ['$vocabulary']],
  ['count', ['maxContains', 'minContains']],
]

const draft2020: Table = [
  ['schema', ['items']],
  ['schemas', ['prefixItems']],
  ['string', ['$dynamicRef']],
  ['anchor', ['$anchor', '$dynamicAnchor', '$recursiveAnchor']],
]

/** Later tables win; what a later dialect dropped is taken out. */
const table = (dropped: readonly string[], ...tables: readonly Table[]): ReadonlyMap<string, Shape> => {
  const shapes = new Map<string, Shape>()
  for (const [shape, keywords] of tables.flat()) for (const keyword of keywords) shapes.set(keyword, shape)
  for (const keyword of dropped) shapes.delete(keyword)
  return shapes
}

const shapes: Readonly<Record<Dialect, ReadonlyMap<string, Shape>>> = {
  'draft-04': table([], draft04),
  'draft-06': table(['id'], draft04, draft06),
  'draft-07': table(['id'], draft04, draft06, draft07),
  '2019-09': table(['id'], draft04, draft06, draft07, draft2019),
  '2020-12': table(['id', 'additionalItems'], draft04, draft06, draft07, draft2019, draft2020),
}

export const shapesOf = (dialect: Dialect): ReadonlyMap<string, Shape> => shapes[dialect]
