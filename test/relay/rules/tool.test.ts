import t from 'tap'
import type { DataObject } from '#relay/protocol/unmetered.js'
import { listed, paths, ruleNamed, type Case } from './ask.js'

const good = { name: 'weather', inputSchema: { type: 'object' } }
const at = (...paths: readonly string[]) => paths.map(path => `/result/tools/0${path}`)

t.test('tool/annotations: whatever a server claims in annotations that is not trusted', t => {
  const rule = ruleNamed('tool/annotations')
  for (const annotations of [{}, { title: 'x' }]) {
    t.same(paths(rule.onTool?.(listed({ ...good, annotations }))), [], 'no claim')
  }
  t.same(
    rule.mend?.onTool?.(listed({ ...good, annotations: { title: 'x', readOnlyHint: true } })),
    { ...good, annotations: { title: 'x' } }, 'the title stays',
  )
  t.same(rule.mend?.onTool?.(listed({ ...good, annotations: { readOnlyHint: true } })), good)
  for (const annotations of [{ readOnlyHint: true }, { title: 'x', own: 1 }, null, 1]) {
    t.same(
      paths(rule.onTool?.(listed({ ...good, annotations }))), at('/annotations'), JSON.stringify(annotations),
    )
    t.same(paths(rule.onTool?.(listed({ ...good, annotations }, { trusted: true }))), [], 'trusted')
  }
  t.same(paths(rule.onTool?.(listed(good))), [], 'none')
  t.end()
})

const contradictions: readonly Case<DataObject>[] = [
  ['read-only and destructive', { readOnlyHint: true, destructiveHint: true }, at('/annotations')],
  [
    'read-only, with every other hint at its default',
    { readOnlyHint: true, idempotentHint: false, openWorldHint: true }, [],
  ],
  ['read-only and not destructive', { readOnlyHint: true, destructiveHint: false }, []],
  [
    'not read-only, destructive and idempotent',
    { readOnlyHint: false, destructiveHint: true, idempotentHint: true }, [],
  ],
  ['destructive alone', { destructiveHint: true }, []],
  ['hints that are words', { readOnlyHint: 'true', destructiveHint: 'true' }, []],
]

t.test('tool/contradiction: annotations that cannot both be true', t => {
  for (const [title, annotations, expected] of contradictions) {
    t.same(paths(ruleNamed('tool/contradiction').onTool?.(listed({ ...good, annotations }))), expected, title)
  }
  t.same(paths(ruleNamed('tool/contradiction').onTool?.(listed(good))), [], 'no annotations')
  t.end()
})

const icons: readonly Case<DataObject[string]>[] = [
  ['none', undefined, []],
  [
    'https and a picture in place',
    [{ src: 'https://x/i.png' }, { src: 'HTTPS://x/' }, { src: 'data:image/svg+xml;base64,AA==' }], [],
  ],
  ['http', [{ src: 'https://x/' }, { src: 'http://x/i.png' }], at('/icons/1')],
  ['a script', [{ src: 'javascript:alert(1)' }], at('/icons/0')],
  ['a document in place', [{ src: 'data:text/html,x' }], at('/icons/0')],
  ['a file', [{ src: 'file:///etc/passwd' }], at('/icons/0')],
  ['a space before the scheme', [{ src: ' https://x/' }], at('/icons/0')],
  ['no source', [{}, null, 1], at('/icons/0', '/icons/2')],
  ['no array', { src: 'javascript:1' }, at('/icons')],
]

t.test('tool/icon: reports are cut off, removals are complete', t => {
  const rule = ruleNamed('tool/icon')
  const many = (count: number) => ({ ...good, icons: Array.from(
    { length: count }, (_, index) => ({ src: index === 3 ? 'https://x/' : 'javascript:1' }),
  ) })
  t.equal(rule.onTool?.(listed(many(25))).length, 20)
  t.same(rule.mend?.onTool?.(listed(many(25))), { ...good, icons: [{ src: 'https://x/' }] })
  t.same(rule.mend?.onTool?.(listed(many(5000))), { ...good, icons: [{ src: 'https://x/' }] })
  t.equal(rule.mend?.onTool?.(listed(many(20_000))), undefined, 'so many block the tool')
  t.end()
})

