import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { Ajv, type ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import type { RuleName } from '#relay/rules/index.js'
import { isList, isRecord, field, type Data, type DataObject } from '#relay/protocol/unmetered.js'
import { revisions, type Revision } from '#relay/protocol/revisions/index.js'
import { all, answer, listed } from './ask.js'

// The official schemas and examples lie beside the repository; where they do not, there is nothing to compare
// with.
const spec = new URL('../../../../shared/spec/', import.meta.url)
const skip = existsSync(spec) ? false : 'the official schemas are not here'

const read = (path: string): DataObject => {
  const value: unknown = JSON.parse(readFileSync(new URL(path, spec), 'utf8'))
  if (!isRecord(value)) throw new Error(`${path} is no object`)
  return value
}

/** The official verdict on one definition of a revision's schema. */
const official = (revision: Revision, definition: string): ValidateFunction => {
  const schema = read(`${revision}/schema.json`)
  const options = { strict: false, validateFormats: false }
  const ajv = '$defs' in schema ? new Ajv2020(options) : new Ajv(options)
  ajv.addSchema(schema, 'mcp')
  return ajv.compile({ $ref: `mcp#/${'$defs' in schema ? '$defs' : 'definitions'}/${definition}` })
}

const examples = (definition: string): readonly DataObject[] =>
  readdirSync(new URL(`2026-07-28/examples/${definition}/`, spec)).map(file =>
    read(`2026-07-28/examples/${definition}/${file}`))

/** Rules that hold what the official schema says, together. */
const shapes: readonly RuleName[] = [
  'tool/definition', 'tool/input-type', 'result/shape', 'content/type', 'content/annotations',
]
/** Those of them that say no more than it. */
const exact: readonly RuleName[] = ['tool/definition', 'result/shape']

t.test('no official example breaks a rule', { skip }, t => {
  const of = (findings: ReturnType<typeof all.onTool>) =>
    findings.filter(({ rule }) => !rule.startsWith('advice/') && rule !== 'tool/dialect')
  for (const tool of examples('Tool')) {
    t.same(
      of(all.onTool(listed(tool, { revision: '2026-07-28', trusted: true }))), [],
      `the tool ${JSON.stringify(field(tool, 'name'))}`,
    )
  }
  for (const result of examples('CallToolResult')) {
    t.same(
      of(all.onResult(answer(result, { revision: '2026-07-28', tool: undefined }))), [],
      JSON.stringify(result).slice(0, 60),
    )
  }
  for (const type of ['TextContent', 'ImageContent', 'AudioContent', 'ResourceLink', 'EmbeddedResource']) {
    t.same(of(all.onResult(answer({ content: examples(type) }, { revision: '2026-07-28' }))), [], type)
  }
  t.end()
})

const odd: readonly Data[] = [null, true, 1, 1.5, -1, 'odd', [], [1], ['odd'], [null], {}, { odd: 1 }]

/** The value with one place changed: a member left out, or one replaced by something odd. */
const mutants = function* (value: Data): Generator<Data> {
  if (isList(value)) {
    for (const [index, element] of value.entries()) {
      for (const mutant of [...odd, ...mutants(element)]) yield value.with(index, mutant)
    }
  } else if (isRecord(value)) {
    for (const [key, element] of Object.entries(value)) {
      yield Object.fromEntries(Object.entries(value).filter(([other]) => other !== key))
      for (const mutant of [...odd, ...mutants(element ?? null)]) yield { ...value, [key]: mutant }
    }
  }
}

const icons = [{ src: 'https://example.com/i.png', mimeType: 'image/png', sizes: ['48x48'], theme: 'light' }]
const annotations = { audience: ['user'], priority: 0.5, lastModified: '2025-01-12T15:00:58Z' }
const schema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object',
  properties: { a: { type: 'string' } }, required: ['a'],
}

