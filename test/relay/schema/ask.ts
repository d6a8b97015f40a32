import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { createSchemaChecker, type WarmableChecker } from '#relay/schema/index.js'
import type { Checked, SchemaLimits } from '#relay/core/vocabulary.js'
import { isRecord, unmetered, type Data, type DataObject } from '#relay/protocol/unmetered.js'
import { lazyJson } from '#relay/protocol/read-fast.js'

/** The contract's limits, with time enough for a busy machine. */
export const limits: SchemaLimits = {
  schemaBytes: 262144, schemaDepth: 64, subschemas: 5000, validationMs: 5000,
}

export const json = (text: string): Data => JSON.parse(text) as Data

/** One checker for a file's questions; the caller closes it. */
export const asker = (checker: WarmableChecker = createSchemaChecker(limits)) => ({
  checker,
  schema: async (schema: Data): Promise<Checked> => checker.check({ kind: 'schema', schema, path: '' }),
  value: async (schema: DataObject | boolean, value: Data): Promise<Checked> => {
    const checked = await checker.check({ kind: 'value', schema, value, path: '' })
    const bytes = unparsed(value)
    // Whoever judges from the bytes says the same.
    if (bytes !== undefined) {
      assert.deepEqual(
        await checker.check({ kind: 'value', schema, value: bytes, path: '' }), checked,
        JSON.stringify({ schema, value }).slice(0, 1000),
      )
    }
    return checked
  },
  close: () => checker.close(),
})

/** The value as it is in a frame, for it is JSON; undefined where that would be parsed at once. */
const unparsed = (value: Data): Data | undefined => {
  if (typeof value !== 'object' || value === null) return undefined
  const text = JSON.stringify(value)
  return isDeepStrictEqual(JSON.parse(text), value)
    ? unmetered(lazyJson(Buffer.from(text), isRecord(value)))
    : undefined
}

/** Kinds and paths alone, for tables. */
export const brief = (checked: Checked): string[] => checked.map(({ kind, path }) => `${kind} ${path}`.trim())

const shared = new URL('../../../../shared/', import.meta.url)

export const suite = new URL('json-schema-suite/', shared)
export const corpus = new URL('corpus/', shared)

export const absent = (folder: URL): string | false =>
  (existsSync(folder) ? false : `${folder.pathname.split('/').at(-2) ?? ''} is not here`)

export interface Group {
  readonly file: string
  readonly description: string
  readonly schema: DataObject | boolean
  readonly tests: readonly { readonly description: string; readonly data: Data; readonly valid: boolean }[]
}

export const drafts = [
  ['draft2020-12', 'https://json-schema.org/draft/2020-12/schema'],
  ['draft2019-09', 'https://json-schema.org/draft/2019-09/schema'],
  ['draft7', 'http://json-schema.org/draft-07/schema#'],
  ['draft6', 'http://json-schema.org/draft-06/schema#'],
  ['draft4', 'http://json-schema.org/draft-04/schema#'],
] as const

/** The official tests of a draft; a schema that names no dialect is given the draft's. */
export const groupsOf = (draft: string, uri: string): readonly Group[] =>
  readdirSync(new URL(`${draft}/`, suite)).flatMap(file =>
    (json(readFileSync(new URL(`${draft}/${file}`, suite), 'utf8')) as unknown as Group[]).map(group => ({
      ...group,
      file,
      schema: typeof group.schema === 'boolean'
        || Object.hasOwn(group.schema, '$schema') ? group.schema : { $schema: uri, ...group.schema },
    })),
  )

export interface Sample {
  readonly from: string
  readonly schema: DataObject
  /** What was really sent or answered under this schema. */
  readonly values: readonly Data[]
}

const lines = (file: URL): readonly string[] =>
  (existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(line => line.trim() !== '') : [])

/** Every schema that a real server declared, with the arguments and results that were seen. */
export const samples = (): readonly Sample[] => readdirSync(corpus).flatMap(server => {
  const folder = new URL(`${server}/`, corpus)
  const calls = lines(new URL('calls.jsonl', folder)).map(line => JSON.parse(line) as Called)
  return lines(new URL('tools-list.jsonl', folder)).flatMap(line => {
    const { result } = JSON.parse(line) as { result?: { tools?: Declared[] } }
    return (result?.tools ?? []).flatMap(({ name, inputSchema, outputSchema }) => {
      const own = calls.filter(call => call.params.name === name)
      const results = own.flatMap(({ response }) => structured(response))
      return [
        ...(inputSchema === undefined ? [] : [{
          from: `${server} ${name} in`, schema: inputSchema,
          values: own.map(call => call.params.arguments ?? {}),
        }]),
        ...(outputSchema === undefined ? [] : [{
          from: `${server} ${name} out`, schema: outputSchema, values: results,
        }]),
      ]
    })
  })
})

interface Called {
  readonly params: { readonly name: string; readonly arguments?: Data }
  readonly response: string | null
}

interface Declared {
  readonly name: string
  readonly inputSchema?: DataObject
  readonly outputSchema?: DataObject
}

const structured = (response: string | null): Data[] => {
  const { result } =
    response === null ? {} : (JSON.parse(response) as { result?: { structuredContent?: Data } })
  return result?.structuredContent === undefined ? [] : [result.structuredContent]
}
