import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { parseJson } from '../../dist/config/json-text.js'
import { SyntaxProblem } from '../../dist/config/text.js'

const outcome = async (read: (text: string) => unknown, text: string): Promise<unknown> => {
  try {
    return { value: await read(text) }
  } catch {
    return 'refused'
  }
}

const parse = (text: string): unknown => JSON.parse(text)
const ours = async (text: string): Promise<unknown> => (await parseJson(text)).data

t.test('every JSON text reads as JSON.parse reads it', async t => {
  await fc.assert(fc.asyncProperty(fc.json(), fc.constantFrom(undefined, 1, '\t'), async (text, indent) => {
    const written = JSON.stringify(parse(text), null, indent)
    return isDeepStrictEqual(await ours(written), parse(written))
  }))
  t.strictSame(await ours('{"__proto__":{"a":1}}'), parse('{"__proto__":{"a":1}}'))
})

t.test('what JSON.parse refuses is refused, and nothing else', async () => {
  const pieces = ['{', '}', '[', ']', ',', ':', '"a"', '"b"', '1', '-', '0', '.5', 'e9', 'true', 'nul', ' ', '\n', '"', '\\', '\t"']
  await fc.assert(fc.asyncProperty(fc.array(fc.constantFrom(...pieces), { maxLength: 12 }), async parts => {
    const text = parts.join('')
    const read = await outcome(ours, text)
    // A key that stands twice is the one thing that JSON.parse lets through.
    if (/"a".*"a"|"b".*"b"/s.test(text) && read === 'refused') return true
    return isDeepStrictEqual(read, await outcome(parse, text))
  }), { numRuns: 2000 })
})

const wrong = [
  ['a trailing comma', '{\n  "a": 1,\n}', 3, 1, 'not JSON: nothing stands between "," and "}"'],
  ['a comment', '{ // no\n}', 1, 3, 'JSON has no comments'],
  ['a missing comma', '[1\n 2]', 1, 3, 'not JSON: expected a comma or a bracket'],
  ['no comma before a key', '{"a": 1\n "b": 2}', 1, 8, 'not JSON: expected a comma or a bracket'],
  ['an unquoted word', '{"a": strict}', 1, 7, 'not JSON: expected a value, or a key in double quotes'],
  ['an end too soon', '{"a": [', 1, 8, 'not JSON: a bracket, a comma or a colon is missing, or is too many'],
  ['something after the end', '{}\n{}', 2, 1, 'not JSON: a bracket, a comma or a colon is missing, or is too many'],
  ['a key that stands twice', '{"a": 1,\n "a": 2}', 2, 2, 'the key "a" stands here twice'],
  ['the same key, spelt otherwise', '{"a": {"b": 1, "\\u0062": 2}}', 1, 16, 'the key "b" stands here twice'],
  ['a raw line end in text', '{"a": "x\ny"}', 1, 7, 'not JSON: expected a value, or a key in double quotes'],
  ['a leading zero', '[01]', 1, 2, 'not JSON: expected a value, or a key in double quotes'],
] as const

for (const [name, text, line, column, message] of wrong) {
  t.test(`the place of ${name} is named`, async t => {
    const error: unknown = await parseJson(text).catch((error: unknown) => error)
    t.ok(error instanceof SyntaxProblem)
    t.match(error, { place: { line, column }, message })
  })
}

t.test('a tower of brackets is refused', async t => {
  await t.rejects(parseJson('['.repeat(1000)), { name: 'SyntaxProblem', message: 'nested deeper than 200' })
  await t.rejects(parseJson('['.repeat(1000) + ']'.repeat(1000)), { name: 'SyntaxProblem', message: 'nested deeper than 200' })
})
