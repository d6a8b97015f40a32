import fc from 'fast-check'
import t from 'tap'
import type { Json, JsonObject } from '../../dist/protocol/json.js'
import { Acceptor } from '../../dist/schema/accept.js'
import type { Place } from '../../dist/schema/document.js'
import { evaluate } from '../../dist/schema/evaluate/evaluate.js'
import { Run } from '../../dist/schema/evaluate/run.js'
import { inspect } from '../../dist/schema/inspect.js'
import { json } from './ask.js'

const rootOf = (schema: Json): Place | undefined => inspect(schema, 5000).root

const accepts = (schema: Json, value: Json): boolean => {
  const root = rootOf(schema)
  if (root === undefined) throw new Error(`unusable: ${JSON.stringify(schema)}`)
  return new Acceptor(root).accepts(value)
}

/** What servers' schemas are made of, with a value that is seen to be valid and one that is not. */
const known: readonly (readonly [title: string, schema: string, valid: string, other: string])[] = [
  ['an object of pydantic', '{"type":"object","title":"Result","properties":{"result":{"title":"Result","type":"array","items":{"$ref":"#/$defs/Row"}}},"required":["result"],"$defs":{"Row":{"type":"object","properties":{"id":{"type":"integer"},"note":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null}},"required":["id"]}}}', '{"result":[{"note":null,"id":1},{"id":2,"note":"x"}]}', '{"result":[{"note":1,"id":1}]}'],
  ['an object of zod', '{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"at":{"type":"string","format":"date-time"},"kind":{"type":"string","enum":["a","b"]}},"required":["at","kind"],"additionalProperties":false}', '{"kind":"a","at":"2026-11-20T12:00:00Z"}', '{"kind":"a","at":"2026-11-20T12:00:00Z","more":1}'],
  ['a format that is broken', '{"format":"date"}', '"2026-02-28"', '"2026-02-29"'],
  ['a map', '{"type":"object","additionalProperties":{"type":"number"}}', '{"a":1,"b":2.5,"__proto__":3}', '{"a":1,"__proto__":"3"}'],
  ['a required name that every object inherits', '{"required":["toString"]}', '{"toString":1}', '{}'],
  ['a required name that is not declared, with a schema for the rest', '{"required":["a"],"additionalProperties":{"type":"string"}}', '{"a":"x"}', '{"a":1}'],
  ['bounds', '{"type":"integer","minimum":1,"exclusiveMaximum":10}', '9', '10'],
  ['an integer that is written otherwise', '{"type":"integer"}', '1.0', '1.5'],
  ['lengths in characters', '{"minLength":2,"maxLength":3}', '"a😀"', '"😀"'],
  ['sizes of arrays', '{"minItems":1,"maxItems":2}', '[0,0]', '[]'],
  ['a pattern', '{"pattern":"^[a-z]+$"}', '"abc"', '"abC"'],
  ['a constant', '{"const":0}', '-0', 'false'],
  ['all of several', '{"allOf":[{"minimum":1},{"maximum":2}]}', '2', '3'],
  ['a list within itself', '{"$ref":"#/$defs/list","$defs":{"list":{"type":"array","items":{"$ref":"#/$defs/list"}}}}', '[[],[[]]]', '[[1]]'],
  ['a reference alone, as draft-07 has it', '{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"$ref":"#/definitions/s","minLength":9}},"definitions":{"s":{"type":"string"}}}', '{"a":"x"}', '{"a":1}'],
  ['a bound that excludes itself, as draft-04 has it, is left alone', '{"$schema":"http://json-schema.org/draft-04/schema#","minimum":1}', '1', '0'],
  ['what may not be there', '{"properties":{"a":false,"b":true}}', '{"b":1}', '{"a":1,"b":1}'],
  ['nothing', '{"title":"Anything","x-unknown":{"type":"string"}}', '[{"a":null}]', '1'],
]

t.test('what most schemas are made of is seen at a glance', t => {
  for (const [title, schema, valid, other] of known) {
    t.ok(accepts(json(schema), json(valid)), title)
    if (title !== 'nothing') t.notOk(accepts(json(schema), json(other)), `${title}: not ${other}`)
  }
  t.end()
})

