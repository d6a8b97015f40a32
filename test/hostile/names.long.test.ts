import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import type { DataObject } from '#relay/protocol/unmetered.js'
import { createSchemaChecker } from '#relay/schema/index.js'
import { judge, json, limits, many, members, nested, schema, value } from './stall.js'

judge([
  // Names and identity.
  ['4,000 ids, each a kilobyte', () => schema({
    $id: `http://a/${'x'.repeat(2000)}/`, $defs: members(4000, index => ({ $id: `b${index}` })),
  }), ['', 'schema']],
  ['40 ids with hosts of 2,000 Chinese characters', () => schema({ $defs: members(40, index => ({
    $id: `http://${index}${String.fromCodePoint(...many(2000, at => 0x4e00 + 7 * at))}/`,
  })) }), ['schema', 'cost']],
  [
    'a long name that is missing 10,000 times',
    () => value({ contains: { dependentRequired: { a: ['"\n'.repeat(60_000)] } } }, many(10_000, () => ({ a: 1 }))),
    ['mismatch'],
  ],
  ['an id of 200 kB', () => schema({ $id: `http://a/${'x'.repeat(200_000)}` }), ['schema']],
  [
    'thousands of twins', () => schema({ $defs: members(2000, index => ({ $id: 'urn:x', const: index })) }),
    ['schema'],
  ],
  [
    'the meta-schema\'s id, taken',
    () => schema({ $id: 'https://json-schema.org/draft/2020-12/schema', type: 'text' }), ['schema'],
  ],
  ['a pointer of 100,000 steps', () => schema({ $ref: `#${'/a'.repeat(100_000)}` }), ['schema']],
  ['2,000 problems below long names', () => schema(nested(
    14, inner => ({ $defs: { ['k\u200b'.repeat(1200)]: inner } }),
    { $defs: members(2000, () => ({ $ref: '#/x' })) },
  )), ['schema', 'cost']],
  ['__proto__ everywhere', () => value(json(
    '{"properties":{"__proto__":{"properties":{"polluted":{"type":"string"}}}},"required":["__proto__"],"$defs":{"__proto__":{}},"dependentRequired":{"__proto__":["constructor"]}}',
  ) as DataObject, json('{"__proto__":{"polluted":1}}')), ['mismatch']],
  ['4,900 references to the meta-schema', () => value(
    { properties: members(4000, () => ({ $ref: 'https://json-schema.org/draft/2020-12/schema' })) },
    members(4000, () => ({ type: 'object', properties: {} })),
  ), ['', 'unchecked']],
])

t.test('a list of schemas, each as costly as may be, is spread over time', async t => {
  const checker = createSchemaChecker(limits)
  const list =
    many(100, index => ({ title: `${index}`, properties: members(900, () => ({ type: 'string' })) }))
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  await setImmediate()
  delay.reset()
  const answers = await Promise.all(list.map(async one => checker.check(schema(one))))
  await setImmediate()
  delay.disable()
  t.ok(answers.every(answer => answer.length === 0))
  t.comment(`longest stall ${(delay.max / 1e6).toFixed(1)} ms`)
  await checker.close()
})

t.test('memory is given back after all that', async t => {
  const checker = createSchemaChecker(limits)
  for (let round = 0; round < 3; round++) {
    await checker.check(value({ items: { minProperties: 1 } }, many(1_000_000, () => ({}))))
    await checker.check(value({ uniqueItems: true }, many(100_000, index => ({ index, more: [index] }))))
  }
  await checker.close()
  const { rss } = process.memoryUsage()
  t.ok(rss < 1.5e9, `${Math.round(rss / 1e6)} MB`)
  t.strictSame(({} as { polluted?: unknown }).polluted, undefined, 'no prototype was written to')
})
