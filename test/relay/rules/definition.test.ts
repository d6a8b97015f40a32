import t from 'tap'
import type { DataObject } from '#relay/protocol/unmetered.js'
import type { Revision } from '#relay/protocol/revisions/index.js'
import { listed, paths, ruleNamed, type Case } from './ask.js'

const good = { name: 'weather', inputSchema: { type: 'object' } }
const at = (...paths: readonly string[]) => paths.map(path => `/result/tools/0${path}`)

type InRevision = readonly [revision: Revision, definition: DataObject]

const definitions: readonly Case<InRevision>[] = [
  ['the least that a tool is', ['2024-11-05', good], []],
  ['every field of a legacy revision', ['2025-11-25', {
    ...good, title: 'Weather', description: 'Tells it', _meta: { a: 1 }, vendor: 1,
    outputSchema: { type: 'object' },
    annotations: {
      title: 'W', readOnlyHint: true, destructiveHint: false, idempotentHint: false, openWorldHint: true,
      own: 1,
    },
    icons: [{ src: 'https://x/i.png', mimeType: 'image/png', sizes: ['any'], theme: 'dark' }],
    execution: { taskSupport: 'optional' },
  }], []],
  ['a modern output schema of an array', ['2026-07-28', { ...good, outputSchema: { type: 'array' } }], []],
  [
    'a modern schema with boolean subschemas',
    ['2026-07-28', { ...good, inputSchema: { type: 'object', properties: { a: true } } }], [],
  ],
  ['fields that the revision does not know, of any type', [
    '2024-11-05', { ...good, annotations: 1, title: 1, outputSchema: 1, icons: 1, execution: 1, _meta: 1 },
  ], []],
  ['execution, which the modern revision does not know', ['2026-07-28', { ...good, execution: 1 }], []],
  [
    'an input schema without a type, which tool/input-type forgives',
    ['2025-11-25', { name: 'x', inputSchema: {} }], [],
  ],
  ['no tool at all', ['2025-11-25', {}], at('/name', '/inputSchema')],
  [
    'a name that is inherited', ['2025-11-25', Object.create(good) as DataObject],
    at('/name', '/inputSchema'),
  ],
  ['a name that is no string', ['2025-11-25', { ...good, name: 1 }], at('/name')],
  ['an input schema that is null', ['2026-07-28', { ...good, inputSchema: null }], at('/inputSchema')],
  ['an input schema that is true', ['2026-07-28', { ...good, inputSchema: true }], at('/inputSchema')],
  ['an input schema that is an array', ['2025-11-25', { ...good, inputSchema: [] }], at('/inputSchema')],
  ['a description that is null', ['2025-11-25', { ...good, description: null }], at('/description')],
  ['a title that is a number', ['2025-06-18', { ...good, title: 1 }], at('/title')],
  ['annotations that are an array', ['2025-03-26', { ...good, annotations: [] }], at('/annotations')],
  [
    'a hint that is a word', ['2025-03-26', { ...good, annotations: { readOnlyHint: 'yes' } }],
    at('/annotations/readOnlyHint'),
  ],
  ['an output schema that is null', ['2025-06-18', { ...good, outputSchema: null }], at('/outputSchema')],
  [
    'a legacy output schema of an array', ['2025-06-18', { ...good, outputSchema: { type: 'array' } }],
    at('/outputSchema/type'),
  ],
  [
    'a legacy property whose schema is a boolean, which is tool/input-type',
    ['2025-11-25', { ...good, inputSchema: { type: 'object', properties: { 'a/b': true } } }], [],
  ],
  ['a legacy property whose schema is a number', [
    '2025-11-25', { ...good, inputSchema: { type: 'object', properties: { 'a/b': 1 } } },
  ], at('/inputSchema/properties/a~1b')],
  [
    'required that is a boolean',
    ['2025-11-25', { ...good, inputSchema: { type: 'object', required: true } }], at('/inputSchema/required'),
  ],
  [
    'a dialect that is a number', ['2026-07-28', { ...good, inputSchema: { type: 'object', $schema: 7 } }],
    at('/inputSchema/$schema'),
  ],
  ['icons that are an object', ['2025-11-25', { ...good, icons: {} }], at('/icons')],
  [
    'an icon without a source', ['2026-07-28', { ...good, icons: [{ src: 'https://x/' }, {}] }],
    at('/icons/1/src'),
  ],
  [
    'a theme that is none', ['2025-11-25', { ...good, icons: [{ src: 'https://x/', theme: 'blue' }] }],
    at('/icons/0/theme'),
  ],
  [
    'task support that is none', ['2025-11-25', { ...good, execution: { taskSupport: true } }],
    at('/execution/taskSupport'),
  ],
  ['_meta that is a string', ['2025-06-18', { ...good, _meta: 'x' }], at('/_meta')],
]

t.test('tool/definition: definitions that are no Tool of the revision', t => {
  for (const [title, [revision, definition], expected] of definitions) {
    t.same(paths(ruleNamed('tool/definition').onTool?.(listed(definition, { revision }))), expected, title)
  }
  t.end()
})

