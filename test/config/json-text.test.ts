import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { parseJson } from '../../dist/config/json-text.js'
import { SyntaxProblem } from '../../dist/config/syntax-problem.js'

const outcome = (read: (text: string) => unknown, text: string): unknown => {
  try {
    return { value: read(text) }
  } catch {
    return 'refused'
  }
}

const parse = (text: string): unknown => JSON.parse(text)

t.test('every JSON text reads as JSON.parse reads it', t => {
  fc.assert(fc.property(fc.json(), fc.constantFrom(undefined, 1, '\t'), (text, indent) => {
    const written = JSON.stringify(parse(text), null, indent)
    return isDeepStrictEqual(parseJson(written), parse(written))
  }))
  t.strictSame(parseJson('{"__proto__":{"a":1}}'), parse('{"__proto__":{"a":1}}'))
  t.end()
})

t.test('what JSON.parse refuses is refused, and nothing else', t => {
  const pieces = ['{', '}', '[', ']', ',', ':', '"a"', '"b"', '1', '-', '0', '.5', 'e9', 'true', 'nul', ' ', '\n', '"', '\\', '\t"']
  fc.assert(fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 12 }), parts => {
    const text = parts.join('')
    const ours = outcome(parseJson, text)
    // A key that stands twice is the one thing that JSON.parse lets through.
    if (/"a".*"a"|"b".*"b"/s.test(text) && ours === 'refused') return true
    return isDeepStrictEqual(ours, outcome(parse, text))
  }), { numRuns: 2000 })
  t.end()
})

const wrong = [
  ['a trailing comma', '{\n  "a": 1,\n}', 3, 1, 'expected a key in double quotes'],
  ['a comment', '{ // no\n}', 1, 3, 'expected a key in double quotes'],
  ['a missing comma', '[1\n 2]', 2, 2, 'expected "," or "]"'],
  ['an unquoted word', '{"a": strict}', 1, 7, 'expected a JSON value'],
  ['an end too soon', '{"a": [', 1, 8, 'expected a JSON value'],
  ['something after the end', '{}\n{}', 2, 1, 'nothing may follow the value'],
  ['a key that stands twice', '{"a": 1,\n "a": 2}', 2, 2, 'the key "a" stands here twice'],
  ['the same key, spelt otherwise', '{"a": {"b": 1, "\\u0062": 2}}', 1, 16, 'the key "b" stands here twice'],
  ['a raw line end in text', '{"a": "x\ny"}', 1, 7, 'expected a JSON value'],
  ['a leading zero', '[01]', 1, 3, 'expected "," or "]"'],
  ['a tower of brackets', '['.repeat(1000), 1, 202, 'nested deeper than 200'],
] as const

for (const [name, text, line, column, message] of wrong) {
  t.test(`the place of ${name} is named`, t => {
    t.throws(() => parseJson(text), { place: { line, column }, message })
    t.throws(() => parseJson(text), SyntaxProblem)
    t.end()
  })
}
