import { readFileSync } from 'node:fs'
import t from 'tap'
import { isRecord, isString, field, type Data, type DataObject } from '#relay/protocol/unmetered.js'
import {
  dialects, hasKeyword, jsonSchemaKeywords, schemasIn, type Dialect, type SchemaForm,
} from '#relay/protocol/json-schema.js'
import { keywordsOf } from '#relay/schema/keywords/index.js'

const documents = JSON.parse(readFileSync(
  new URL('../../../src/relay/schema/read/metaschemas.json', import.meta.url), 'utf8',
)) as readonly DataObject[]

/**
 * The official meta-schemas of a dialect: one document, or since 2019-09 one and those of its vocabularies.
 */
const metaschemasOf = (dialect: Dialect): readonly DataObject[] =>
  documents.filter(document => uriOf(document).includes(`/${dialect}/`))

const textOf = (value: Data | undefined): string => (isString(value) ? value : '')

const uriOf = (document: DataObject): string => textOf(document['$id'] ?? document['id'])

/**
 * Since 2019-09 the first document lists keywords of earlier dialects, and the others those of the
 * vocabularies.
 */
const keywordsOfDocuments = (dialect: Dialect): ReadonlyMap<string, Data> => {
  const all = metaschemasOf(dialect)
  const vocabularies = all.filter(document => uriOf(document).includes('/meta/'))
  return new Map((vocabularies.length > 0 ? vocabularies : all).flatMap(document => {
    const properties = field(document, 'properties')
    return isRecord(properties) ? Object.entries(properties)
      .flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const])) : []
  }))
}

/** Keywords that a dialect has, though its meta-schema says nothing of them. */
const unlisted: ReadonlyMap<string, readonly Dialect[]> = new Map([
  // Draft-04 has it in another document, of JSON Reference.
  ['$ref', ['draft-04']],
  // The old name of $defs, which references go on pointing into (2019-09 and 2020-12: in the first document).
  ['definitions', ['2019-09', '2020-12']],
])

t.test('the dialects have the keywords that their official meta-schemas list', async t => {
  for (const dialect of dialects) {
    const listed = [...keywordsOfDocuments(dialect).keys()]
    const more = [...unlisted].flatMap(([name, others]) => (others.includes(dialect) ? [name] : []))
    t.ok(listed.length > 30, `${dialect}: ${listed.length} keywords`)
    const known = [...jsonSchemaKeywords.keys()].filter(name => hasKeyword(dialect, name))
    t.same(known.sort(), [...listed, ...more].sort(), dialect)
  }
})

const isSchema = (value: Data | undefined): boolean =>
  isRecord(value) && ['$ref', '$dynamicRef', '$recursiveRef'].some(key =>
    isString(value[key]) && /^#(?:meta)?$/.test(textOf(value[key])))

const isList = (value: Data | undefined): boolean =>
  isRecord(value) && isString(value['$ref']) && /\/schemaArray$/.test(value['$ref'])

/** How schemas stand in the value of a keyword, by what its meta-schema asks of that value. */
const formIn = (value: Data): SchemaForm | undefined => {
  if (isSchema(value)) return 'schema'
  if (isList(value)) return 'list'
  if (!isRecord(value)) return undefined
  const { anyOf, additionalProperties } = value
  const options = Array.isArray(anyOf) ? (anyOf as readonly Data[]) : []
  if (options.some(isSchema)) return options.some(isList) ? 'items' : 'schema'
  if (isSchema(additionalProperties)) return 'map'
  const members = isRecord(additionalProperties)
    && Array.isArray(additionalProperties['anyOf']) ? (additionalProperties['anyOf'] as readonly Data[]) : []
  return members.some(isSchema) ? 'dependencies' : undefined
}

/** In 2020-12 `items` is a schema alone. */
const isNarrower = (one: SchemaForm | undefined, other: SchemaForm | undefined): boolean =>
  one === 'schema' && other === 'items'

t.test('schemas stand in the keywords where the official meta-schemas have them', async t => {
  for (const dialect of dialects) {
    for (const [name, value] of keywordsOfDocuments(dialect)) {
      const [form, listed] = [jsonSchemaKeywords.get(name)?.schemas, formIn(value)]
      t.ok(
        form === listed || isNarrower(listed, form),
        `${dialect} ${name}: ${String(form)}, and there ${String(listed)}`,
      )
    }
  }
})

t.test('the engine evaluates every keyword that asserts something or holds schemas', async t => {
  // Read with the schema (ids, anchors, the dialect), or by another keyword (`contains`).
  const elsewhere = ['$schema', 'id', '$vocabulary', '$recursiveAnchor', 'minContains', 'maxContains']
  for (const dialect of dialects) {
    const evaluated = keywordsOf(dialect)
    for (const [name, { asserts }] of jsonSchemaKeywords) {
      if (!hasKeyword(dialect, name) || elsewhere.includes(name)) continue
      t.equal(
        evaluated.has(name), asserts === undefined || schemasIn(name) !== undefined, `${dialect} ${name}`,
      )
    }
    for (const name of evaluated.keys()) t.ok(hasKeyword(dialect, name), `${dialect} ${name}`)
  }
})
