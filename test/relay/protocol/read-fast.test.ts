import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { isRecord, field } from '#relay/protocol/unmetered.js'
import { parseFrame } from '#relay/protocol/parse.js'
import { textOf } from '#relay/protocol/read-fast.js'
import { model, picks, write, type Model } from './json-text.js'

const limits = { messageBytes: 1 << 24, depth: 128 }

const answer = (structured: string, text = 'x') =>
  `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":${JSON.stringify(text)}}],"structuredContent":${structured}}}`

const structuredOf = (text: string, more: object = {}) => {
  const { message, faults, facts } = parseFrame(Buffer.from(text), { ...limits, ...more })
  return {
    structured: message.kind === 'result' ? field(message.result, 'structuredContent') : undefined, faults,
    facts,
  }
}

t.test('structured content that the byte validator accepted is parsed at its first use', async t => {
  const { structured = null, facts } = structuredOf(answer('{"a":[1,{"b":2}],"__proto__":{"x":1}}'))
  t.equal(textOf(structured)?.toString(), '{"a":[1,{"b":2}],"__proto__":{"x":1}}')
  t.ok(isRecord(structured))
  t.same(facts, { plain: true, onlyContainer: true, repeats: [] })
  t.equal(JSON.stringify(structured), '{"a":[1,{"b":2}],"__proto__":{"x":1}}')
  t.same(Object.keys(structured ?? {}), ['a', '__proto__'])
  t.notOk(isRecord(structured) && Object.hasOwn(structured, 'toString'))
})

t.test('a lazy array is recognized as an array before it is parsed', async t => {
  const { structured = null } = structuredOf(answer('[1,[2],3]'))
  t.ok(textOf(structured))
  if (!Array.isArray(structured)) return t.fail('is an array')
  t.equal(structured.length, 3)
  t.same(structured.map(String), ['1', '2', '3'])
  t.same(structured.slice(0, 2), [1, [2]])
})

/** As an array, or as an object. */
const isList = (value: object): value is readonly unknown[] => Array.isArray(value)

const looks: readonly (readonly [string, (value: object) => unknown])[] = [
  ['its text', value => JSON.stringify({ value }, null, 1)],
  ['its names, in order', value => [Object.keys(value), Reflect.ownKeys(value)]],
  ['its members', value => Object.entries(value)],
  ['a loop', value => {
    const found: string[] = []
    for (const key in value) found.push(key)
    return found
  }],
  ['a copy', value => (isList(value) ? [...value] : { ...value })],
  ['what it is', value => [
    typeof value, Array.isArray(value), isRecord(value), Object.prototype.toString.call(value),
    value instanceof Array,
  ]],
  ['whether it has members', value => [
    'a', '0', '__proto__', 'toString', 'length', 'toJSON',
  ].map(key => [Object.hasOwn(value, key), key in value])],
  ['what it says of them', value => Object.getOwnPropertyDescriptors(value)],
  ['a member that is called as the prototype', value => Reflect.get(value, '__proto__') as unknown],
  ['methods of arrays', value => (isList(value) ? [
    value.length, value.at(-1), value.slice(1), value.concat([1]), value.flat(), value.toReversed(),
    value.includes(1),
  ] : [])],
  [
    'whether it can be changed',
    value => [Object.isFrozen(value), Object.isSealed(value), Object.isExtensible(value)],
  ],
]

t.test('lazy content equals the value of JSON.parse for every way of reading', async t => {
  for (const text of [
    '{}', '[]', '{"b":1,"a":[1,{"c":null}],"0":2,"__proto__":{"x":1},"toJSON":1}',
    '{"constructor":1,"length":2,"toString":null}', '[1,[2],{"a":3},null]', '[[[]]]',
  ]) {
    for (const [title, look] of looks) {
      const { structured = null } = structuredOf(answer(text))
      t.ok(textOf(structured))
      if (typeof structured !== 'object' || structured === null) return t.fail('is an object')
      assert.deepEqual(look(structured), look(JSON.parse(text) as object), `${title}: ${text}`)
    }
  }
})

t.test('lazy content cannot be changed', async t => {
  for (const text of ['{"a":1}', '[1]']) {
    const { structured } = structuredOf(answer(text))
    if (typeof structured !== 'object' || structured === null) return t.fail('is an object')
    t.throws(() => Object.assign(structured, { a: 2 }), TypeError)
    t.notOk(Reflect.deleteProperty(structured, 'a'))
    t.throws(() => Object.freeze(structured), TypeError)
    t.equal(JSON.stringify(structured), text)
  }
})

t.test('content that the byte validator does not accept is parsed, with the usual faults', async t => {
  const parsed: readonly (readonly [string, readonly string[]])[] = [
    ['{"a":1,"a":2}', ['/result/structuredContent/a the same key twice']],
    ['{"a":"\\ud800"}', ['/result/structuredContent/a half of a surrogate pair']],
    ['{"\\u0061":1}', []],
    ['"text"', []],
  ]
  for (const [structured, faults] of parsed) {
    const found = structuredOf(answer(structured))
    t.notOk(textOf(found.structured ?? null), structured)
    t.same(found.faults.map(({ path, message }) => `${path} ${message}`), faults)
  }
})

