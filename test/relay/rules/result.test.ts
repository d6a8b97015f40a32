import t from 'tap'
import type { CallResult, Checked } from '#relay/core/vocabulary.js'
import { parseData, type Data, type DataObject } from '#relay/protocol/unmetered.js'
import type { Revision } from '#relay/protocol/revisions/index.js'
import { answer, paths, ruleNamed, text, tool, type Case } from './ask.js'

type InRevision = readonly [revision: Revision, result: DataObject]

const at = (...paths: readonly string[]) => paths.map(path => `/result${path}`)
const block = (block: Data) => ({ content: [block] })
const link = { type: 'resource_link', name: 'n', uri: 'file:///a' }

const shapes: readonly Case<InRevision>[] = [
  ['no content blocks at all', ['2025-11-25', { content: [] }], []],
  ['every type of block', ['2025-11-25', { content: [
    text('a'), { type: 'image', data: '', mimeType: 'image/png' },
    { type: 'audio', data: '', mimeType: 'audio/wav' },
    { ...link, size: 3, title: 't', description: 'd', icons: [{ src: 'https://x/' }], _meta: {} },
    { type: 'resource', resource: { uri: 'a:b', text: '' } },
    { type: 'resource', resource: { uri: 'a:b', blob: '', mimeType: 'a/b' } },
  ], isError: false, structuredContent: {}, _meta: {}, vendor: 1 }], []],
  ['a block of an unknown type, which is content/type', ['2024-11-05', block({ type: 'audio' })], []],
  [
    'structured content that is null, where any value may be',
    ['2026-07-28', { content: [], structuredContent: null }], [],
  ],
  ['no resultType, where one belongs', ['2026-07-28', { content: [] }], []],
  ['the form of the first servers', ['2024-11-05', { toolResult: 'x' }], []],
  ['that form with content', ['2024-11-05', { toolResult: 'x', content: [1] }], at('/content/0')],
  ['that form, later', ['2025-03-26', { toolResult: 'x' }], at('/content')],
  ['nothing', ['2025-11-25', {}], at('/content')],
  ['content that is a string', ['2025-11-25', { content: 'x' }], at('/content')],
  ['content that is null', ['2025-11-25', { content: null }], at('/content')],
  ['a block that is a string', ['2025-11-25', block('x')], at('/content/0')],
  ['a block without a type', ['2025-11-25', block({ text: 'x' })], at('/content/0/type')],
  ['a type that is a number', ['2025-11-25', block({ type: 1 })], at('/content/0/type')],
  ['a text block without text', ['2025-11-25', block({ type: 'text' })], at('/content/0/text')],
  ['a text that is an object', ['2025-11-25', block({ type: 'text', text: {} })], at('/content/0/text')],
  [
    'an image without its media type', ['2025-11-25', block({ type: 'image', data: '' })],
    at('/content/0/mimeType'),
  ],
  [
    'audio without data', ['2025-03-26', block({ type: 'audio', mimeType: 'audio/wav' })],
    at('/content/0/data'),
  ],
  [
    'a link without a name', ['2025-06-18', block({ type: 'resource_link', uri: 'a:b' })],
    at('/content/0/name'),
  ],
  ['a size of half a byte', ['2025-06-18', block({ ...link, size: 1.5 })], at('/content/0/size')],
  [
    'an icon without source, where icons are known', ['2025-11-25', block({ ...link, icons: [{}] })],
    at('/content/0/icons/0/src'),
  ],
  ['an icon without source, where they are not', ['2025-06-18', block({ ...link, icons: [{}] })], []],
  ['a resource that is missing', ['2025-06-18', block({ type: 'resource' })], at('/content/0/resource')],
  [
    'a resource without contents', ['2025-06-18', block({ type: 'resource', resource: { uri: 'a:b' } })],
    at('/content/0/resource'),
  ],
  [
    'a resource without URI', ['2025-06-18', block({ type: 'resource', resource: { text: '' } })],
    at('/content/0/resource/uri'),
  ],
  ['annotations of wrong types', [
    '2025-06-18', block({ ...link, annotations: { audience: 'user', priority: '1', lastModified: 1 } }),
  ],
  at(
    '/content/0/annotations/audience', '/content/0/annotations/priority',
    '/content/0/annotations/lastModified',
  )],
  ['isError that is a word', ['2025-11-25', { content: [], isError: 'true' }], at('/isError')],
  [
    'structured content that is an array, where an object belongs',
    ['2025-11-25', { content: [], structuredContent: [] }], at('/structuredContent'),
  ],
  [
    'structured content that is null, where an object belongs',
    ['2025-06-18', { content: [], structuredContent: null }], at('/structuredContent'),
  ],
  ['_meta that is null', ['2025-11-25', { content: [], _meta: null }], at('/_meta')],
  ['a resultType that is a number', ['2026-07-28', { content: [], resultType: 1 }], at('/resultType')],
  ['a server that tells no version', [
    '2026-07-28', { content: [], _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'x' } } },
  ],
  at('/_meta/io.modelcontextprotocol~1serverInfo/version')],
]

