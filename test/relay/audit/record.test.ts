import { createHash } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { readLine } from '#relay/audit/read/line.js'
import { recordBeginning, digestLarge, nextLine } from '#relay/audit/record.js'
import type { Entry } from '#relay/core/vocabulary.js'
import { recordOfLine } from '#relay/audit/read/record.js'
import { called, ended, entry } from './entries.js'

const now = new Date('2026-11-20T12:00:00Z')
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
const lineOf = (given: Entry, payloads: 'none' | 'digest' | 'redacted' | 'full' = 'digest') =>
  JSON.parse(nextLine(given, recordBeginning, payloads, now).text) as Record<string, unknown>

t.test('a record has the shape of the contract, key by key', t => {
  const record = lineOf(called)
  const { hash, ...rest } = record
  t.strictSame(rest, {
    time: '2026-11-20T12:00:00.000Z',
    seq: 1,
    event: 'tools/call',
    from: 'client',
    server: 'weather',
    session: 's-1',
    client: { name: 'desk', version: '1.0' },
    revision: '2025-11-25',
    tool: 'get_weather',
    id: 5,
    verdict: 'block',
    findings: [
      { rule: 'result/schema', path: '/result/structuredContent/temperature', message: 'must be number' },
    ],
    ms: 12.346,
    serverMs: 11.112,
    bytes: { request: 123, response: 456 },
    digest: {
      arguments: `sha256-${sha256('{"city":"Bern","key":1.0}')}`,
      result: `sha256-${sha256('{"structuredContent":{"temperature":"hot"}}')}`,
    },
    prev: '0'.repeat(64),
  })
  t.strictSame(Object.keys(record), Object.keys(record).sort(), 'its members stand in canonical order')
  t.match(hash, /^[0-9a-f]{64}$/)
  t.match(lineOf(entry({ ...ended, error: -31001, id: 'a' })), {
    event: 'session/end', reason: 'the client went away', error: -31001, id: 'a',
  })
  t.notOk('client' in lineOf(entry({ client: undefined, revision: undefined })))
  t.end()
})

t.test('what a server says of itself is kept as text, without credentials; values of a call are redacted', t => {
  const texts = { '/description': 'Reads notes. password=hunter2hunter2', '/inputSchema/properties/a/title': 'An A' }
  const changed = { rule: 'tool/drift' as const, path: '/result/tools/0', message: 'm', value: texts, declared: {} }
  const wrong = { rule: 'result/schema' as const, path: '/result', message: 'm', value: 'Two words', declared: { format: 'date-time' } }
  const serverInfo = { name: 'shop-server', version: '1.2.0' }
  for (const payloads of ['none', 'digest'] as const) {
    const record = lineOf(entry({ event: 'tools/list', serverInfo, findings: [changed, wrong] }), payloads)
    const [of, other] = record['findings'] as readonly { value: string; declared: string }[]
    t.match(JSON.parse(of?.value ?? ''), {
      '/description': /^Reads notes\. password=(?!hunter)/, '/inputSchema/properties/a/title': 'An A',
    })
    t.equal(of?.declared, '{}')
    t.equal(other?.value, payloads === 'none' ? undefined : '"[text, 9 characters]"')
    t.equal(other?.declared, payloads === 'none' ? undefined : '{"format":"date-time"}')
    t.strictSame(record['serverInfo'], serverInfo)
    t.strictSame(Object.keys(record), Object.keys(record).sort(), 'in canonical order')
  }
  t.end()
})

t.test('findings about elements of lists have names, and the health of a server its last words', t => {
  const about = [{ tool: 'add' }, { prompt: 'greet' }, { resource: 'file:///a' }]
  const findings = about.map(one => ({ rule: 'tool/drift' as const, path: '/result', message: 'm', ...one }))
  const listed = lineOf(entry({ findings }))
  t.strictSame(listed['findings'], findings)
  const health = { event: 'server/health', health: 'exit', reason: 'the server exited with code 3' } as const
  const record = lineOf(entry({ ...health, stderr: ['starting', 'token=hunter2hunter2 refused'] }))
  t.match(record, { ...health, stderr: ['starting', /^token=(?!hunter).* refused$/] })
  for (const one of [listed, record, ...(listed['findings'] as readonly object[])]) {
    t.strictSame(Object.keys(one), Object.keys(one).sort(), 'in canonical order')
  }
  t.match(recordOfLine(JSON.stringify(record)), { health: 'exit', stderr: record['stderr'] })
  t.match(recordOfLine(JSON.stringify(listed))?.findings, about)
  t.end()
})

