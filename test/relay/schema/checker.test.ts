import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { createSchemaChecker } from '#relay/schema/index.js'
import type { Checked } from '#relay/core/vocabulary.js'
import type { Data, DataObject } from '#relay/protocol/unmetered.js'
import { Offload } from '#relay/schema/thread/offload.js'
import { asker, brief, json, limits } from './ask.js'

const row = {
  type: 'object',
  properties: {
    id: { type: 'integer', minimum: 0 },
    name: { type: 'string', minLength: 1, pattern: '^[A-Za-z][A-Za-z .\'-]{0,63}$' },
    role: { enum: ['admin', 'guest'] }, email: { type: 'string', format: 'email' },
    createdAt: { type: 'string', format: 'date-time' },
  },
  required: ['id', 'name', 'role', 'email', 'createdAt'], additionalProperties: false,
}
const rows = (count: number): Data => Array.from({ length: count }, (_, id) => ({
  id, name: 'Ada Lovelace', role: 'admin', email: `u${id}@ex.org`, createdAt: '2024-05-06T07:08:09.123Z',
}))

const cheap: readonly (readonly [string, DataObject | boolean, Data])[] = [
  ['a plain object', row, { id: 1 }],
  ['200 rows', { items: row }, rows(200)],
  ['a recursion', { properties: { a: { $ref: '#' } }, additionalProperties: false }, { a: { a: { a: {} } } }],
  ['a pattern that would backtrack', { pattern: '^(a+)+$' }, `${'a'.repeat(30)}!`],
  ['a pattern with a look-ahead', { pattern: '^(?=.*[0-9]).{3,}$' }, 'ab3'],
  ['unevaluated members', { allOf: [{ properties: { a: {} } }], unevaluatedProperties: false }, { a: 1 }],
  [
    'a dynamic reference', { $dynamicAnchor: 'n', properties: { kids: { items: { $dynamicRef: '#n' } } } },
    { kids: [{ kids: [] }] },
  ],
  ['different items', { uniqueItems: true }, Array.from({ length: 500 }, (_, index) => ({ index }))],
  ['an alternative of many', { anyOf: Array.from({ length: 100 }, (_, index) => ({ const: index })) }, 99],
]

t.test('cheap checks are answered at once', async t => {
  const checker = createSchemaChecker(limits)
  for (const [name, schema, value] of cheap) {
    t.notOk(checker.check({ kind: 'value', schema, value, path: '' }) instanceof Promise, name)
  }
  t.notOk(checker.check({ kind: 'schema', schema: row, path: '' }) instanceof Promise, 'a listed schema')
  await checker.close()
})

const dear: readonly (readonly [string, DataObject, Data, readonly string[]])[] = [
  [
    'many values', { items: { type: 'integer' } },
    Array.from({ length: 400_000 }, (_, index) => (index === 399_999 ? 0.5 : index)), ['mismatch /399999'],
  ],
  ['a text that is tried in many ways', { pattern: '^((a+)+)\\1!$' }, 'a'.repeat(18), ['mismatch']],
  ['a very large schema', { properties: Object.fromEntries(Array.from(
    { length: 3000 }, (_, index) => [`property-${index}`, { type: 'string' }],
  )) }, { 'property-7': 7 }, ['mismatch /property-7']],
  ['a very deep value', { $defs: {
    n: { properties: { a: { $ref: '#/$defs/m' } } }, m: { allOf: [{ anyOf: [{ $ref: '#/$defs/n' }] }] },
  }, $ref: '#/$defs/n' }, json(`${'{"a":'.repeat(120)}1${'}'.repeat(120)}`), []],
  [
    'hostile names in a large value', { items: { additionalProperties: { type: 'integer' } } },
    json(`[${Array.from({ length: 40_000 }, () => '{"__proto__":1,"a":2,"b":3}').join()},{"__proto__":"x"}]`),
    ['mismatch /40000/__proto__'],
  ],
]

t.test('other checks go to the worker thread, and get the same verdict', async t => {
  const checker = createSchemaChecker(limits)
  for (const [name, schema, value, expected] of dear) {
    const answer = checker.check({ kind: 'value', schema, value, path: '' })
    t.ok(answer instanceof Promise, name)
    t.strictSame(brief(await answer), expected, name)
  }
  await checker.close()
})

t.test('a schema that takes long to be read is read on the worker thread, listed or used', async t => {
  const checker = createSchemaChecker(limits)
  const wrong = { properties: Object.fromEntries(Array.from(
    { length: 3000 }, (_, index) => [`property-${index}`, { type: index === 2999 ? 'text' : 'string' }],
  )) }
  const answer = checker.check({ kind: 'schema', schema: wrong, path: '/s' })
  t.ok(answer instanceof Promise)
  t.strictSame(brief(await answer), ['schema /s/properties/property-2999/type'])
  t.strictSame(
    brief(await checker.check({ kind: 'value', schema: wrong, value: {}, path: '/v' })), ['unchecked /v'],
  )
  await checker.close()
})

