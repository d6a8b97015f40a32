/** The dialects that are rewritten, by what a `$schema` calls them, oldest first. */
export const dialects = ['draft-04', 'draft-06', 'draft-07', 'draft/2019-09'] as const

export type Dialect = (typeof dialects)[number]

/** What a `$schema` names, such as `draft-07`; undefined of what is no dialect of json-schema.org. */
export const dialectNamed = (uri: string): string | undefined => /^https?:\/\/json-schema\.org\/(.+)\/schema#?$/.exec(uri)?.[1]

export const isOld = (name: string | undefined): name is Dialect => dialects.some(dialect => dialect === name)

export const newest = 'draft/2020-12'

export const newestUri = 'https://json-schema.org/draft/2020-12/schema'

/** Up to draft-07 a `$ref` stands alone, and a fragment in an id names an anchor. */
export const isLegacy = (dialect: Dialect): boolean => dialect !== 'draft/2019-09'

export const idKeyword = (dialect: Dialect): '$id' | 'id' => (dialect === 'draft-04' ? 'id' : '$id')

/** How schemas stand in a keyword's value: it is one, a list of them, or a map whose keys are names; `items` and `dependencies` are either. */
export type Form = 'schema' | 'list' | 'map' | 'items' | 'dependencies'

export const forms: ReadonlyMap<string, Form> = new Map<string, Form>([
  ...['additionalItems', 'additionalProperties', 'contains', 'contentSchema', 'else', 'if', 'not', 'propertyNames', 'then',
    'unevaluatedItems', 'unevaluatedProperties'].map(name => [name, 'schema'] as const),
  ...['allOf', 'anyOf', 'oneOf'].map(name => [name, 'list'] as const),
  ...['$defs', 'definitions', 'dependentSchemas', 'patternProperties', 'properties'].map(name => [name, 'map'] as const),
  ['items', 'items'],
  ['dependencies', 'dependencies'],
])

/** What each dialect was the first to know. Before it, the keyword meant nothing. */
const since: Readonly<Record<Exclude<Dialect, 'draft-04'> | typeof newest, readonly string[]>> = {
  'draft-06': ['$id', 'const', 'contains', 'propertyNames'],
  'draft-07': ['if', 'then', 'else'],
  'draft/2019-09': [
    '$anchor', '$recursiveAnchor', '$recursiveRef', '$vocabulary', 'contentSchema', 'dependentRequired', 'dependentSchemas', 'maxContains',
    'minContains', 'unevaluatedItems', 'unevaluatedProperties',
  ],
  'draft/2020-12': ['$dynamicAnchor', '$dynamicRef', 'prefixItems'],
}

const order: readonly string[] = [...dialects, newest]

const firstKnown: ReadonlyMap<string, number> = new Map(
  Object.entries(since).flatMap(([dialect, keywords]) => keywords.map(keyword => [keyword, order.indexOf(dialect)])),
)

/** Whether a keyword of 2020-12 meant nothing in a dialect yet. `$defs` asserts nothing, and is pointed into whatever the dialect. */
export const isLater = (keyword: string, dialect: Dialect): boolean => (firstKnown.get(keyword) ?? 0) > order.indexOf(dialect)

/** What may stand beside a `$ref` that stands alone: it asserts nothing. */
export const annotations: ReadonlySet<string> = new Set([
  '$comment', '$defs', '$schema', 'default', 'definitions', 'deprecated', 'description', 'examples', 'readOnly', 'title', 'writeOnly',
])
