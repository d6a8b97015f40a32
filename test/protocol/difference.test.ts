import fc from 'fast-check'
import t from 'tap'
import { difference } from '../../dist/protocol/difference.js'
import { Meter } from '../../dist/protocol/meter.js'
import { edit } from '../../dist/protocol/edit.js'
import { equal, isObject, parseJson, type Json, type JsonObject } from '../../dist/protocol/unmetered.js'

const one = { x: 1 }
const two = { x: 2 }

const cases: readonly (readonly [title: string, text: string, after: (before: JsonObject) => JsonObject, made: string | undefined])[] = [
  ['nothing', '{"a": 1.0 }', before => before, '{"a": 1.0 }'],
  ['a member that comes', '{ "a": 1.0 }', before => ({ ...before, b: [] }), '{ "a": 1.0,"b":[] }'],
  ['a member that goes', '{ "a": 1.0, "b" : 1E2 }', ({ b }) => ({ b }), '{ "b" : 1E2 }'],
  ['what is deep', '{"a":{"b" :[1.0,{"c":null}]},"d":12345678901234567890}', before => ({ ...before, a: { b: [1, { c: 2 }] } }),
    '{"a":{"b" :[1.0,{"c":2}]},"d":12345678901234567890}'],
  ['an element that comes', '{"a":[ {} ]}', ({ a }) => ({ a: [...(a as Json[]), 'b'] }), '{"a":[ {},"b" ]}'],
  ['elements that go', '{"a":[ 0.0, {"b":1e0}, 2 ]}', ({ a }) => ({ a: [(a as Json[])[1] ?? null] }), '{"a":[ {"b":1e0} ]}'],
  ['other elements', '{"a":[1,2,3]}', () => ({ a: [one, two] }), '{"a":[{"x":1},{"x":2}]}'],
  ['a number that we would spell otherwise', '{"a":{"b":12345678901234567890}}', ({ a }) => ({ c: a }), undefined],
  ['half a pair', '{"a":"\\ud800"}', ({ a }) => ({ c: a }), undefined],
  ['what is nested without measure', '{}', () => ({ a: parseJson('['.repeat(200) + ']'.repeat(200)) }), undefined],
]

t.test('the changes from one value to another leave all other bytes as they are', t => {
  for (const [title, text, after, made] of cases) {
    const before = parseJson(text)
    const edits = isObject(before) ? difference(before, after(before), new Meter()) : []
    t.equal(edits && edit(Buffer.from(text), edits).toString(), made, title)
  }
  t.end()
})

const json: fc.Arbitrary<Json> = fc.letrec<{ value: Json }>(tie => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.oneof(fc.constantFrom('a', 'b'), fc.integer(), fc.boolean(), fc.constant(null)),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'c', '__proto__'), tie('value'), { maxKeys: 4 }),
  ),
})).value

t.test('made, they make of the one text the other value', t => {
  const object = json.filter(isObject)
  fc.assert(fc.property(object, object, (before, after) => {
    const edits = difference(before, after, new Meter())
    const made = parseJson(edit(Buffer.from(JSON.stringify(before)), edits ?? []).toString())
    return edits !== undefined && equal(made, after)
  }), { numRuns: 2000 })
  t.end()
})