t.test('what is not known is left to the evaluation', t => {
  const unknown = [
    '{"not":{}}', '{"oneOf":[true]}', '{"if":true}', '{"uniqueItems":true}', '{"prefixItems":[true]}', '{"patternProperties":{"":true}}',
    '{"propertyNames":true}', '{"contains":true}', '{"multipleOf":1}', '{"minProperties":0}', '{"dependentRequired":{}}', '{"unevaluatedProperties":true}',
    '{"enum":[[]]}', '{"const":{}}', '{"enum":[1],"const":1}', '{"pattern":"^(a+)+$(?=b)"}', `{"pattern":"${'a'.repeat(201)}"}`,
    '{"properties":{"a":{"$dynamicRef":"#"}}}', '{"properties":{"a":{"not":{}}}}',
  ]
  for (const schema of unknown) t.notOk(accepts(json(schema), json('{"a":1}')), schema)
  t.end()
})

t.test('no value takes long, and none is too deep', t => {
  const nested = (depth: number, leaf: Json = []): Json => (depth === 0 ? leaf : [nested(depth - 1, leaf)])
  const list = '{"$ref":"#/$defs/list","$defs":{"list":{"type":"array","items":{"$ref":"#/$defs/list"}}}}'
  t.ok(accepts(json(list), nested(100)))
  t.notOk(accepts(json(list), nested(400)), 'the native stack is not ours to use up')
  t.notOk(accepts(json('{"items":{"type":"integer"}}'), Array.from({ length: 2_000_000 }, (_, index) => index)), 'as many steps as the evaluation has')
  t.notOk(accepts(json('{"items":{"pattern":"^[a-z]*$"}}'), ['a'.repeat(20_000_000)]))
  const doubling = '{"$ref":"#/$defs/a","$defs":{"a":{"type":"array","anyOf":[{"items":{"$ref":"#/$defs/a"}},{"items":{"$ref":"#/$defs/a"}}]}}}'
  t.notOk(accepts(json(doubling), nested(90, 1)), 'branches that double with every level')
  t.end()
})

/** As V8 hashes small integers: without a seed, so that anybody can find those that collide. */
const hashed = (number: number): number => {
  let hash = (~number + (number << 15)) | 0
  hash ^= hash >>> 12
  hash = (hash + (hash << 2)) | 0
  hash ^= hash >>> 4
  hash = Math.imul(hash, 2057)
  return (hash ^ (hash >>> 16)) & 0x3fffffff
}

t.test('what is made to cost more than its steps is given up, though it is valid', t => {
  const times = <Item>(count: number, make: (index: number) => Item): Item[] => Array.from({ length: count }, (_, index) => make(index))
  const colliding: number[] = []
  for (let number = 0; colliding.length < 5500; number++) if ((hashed(number) & 4095) === 5) colliding.push(number)
  const names = times(90, index => `n${index}`)
  const objects = times(5000, () => Object.fromEntries(names.toReversed().map(name => [name, 0])))
  const wide = json(JSON.stringify(Object.fromEntries(times(300_000, index => [`k${index.toString(36)}`, 0]))))
  const cases: readonly (readonly [title: string, schema: Json, value: Json])[] = [
    ['characters counted again and again', { allOf: times(1000, () => ({ minLength: 2_000_000 })) }, 'a'.repeat(3_000_000)],
    ['numbers that collide', { items: { enum: colliding } }, times(500_000, () => colliding[0] ?? 0)],
    ['members listed again and again', { anyOf: [...times(200, index => ({ additionalProperties: false, properties: { [`z${index}`]: true } })), true] }, wide],
    ['patterns that take long to make', { anyOf: [...times(1000, index => ({ pattern: `[ab]*[ac]{99${index % 10}}` })), true] }, ''],
    ['patterns that try everything', { items: { anyOf: [{ pattern: '^(?:a|a){10}b' }, true] } }, times(120_000, () => 'a'.repeat(11))],
    ['members that are required again and again', { items: { allOf: times(85, () => ({ required: names })) } }, objects],
  ]
  for (const [title, schema, value] of cases) {
    const root = rootOf(schema)
    const acceptor = root && new Acceptor(root)
    t.same([acceptor?.accepts(value), acceptor?.spent], [false, true], title)
  }
  t.end()
})

