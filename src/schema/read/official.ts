import { isString, type JsonObject } from '../../protocol/unmetered.js'
import type { Dialect } from '../../protocol/json-schema.js'
import { Budget } from '../budget.js'
import type { Resource } from '../place.js'
import documents from './metaschemas.json' with { type: 'json' }
import { Reader } from './reader.js'

/** Its id without the empty fragment that the older ones have. */
const idOf = (document: JsonObject): string => [document['$id'], document['id']].find(isString)?.replace(/#$/, '') ?? ''

/**
 * The official meta-schemas, as they stand at their ids (https://json-schema.org); taken from the branches of
 * https://github.com/json-schema-org/json-schema-spec, under its licence of three clauses (BSD). Of the vocabularies those that the meta-schemas name.
 */
const metaschemas: ReadonlyMap<string, JsonObject> = new Map(documents.map(document => [idOf(document), document]))

/** Read once for all who refer to them, when somebody does. */
const resources = new Map<string, Resource>()

/** The official meta-schema with this URI (without fragment; http and https alike); undefined for any other. */
export const officialResource = (uri: string): Resource | undefined => {
  const canonical = uri.replace(/^https?:/, /\/draft-0\d\//.test(uri) ? 'http:' : 'https:')
  const document = metaschemas.get(canonical)
  const known = resources.get(canonical)
  if (document === undefined || known !== undefined) return known
  const reader = new Reader(Infinity, new Budget(2 ** 30), officialResource)
  const root = reader.open(document, canonical)
  if (root === undefined) return undefined
  // Before its references are followed: they may come back.
  resources.set(canonical, root.resource)
  reader.resolveReferences()
  return root.resource
}

const uris: Readonly<Record<Dialect, string>> = {
  '2020-12': 'https://json-schema.org/draft/2020-12/schema',
  '2019-09': 'https://json-schema.org/draft/2019-09/schema',
  'draft-07': 'http://json-schema.org/draft-07/schema',
  'draft-06': 'http://json-schema.org/draft-06/schema',
  'draft-04': 'http://json-schema.org/draft-04/schema',
}

/** The schema that a dialect's schemas must match. */
export const metaschemaOf = (dialect: Dialect): Resource => {
  const resource = officialResource(uris[dialect])
  if (resource === undefined) throw new Error(`the meta-schema of ${dialect} is missing`)
  return resource
}