t.test('tool/icon: an icon that is neither https: nor data:image/', t => {
  for (const [title, icons_, expected] of icons) {
    const definition = icons_ === undefined ? good : { ...good, icons: icons_ }
    t.same(
      paths(ruleNamed('tool/icon').onTool?.(listed(definition, { revision: '2025-03-26' }))), expected, title,
    )
  }
  t.end()
})

const nested = (description: string) => ({
  ...good,
  inputSchema: { type: 'object', properties: { a: { anyOf: [{ description: 'fine' }, { description }] } } },
})

const hidden: readonly Case<DataObject>[] = [
  ['nothing', nested('plain, with an emoji 👩🏽‍⚕️'), []],
  ['in the description', { ...good, description: 'a\u202e' }, at('/description')],
  ['in the name', { ...good, name: 'a\u200bb' }, at('/name')],
  ['deep in a schema', nested('a\u{e0041}'), at('/inputSchema/properties/a/anyOf/1/description')],
  [
    'in an annotation, and in what nobody knows',
    { ...good, annotations: { title: '\u2060' }, vendor: ['\0'] }, at('/annotations/title', '/vendor/0'),
  ],
  [
    'in the name of a property', { ...good, inputSchema: { properties: { 'a\u200bb': {} } } },
    at('/inputSchema/properties'),
  ],
  ['below the name of such a property', { ...good, 'a\u200b/b': ['\u202e'] }, at('', '/a~1b/0')],
]

t.test('tool/hidden-text: hidden characters anywhere in the definition', t => {
  for (const [title, definition, expected] of hidden) {
    t.same(paths(ruleNamed('tool/hidden-text').onTool?.(listed(definition))), expected, title)
  }
  t.match(ruleNamed('tool/hidden-text').onTool?.(listed({ ...good, title: 'ab\u202e' })), [
    { message: 'the text has a hidden character at position 2 (U+202E, bidi override)' },
  ])
  t.end()
})

const region = (name: DataObject[string]) => ({ type: 'string', 'x-mcp-header': name })
const parameters = (
  properties: DataObject, more: DataObject = {},
) => ({ ...good, inputSchema: { type: 'object', properties, ...more } })

const headers: readonly Case<DataObject>[] = [
  ['none', good, []],
  [
    'one on a property, and one on a nested one',
    parameters({ a: region('A'), b: { type: 'object', properties: { c: region('C') } } }), [],
  ],
  ['one that is no name', parameters({ a: region('no name') }), at('/inputSchema/properties/a/x-mcp-header')],
  [
    'one that is there twice', parameters({ a: region('A'), b: region('a') }),
    at('/inputSchema/properties/b/x-mcp-header'),
  ],
  [
    'one on a number', parameters({ a: { type: 'number', 'x-mcp-header': 'A' } }),
    at('/inputSchema/properties/a/x-mcp-header'),
  ],
  [
    'one behind a choice', parameters({}, { anyOf: [{ properties: { a: region('A') } }] }),
    at('/inputSchema/anyOf/0/properties/a/x-mcp-header'),
  ],
]

t.test('tool/header: an x-mcp-header outside the rules, where the revision has one', t => {
  for (const [title, definition, expected] of headers) {
    t.same(
      paths(ruleNamed('tool/header').onTool?.(listed(definition, { revision: '2026-07-28' }))), expected,
      title,
    )
    t.same(
      paths(ruleNamed('tool/header').onTool?.(listed(definition, { revision: '2025-11-25' }))), [],
      `${title}, before`,
    )
  }
  t.end()
})
