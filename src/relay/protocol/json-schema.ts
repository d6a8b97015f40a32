import { isArray, isObject, member, type Json, type JsonObject } from './json.js'

/** The dialects of JSON Schema that are understood, oldest first. */
export const dialects = ['draft-04', 'draft-06', 'draft-07', '2019-09', '2020-12'] as const

export type Dialect = (typeof dialects)[number]

/** The dialect of a schema that names none (MCP 2025-11-25, basic, JSON Schema usage). */
export const defaultDialect = '2020-12'

/** The dialect that a `$schema` names, with http or https, with or without an empty fragment. */
export const dialectOf = (uri: string): Dialect | undefined => {
  const [, name] = /^https?:\/\/json-schema\.org\/(.+)\/schema#?$/.exec(uri) ?? []
  return dialects.find(dialect => (dialect.startsWith('draft') ? dialect : `draft/${dialect}`) === name)
}

/** Up to draft-07, keywords beside a `$ref` are ignored, and a fragment in an id names an anchor. */
export const isLegacyDialect = (dialect: Dialect): boolean =>
  dialects.indexOf(dialect) <= dialects.indexOf('draft-07')

export const idKeyword = (dialect: Dialect): '$id' | 'id' => (dialect === 'draft-04' ? 'id' : '$id')

/**
 * How schemas stand in a keyword's value: it is a schema, a list of schemas, or a map of schemas by name.
 * `items` is a schema or a list; a member of `dependencies` is a schema or a list of names.
 */
export type SchemaForm = 'schema' | 'list' | 'map' | 'items' | 'dependencies'

interface Keyword {
  /** The first dialect that has the keyword, and the last one; by default the first and the last of all. */
  readonly since?: Dialect
  readonly until?: Dialect
  readonly schemas?: SchemaForm
  /** The keyword is an annotation; a `text` is written for people and models. */
  readonly asserts?: 'text' | 'nothing'
  /** The only type of values that the keyword applies to. */
  readonly of?: 'number' | 'string' | 'array' | 'object'
  /** Like `properties`, the keyword may allow or forbid members of an object. */
  readonly allowsMembers?: true
}

/**
 * Every keyword of every dialect. All other lists of keywords are derived from this table, which a test
 * compares with the official meta-schemas; src/relay/schema/keywords implements them.
 */
const table = {
  $schema: { asserts: 'nothing' },
  id: { until: 'draft-04' },
  $id: { since: 'draft-06' },
  $anchor: { since: '2019-09' },
  $dynamicAnchor: { since: '2020-12' },
  $recursiveAnchor: { since: '2019-09', until: '2019-09' },
  $vocabulary: { since: '2019-09' },
  $ref: { allowsMembers: true },
  $dynamicRef: { since: '2020-12', allowsMembers: true },
  $recursiveRef: { since: '2019-09', until: '2019-09', allowsMembers: true },
  definitions: { schemas: 'map', asserts: 'nothing' },
  $defs: { since: '2019-09', schemas: 'map', asserts: 'nothing' },

  title: { asserts: 'text' },
  description: { asserts: 'text' },
  $comment: { since: 'draft-07', asserts: 'text' },
  examples: { since: 'draft-06', asserts: 'text' },
  default: { asserts: 'nothing' },
  deprecated: { since: '2019-09', asserts: 'nothing' },
  readOnly: { since: 'draft-07', asserts: 'nothing' },
  writeOnly: { since: 'draft-07', asserts: 'nothing' },

  type: {},
  enum: {},
  const: { since: 'draft-06' },

  multipleOf: { of: 'number' },
  minimum: { of: 'number' },
  maximum: { of: 'number' },
  exclusiveMinimum: { of: 'number' },
  exclusiveMaximum: { of: 'number' },

  minLength: { of: 'string' },
  maxLength: { of: 'string' },
  pattern: { of: 'string' },
  format: {},
  contentEncoding: { since: 'draft-07', of: 'string', asserts: 'nothing' },
  contentMediaType: { since: 'draft-07', of: 'string', asserts: 'nothing' },
  contentSchema: { since: '2019-09', of: 'string', schemas: 'schema' },

  minItems: { of: 'array' },
  maxItems: { of: 'array' },
  uniqueItems: { of: 'array' },
  prefixItems: { since: '2020-12', of: 'array', schemas: 'list' },
  items: { of: 'array', schemas: 'items' },
  additionalItems: { until: '2019-09', of: 'array', schemas: 'schema' },
  unevaluatedItems: { since: '2019-09', of: 'array', schemas: 'schema' },
  contains: { since: 'draft-06', of: 'array', schemas: 'schema' },
  minContains: { since: '2019-09', of: 'array' },
  maxContains: { since: '2019-09', of: 'array' },

  minProperties: { of: 'object' },
  maxProperties: { of: 'object' },
  required: { of: 'object' },
  properties: { of: 'object', schemas: 'map' },
  patternProperties: { of: 'object', schemas: 'map', allowsMembers: true },
  additionalProperties: { of: 'object', schemas: 'schema', allowsMembers: true },
  unevaluatedProperties: { since: '2019-09', of: 'object', schemas: 'schema', allowsMembers: true },
  propertyNames: { since: 'draft-06', of: 'object', schemas: 'schema' },
  dependencies: { until: 'draft-07', of: 'object', schemas: 'dependencies', allowsMembers: true },
  dependentRequired: { since: '2019-09', of: 'object' },
  dependentSchemas: { since: '2019-09', of: 'object', schemas: 'map', allowsMembers: true },

  allOf: { schemas: 'list', allowsMembers: true },
  anyOf: { schemas: 'list', allowsMembers: true },
  oneOf: { schemas: 'list', allowsMembers: true },
  not: { schemas: 'schema' },
  if: { since: 'draft-07', schemas: 'schema', allowsMembers: true },
  then: { since: 'draft-07', schemas: 'schema' },
  else: { since: 'draft-07', schemas: 'schema' },
} satisfies Readonly<Record<string, Keyword>>