const keys = ['a', 'b', 'c', '__proto__', 'toString'] as const
const value = fc.letrec<{ value: Json }>(tie => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom<Json>(null, true, false, 0, 1, -1, 1.5, 10, '', 'a', 'abc', '😀', '2026-11-20', 'x@y.org'),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.array(fc.tuple(fc.constantFrom(...keys), tie('value')), { maxLength: 4 }).map(members => Object.fromEntries(members) as Json),
  ),
})).value

const schema = fc.letrec<{ schema: JsonObject }>(tie => {
  const one = tie('schema')
  const map = fc.dictionary(fc.constantFrom(...keys), one, { maxKeys: 3, noNullPrototype: true })
  const keyword: fc.Arbitrary<readonly [string, Json]> = fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.tuple(fc.constant('type'), fc.oneof(
      fc.constantFrom('object', 'array', 'string', 'number', 'integer', 'boolean', 'null'),
      fc.constantFrom<Json>(['string', 'null'], ['object', 'array'], ['integer', 'string'])),
    ),
    fc.tuple(fc.constantFrom('minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'), fc.constantFrom(0, 1, 1.5)),
    fc.tuple(fc.constantFrom('minLength', 'maxLength', 'minItems', 'maxItems'), fc.constantFrom(0, 1, 2)),
    fc.tuple(fc.constant('pattern'), fc.constantFrom('^a', '^[a-z]*$', '.')),
    fc.tuple(fc.constant('format'), fc.constantFrom('date', 'email', 'unknown')),
    fc.tuple(fc.constant('enum'), fc.array(fc.constantFrom<Json>(null, 0, 1, 'a', true), { minLength: 1, maxLength: 3 })),
    fc.tuple(fc.constant('const'), fc.constantFrom<Json>(null, 0, 'a')),
    fc.tuple(fc.constant('required'), fc.uniqueArray(fc.constantFrom(...keys), { maxLength: 2 })),
    fc.tuple(fc.constant('properties'), map as fc.Arbitrary<Json>),
    fc.tuple(fc.constant('additionalProperties'), fc.oneof(fc.boolean(), one)),
    fc.tuple(fc.constant('items'), one),
    fc.tuple(fc.constantFrom('allOf', 'anyOf'), fc.array(one, { minLength: 1, maxLength: 3 })),
    fc.tuple(fc.constant('$ref'), fc.constant('#')),
    fc.tuple(fc.constantFrom('not', 'propertyNames', 'contains'), one),
  )
  return { schema: fc.array(keyword, { maxLength: 4 }).map(members => Object.fromEntries(members) as JsonObject) }
}).schema

t.test('what is accepted is valid, by the evaluation, with and without formats', t => {
  let accepted = 0
  const dialects = [undefined, 'http://json-schema.org/draft-07/schema#', 'http://json-schema.org/draft-04/schema#']
  fc.assert(
    fc.property(schema, fc.array(value, { minLength: 1, maxLength: 12 }), fc.constantFrom(...dialects), (given, values, dialect) => {
      const root = rootOf(dialect === undefined ? given : { $schema: dialect, ...given })
      if (root === undefined) return
      const acceptor = new Acceptor(root)
      for (const one of values) {
        if (!acceptor.accepts(one)) continue
        accepted++
        for (const formats of [true, false]) {
          const run = new Run({ steps: 1_000_000, depth: 300, anyPattern: true, formats, mismatches: 0 })
          if (!evaluate(root, one, run, undefined, undefined)) throw new Error(JSON.stringify({ one, formats }))
        }
      }
    }),
    { numRuns: 3000 },
  )
  t.ok(accepted > 2000, `${accepted} values`)
  t.end()
})