t.test('no more is parsed at once than one turn of the event loop allows', async t => {
  const numbers = (count: number) => JSON.stringify(Array.from({ length: count }, (_, index) => index % 100))
  t.ok(textOf(structuredOf(answer(numbers(400_000), numbers(400_000))).structured ?? null))
  t.notOk(textOf(structuredOf(answer(numbers(600_000))).structured ?? null), 'too many things')
  const names = (count: number) => JSON.stringify(Array.from(
    { length: count / 10 },
    (_, row) => Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`${row}.${index}`, 1])),
  ))
  t.ok(textOf(structuredOf(answer(names(90_000))).structured ?? null))
  t.notOk(textOf(structuredOf(answer(names(110_000))).structured ?? null), 'too many names')
  t.notOk(textOf(structuredOf(answer('{}', 'x'.repeat(3 << 20))).structured ?? null), 'too long')
})

t.test('the byte validator can be turned off', async t => {
  t.notOk(textOf(structuredOf(answer('{"a":1}'), { judgedBytes: 0 }).structured ?? null))
  t.ok(textOf(structuredOf(answer('{"a":1}'), { judgedBytes: 1000 }).structured ?? null))
})

t.test('a text that repeats the structured content is recognized', async t => {
  t.same(structuredOf(answer('{"a":1}', '{ "a": 1 }')).facts?.repeats, [0])
  t.same(structuredOf(answer('{"a":1}', '{ "a": 2 }')).facts?.repeats, [])
})

t.test('long strings are cut out before the rest is parsed, and are where they were, in their order', async t => {
  const long = 'x'.repeat(20_000)
  const rows =
    JSON.stringify({ rows: Array.from({ length: 900 }, (_, id) => ({ id, 'a "name"': `${id}\\` })) })
  const block = (more: object) => ({ type: 'text', ...more, _meta: { text: long } })
  const results: readonly object[] = [
    { content: [
      block({ text: long }), { data: long, type: 'image' }, block({ text: `${long}"` }),
      block({ text: 'short' }),
    ] },
    { content: [
      { type: 'resource', resource: { uri: 'a:b', blob: long, text: long } },
      { resource: long, text: [long] },
    ] },
    { content: Array.from({ length: 12 }, () => block({ text: long, data: long })), isError: false },
    { content: [block({ text: `${long}\u00e9` })], structuredContent: { a: long } },
    {
      structuredContent: JSON.parse(rows) as object,
      content: [block({ text: rows }), block({ text: ` ${rows}` }), block({ text: long })],
    },
    { content: [block({ text: rows })], structuredContent: JSON.parse(rows) as object },
    { content: [block({ text: rows })], structuredContent: rows },
    { content: { text: long }, contents: [{ text: long }] },
    { tools: [{ name: 'a', description: long }] },
  ]
  for (const result of results) {
    const bytes = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, result }))
    const [judged, parsed] = [parseFrame(bytes, limits), parseFrame(bytes, { ...limits, judgedBytes: 0 })]
    t.equal(JSON.stringify(judged.message), JSON.stringify(parsed.message))
    t.same(judged.message, { kind: 'result', id: 1, key: '1', result })
    t.same(judged.faults, [])
  }
})

const insert = fc.constantFrom(
  '"', '\\', '{', '}', '[', ']', ',', ':', '\\ud800', '1e999', '"a":0,', '\0', '\u200b', '"Result":0,',
  '"id":2,', '',
)

t.test('a message is the same message, judged from its bytes or parsed', async () => {
  const messageOf = (value: Model): Model => ({
    kind: 'object',
    members: [
      ['jsonrpc', { kind: 'string', value: '2.0' }], ['id', { kind: 'string', value: 'one' }],
      ['result', { kind: 'object', members: [
        ['content', { kind: 'array', elements: [] }], ['structuredContent', value], ['_meta', value],
      ] }],
    ],
  })
  fc.assert(
    fc.property(model, picks, fc.array(
      fc.record({ at: fc.nat(), cut: fc.nat(2), insert }), { maxLength: 2 },
    ), (value, from, changes) => {
      let text = write(messageOf(value), from())
      for (const { at, cut, insert } of changes) {
        const where = at % (text.length + 1)
        text = text.slice(0, where) + insert + text.slice(where + cut)
      }
      const bytes = Buffer.from(text)
      const [judged, parsed] = [parseFrame(bytes, limits), parseFrame(bytes, { ...limits, judgedBytes: 0 })]
      assert.equal(JSON.stringify(judged.message), JSON.stringify(parsed.message))
      assert.deepEqual(judged.faults, parsed.faults)
      assert.deepEqual(judged.otherKeys, parsed.otherKeys)
      assert.equal(judged.facts?.onlyContainer, parsed.facts?.onlyContainer)
    }),
    { numRuns: 1500 },
  )
})