export const jsonSchemaKeywords: ReadonlyMap<string, Keyword> = new Map(Object.entries(table))

const order = (dialect: Dialect): number => dialects.indexOf(dialect)

/** Whether a later dialect introduced the keyword. */
export const isLater = (keyword: string, dialect: Dialect): boolean =>
  order(jsonSchemaKeywords.get(keyword)?.since ?? 'draft-04') > order(dialect)

export const hasKeyword = (dialect: Dialect, keyword: string): boolean => {
  const until = jsonSchemaKeywords.get(keyword)?.until ?? defaultDialect
  return jsonSchemaKeywords.has(keyword) && !isLater(keyword, dialect) && order(dialect) <= order(until)
}

/** Where a keyword has its schemas: its value is a schema or an array of them, or its members are. */
export const schemasIn = (keyword: string): 'value' | 'members' | undefined => {
  const form = jsonSchemaKeywords.get(keyword)?.schemas
  return form === 'map' || form === 'dependencies' ? 'members' : form && 'value'
}

/** A URI's fragment without its escapes; undefined where one of them is malformed. */
export const decodedFragment = (fragment: string): string | undefined => {
  try {
    return decodeURIComponent(fragment)
  } catch {
    return undefined
  }
}

/** The steps of a JSON Pointer in a URI's fragment (RFC 6901, section 6); undefined for another fragment. */
export const pointerSteps = (fragment: string): readonly string[] | undefined => {
  const pointer = decodedFragment(fragment)
  return pointer === '' || pointer?.startsWith('/') === true ? stepsOf(pointer) : undefined
}

/** @param pointer empty, or with a slash first */
export const stepsOf = (pointer: string): readonly string[] =>
  pointer.split('/').slice(1).map(step => step.replace(/~1/g, '/').replace(/~0/g, '~'))

/** The member or element to which one step of a JSON Pointer leads. */
export const below = (value: Json | undefined, step: string): Json | undefined => {
  if (isArray(value)) return /^(?:0|[1-9]\d*)$/.test(step) ? value[Number(step)] : undefined
  return isObject(value) ? member(value, step) : undefined
}

/** The part of a schema that a reference in it names; undefined for a reference that is no JSON Pointer. */
export const referenceTarget = (root: JsonObject, reference: string): Json | undefined =>
  (reference.startsWith('#') ? pointerSteps(reference.slice(1)) : undefined)
    ?.reduce<Json | undefined>(below, root)
