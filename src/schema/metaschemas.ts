import { createRequire } from 'node:module'
import { isObject, type Json } from '../protocol/json.js'

const require = createRequire(import.meta.url)

// Plain JSON files of ajv's: reading them loads no engine.
const files: ReadonlyMap<string, string> = new Map([
  ['http://json-schema.org/draft-04/schema', 'ajv-draft-04/dist/refs/json-schema-draft-04.json'],
  ['http://json-schema.org/draft-06/schema', 'ajv/dist/refs/json-schema-draft-06.json'],
  ['http://json-schema.org/draft-07/schema', 'ajv/dist/refs/json-schema-draft-07.json'],
  ...vocabularies('2019-09', ['core', 'applicator', 'validation', 'meta-data', 'format', 'content']),
  ...vocabularies('2020-12', ['core', 'applicator', 'unevaluated', 'validation', 'meta-data', 'format-annotation', 'content']),
])

function vocabularies(dialect: string, names: readonly string[]): [string, string][] {
  return ['schema', ...names.map(name => `meta/${name}`)].map(name => [
    `https://json-schema.org/draft/${dialect}/${name}`,
    `ajv/dist/refs/json-schema-${dialect}/${name}.json`,
  ])
}

/** The official meta-schema document with this URI (without fragment; http and https alike); undefined for any other. */
export const metaschema = (uri: string): Json | undefined => {
  const canonical = uri.replace(/^https?:/, /\/draft-0\d\//.test(uri) ? 'http:' : 'https:')
  const file = files.get(canonical)
  if (file === undefined) return undefined
  const json: unknown = require(file)
  if (!isObject(json)) return undefined
  return canonical === 'http://json-schema.org/draft-07/schema' ? { ...json, properties: draft07(json.properties) } : json
}

// The copy of draft-07 is older than the published one, which lets an `enum` be empty and knows `writeOnly`.
const draft07 = (properties: Json | undefined): Json => ({
  ...(isObject(properties) ? properties : {}),
  enum: { type: 'array', items: true },
  writeOnly: { type: 'boolean', default: false },
})
