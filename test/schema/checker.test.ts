import { readFileSync } from 'node:fs'
import t from 'tap'
import { createSchemaChecker } from '../../dist/schema/index.js'
import type { Checked } from '../../dist/core/check.js'
import type { Json, JsonObject } from '../../dist/protocol/json.js'
import { asker, brief, json, limits } from './ask.js'

const row = {
  type: 'object',
  properties: {
    id: { type: 'integer', minimum: 0 }, name: { type: 'string', minLength: 1, pattern: "^[A-Za-z][A-Za-z .'-]{0,63}$" },
    role: { enum: ['admin', 'guest'] }, email: { type: 'string', format: 'email' }, createdAt: { type: 'string', format: 'date-time' },
  },
  required: ['id', 'name', 'role', 'email', 'createdAt'], additionalProperties: false,
}
const rows = (count: number): Json => Array.from({ length: count }, (_, id) => ({ id, name: 'Ada Lovelace', role: 'admin', email: `u${id}@ex.org`, createdAt: '2024-05-06T07:08:09.123Z' }))

const cheap: readonly (readonly [string, JsonObject | boolean, Json])[] = [
  ['a plain object', row, { id: 1 }],
  ['200 rows', { items: row }, rows(200)],
  ['a recursion', { properties: { a: { $ref: '#' } }, additionalProperties: false }, { a: { a: { a: {} } } }],
  ['a pattern that backtracks', { pattern: '^(a+)+$' }, `${'a'.repeat(30)}!`],
  ['unevaluated members', { allOf: [{ properties: { a: {} } }], unevaluatedProperties: false }, { a: 1 }],
  ['a dynamic reference', { $dynamicAnchor: 'n', properties: { kids: { items: { $dynamicRef: '#n' } } } }, { kids: [{ kids: [] }] }],
  ['different items', { uniqueItems: true }, Array.from({ length: 500 }, (_, index) => ({ index }))],
  ['an alternative of many', { anyOf: Array.from({ length: 100 }, (_, index) => ({ const: index })) }, 99],
]

t.test('what is cheap is answered at once', async t => {
  const checker = createSchemaChecker(limits)
  for (const [name, schema, value] of cheap) t.notOk(checker.check({ kind: 'value', schema, value, path: '' }) instanceof Promise, name)
  t.notOk(checker.check({ kind: 'schema', schema: row, path: '' }) instanceof Promise, 'a listed schema')
  await checker.close()
})

const dear: readonly (readonly [string, JsonObject, Json, readonly string[]])[] = [
  ['a pattern that only the native engine knows', { pattern: '^(?=a)a+$' }, 'aaa', []],
  ['the same, broken', { pattern: '^(?=a)a+$' }, 'b', ['mismatch']],
  ['many values', { items: { type: 'integer' } }, Array.from({ length: 400_000 }, (_, index) => (index === 399_999 ? 0.5 : index)), ['mismatch /399999']],
  ['a very large schema', { properties: Object.fromEntries(Array.from({ length: 3000 }, (_, index) => [`property-${index}`, { type: 'string' }])) }, { 'property-7': 7 }, ['mismatch /property-7']],
  ['a very deep value', { $defs: { n: { properties: { a: { $ref: '#/$defs/m' } } }, m: { allOf: [{ anyOf: [{ $ref: '#/$defs/n' }] }] } }, $ref: '#/$defs/n' }, json(`${'{"a":'.repeat(120)}1${'}'.repeat(120)}`), []],
  ['hostile names in a large value', { items: { additionalProperties: { type: 'integer' } } }, json(`[${Array.from({ length: 40_000 }, () => '{"__proto__":1,"a":2,"b":3}').join()},{"__proto__":"x"}]`), ['mismatch /40000/__proto__']],
]

t.test('what is not goes to the worker thread, and gets the same verdict', async t => {
  const checker = createSchemaChecker(limits)
  for (const [name, schema, value, expected] of dear) {
    const answer = checker.check({ kind: 'value', schema, value, path: '' })
    t.ok(answer instanceof Promise, name)
    t.strictSame(brief(await answer), expected, name)
  }
  await checker.close()
})