t.test('a schema that was listed is not read again when it is used, nor when it is listed again', async t => {
  const checker = createSchemaChecker(limits)
  let reads = 0
  const schema: DataObject = { get type() { return (reads++, 'object') } }
  t.strictSame(brief(await checker.check({ kind: 'schema', schema, path: '' })), [])
  const before = reads
  for (let turn = 0; turn < 3; turn++) {
    t.strictSame(brief(await checker.check({ kind: 'value', schema, value: {}, path: '' })), [])
    t.strictSame(brief(await checker.check({ kind: 'schema', schema, path: '' })), [])
  }
  t.ok(reads <= before + 1, 'once more, when its checks are made')
  await checker.close()
})

const hopeless = {
  kind: 'value', schema: { pattern: '^((a+)+)\\1!$' }, value: 'a'.repeat(60), path: '/r',
} as const
/** Too much for the main thread, and easy for the other. */
const long = {
  kind: 'value', schema: { items: { type: 'integer' } }, value: Array.from({ length: 300_000 }, () => 1),
  path: '/l',
} as const

t.test('a check that takes too long gives unchecked, and waiting checks are answered', async t => {
  const checker = createSchemaChecker({ ...limits, validationMs: 200 })
  const answers = await Promise.all<Checked | Promise<Checked>>([
    checker.check(hopeless), checker.check(long), checker.check({ ...long, value: [...long.value, 'x'] }),
  ])
  t.strictSame(answers.map(brief), [['unchecked /r'], [], ['mismatch /l/300000']])
  t.match(answers[0]?.[0]?.message, 'within 200 ms')
  await checker.close()
})

t.test('a pattern that overran once is not tried by everybody again', async t => {
  const checker = createSchemaChecker({ ...limits, validationMs: 300 })
  const first = await checker.check(hopeless)
  t.match(first[0]?.message, 'within 300 ms')
  const again =
    await Promise.all(Array.from(
      { length: 50 }, async (_, index) => checker.check(hopeless, `session ${index}`),
    ))
  for (const checked of again) t.match(checked[0]?.message, 'a pattern that took more than 300 ms before')
  t.strictSame(await checker.check({ ...hopeless, value: 'aa!' }), [], 'a text that is easy is matched')
  await checker.close()
})

t.test('sessions take turns: one that wants much does not keep the others', async t => {
  const checker = createSchemaChecker(limits)
  const order: string[] = []
  const ask = async (session: string) => {
    const checked = await checker.check(long, session)
    order.push(session)
    return checked
  }
  const all = [...Array.from({ length: 10 }, () => ask('greedy')), ask('modest')]
  t.ok((await Promise.all(all)).every(checked => checked.length === 0))
  t.ok(order.indexOf('modest') <= 3, order.join())
  await checker.close()
})

t.test('other sessions\' checks on the thread change no verdict', async t => {
  const checker = createSchemaChecker({ ...limits, validationMs: 100 })
  const answer = checker.check(long)
  await new Promise(resolve => setTimeout(resolve, 5))
  // The main thread is busy for longer than the validation may take, whoever gets the processor.
  for (const from = performance.now(); performance.now() - from < 400;);
  t.strictSame(await answer, [])
  await checker.close()
})

t.test('the thread reads a value where the frame has it', async t => {
  const checker = createSchemaChecker(limits)
  const bytes = Buffer.from(JSON.stringify({ result: [null, { 'a/b': ['no'] }] }))
  const source = { bytes, path: ['result', 1, 'a/b'] }
  t.strictSame(brief(await checker.check({ ...long, source })), ['mismatch /l/0'])
  t.strictSame(await checker.check(long), [])
  await checker.close()
})

t.test('a thread that dies, or never answers, is replaced, and waiting checks are answered', async t => {
  const script = new URL(`data:text/javascript,${encodeURIComponent(`
    import { parentPort } from 'node:worker_threads'
    parentPort.on('message', order => {
      if (order.schema.text === '"die"') process.exit(1)
      if (order.schema.text === '"hang"') for (;;);
      parentPort.postMessage({ id: order.id, problems: [] })
    })`)}`)
  const offload = new Offload({ ...limits, validationMs: 1 }, { script, patienceMs: 2000 })
  const text = (what: string) => ({ digest: what, text: JSON.stringify(what), held: 0 })
  const answers =
    await Promise.all(['fine', 'die', 'hang', 'fine'].map(what => offload.check(text(what), { bytes: Buffer.from('1'), path: [] }, '')))
  t.match(
    answers.map(({ problems }) => problems[0]?.message ?? ''),
    ['', 'its thread ended', 'does not answer', ''],
  )
  await offload.close()
})

