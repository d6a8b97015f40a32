import fc from 'fast-check'
import t from 'tap'
import { defaultLimits } from '#relay/config/configuration.js'
import { schemaOf } from '#desk/learn/schema.js'
import { ValueShape } from '#desk/learn/shape.js'
import type { Data, DataObject } from '#relay/protocol/unmetered.js'
import { createSchemaChecker } from '#relay/schema/index.js'

const checker = createSchemaChecker({ ...defaultLimits, validationMs: 1000 })
t.teardown(() => checker.close())

const fits = async (schema: DataObject, value: Data) =>
  (await checker.check({ kind: 'value', schema, value, path: '' })).length === 0

const learnt = (values: readonly Data[], strict = false): DataObject => {
  const shape = new ValueShape()
  for (const value of values) shape.see(value)
  return schemaOf(shape, { strict })
}

const many = (count: number, make: (index: number) => Data): readonly Data[] =>
  Array.from({ length: count }, (_, index) => make(index))
const text = { type: 'string' }
const number = { type: 'number' }
const days = ['Monday', 'Tuesday']

const cases: readonly (readonly [string, readonly Data[], DataObject])[] = [
  ['a member that is not always there is optional', [{ a: 1, b: 'x' }, { a: 2 }], {
    type: 'object', properties: { a: number, b: text }, required: ['a'],
  }],
  ['several kinds are a union', [{ a: 1 }, { a: 'x' }, { a: null }], {
    type: 'object', properties: { a: { type: ['string', 'number', 'null'] } }, required: ['a'],
  }],
  ['a union of an object and a text', [{ a: { b: 1 } }, { a: 'x' }], {
    type: 'object',
    properties: { a: { anyOf: [{ type: 'object', properties: { b: number }, required: ['b'] }, text] } },
    required: ['a'],
  }],
  ['elements are one shape', [[1, 2], [{ a: 1 }]], {
    type: 'array', items: { anyOf: [{ type: 'object', properties: { a: number }, required: ['a'] }, number] },
  }],
  ['few words often seen are an enumeration', many(20, index => days[index % 2] ?? ''), {
    type: 'string', enum: days,
  }],
  ['words seldom seen are none', many(4, index => days[index % 2] ?? ''), text],
  ['numbers that are whole, often enough, are integers', many(20, index => index), { type: 'integer' }],
  ['a format that all fit', many(5, index => `2026-01-0${index + 1}`), { type: 'string', format: 'date' }],
  ['a format that one does not fit is none', [...many(9, index => `2026-01-0${index + 1}`), 'soon'], text],
  [
    'an object keyed by data is a map',
    [Object.fromEntries(Array.from({ length: 5 }, (_, index) => [`/srv/${index}.txt`, 1]))],
    { type: 'object', additionalProperties: number },
  ],
  ['keys that never come again are data', many(6, index => ({ [`k${'abcdef'.charAt(index)}`]: 'x' })), {
    type: 'object', additionalProperties: text,
  }],
  ['a record of alike members is no map', many(6, () => ({ x: 1, y: 2, z: 3, width: 4, height: 5 })), {
    type: 'object', properties: { x: number, y: number, z: number, width: number, height: number },
    required: ['x', 'y', 'z', 'width', 'height'],
  }],
  ['a record that brings nothing new is closed', many(20, index => ({ a: index + 0.5 })), {
    type: 'object', properties: { a: number }, required: ['a'], additionalProperties: false,
  }],
]

t.test('what values have in common', t => {
  for (const [name, values, schema] of cases) t.strictSame(learnt(values), schema, name)
  t.end()
})

t.test('bounds are told where they are asked for', t => {
  t.strictSame(learnt([['a', 'bcd'], ['e']], true), {
    type: 'array', items: { type: 'string', minLength: 1, maxLength: 3 }, minItems: 1, maxItems: 2,
  })
  t.strictSame(learnt([1.5, 4], true), { type: 'number', minimum: 1.5, maximum: 4 })
  t.end()
})

t.test('a key from the wire is a key like any other', async t => {
  const value = JSON.parse('{"__proto__":{"a":1},"constructor":"x","toString":2}') as Data
  const schema = learnt([value])
  t.ok(await fits(schema, value))
  t.notOk(await fits(schema, {}))
})

t.test('everything that was seen fits, and the schema is one', async () => {
  await fc.assert(fc.asyncProperty(fc.array(
    fc.jsonValue({ maxDepth: 4 }), { minLength: 1, maxLength: 60 },
  ), fc.boolean(), async (values, strict) => {
    // As it crosses the wire: no -0 there.
    const seen = JSON.parse(JSON.stringify(values)) as Data[]
    const schema = JSON.parse(JSON.stringify(learnt(seen, strict))) as DataObject
    if ((await checker.check({ kind: 'schema', schema, path: '' })).length > 0) return false
    for (const value of seen) if (!(await fits(schema, value))) return false
    return true
  }), { numRuns: 150 })
})
