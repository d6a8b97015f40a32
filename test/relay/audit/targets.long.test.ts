import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { openAudit } from '#relay/audit/sink.js'
import { openTargets, type Targets } from '#relay/audit/targets.js'
import { portOf, serveBodies } from '#test/kit/http.js'
import { called } from './entries.js'
import { records } from './logs.js'

// Each waits for threads most of the time.
t.jobs = 4

const here = fileURLToPath(import.meta.url)

/** What was said and counted of targets. */
const told = (endMs = 60_000) => {
  const warnings: string[] = []
  const undelivered = new Map<string, number>()
  return {
    warnings,
    undelivered,
    options: {
      endMs,
      warn: (message: string) => void warnings.push(message),
      undelivered: (target: string, count: number) =>
        void undelivered.set(target, (undelivered.get(target) ?? 0) + count),
    },
  }
}

/** Two records, and the end of the log. @returns its file */
const write = async (folder: string, targets: Targets): Promise<string> => {
  const file = join(folder, 'audit.ndjson')
  const audit = await openAudit({ file, server: 'weather', followers: [targets] })
  audit.write({ ...called, verdict: 'pass' })
  audit.write({ ...called, verdict: 'block' })
  audit.close()
  await targets.close()
  return file
}

/** As a transport gets a record. */
const shipped = (file: string): unknown[] =>
  records(file).map(record => ({
    ...record, time: Date.parse(String(record['time'])), level: record['verdict'] === 'block' ? 40 : 30,
    msg: record['event'],
  }))

t.test('pino-socket gets each record, with the time and the level of pino', async t => {
  const lines: string[] = []
  const server = createServer(socket => void socket.setEncoding('utf8').on(
    'data', (text: string) => lines.push(...text.trim().split('\n')),
  ))
  const port = await portOf(t, server)
  const { warnings, undelivered, options } = told()
  const closed = new Promise(resolve => server.once('connection', socket => socket.once('close', resolve)))
  const targets = await openTargets(
    [{ target: 'pino-socket', options: { address: '127.0.0.1', port, mode: 'tcp' }, from: here }], options,
  )
  const file = await write(t.testdir(), targets)
  await closed
  t.strictSame(lines.map(line => JSON.parse(line) as unknown), shipped(file))
  t.strictSame([warnings, undelivered.size], [[], 0])
})

t.test('pino-loki gets each record with its labels', async t => {
  const pushed: { stream: Record<string, string>; values: [string, string][] }[] = []
  const url = await serveBodies(t, (body, response) => {
    pushed.push(...(JSON.parse(body) as { streams: typeof pushed }).streams)
    response.writeHead(204).end()
  })
  const host = new URL(url).origin
  const { warnings, options } = told()
  const targets = await openTargets(
    [{ target: 'pino-loki', options: { host, propsToLabels: ['server', 'verdict'] }, from: here }], options,
  )
  const file = await write(t.testdir(), targets)
  t.strictSame(pushed.map(({ values }) => JSON.parse(values[0]?.[1] ?? '') as unknown), shipped(file))
  t.match(pushed.map(({ stream }) => stream), [{ level: 'info', server: 'weather', verdict: 'pass' }, {
    level: 'warning', server: 'weather', verdict: 'block',
  }])
  t.strictSame(warnings, [])
})

t.test('a transport that is not there is an error of the configuration', async t => {
  await t.rejects(openTargets(
    [{ target: 'no-such-transport', options: {}, from: '/etc/customs.yaml' }], told().options,
  ), {
    code: 'BAD_CONFIG',
    message: '/etc/customs.yaml: audit.targets: there is no module "no-such-transport" (it has to be ' +
      'installed beside mcp-customs or the file)',
  })
})

const failing: readonly (readonly [string, string, RegExp])[] = [
  [
    'throws at once', 'export default () => { throw new Error(`cannot use ${"sesame-" + "open"}`) }',
    /cannot use \[redacted\]/,
  ],
  ['is no transport', 'export default 1', /is no pino transport/],
  [
    'complains',
    'import { Writable } from "node:stream"\nexport default o => new Writable({ write(l, e, d) { console.error("refused", o.token); d() } })',
    /refused \[redacted\]/,
  ],
  [
    'fails with a record',
    'import { Writable } from "node:stream"\nexport default () => new Writable({ write(l, e, d) { d(new Error("no more")) } })',
    /no more/,
  ],
  [
    'writes to the standard output',
    'import { Writable } from "node:stream"\nexport default () => new Writable({ write(l, e, d) { console.log("hello"); d() } })',
    /hello/,
  ],
]
for (const [what, source, expected] of failing) {
  t.test(`a transport that ${what} is told of and counted, and the file has every record`, async t => {
    const folder = t.testdir()
    const [module, file] = [join(folder, 'transport.mjs'), join(folder, 'audit.ndjson')]
    writeFileSync(module, source)
    const { warnings, undelivered, options } = told()
    const targets =
      await openTargets([{ target: module, options: { token: 'sesame-open' }, from: here }], options)
    const audit = await openAudit({ file, server: 'weather', followers: [targets] })
    audit.write(called)
    while (warnings.length === 0) await new Promise(resolve => setImmediate(resolve))
    audit.write(called)
    audit.close()
    await targets.close()
    t.equal(records(file).length, 2)
    t.match(warnings.join('\n'), expected)
    t.notMatch(warnings.join('\n'), /sesame/)
    t.ok((undelivered.get(module) ?? 0) > 0)
  })
}

for (const [what, source] of [
  ['never begins', 'export default () => new Promise(() => {})'],
  [
    'takes nothing',
    'import { Writable } from "node:stream"\nexport default () => new Writable({ highWaterMark: 1, write() {} })',
  ],
  [
    'never ends',
    'import { Writable } from "node:stream"\nexport default () => new Writable({ write(l, e, d) { d() }, final() {} })',
  ],
  ['is busy for ever', 'export default () => { for (;;); }'],
] as const) {
  t.test(`a transport that ${what} does not hold the end`, async t => {
    const folder = t.testdir()
    const module = join(folder, 'transport.mjs')
    writeFileSync(module, source)
    const targets = await openTargets([{ target: module, options: {}, from: here }], told(100).options)
    const file = await write(folder, targets)
    t.equal(records(file).length, 2)
  })
}

t.test('records for which a transport has no room are dropped and counted at once', async t => {
  const module = join(t.testdir(), 'transport.mjs')
  writeFileSync(module, 'export default () => new Promise(() => {})')
  const { warnings, undelivered, options } = told(100)
  const targets = await openTargets([{ target: module, options: {}, from: here }], options)
  const record = JSON.stringify({ event: 'tools/call', payload: 'x'.repeat(1024 * 1024) })
  for (let count = 0; count < 20; count += 1) targets.recorded(record, called, new Date(0))
  const lost = undelivered.get(module) ?? 0
  t.ok(lost >= 15 && lost < 20, 'four megabytes wait, and one record')
  t.match(warnings, [/not delivered: it is slower than the traffic$/])
  await targets.close()
})