t.test('result/shape: results that are no CallToolResult of the revision', t => {
  for (const [title, [revision, result], expected] of shapes) {
    t.same(paths(ruleNamed('result/shape').onResult?.(answer(result, { revision }))), expected, title)
  }
  t.end()
})

const declared = { tool: tool({ outputSchemas: [{ type: 'object' }] }) }
const problems = (...kinds: readonly Checked[number]['kind'][]): Partial<CallResult> => ({
  ...declared,
  checked: kinds.map(kind => ({ kind, path: `/result/structuredContent/${kind}`, message: kind })),
})
const structured = { content: [text('{}')], structuredContent: {} }
const failed = { ...structured, isError: true }

const verdicts: readonly (readonly [title: string, answer: CallResult, found: readonly string[]])[] = [
  ['a result that matches', answer(structured, problems()), []],
  ['null, where any value may be', answer({ content: [text('x')], structuredContent: null }, declared), []],
  [
    'false, an empty string, an empty array',
    answer({ content: [text('x')], structuredContent: '' }, declared), [],
  ],
  ['none, where an output schema is', answer({ content: [] }, declared), ['result/missing /result']],
  [
    'none, but inherited', answer(Object.create({ structuredContent: {} }) as DataObject, declared),
    ['result/missing /result'],
  ],
  [
    'none, where the output schema is false',
    answer({ content: [] }, { tool: tool({ outputSchemas: [false] }) }), ['result/missing /result'],
  ],
  ['none in an error', answer({ content: [], isError: true }, declared), []],
  [
    'none, and isError is a word', answer({ content: [], isError: 'true' }, declared),
    ['result/missing /result'],
  ],
  ['none, and none declared', answer({ content: [] }), []],
  [
    'a mismatch', answer(structured, problems('mismatch')),
    ['result/schema /result/structuredContent/mismatch'],
  ],
  [
    'a mismatch and a format', answer(structured, problems('mismatch', 'format')),
    ['result/schema /result/structuredContent/mismatch'],
  ],
  [
    'only a format', answer(structured, problems('format')),
    ['result/format /result/structuredContent/format'],
  ],
  ['no verdict', answer(structured, problems('unchecked', 'schema')), [
    'result/unchecked /result/structuredContent/unchecked',
    'result/unchecked /result/structuredContent/schema',
  ]],
  ['no list', answer(
    { content: [] }, { tool: undefined, checked: [{ kind: 'unchecked', path: '/result', message: '' }] },
  ), ['result/unchecked /result']],
  [
    'a mismatch in an error', answer(failed, problems('mismatch')),
    ['result/error-structured /result/structuredContent/mismatch'],
  ],
  [
    'no verdict in an error', answer(failed, problems('unchecked')),
    ['result/error-structured /result/structuredContent/unchecked'],
  ],
  ['an error of a tool of which nothing is known', answer(
    { content: [], isError: true },
    { tool: undefined, checked: [{ kind: 'unchecked', path: '/result', message: '' }] },
  ), []],
  [
    'structured content that nobody declared', answer(structured),
    ['result/undeclared /result/structuredContent'],
  ],
  ['structured content of a tool of which nothing is known', answer(structured, { tool: undefined }), []],
  ['structured content without text', answer(
    { content: [{ type: 'image', data: '', mimeType: 'image/png' }], structuredContent: {} }, declared,
  ), ['result/no-text /result/content']],
]
const judging = [
  'result/missing', 'result/schema', 'result/format', 'result/unchecked', 'result/error-structured',
  'result/undeclared', 'result/no-text',
] as const

t.test('result/*: results that differ from the tool\'s declaration', t => {
  for (const [title, subject, found] of verdicts) {
    const findings = judging.flatMap(rule =>
      (ruleNamed(rule).onResult?.({ ...subject, revision: '2026-07-28' }) ?? []).map(
        problem => ({ rule, ...problem }),
      ))
    t.same(findings.map(({ rule, path }) => `${rule} ${path}`), found, title)
  }
  t.end()
})

type Said = readonly [structured: Data, ...texts: readonly string[]]

