import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { verify } from '#relay/audit/read/verify.js'
import { auditOf, cli, scratch } from './bridge.js'
import { HttpClient, serve } from './http-bridges.js'
import { lineOf, start, type Started } from './harness.js'
import { honest, legacy, request } from './cases.js'
import { initialize, stubborn } from './stubborn.js'

// Nearly all of their time is that which servers have to end.
t.jobs = 4

const skip = process.platform !== 'linux' && 'reads /proc'

/** Whether a process of this id lives. One that has ended and that nobody asked about yet does not. */
const lives = (pid: number): boolean => {
  try {
    return !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

/** Resolves when the process is gone; one that stays ends the test by its time. */
const gone = async (pid: number): Promise<void> => {
  while (lives(pid)) await new Promise(setImmediate)
}

const errorsOf = ({ child: { stderr } }: Started): NodeJS.ReadableStream => {
  if (stderr === null) throw new Error('no stderr')
  return stderr
}

/** Looks until it is so. */
const until = async (isSo: () => Promise<boolean>): Promise<void> => {
  while (!(await isSo())) await pause(10)
}

/** A client's handshake with a server that never ends by itself. @returns the server's process */
const connected = async (relay: Started, url: string): Promise<number> => {
  const started = lineOf(errorsOf(relay), /started (\d+)/)
  const client = new HttpClient(`${url}/mcp`)
  client.send(initialize)
  await client.next()
  return Number((await started)[1])
}

const nothingLeft = async (t: Test, audit: string, ...servers: readonly number[]): Promise<void> => {
  t.same(servers.filter(lives), [], 'no server outlives the relay')
  const sessions = auditOf(audit).map(({ event }) => event).filter(event => event.startsWith('session/'))
  t.equal(
    sessions.filter(event => event === 'session/end').length, servers.length,
    'every session has its end on record',
  )
  t.match(verify([audit]), { ok: true, open: { sessions: 0 } })
}

const signals: readonly (readonly NodeJS.Signals[])[] = [
  ['SIGINT', 'SIGINT'], ['SIGTERM', 'SIGTERM'], ['SIGINT', 'SIGTERM'], ['SIGTERM', 'SIGHUP', 'SIGHUP'],
  ['SIGHUP'],
]

for (const sent of signals) {
  t.test(`nothing outlives serve that is told to end by ${sent.join(', then ')}`, { skip }, async t => {
    const audit = join(scratch(t), 'audit.ndjson')
    const { relay, url } = await serve(t, ['--audit', audit, '--', ...stubborn(scratch(t))])
    const server = await connected(relay, url)
    for (const signal of sent) {
      relay.child.kill(signal)
      // Two of a kind at once would arrive as one.
      await until(() => fetch(url).then(() => false, () => true))
    }
    t.strictSame(await relay.exit, { code: 0, signal: null })
    await nothingLeft(t, audit, server)
  })
}

/** `serve --config`, and how its file is read again. */
const configured = async (t: Test, node: readonly string[] = []) => {
  const directory = scratch(t)
  const [audit, file] = [join(directory, 'audit.ndjson'), join(directory, 'customs.json')]
  const command = stubborn(directory)
  writeFileSync(file, JSON.stringify({ version: 1, servers: { only: { command } } }))
  const { relay, url } = await serve(t, ['--audit', audit, '--log-level', 'info', '--config', file], node)
  const reload = async () => {
    const read = lineOf(errorsOf(relay), /was read again/)
    relay.child.kill('SIGHUP')
    await read
  }
  return { relay, url, audit, reload }
}

t.test('sessions of before a reload end as the others do, their servers and records too', {
  skip,
}, async t => {
  const { relay, url, audit, reload } = await configured(t)
  const before = await connected(relay, url)
  await reload()
  const after = await connected(relay, url)
  t.strictSame(await relay.stop(), { code: 0, signal: null })
  await nothingLeft(t, audit, before, after)
})

t.test('SIGHUP does not keep serve --config from its end, nor hurry it', { skip }, async t => {
  const { relay, url, audit } = await configured(t)
  const server = await connected(relay, url)
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGHUP'] as const) relay.child.kill(signal)
  t.strictSame(await relay.exit, { code: 0, signal: null })
  await nothingLeft(t, audit, server)
})

t.test('a system that can watch no more files is a warning, and the file is read on SIGHUP', {
  skip,
}, async t => {
  const without =
    'import fs from "node:fs";import { syncBuiltinESMExports } from "node:module";fs.watch = () => { throw new Error("ENOSPC: no watchers left") };syncBuiltinESMExports()'
  const { relay, reload } = await configured(t, ['--import', `data:text/javascript,${without}`])
  await reload()
  t.match(relay.stderr(), /customs\.json is not watched.*ENOSPC/)
})

const broken = 'process.on("SIGUSR1", () => { throw new TypeError("nobody caught this") })'

t.test('an error that nobody caught ends all the same in order, and is told', { skip }, async t => {
  const audit = join(scratch(t), 'audit.ndjson')
  const { relay, url } = await serve(
    t, ['--audit', audit, '--', ...stubborn(scratch(t))], ['--import', `data:text/javascript,${broken}`],
  )
  const server = await connected(relay, url)
  t.strictSame(await relay.stop('SIGUSR1'), { code: 70, signal: null })
  t.match(relay.stderr(), /internal error: nobody caught this/)
  await nothingLeft(t, audit, server)
})

t.test('so it is with wrap', { skip }, async t => {
  const audit = join(scratch(t), 'audit.ndjson')
  const relay = start(t, process.execPath, [
    '--import', `data:text/javascript,${broken}`, cli, 'wrap', '--audit', audit, '--',
    ...stubborn(scratch(t)),
  ])
  const started = lineOf(errorsOf(relay), /started (\d+)/)
  relay.send(initialize)
  await relay.next()
  const [, server] = await started
  t.strictSame(await relay.stop('SIGUSR1'), { code: 70, signal: null })
  await nothingLeft(t, audit, Number(server))
})

t.test('a signal for which nobody listens takes the server with it all the same', { skip }, async t => {
  const relay = start(t, process.execPath, [cli, 'wrap', '--audit', 'none', '--', ...stubborn(scratch(t))])
  const [, server] = await lineOf(errorsOf(relay), /started (\d+)/)
  t.strictSame(await relay.stop('SIGQUIT'), { code: null, signal: 'SIGQUIT' })
  await gone(Number(server))
})

/** Answers a call after a while, and ends at once with its stdin, whatever it has to do. */
const hasty = `
import { createInterface } from 'node:readline'
const answer = (id, result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }))
createInterface({ input: process.stdin }).on('line', line => {
  const { id, method } = JSON.parse(line)
  if (method === 'initialize') answer(id, { protocolVersion: '${legacy}', capabilities: { tools: {} }, serverInfo: { name: 'hasty', version: '1' } })
  else if (method === 'tools/list') answer(id, { tools: [${honest}] })
  else if (method === 'tools/call') setTimeout(() => answer(id, { content: [] }), 200)
}).on('close', () => process.exit())
`

t.test('requests that are in flight when the input of wrap ends are answered', async t => {
  const file = join(scratch(t), 'hasty.mjs')
  writeFileSync(file, hasty)
  const relay = start(t, process.execPath, [cli, 'wrap', '--audit', 'none', '--', process.execPath, file])
  for (const line of [initialize, request(legacy, '1', 'tools/call', '"name":"honest","arguments":{}')]) {
    relay.send(line)
  }
  relay.closeInput()
  t.match(JSON.parse(await relay.responseTo('1')), { result: { content: [] } })
  t.strictSame(await relay.exit, { code: 0, signal: null })
})

t.test('what lasts is not waited for, and neither is what takes longer than the grace', { skip }, async t => {
  const lasting = request(legacy, '1', 'subscriptions/listen')
  const endless = request(legacy, '1', 'tools/call', '"name":"honest","arguments":{}')
  for (const [grace, line] of [['600', lasting], ['0', endless]] as const) {
    const relay = start(
      t, process.execPath, [cli, 'wrap', '--audit', 'none', '--grace', grace, '--', ...stubborn(scratch(t))],
    )
    const started = lineOf(errorsOf(relay), /started (\d+)/)
    for (const each of [initialize, line]) relay.send(each)
    const [, server] = await started
    relay.closeInput()
    t.match(JSON.parse(await relay.responseTo('1')), { error: { code: -31001 } })
    t.strictSame(await relay.exit, { code: 137, signal: null })
    t.notOk(lives(Number(server)))
  }
})

t.test('a server that dies is one line on stderr, with its name', async t => {
  const file = join(scratch(t), 'mortal.mjs')
  writeFileSync(file, 'process.stdin.once("data", () => process.exit(3))')
  const command = [process.execPath, file]
  const wrapped =
    start(t, process.execPath, [cli, 'wrap', '--audit', 'none', '--server', 'weather', '--', ...command])
  wrapped.send(initialize)
  t.match(JSON.parse(await wrapped.next()), { error: { code: -31001 } })
  t.strictSame(await wrapped.exit, { code: 3, signal: null })
  const { relay, url } = await serve(t, ['--audit', 'none', '--server', 'weather', '--', ...command])
  const line = lineOf(errorsOf(relay), /exited/)
  const client = new HttpClient(`${url}/mcp`)
  client.send(initialize)
  for (const text of [wrapped.stderr(), (await line).input]) {
    t.strictSame(text.match(/"msg":"weather: [^"]*/g), ['"msg":"weather: the server exited with code 3'])
  }
})
