/** The dialects of JSON Schema that are understood. */
export type Dialect = '2020-12' | '2019-09' | 'draft-07' | 'draft-06' | 'draft-04'

/** What a schema is read as when it names no dialect (MCP 2025-11-25, basic, JSON Schema usage). */
export const defaultDialect: Dialect = '2020-12'

const names: ReadonlyMap<string, Dialect> = new Map([
  ['draft/2020-12', '2020-12'],
  ['draft/2019-09', '2019-09'],
  ['draft-07', 'draft-07'],
  ['draft-06', 'draft-06'],
  ['draft-04', 'draft-04'],
])

/** The dialect that a `$schema` names, with http or https, with or without an empty fragment; undefined when unknown. */
export const dialectOf = (uri: string): Dialect | undefined => {
  const [, name] = /^https?:\/\/json-schema\.org\/(.+)\/schema#?$/.exec(uri) ?? []
  return name === undefined ? undefined : names.get(name)
}

/** Up to draft-07 a `$ref` stands alone: what is beside it is ignored, and a fragment in an id names an anchor. */
export const isLegacy = (dialect: Dialect): boolean => dialect !== '2020-12' && dialect !== '2019-09'

export const idKeyword = (dialect: Dialect): '$id' | 'id' => (dialect === 'draft-04' ? 'id' : '$id')