const texts: readonly Case<Said>[] = [
  ['the same', [{ a: 1, b: [1, { c: null }] }, '{"a":1,"b":[1,{"c":null}]}'], []],
  [
    'the same in another order, indented, with another spelling of numbers',
    [{ a: 1, b: 100 }, ' { "b": 1e2,\n "a": 1.0 }\n'], [],
  ],
  ['prose', [{ a: 1 }, 'It is 1.'], []],
  ['prose in brackets', [{ a: 1 }, '[no JSON]'], []],
  ['a number, which is JSON, but says nothing', [{ a: 1 }, '2'], []],
  ['null in the text for what is left out', [{ a: 1 }, '{"a":1,"b":null}'], []],
  ['left out in the text what is null', [{ a: 1, b: null }, '{"a":1}'], []],
  ['the list that a wrapper holds', [{ result: [1, 2] }, '[1,2]'], []],
  ['the text itself in a wrapper', [{ content: '[ 1 ]' }, '[ 1 ]'], []],
  ['an element per block', [{ result: [{ a: 1 }, { a: 2 }] }, '{"a":1}', '{"a":2}'], []],
  ['an element per block, of an array', [[{ a: 1 }, { a: 2 }], '{"a":1}', '{"a":2}'], []],
  ['an array of nulls', [[null], '[null]'], []],
  ['a member that every object has', [{ constructor: 1 }, '{"constructor":1}'], []],
  ['another value', [{ a: 1 }, '{"a":2}'], at('/content/0/text')],
  ['another type', [{ a: 1 }, '{"a":"1"}'], at('/content/0/text')],
  ['a member more', [{ a: 1 }, '{"a":1,"b":0}'], at('/content/0/text')],
  ['a member less', [{ a: 1, b: 0 }, '{"a":1}'], at('/content/0/text')],
  ['a member that every object has, and only it', [{}, '{"constructor":1}'], at('/content/0/text')],
  ['another order of elements', [{ a: [1, 2] }, '{"a":[2,1]}'], at('/content/0/text')],
  ['an element more', [{ a: [1] }, '{"a":[1,2]}'], at('/content/0/text')],
  ['the second of two', [{ a: 1 }, '{"a":1}', '{"a":2}'], at('/content/1/text')],
  [
    'the elements in another order', [[{ a: 1 }, { a: 2 }], '{"a":2}', '{"a":1}'],
    at('/content/0/text', '/content/1/text'),
  ],
  ['null, against an object', [null, '{"a":1}'], at('/content/0/text')],
]

/**
 * Spelt as no serialiser of ours spells it: the structured content, the text, and whether they say the same.
 */
const spelt: readonly (readonly [structured: string, text: string, agree: boolean])[] = [
  [
    '{"a":12345678901234567890,"b":12345678901234567891}',
    '{"a":12345678901234567891,"b":12345678901234567890}', false,
  ],
  [
    '{"a":12345678901234567890,"b":12345678901234567891}',
    '{"b":12345678901234567891,"a":12345678901234567890}', true,
  ],
  [
    '{"a":12345678901234567890,"b":"12345678901234567891"}',
    '{"a":12345678901234567891,"b":"12345678901234567891"}', false,
  ],
  ['{"a":12345678901234567891}', '{"a":12345678901234567890}', false],
  ['{"a":9007199254740993}', '{"a":9007199254740992.0}', false],
  ['{"a":9007199254740993}', '{"a":9.007199254740993E+15}', true],
  ['{"a":1e22}', '{"a":10000000000000000000000}', true],
  ['{"a":-0,"b":0.10}', '{"a":0,"b":1e-1}', true],
  ['{"a":0.1}', '{"a":-0.1}', false],
  ['{"a":1}', '{"a":2,"a":1}', false],
  ['{"a":{"b":1}}', '{"a":{"b":1,"\\u0062":1}}', false],
  ['{"a":1}', '\ufeff{"a":2}', false],
  ['{"a":1}', '\u00a0{"a":2}\u3000', false],
  ['{"a":1}', '\ufeff{"a":1}\u3000', true],
  ['{"a":[1,{"b":12345678901234567890}]}', '[1,{"b":12345678901234567890}]', true],
  ['{"a":[1,{"b":12345678901234567890}]}', '[1,{"b":12345678901234567891}]', false],
  ['{"a":true,"b":null}', '{"a":true}', true],
  ['{"a":true}', '{"a":"true"}', false],
  ['{"a":1}', '{"a":"1"}', false],
  ['{"a":1}', `{"a":${'['.repeat(5000)}${']'.repeat(5000)}}`, false],
]

t.test('result/text: numbers are compared digit by digit, and members one by one', t => {
  for (const [structured, said, agree] of spelt) {
    const subject = answer(
      { content: [text(said)], structuredContent: parseData(structured) ?? null },
      { structuredText: () => structured, repeats: [] },
    )
    t.same(
      paths(ruleNamed('result/text').onResult?.(subject)), agree ? [] : ['/result/content/0/text'],
      `${structured} ${said.slice(0, 80)}`,
    )
  }
  t.end()
})

t.test('result/text: a text that is JSON and disagrees', t => {
  for (const [title, [structured, ...said], expected] of texts) {
    const result = { content: said.map(text), structuredContent: structured }
    t.same(
      paths(ruleNamed('result/text').onResult?.(answer(result, { revision: '2026-07-28' }))), expected, title,
    )
  }
  t.same(
    paths(ruleNamed('result/text').onResult?.(answer({ content: [text('{"a":1}')] }))), [],
    'nothing to disagree with',
  )
  t.same(paths(ruleNamed('result/text').onResult?.(
    answer({ content: [{ type: 'image', text: '{"a":1}' }], structuredContent: {} }),
  )), [], 'no text block')
  t.end()
})