t.test('a very large schema is inspected on the worker thread', async t => {
  const checker = createSchemaChecker(limits)
  const properties = Object.fromEntries(Array.from({ length: 3000 }, (_, index) => [`property-${index}`, { type: index === 2999 ? 'text' : 'string' }]))
  const answer = checker.check({ kind: 'schema', schema: { properties }, path: '/s' })
  t.ok(answer instanceof Promise)
  t.strictSame(brief(await answer), ['schema /s/properties/property-2999/type'])
  await checker.close()
})

const hopeless = { kind: 'value', schema: { pattern: '^(?=a)(a+)+$' }, value: `${'a'.repeat(60)}!`, path: '/r' } as const

t.test('a thread that overruns is replaced, and those who waited are answered', async t => {
  const checker = createSchemaChecker({ ...limits, validationMs: 200 })
  const waiting = ['aaa', 'b'].map(value => checker.check({ kind: 'value', schema: { pattern: '^(?=a)a+$' }, value, path: '' }))
  const answers = await Promise.all<Checked | Promise<Checked>>([checker.check(hopeless), ...waiting, checker.check(hopeless)])
  t.strictSame(answers.map(brief), [['unchecked /r'], [], ['mismatch'], ['unchecked /r']])
  t.match(answers[0]?.[0]?.message, 'within 200 ms')
  await checker.close()
})

t.test('closing answers those who wait, and whoever asks after it', async t => {
  const checker = createSchemaChecker({ ...limits, validationMs: 60_000 })
  const waiting = Promise.all<Checked | Promise<Checked>>([checker.check(hopeless), checker.check(hopeless)])
  await checker.close()
  t.strictSame((await waiting).map(brief), [['unchecked /r'], ['unchecked /r']])
  t.strictSame(brief(await checker.check(hopeless)), ['unchecked /r'])
  await checker.close()
})

t.test('too many who wait are told so', async t => {
  const checker = createSchemaChecker({ ...limits, validationMs: 60_000 })
  const answers = Array.from({ length: 300 }, async () => checker.check(hopeless))
  t.match((await answers.at(-1))?.[0]?.message, 'too many checks are waiting')
  await checker.close()
  t.ok((await Promise.all(answers)).every(checked => checked.length === 1))
})

t.test('equal schemas share what was made of them; different ones share nothing', async t => {
  const ask = asker()
  const schema = () => ({ $id: 'urn:same', $defs: { a: { $anchor: 'x', type: 'string' } }, $ref: '#x' })
  t.strictSame(brief(await ask.value(schema(), 1)), ['mismatch'])
  t.strictSame(brief(await ask.value(schema(), 'a')), [])
  // The same id with another meaning, in the same checker.
  t.strictSame(brief(await ask.value({ ...schema(), $defs: { a: { $anchor: 'x', type: 'integer' } } }, 'a')), ['mismatch'])
  t.strictSame(brief(await ask.value({ $ref: 'urn:same' }, 'a')), ['unchecked'])
  t.strictSame(brief(await ask.value({ $id: 'https://json-schema.org/draft/2020-12/schema', type: 'string' }, 'a')), [])
  t.strictSame(brief(await ask.value({ $ref: 'https://json-schema.org/draft/2020-12/schema' }, { type: 'text' })), ['mismatch /type'])
  await ask.close()
})

t.test('thousands of schemas are let go again', async t => {
  const ask = asker()
  for (let index = 0; index < 3000; index++) {
    const found = await ask.value({ const: index, description: 'x'.repeat(4000) }, index % 2 === 0 ? index : -1)
    if (found.length !== index % 2) t.fail(`schema ${index}`)
  }
  t.strictSame(await ask.value({ const: 0, description: 'x'.repeat(4000) }, 0), [], 'the first, made again')
  await ask.close()
})

t.test('a list of 400 tools is inspected without loading ajv, nor any other engine', async t => {
  const ask = asker()
  const tools = Array.from({ length: 400 }, (_, index) => ({ ...row, title: `tool ${index}` }))
  t.ok((await Promise.all(tools.map(tool => ask.schema(tool)))).every(checked => checked.length === 0))
  await ask.close()
  const sources = ['index', 'inspect', 'judge', 'worker', 'offload', 'plans'].map(name => readFileSync(new URL(`../../dist/schema/${name}.js`, import.meta.url), 'utf8'))
  t.ok(sources.every(source => !/from 'ajv|import\('ajv|new Function|eval\(/.test(source)))
})