const inputTypes: readonly Case<DataObject>[] = [
  ['an object', good, []],
  ['no type', { ...good, inputSchema: { properties: {} } }, at('/inputSchema')],
  ['another type', { ...good, inputSchema: { type: 'string' } }, at('/inputSchema')],
  ['a list of types', { ...good, inputSchema: { type: ['object', 'null'] } }, at('/inputSchema')],
  ['no schema, which is tool/definition', { name: 'x' }, []],
  ['booleans for the schemas of properties', {
    ...good, inputSchema: { type: 'object', properties: { a: {}, 'b/c': true, d: false } },
  }, at('/inputSchema/properties/b~1c', '/inputSchema/properties/d')],
]

t.test('tool/input-type: input schemas without the type object, or with boolean schemas', t => {
  for (const [title, definition, expected] of inputTypes) {
    t.same(paths(ruleNamed('tool/input-type').onTool?.(listed(definition))), expected, title)
  }
  t.end()
})

const names: readonly Case<string>[] = [
  ['letters, digits and the rest', 'admin.tools_list-2', []],
  ['128 characters', 'x'.repeat(128), []],
  ['129 characters', 'x'.repeat(129), at('/name')],
  ['nothing', '', at('/name')],
  ['a space', 'a b', at('/name')],
  ['a slash', 'a/b', at('/name')],
  ['a line end behind', 'a\n', at('/name')],
  ['a letter that looks like another', 'g\u0435t', at('/name')],
  ['a terminal escape', '\u001b[2J', at('/name')],
]

t.test('tool/name: a name of other characters, or too long', t => {
  for (const [title, name, expected] of names) {
    t.same(paths(ruleNamed('tool/name').onTool?.(listed({ ...good, name }))), expected, title)
  }
  t.end()
})

t.test('each kind of problem in a schema is a finding of its rule', t => {
  const kinds = ['schema', 'unchecked', 'mismatch', 'external-ref', 'cost'] as const
  const schemas = kinds.map(kind => ({ kind, path: `/result/tools/0/inputSchema/${kind}`, message: kind }))
  const found = (rule: 'tool/schema' | 'tool/external-ref' | 'tool/schema-cost') =>
    (ruleNamed(rule).onTool?.(listed(good, { schemas })) ?? []).map(({ message }) => message)
  t.same(found('tool/schema'), ['schema', 'unchecked', 'mismatch'])
  t.same(found('tool/external-ref'), ['external-ref'])
  t.same(found('tool/schema-cost'), ['cost'])
  t.end()
})

const lists: readonly Case<readonly [method: string, result: DataObject]>[] = [
  ['tools', ['tools/list', { tools: [1, {}], nextCursor: 'a', ttlMs: 1, cacheScope: 'public' }], []],
  ['a cursor that is null', ['tools/list', { tools: [], nextCursor: null }], ['/result/nextCursor']],
  [
    'a lifetime in words, a scope that is none',
    ['tools/list', { tools: [], ttlMs: 'long', cacheScope: 'ours' }], ['/result/ttlMs', '/result/cacheScope'],
  ],
  ['no tools, which is tool/definition', ['tools/list', {}], []],
  ['prompts', ['prompts/list', { prompts: [{ name: 'a' }] }], []],
  ['prompts without a list', ['prompts/list', {}], ['/result/prompts']],
  ['a prompt without a name', ['prompts/list', { prompts: [{ name: 'a' }, {}] }], ['/result/prompts/1/name']],
  [
    'a resource without a URI', ['resources/list', { resources: [{ name: 'a' }] }],
    ['/result/resources/0/uri'],
  ],
  ['a template with a URI in place of one', [
    'resources/templates/list', { resourceTemplates: [{ name: 'a', uri: 'x:' }] },
  ], ['/result/resourceTemplates/0/uriTemplate']],
  ['what lists nothing', ['resources/read', { nextCursor: null }], []],
]

t.test('list/shape: a list that is none of the revision', t => {
  for (const [title, [method, result], expected] of lists) {
    t.same(
      paths(ruleNamed('list/shape').onList?.({ method, result, revision: '2025-11-25' })), expected, title,
    )
  }
  t.end()
})

t.test('tool/duplicate and tool/drift: definitions that differ from earlier ones of the session', t => {
  const drift = (more: Parameters<typeof listed>[1]) =>
    (ruleNamed('tool/drift').onTool?.(listed(good, more)) ?? []).map(({ message }) => message)
  t.same(paths(ruleNamed('tool/duplicate').onTool?.(listed(good, { repeated: true }))), at(''))
  t.same(paths(ruleNamed('tool/duplicate').onTool?.(listed(good))), [])
  t.same(drift({}), [], 'as it was listed first')
  t.same(drift({ first: undefined }), [], 'new, in the first list')
  t.match(drift({ first: undefined, settled: true }), [/"weather" was not in/])
  t.match(drift({ first: { ...good, title: 'x', inputSchema: {} } }), [/^"title"|^"inputSchema"/, /differs/])
  t.same(drift({ first: { ...good } }), [], 'equal, though not the same')
  t.end()
})