const tool = {
  name: 'weather', title: 'Weather', description: 'Tells it', inputSchema: schema, outputSchema: schema,
  icons, _meta: { a: 1 },
  annotations: {
    title: 'W', readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true,
  },
  execution: { taskSupport: 'optional' },
}
const blocks: readonly DataObject[] = [
  { type: 'text', text: 'a', annotations, _meta: {} },
  { type: 'image', data: 'QQ==', mimeType: 'image/x-own', annotations, _meta: {} },
  { type: 'audio', data: 'QQ==', mimeType: 'audio/x-own', annotations, _meta: {} },
  {
    type: 'resource_link', name: 'n', title: 't', uri: 'a:b', description: 'd', mimeType: 'a/b', size: 1,
    icons, annotations, _meta: {},
  },
  {
    type: 'resource', resource: { uri: 'a:b', text: 'a', mimeType: 'a/b', _meta: {} }, annotations, _meta: {},
  },
  {
    type: 'resource', resource: { uri: 'a:b', blob: 'QQ==', mimeType: 'a/b', _meta: {} }, annotations,
    _meta: {},
  },
]
const result = (block: DataObject): DataObject => ({
  resultType: 'complete', content: [block], structuredContent: { a: 1 }, isError: false,
  _meta: { 'io.modelcontextprotocol/serverInfo': {
    name: 's', version: '1', title: 't', description: 'd', websiteUrl: 'https://x/', icons,
  } },
})

/** What the contract has otherwise than the official schema. */
const isOurs = (value: DataObject, revision: Revision): boolean =>
  // An absent resultType means complete.
  (revision === '2026-07-28' && 'content' in value && !('resultType' in value))
  // Before there was structured content, clients read it all the same, and only as an object.
  || (revision < '2025-06-18' && 'structuredContent' in value && !isRecord(value['structuredContent']))

/** The values on which a rule and the official schema disagree. */
const disagreements = (
  revision: Revision,
  values: Iterable<Data>,
  isValid: ValidateFunction,
  rulesOn: (value: DataObject) => readonly RuleName[],
): {
  readonly missed: readonly string[]; readonly invented: readonly string[]; readonly compared: number
} => {
  const missed: string[] = []
  const invented: string[] = []
  let compared = 0
  for (const value of values) {
    if (!isRecord(value) || isOurs(value, revision)) continue
    compared++
    const found = rulesOn(value)
    const valid = isValid(value)
    if (!valid && !found.some(rule => shapes.includes(rule))) missed.push(JSON.stringify(value))
    if (valid && found.some(rule => exact.includes(rule))) invented.push(JSON.stringify(value))
  }
  return { missed, invented, compared }
}

for (const revision of revisions) {
  t.test(`whatever the official Tool of ${revision} refuses is found, and nothing else`, { skip }, t => {
    const rulesOn = (definition: DataObject) =>
      all.onTool(listed(definition, { revision })).map(({ rule }) => rule)
    const values = [tool, ...examples('Tool')].flatMap(value => [value, ...mutants(value)])
    const { missed, invented, compared } =
      disagreements(revision, values, official(revision, 'Tool'), rulesOn)
    t.same(missed, [], 'missed')
    t.same(invented, [], 'invented')
    t.ok(compared > 1000, `${compared} compared`)
    t.end()
  })

  t.test(`whatever the official CallToolResult of ${revision} refuses is found, and nothing else`, {
    skip,
  }, t => {
    const rulesOn = (value: DataObject) => all.onResult(answer(value, { revision }))
      // Nulls that a later revision refuses are told, and stop nothing.
      .flatMap(({ rule, isMinor }) => (isMinor === true ? [] : [rule]))
    const types = [
      'TextContent', 'ImageContent', 'AudioContent', 'ResourceLink', 'EmbeddedResource',
    ].flatMap(examples)
    const samples = [...[...blocks, ...types].map(result), ...examples('CallToolResult')]
    const values = samples.flatMap(value => [value, ...mutants(value)])
    const { missed, invented, compared } =
      disagreements(revision, values, official(revision, 'CallToolResult'), rulesOn)
    t.same(missed, [], 'missed')
    t.same(invented, [], 'invented')
    t.ok(compared > 1000, `${compared} compared`)
    t.end()
  })
}
