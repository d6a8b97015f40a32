import t from 'tap'
import type { CallResult, ListedTool } from '#relay/core/vocabulary.js'
import type { DataObject } from '#relay/protocol/unmetered.js'
import type { RuleName } from '#relay/rules/index.js'
import { answer, listed, paths, ruleNamed, text, tool } from './ask.js'

const good = { name: 'weather', inputSchema: { type: 'object' } }
const of = (inputSchema: DataObject | null): DataObject => ({ ...good, inputSchema })
const draft07 = 'http://json-schema.org/draft-07/schema#'
const newest = 'https://json-schema.org/draft/2020-12/schema'
const meta = { $schema: draft07, properties: { a: { $ref: draft07 } } }

const tools: readonly (readonly [
  rule: RuleName, title: string, definition: DataObject, made: DataObject | undefined,
  more?: Partial<ListedTool>,
])[] = [
  ['tool/input-type', 'no type', of({ title: 'x' }), of({ title: 'x', type: 'object' })],
  ['tool/input-type', 'a type that is null', of({ type: null }), good],
  ['tool/input-type', 'another type', of({ type: 'string' }), undefined],
  ['tool/input-type', 'a list of types', of({ type: ['object', 'null'] }), undefined],
  ['tool/input-type', 'no schema', of(null), undefined],
  [
    'tool/input-type', 'booleans for schemas',
    of({ type: 'object', properties: { a: true, b: false, c: {} } }),
    of({ type: 'object', properties: { a: {}, b: { not: {} }, c: {} } }),
  ],
  [
    'tool/input-type', 'booleans that the revision knows', of({ properties: { a: true } }),
    of({ properties: { a: true }, type: 'object' }), { revision: '2026-07-28' },
  ],
  ['tool/dialect', 'draft-07', of({ $schema: draft07, definitions: {} }), of({ $schema: newest, $defs: {} })],
  ['tool/dialect', 'one of nobody\'s', of({ $schema: 'https://a.example/' }), undefined],
  ['tool/dialect', 'an input schema that cannot be said', of(meta), good],
  ['tool/dialect', 'an output schema that cannot be said', { ...good, outputSchema: meta }, good],
  [
    'list/shape', 'nulls of a tool', { ...good, title: null, annotations: { title: null }, own: null },
    { ...good, annotations: {}, own: null },
  ],
  [
    'list/shape', 'nulls of its schemas',
    of({ required: null, type: null, items: [{ maximum: null, const: null }] }),
    of({ type: null, items: [{ const: null }] }),
  ],
  [
    'list/shape', 'names that look like keywords',
    of({ properties: { required: { enum: [null] } }, default: { title: null } }),
    of({ properties: { required: { enum: [null] } }, default: { title: null } }),
  ],
]

t.test('definitions that rules mend', t => {
  for (const [rule, title, definition, made, more] of tools) {
    t.same(ruleNamed(rule).mend?.onTool?.(listed(definition, more)), made, `${rule}: ${title}`)
  }
  t.end()
})

const dialects: readonly (readonly [title: string, definition: DataObject, paths: readonly string[]])[] = [
  ['none', good, []],
  ['the newest', of({ $schema: newest }), []],
  ['the newest, by another spelling', of({ $schema: 'http://json-schema.org/draft/2020-12/schema#' }), []],
  ['older ones', {
    ...of({ $schema: draft07 }), outputSchema: { $schema: 'https://json-schema.org/draft/2019-09/schema' },
  }, ['/result/tools/0/inputSchema/$schema', '/result/tools/0/outputSchema/$schema']],
  ['one that nobody knows', of({ $schema: 'x' }), ['/result/tools/0/inputSchema/$schema']],
  ['no text, which is tool/schema', of({ $schema: 7 }), []],
]

t.test('tool/dialect: schemas of another dialect than 2020-12', t => {
  for (const [title, definition, expected] of dialects) {
    t.same(paths(ruleNamed('tool/dialect').onTool?.(listed(definition))), expected, title)
  }
  t.end()
})

const declared = { tool: tool({ outputSchemas: [{ type: 'object' }] }) }
const data = { n: 1 }
const image = { type: 'image', data: '', mimeType: 'image/png' }

const results: readonly (readonly [
  rule: RuleName, title: string, answer: CallResult, made: DataObject | undefined,
])[] = [
  [
    'result/missing', 'one text that is JSON', answer({ content: [text('x'), text('{"n":1}')] }, declared),
    { content: [text('x'), text('{"n":1}')], structuredContent: data },
  ],
  ['result/missing', 'two of them', answer({ content: [text('[]'), text('{"n":1}')] }, declared), undefined],
  ['result/missing', 'none', answer({ content: [text('1')] }, declared), undefined],
  ['result/error-structured', 'with a text', answer(
    { content: [text('x')], isError: true, structuredContent: data }, declared,
  ), { content: [text('x')], isError: true }],
  [
    'result/undeclared', 'without one', answer({ content: [image], structuredContent: data }),
    { content: [image, text('{"n":1}')] },
  ],
  ['result/undeclared', 'without content', answer({ structuredContent: data }), undefined],
  [
    'result/no-text', 'an image', answer({ content: [image], structuredContent: data }, declared),
    { content: [image, text('{"n":1}')], structuredContent: data },
  ],
  ['result/no-text', 'without content', answer({ structuredContent: data }, declared), undefined],
  ['result/text', 'another value', answer(
    { content: [text('x'), text('{"n":2}')], structuredContent: data }, declared,
  ), { content: [text('x'), text('{"n":1}')], structuredContent: data }],
  ['result/text', 'several', answer(
    { content: [text('{"n":2}'), image, text('{"n":3}')], structuredContent: data }, declared,
  ), { content: [text('{"n":1}'), image], structuredContent: data }],
]

t.test('results that rules mend', t => {
  for (const [rule, title, subject, made] of results) {
    t.same(ruleNamed(rule).mend?.onResult?.(subject), made, `${rule}: ${title}`)
  }
  t.end()
})

t.test('a list without the nulls that no revision knows', t => {
  const made = (method: string, result: DataObject) =>
    ruleNamed('list/shape').mend?.onList?.({ method, result, revision: '2025-11-25' })
  t.same(
    made('tools/list', { tools: [{ title: null }], nextCursor: null, _meta: { title: null } }),
    { tools: [{ title: null }], _meta: { title: null } }, 'tools are mended one by one',
  )
  t.same(
    made('resources/list', { resources: [{ name: 'a', uri: null, mimeType: null }], ttlMs: null }),
    { resources: [{ name: 'a', uri: null }] },
  )
  t.same(made('resources/read', { nextCursor: null }), { nextCursor: null }, 'what lists nothing')
  t.end()
})

t.test('each rule that mends, and no other, says how in words', async t => {
  const { rules } = await import('#relay/rules/index.js')
  for (const { name, mend, mends } of rules) t.equal(mends === undefined, mend === undefined, name)
})