t.test('the hash is of the canonical form, which anyone can write down', t => {
  const { text: line, position } = nextLine(entry(), recordBeginning, 'digest', now)
  const canonical =
    `{"client":{"name":"desk","version":"1.0"},"event":"tools/call","findings":[],"from":"client","prev":"${'0'.repeat(64)}",` +
    '"revision":"2025-11-25","seq":1,"server":"weather","session":"s-1","time":"2026-11-20T12:00:00.000Z","verdict":"pass"}'
  t.equal(position.hash, sha256(canonical))
  t.match(line, position.hash)
  t.match(nextLine(entry(), position, 'digest', now).text, `"seq":2`)
  t.match(nextLine(entry(), position, 'digest', now).text, `"prev":"${position.hash}"`)
  t.end()
})

t.test('payloads are kept as they were asked for', t => {
  t.notOk('digest' in lineOf(called, 'none'))
  t.notOk('payload' in lineOf(called, 'digest'))
  const payload =
    { arguments: { city: 'Bern', key: 1 }, result: { structuredContent: { temperature: 'hot' } } }
  t.match(lineOf(called, 'full'), { payload, digest: lineOf(called).digest })
  t.match(lineOf(called, 'redacted'), { payload })
  t.notOk('payload' in lineOf(entry(), 'full'))
  t.end()
})

const odd = [
  ['a number beyond a double', '{"a":1e400}', { a: 'Infinity' }],
  ['a lone surrogate', '{"\\ud800":"\\udc00x"}', { '\ufffd': '\ufffdx' }],
  ['a big integer', '[12345678901234567890]', [12345678901234567000]],
  ['__proto__', '{"__proto__":{"a":1}}', JSON.parse('{"__proto__":{"a":1}}')],
  ['toJSON', '{"toJSON":1}', { toJSON: 1 }],
  ['integer-like keys', '{"b":1,"2":2,"1":3}', { 1: 3, 2: 2, b: 1 }],
  ['no JSON', '{"a":', '[unreadable]'],
] as const

for (const [name, text, expected] of odd) {
  t.test(`a payload with ${name} makes a record that verifies`, t => {
    const { text: line } = nextLine(entry({ arguments: Buffer.from(text) }), recordBeginning, 'full', now)
    t.strictSame((JSON.parse(line) as { payload: { arguments: unknown } }).payload.arguments, expected)
    t.equal(readLine(Buffer.from(line.trimEnd())).wrong, undefined)
    t.end()
  })
}

t.test('whatever a peer sends, the record verifies and stays one line', t => {
  const text = fc.string({ unit: 'binary', maxLength: 300 })
  const json = fc.jsonValue().map(value => Buffer.from(JSON.stringify(value)))
  const count = fc.option(fc.nat(), { nil: undefined })
  const members: fc.Arbitrary<Partial<Entry>> = fc.record({
    tool: text, event: text, id: fc.oneof(text, fc.double()), reason: text.map(
      end => `${end}\ud800`,
    ), client: fc.record({ name: text, version: text }),
    findings: fc.array(
      fc.record({ rule: fc.constant('wire/json'), path: text, message: text }), { maxLength: 3 },
    ),
    verdict: fc.constantFrom(
      'pass', 'log', 'demote', 'block',
    ), arguments: json, result: json, ms: fc.double({ min: 0, max: 1e9, noNaN: true }),
    bytes: fc.record({ request: count, response: count }), error: fc.integer(),
  }, { requiredKeys: [] })
  fc.assert(fc.property(members, fc.constantFrom('none', 'digest', 'redacted', 'full'), fc.date({
    noInvalidDate: true, min: new Date(0),
  }),
  (more, payloads, now) => {
    const given = entry(more)
    const { text: line, position } = nextLine(given, recordBeginning, payloads, now)
    const read = readLine(Buffer.from(line.slice(0, -1)))
    t.match(JSON.parse(line), { time: now.toISOString() })
    return line.indexOf('\n') === line.length - 1
        && read.wrong === undefined && read.record?.hash === position.hash
  }))
  t.end()
})

t.test('names, ids and methods are cut', t => {
  const long = 'x'.repeat(1_000_000)
  const { text: line } = nextLine(
    entry({ tool: long, id: long, event: long, client: { name: long, version: long } }), recordBeginning, 'full',
    now,
  )
  t.ok(line.length < 3000)
  t.end()
})

void t.test('large values are hashed beside the main thread, with the same digest', async t => {
  const [large, small] = [Buffer.alloc(5_000_000, 'x'), Buffer.from('{}')]
  t.equal(digestLarge(entry({ arguments: small, result: small })), undefined)
  const given = entry({ arguments: small, result: large })
  await digestLarge(given)
  const { digest } = JSON.parse(nextLine(given, recordBeginning, 'digest', now).text) as { digest: object }
  t.same(digest, {
    arguments: `sha256-${sha256('{}')}`,
    result: `sha256-${sha256(large.toString())}`,
  })
})
