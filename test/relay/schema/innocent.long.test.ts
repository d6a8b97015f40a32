import t from 'tap'
import type { Data, DataObject } from '#relay/protocol/unmetered.js'
import { createSchemaChecker } from '#relay/schema/index.js'
import { Offload } from '#relay/schema/thread/offload.js'
import { asker, brief } from './ask.js'

/** The contract's limits. */
const limits = { schemaBytes: 262144, schemaDepth: 64, subschemas: 5000, validationMs: 100 }

const many = <Item>(count: number, make: (index: number) => Item): Item[] =>
  Array.from({ length: count }, (_, index) => make(index))
const ideographs = (count: number) =>
  many(count, index => String.fromCharCode(0x4e00 + ((index * 7919) % 20_000))).join('')
const map = (count: number): DataObject =>
  Object.fromEntries(many(count, index => [`key-${(index * 7919) % 1_000_003}`, `value ${index}`]))

const pattern = (
  source: string, text: string,
): readonly [string, DataObject, Data, string] => [source, { pattern: source }, text, '']

const cases: readonly (readonly [name: string, schema: DataObject, value: Data, kind: string])[] = [
  pattern('^[a-z]{1,10000}$', 'abc'),
  pattern('^[a-z]{1,65535}$', 'a'.repeat(65_535)),
  ['one character too many', { pattern: '^[a-z]{1,65535}$' }, 'a'.repeat(65_536), 'mismatch'],
  pattern('[a-z]{1,5000}$', 'a'.repeat(3000)),
  pattern('[a-z]{5000}$', 'a'.repeat(9000)),
  pattern('x[a-z]{1,5000}$', 'x'.repeat(9000)),
  pattern('^(?:\\w+\\s?){1,5000}$', 'word '.repeat(4000)),
  pattern('^(?:(?!--).)*$', 'a-'.repeat(16_500)),
  pattern('^(?=.*\\d)(?:[a-z]|\\d)+$', 'a1'.repeat(25_000)),
  pattern('^(?=.*[a-z])(?=.*[A-Z])(?=.*\\d)[^]{8,}$', 'aB1 xyz '.repeat(125_000)),
  pattern('^(["\'])(?:\\\\.|(?!\\1).)*\\1$', `"${'a'.repeat(50_000)}"`),
  ['\\b in 1 MB', { pattern: '\\bERROR\\b' }, 'INFO ERRORS '.repeat(87_000), 'mismatch'],
  pattern('^[\\p{L}\\p{N}\\s.,-]+$', ideographs(400_000)),
  ['a map of 200,000 entries', { additionalProperties: { type: 'string' } }, map(200_000), ''],
  [
    '100,000 different small objects', { uniqueItems: true },
    many(100_000, index => ({ id: index, name: `n${index}`, ok: true })), '',
  ],
  ['100,000 numbers', { uniqueItems: true }, many(100_000, index => index / 4), ''],
  [
    'a data URI of 12 MB', { format: 'uri' },
    `data:image/png;base64,${'iVBORw0KGgoAAAANSUhEUgAA'.repeat(500_000)}`, '',
  ],
  ['a regular expression of 1 MB', { format: 'regex' }, 'abc[a-z]+(x|y)'.repeat(71_500), ''],
  ['a format that cannot be judged', { format: 'regex' }, '('.repeat(300), 'format'],
]

for (const [name, schema, value, kind] of cases) {
  t.test(`${name}: judged within the contract's limits`, async t => {
    const ask = asker(createSchemaChecker(limits))
    t.strictSame(await ask.schema(schema), [])
    const [problem] = await ask.value(schema, value)
    t.equal(problem?.kind ?? '', kind, problem?.message ?? 'valid')
    await ask.close()
  })
}

t.test('a pattern that could never be judged is too costly where it is listed', async t => {
  const ask = asker(createSchemaChecker(limits))
  for (const source of [
    '(?:a{1000}b){1000}', 'a{300000}', '(a{0,99}){0,99}'.repeat(30), '('.repeat(300) + ')'.repeat(300),
  ]) {
    const [problem] = await ask.schema({ properties: { a: { pattern: source } } })
    t.equal(problem?.kind, 'cost', source)
  }
  t.strictSame(brief(await ask.schema({ patternProperties: { '(?:a{1000}b){1000}': true } })), ['cost'])
  await ask.close()
})

t.test('a value that ended the thread once is not tried again, and smaller ones are', async t => {
  const script = new URL(`data:text/javascript,${encodeURIComponent(`
    import { parentPort } from 'node:worker_threads'
    parentPort.on('message', order => {
      if (order.value.bytes.length > 10) process.exit(1)
      parentPort.postMessage({ id: order.id, problems: [] })
    })`)}`)
  const offload = new Offload(limits, { script })
  const ask = (digest: string, value: string) => offload.check({ digest, text: 'true', held: 0 }, { bytes: Buffer.from(value), path: [] }, '')
  const first = await ask('a', 'x'.repeat(100))
  t.match([first.problems[0]?.message, first.overran], [/its thread ended/, true])
  t.match((await ask('a', 'y'.repeat(200))).problems[0]?.message, /ended its thread before/)
  t.strictSame((await ask('a', 'short')).problems, [])
  t.match(
    (await ask('b', 'x'.repeat(100))).problems[0]?.message, /its thread ended/,
    'another schema is another matter',
  )
  await offload.close()
})