t.test('a value that is not JSON causes no exception and no endless wait', async t => {
  const checker = createSchemaChecker(limits)
  const endless: unknown[] = []
  endless.push(endless)
  const list = { $ref: '#/$defs/list', $defs: { list: { items: { $ref: '#/$defs/list' } } } }
  const rows = [...Array.from({ length: 300_000 }, () => 1), 1n]
  for (const [
    schema, value,
  ] of [[list, endless], [long.schema, rows], [{ type: 'number' }, 1n], [{}, undefined]] as const) {
    const checked = await checker.check({ kind: 'value', schema, value: value as unknown as Data, path: '' })
    t.ok(checked.length > 0)
  }
  t.strictSame(
    brief(await checker.check({ kind: 'schema', schema: endless as unknown as Data, path: '' })), ['cost'],
  )
  t.strictSame(await checker.check(long), [], 'and the thread goes on')
  await checker.close()
})

t.test('closing answers waiting checks, and later ones', async t => {
  const checker = createSchemaChecker({ ...limits, validationMs: 60_000 })
  const waiting = Promise.all<Checked | Promise<Checked>>([checker.check(hopeless), checker.check(hopeless)])
  await checker.close()
  t.strictSame((await waiting).map(brief), [['unchecked /r'], ['unchecked /r']])
  t.strictSame(brief(await checker.check(hopeless)), ['unchecked /r'])
  await checker.close()
})

t.test('too many waiting checks of one session are refused', async t => {
  const offload = new Offload(limits)
  const ask = (session: string) => offload.check({ digest: 'true', text: 'true', held: 0 }, { bytes: Buffer.from('1'), path: [] }, session)
  const greedy = Array.from({ length: 300 }, () => ask('greedy'))
  t.strictSame((await ask('modest')).problems, [], 'another still has its share')
  const messages = (await Promise.all(greedy)).map(({ problems }) => problems[0]?.message)
  // One is under way, and 200 wait.
  t.equal(messages.filter(message => message === undefined).length, 201)
  t.equal(
    messages.filter(message => message === 'could not be judged: too many checks are waiting').length, 99,
  )
  await offload.close()
})

t.test('equal schemas share their compiled form; different ones share nothing', async t => {
  const ask = asker()
  const schema = () => ({ $id: 'urn:same', $defs: { a: { $anchor: 'x', type: 'string' } }, $ref: '#x' })
  t.strictSame(brief(await ask.value(schema(), 1)), ['mismatch'])
  t.strictSame(brief(await ask.value(schema(), 'a')), [])
  // The same id with another meaning, in the same checker.
  t.strictSame(
    brief(await ask.value({ ...schema(), $defs: { a: { $anchor: 'x', type: 'integer' } } }, 'a')),
    ['mismatch'],
  )
  t.strictSame(brief(await ask.value({ $ref: 'urn:same' }, 'a')), ['unchecked'])
  t.strictSame(
    brief(await ask.value({ $id: 'https://json-schema.org/draft/2020-12/schema', type: 'string' }, 'a')), [],
  )
  t.strictSame(
    brief(await ask.value({ $ref: 'https://json-schema.org/draft/2020-12/schema' }, { type: 'text' })),
    ['mismatch /type'],
  )
  await ask.close()
})

t.test('cached schemas count by the memory that they hold', async t => {
  const ask = asker()
  const heap = () => (globalThis.gc?.(), process.memoryUsage().heapUsed)
  const before = heap()
  for (let index = 0; index < 300; index++) {
    const schema = {
      title: `${index}`, $ref: 'https://json-schema.org/draft/2020-12/schema',
      $defs: Object.fromEntries(Array.from({ length: 500 }, (_, name) => [`d${name}`, true])),
    }
    const found = await ask.value(schema, index % 2 === 0 ? {} : { type: 1 })
    if (found.length !== index % 2) t.fail(`schema ${index}`)
  }
  // With them all it would be 150,000 places, at half a kilobyte each.
  t.ok(heap() - before < 80e6, `${Math.round((heap() - before) / 1e6)} MB`)
  t.strictSame(
    await ask.value({ title: '0', $ref: 'https://json-schema.org/draft/2020-12/schema' }, {}), [],
    'the first, made again',
  )
  await ask.close()
})

t.test('no engine of others is loaded, and no code is made from strings', t => {
  const folder = new URL('../../../dist/relay/schema/', import.meta.url)
  const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.js')).map(name => readFileSync(new URL(name, folder), 'utf8'))
  t.ok(sources.length > 30)
  for (const source of sources) {
    t.notMatch(source, /from '(?!node:|[.#])|import\(|require\(|new Function|eval\(/)
  }
  t.end()
})
