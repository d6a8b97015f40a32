import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { parseStrictJson, parseYaml, SyntaxProblem } from '#relay/config/text.js'

const outcome = async (read: (text: string) => unknown, text: string): Promise<unknown> => {
  try {
    return { value: await read(text) }
  } catch {
    return 'refused'
  }
}

const parse = (text: string): unknown => JSON.parse(text)
const ours = async (text: string): Promise<unknown> => (await parseStrictJson(text)).data

t.test('every JSON text reads as JSON.parse reads it', async t => {
  await fc.assert(fc.asyncProperty(fc.json(), fc.constantFrom(undefined, 1, '\t'), async (text, indent) => {
    const written = JSON.stringify(parse(text), null, indent)
    return isDeepStrictEqual(await ours(written), parse(written))
  }))
  t.strictSame(await ours('{"__proto__":{"a":1}}'), parse('{"__proto__":{"a":1}}'))
})

t.test('a text is refused if and only if JSON.parse refuses it, or it has duplicate keys', async () => {
  const pieces = [
    '{', '}', '[', ']', ',', ':', '"a"', '"b"', '1', '-', '0', '.5', 'e9', 'true', 'nul', ' ', '\n', '"',
    '\\', '\t"',
  ]
  await fc.assert(fc.asyncProperty(fc.array(fc.constantFrom(...pieces), { maxLength: 12 }), async parts => {
    const text = parts.join('')
    const read = await outcome(ours, text)
    // JSON.parse accepts duplicate keys; this parser does not.
    if (/"a".*"a"|"b".*"b"/s.test(text) && read === 'refused') return true
    return isDeepStrictEqual(read, await outcome(parse, text))
  }), { numRuns: 2000 })
})

const wrongJson = [
  ['a trailing comma', '{\n  "a": 1,\n}', 3, 1, 'not JSON: nothing stands between "," and "}"'],
  ['a comment', '{ // no\n}', 1, 3, 'JSON has no comments'],
  ['a missing comma', '[1\n 2]', 1, 3, 'not JSON: expected a comma or a bracket'],
  ['no comma before a key', '{"a": 1\n "b": 2}', 1, 8, 'not JSON: expected a comma or a bracket'],
  ['an unquoted word', '{"a": strict}', 1, 7, 'not JSON: expected a value, or a key in double quotes'],
  ['an end too soon', '{"a": [', 1, 8, 'not JSON: a bracket, a comma or a colon is missing, or is too many'],
  [
    'something after the end', '{}\n{}', 2, 1,
    'not JSON: a bracket, a comma or a colon is missing, or is too many',
  ],
  ['a key that stands twice', '{"a": 1,\n "a": 2}', 2, 2, 'the key "a" stands here twice'],
  ['the same key, spelt otherwise', '{"a": {"b": 1, "\\u0062": 2}}', 1, 16, 'the key "b" stands here twice'],
  ['a raw line end in text', '{"a": "x\ny"}', 1, 7, 'not JSON: expected a value, or a key in double quotes'],
  ['a leading zero', '[01]', 1, 2, 'not JSON: expected a value, or a key in double quotes'],
] as const

for (const [name, text, line, column, message] of wrongJson) {
  t.test(`the place of ${name} is named`, async t => {
    const error: unknown = await parseStrictJson(text).catch((error: unknown) => error)
    t.ok(error instanceof SyntaxProblem)
    t.match(error, { place: { line, column }, message })
  })
}

t.test('JSON nested too deep is refused', async t => {
  const tooDeep = { name: 'SyntaxProblem', message: 'nested deeper than 200' }
  await t.rejects(parseStrictJson('['.repeat(1000)), tooDeep)
  await t.rejects(parseStrictJson('['.repeat(1000) + ']'.repeat(1000)), tooDeep)
})

const yaml = async (text: string) => (await parseYaml(text)).data

t.test('YAML reads as plain data', async t => {
  t.strictSame(await yaml(
    'a: [1, x]\nb: { c: yes, d: true, e: null }\nf: 127.0.0.1:7400\n__proto__: { g: 1 }\n',
  ), {
    a: [1, 'x'],
    b: { c: 'yes', d: true, e: null },
    f: '127.0.0.1:7400',
    ['__proto__']: { g: 1 },
  })
  t.strictSame(
    await yaml('x: &shared { a: 1 }\ny: *shared\n'), { x: { a: 1 }, y: { a: 1 } }, 'anchors may be shared',
  )
  t.strictSame(
    await yaml(`a:\n${'- \n'.repeat(500)}`), { a: Array(500).fill(null) }, 'a long list is not deep',
  )
})

const bomb = `a: &a0 [x, x, x, x, x, x, x, x, x]\n${
  Array.from({ length: 8 }, (_, at) => `b${at}: &a${at + 1} [${Array(9).fill(`*a${at}`).join(', ')}]\n`).join('')}`

const wrongYaml = [
  [
    'a key that stands twice', 'a: 1\nb:\n  c: 1\n  c: 2\n', { line: 4, column: 3 },
    /the key "c" stands here twice/,
  ],
  ['an indentation by tabs', 'a:\n\tb: 1\n', { line: 2, column: 1 }, /Tab/],
  ['a missing quote', 'a: "x\n', { line: 2, column: 1 }, /quote/],
  ['a second document', 'a: 1\n---\nb: 1\n', { line: 2, column: 1 }, /multiple documents/],
  ['an unknown tag', 'a: !shell rm\n', { line: 1, column: 4 }, /tag/],
  ['a key that is a list', '? [1]\n: 2\n', { line: 1, column: 3 }, /keys must be strings/],
  ['an unknown alias', 'a: *nowhere\n', undefined, /nowhere/],
  ['a bomb of aliases', bomb, undefined, /alias/],
  ['a loop', 'a: &a [*a]\n', undefined, /JSON cannot say/],
  ['an infinity', 'a: .inf\n', undefined, /JSON cannot say/],
  ['a date', 'a: !!timestamp 2026-01-01\n', undefined, /JSON cannot say/],
  ['a tower of brackets', `a: ${'['.repeat(100_000)}`, undefined, /deeper than 200/],
  ['a tower of dashes', '- '.repeat(100_000), undefined, /deeper than 200/],
] as const

for (const [name, text, place, message] of wrongYaml) {
  t.test(`${name} is refused`, async t => {
    const found: unknown = await yaml(text).catch((error: unknown) => error)
    t.match(found, { name: 'SyntaxProblem', message })
    t.strictSame((found as { place?: unknown }).place, place)
  })
}

t.test('a map of 20,000 keys is read', async t => {
  const text = Array.from({ length: 20_000 }, (_, at) => `k${at}: 1\n`).join('')
  t.equal(Object.keys((await yaml(text)) as object).length, 20_000)
})
