import { readdirSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { auditOf, cli, scratch } from './bridge.js'
import { legacy, modern } from './cases.js'
import {
  begin, call, childrenOf, fixture, gateway, initialize, initializeWith, lives, open, send, textOf, until,
} from './gateways.js'
import { start } from './harness.js'
import { serve } from './http-bridges.js'

// Each waits for processes most of the time.
t.jobs = 3

const skip = process.platform !== 'linux' && 'reads /proc'
/**
 * Speaks HTTP, names its sessions, and asks in the middle of each call; what it is answered is its answer.
 */
const askingServer = `
import { createServer } from 'node:http'
const waiting = new Map()
let last = 0
const server = createServer((request, response) => {
  let body = ''
  request.on('data', chunk => (body += chunk)).on('end', () => {
    const { id, method, result } = JSON.parse(body || '{}')
    const json = (result, headers = {}) => response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify({ jsonrpc: '2.0', id, result }))
    if (method === 'initialize') return json({ protocolVersion: '${legacy}', capabilities: { tools: {} }, serverInfo: { name: 'asking', version: '1' } }, { 'mcp-session-id': 'session-' + ++last })
    if (method === 'tools/list') return json({ tools: [{ name: 'ask', inputSchema: { type: 'object' } }] })
    if (method === 'tools/call') {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: ' + JSON.stringify({ jsonrpc: '2.0', id: 'q' + id, method: 'elicitation/create', params: { message: 'Who?', requestedSchema: { type: 'object', properties: {} } } }) + '\\n\\n')
      return waiting.set('q' + id, said => response.end('data: ' + JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: said }] } }) + '\\n\\n'))
    }
    response.writeHead(202).end()
    if (result) waiting.get(id)?.(result.action)
  })
})
server.listen(0, '127.0.0.1', () => console.log(server.address().port))
`

const verified = async (t: Test, directory: string): Promise<void> => {
  const logs =
    readdirSync(directory).filter(file => file.endsWith('.ndjson')).map(file => join(directory, file))
  const verify = start(t, process.execPath, [cli, 'audit', 'verify', ...logs])
  t.same(await verify.exit, { code: 0, signal: null }, verify.stderr())
}

const faults = [
  ['endless loop', /gave no sign of life for 5 s/],
  ['heap bomb', /ended by SIG(?:ABRT|TRAP)|gave no sign of life/],
  ['string bomb', /took \d+ MiB of memory, and may have 512|ended by SIG(?:ABRT|TRAP)|gave no sign of life/],
  ['abort', /ended by SIGABRT/],
  ['exception', /ended with code/],
  ['kill', /ended by SIGKILL/],
  ['engine', /gave no sign of life for 5 s/],
] as const

for (const [fault, reason] of faults) {
  t.test(`a fault in one server's relay process (${fault}) is nobody else's, and the server answers again`, {
    skip,
  }, async t => {
    const env = { NODE_OPTIONS: `--max-old-space-size=256 --import=${fixture('faults.mjs')}` }
    const { url, directory, relay, pids } = await gateway(t, ['victim', 'other'], [], env)
    const [victim, other] = [await open(url('victim')), await open(url('other'))]
    const [victims = 0] = pids()
    const isEngine = fault === 'engine'
    t.equal(textOf(await send(url('victim'), victim, call(1, 'echo', { word: 'before' }))), 'before')
    const waiting = send(url('victim'), victim, call(2, 'held'))
    await until(() => /^held$/m.test(relay.stderr()))
    const failed = send(url('victim'), victim, call(3, isEngine ? 'engine' : `fault ${fault}`))
    let id = 0
    const over = new AbortController()
    const others = (async () => {
      while (!over.signal.aborted) {
        id += 1
        t.equal(textOf(await send(url('other'), other, call(id, 'echo', { word: String(id) }))), String(id))
      }
    })()
    const [lost, also] = await Promise.all([failed, waiting])
    if (fault !== 'exception') t.match(lost, { status: 502, text: /-31001/ })
    t.match(also, { status: 502, text: /"id":2,.*-31001/ }, 'whoever waits is told, by the id of the request')
    await until(async () => (await send(url('victim'), victim, call(4, 'pid'))).status === 404)
    t.equal(
      textOf(await send(url('victim'), await open(url('victim')), call(5, 'echo', { word: 'again' }))),
      'again',
    )
    await until(() => !lives(victims))
    over.abort()
    await others
    t.match(relay.stderr(), new RegExp(`victim: the relay process \\d+ has ended: [^"]*(?:${reason.source})`))
    t.match(
      auditOf(join(directory, 'audit._front.ndjson')).filter(({ event }) => event === 'server/health'),
      [{ server: 'victim', reason }],
    )
    t.same(await relay.stop(), { code: 0, signal: null })
    t.same(pids().filter(lives), [], 'no server is left')
    await verified(t, directory)
  })
}

t.test('each request of a batch gets an error when its relay process dies', { skip }, async t => {
  const revision = '2025-03-26'
  const { url, relay, relays } = await gateway(t, ['one'])
  const { session = '' } = await send(url('one'), {}, initializeWith(revision))
  const headers = { 'mcp-session-id': session, 'mcp-protocol-version': revision }
  await send(url('one'), headers, '{"jsonrpc":"2.0","method":"notifications/initialized"}')
  const waiting = send(url('one'), headers, `[${call(1, 'held', {}, revision)},${call(2, 'held', {}, revision)}]`)
  await until(() => (relay.stderr().match(/^held$/mg)?.length ?? 0) > 1)
  for (const pid of relays()) process.kill(pid, 'SIGKILL')
  const { status, text } = await waiting
  t.equal(status, 502)
  t.match(JSON.parse(text), [1, 2].map(id => ({ id, error: { code: -31001 } })))
})

t.test('a relay process is started when it is first used, and ends when nobody uses it', {
  skip,
}, async t => {
  const { url, relays, directory } = await gateway(t, ['one', 'two'], ['--idle', '1'])
  t.same(relays(), [])
  const first = await open(url('one'))
  const [pid = 0] = relays()
  t.equal(relays().length, 1)
  await until(() => !lives(pid))
  t.equal((await send(url('one'), first, call(1, 'pid'))).status, 404)
  t.match(textOf(await send(url('one'), await open(url('one')), call(1, 'echo', { word: 'again' }))), 'again')
  t.match(auditOf(join(directory, 'audit.one.ndjson')).map(
    ({ event }) => event,
  ).filter(event => event.startsWith('session/')), ['session/start', 'session/end', 'session/start'])
})

t.test('a server inherits nothing of the channel', { skip }, async t => {
  const { url } = await gateway(t, ['one'])
  t.equal(textOf(await send(url('one'), await open(url('one')), call(1, 'descriptors'))), '0')
})

t.test('sessions stay with one of several relay processes, whichever connection their requests come by', {
  skip,
}, async t => {
  const { url, relays, directory } = await gateway(t, ['one'], ['--workers', '2'])
  const held: Promise<unknown>[] = []
  const sessions: Record<string, string>[] = []
  for (let count = 0; count < 4; count += 1) {
    const session = await open(url('one'))
    sessions.push(session)
    held.push(send(url('one'), session, call(1, 'held')).catch(() => undefined))
  }
  t.equal(relays().length, 2)
  t.same(new Set(sessions.map(session => session['mcp-session-id']?.split('.')[0])), new Set(['1', '2']))
  for (const session of sessions) {
    const pids = await Promise.all([
      1, 2, 3, 4,
    ].map(async id => textOf(await send(url('one'), session, call(id + 1, 'pid')))))
    t.equal(new Set(pids).size, 1)
  }
  for (const session of sessions) t.equal((await send(url('one'), session, '', 'DELETE')).status, 200)
  await Promise.all(held)
  const starts = [1, 2].map(number =>
    auditOf(join(
      directory, `audit.one.${number}.ndjson`,
    )).filter(({ event }) => event === 'session/start').length)
  t.same(starts, [2, 2])
})

t.test('idle sessions are divided among the relay processes, one after another and all at once', {
  skip,
}, async t => {
  const { url } = await gateway(t, ['one', 'two'], [], {}, { workers: 2, sessions: { max: 4 } })
  for (let count = 0; count < 4; count += 1) await open(url('one'))
  const replies = await Promise.all([1, 2, 3, 4].map(() => send(url('two'), {}, initialize)))
  t.same(replies.map(({ status }) => status), [200, 200, 200, 200])
  for (const server of ['one', 'two']) t.equal((await send(url(server), {}, initialize)).status, 503)
})

t.test('a new session goes to a relay process that runs, while another one is down', { skip }, async t => {
  const { url, relay, relays } = await gateway(t, ['one'], [], {}, { workers: 2 })
  await open(url('one'))
  const [first = 0] = relays()
  await open(url('one'))
  const [second = 0] = relays().filter(pid => pid !== first)
  const kill = async (pid: number, times: number) => {
    process.kill(pid, 'SIGKILL')
    await until(() => relay.stderr().split('the relay process').length > times)
  }
  await kill(first, 1)
  // It has no session now, and gets the next one. One that ended twice may not be started at once.
  await open(url('one'))
  const [again = 0] = relays().filter(pid => pid !== second)
  await kill(again, 2)
  const replies = await Promise.all([1, 2, 3].map(() => send(url('one'), {}, initialize)))
  t.same(replies.map(({ status }) => status), [200, 200, 200])
})

t.test('what a server that names its sessions asks is answered in the relay process that has the session', {
  skip,
}, async t => {
  const file = join(scratch(t), 'server.mjs')
  writeFileSync(file, askingServer)
  const server = start(t, process.execPath, [file])
  const { relay, url } =
    await serve(t, ['--audit', 'none', '--workers', '2', `http://127.0.0.1:${await server.next()}/mcp`])
  const sessions: Record<string, string>[] = []
  const streams: IncomingMessage[] = []
  for (let id = 1; id <= 4; id += 1) {
    const session = await open(`${url}/mcp`)
    sessions.push(session)
    streams.push(await begin(`${url}/mcp`, 'POST', session, call(id, 'ask')))
  }
  t.equal(childrenOf(relay.pid).length, 2)
  for (const [index, stream] of streams.entries()) {
    const answer = `{"jsonrpc":"2.0","id":"q${index + 1}","result":{"action":"decline"}}`
    t.equal((await send(`${url}/mcp`, sessions[index] ?? {}, answer)).status, 202)
    let text = ''
    for await (const chunk of stream.setEncoding('utf8')) text += String(chunk)
    t.match(text, /elicitation\/create[^]*"text":"decline"/)
  }
})

t.test('clients without a session are served, and places of processes are counted over all servers', {
  skip,
}, async t => {
  const { url } = await gateway(t, ['one', 'two'], [], {}, { sessions: { maxProcesses: 2 } })
  const headers = { 'mcp-protocol-version': modern, 'mcp-method': 'tools/call', 'mcp-name': 'echo' }
  const first = await open(url('one'))
  const second = await open(url('two'))
  t.equal((await send(url('two'), {}, initialize)).status, 503)
  t.equal(
    textOf(await send(url('one'), headers, call(1, 'echo', { word: 'modern' }, modern))), 'modern',
    'they need no place',
  )
  t.equal((await send(url('one'), first, '', 'DELETE')).status, 200)
  await until(async () => (await send(url('two'), {}, initialize)).status === 200)
  t.equal(textOf(await send(url('two'), second, call(1, 'echo', { word: 'still' }))), 'still')
})

t.test('long bodies pass in both directions, and a client that does not read delays nobody', {
  skip,
}, async t => {
  const { url } = await gateway(t, ['one'])
  const session = await open(url('one'))
  const word = 'y'.repeat(3_000_000)
  t.ok(textOf(await send(url('one'), session, call(1, 'echo', { word }))) === word, 'the same text')
  const idle = await begin(url('one'), 'POST', session, call(2, 'length', { word: '12000000' }))
  for (const id of [3, 4, 5]) {
    t.equal(textOf(await send(url('one'), session, call(id, 'echo', { word: 'quick' }))), 'quick')
  }
  let length = 0
  for await (const chunk of idle) length += (chunk as Buffer).length
  t.ok(length > 12_000_000)
})

t.test('a changed file holds in relay processes: new servers are offered, and one that is gone serves its sessions to their end', {
  skip,
}, async t => {
  const { url, write, relay } = await gateway(t, ['one', 'two'])
  const session = await open(url('one'))
  const readAgain = (times: number) =>
    until(() => (relay.stderr().match(/was read again/g)?.length ?? 0) >= times)
  write(['two', 'three'])
  await readAgain(1)
  t.equal(textOf(await send(url('one'), session, call(1, 'echo', { word: 'kept' }))), 'kept')
  t.equal((await send(url('one'), {}, initialize)).status, 404)
  t.equal(textOf(await send(url('three'), await open(url('three')), call(1, 'echo', { word: 'new' }))), 'new')
  write(['one', 'two'], { auth: { tokens: ['t'] } })
  await readAgain(2)
  t.equal((await send(url('one'), session, call(2, 'pid'))).status, 401)
  t.equal(
    (await send(url('one'), { ...session, authorization: 'Bearer t' }, call(3, 'pid'))).status, 404,
    'it was begun without a token',
  )
})

t.test('when the front is killed, relay processes end by themselves, in order', { skip }, async t => {
  const { url, relay, relays, directory, pids } = await gateway(t, ['one'])
  await open(url('one'))
  const [pid = 0] = relays()
  await relay.stop('SIGKILL')
  await until(() => !lives(pid))
  t.match(
    auditOf(join(directory, 'audit.ndjson')).map(({ event }) => event), ['session/start', 'session/end'],
  )
  t.same(pids().filter(lives), [])
})

t.test('a relay process that cannot begin answers its requests, and says why', { skip }, async t => {
  const { url, relay, directory } = await gateway(t, ['one', 'two'])
  writeFileSync(join(directory, 'audit.one.ndjson'), 'no log\n')
  t.match(await send(url('one'), {}, initialize), { status: 502, text: /-31001/ })
  await until(() =>
    /one: the relay process \d+ has ended: .*holds something else than an audit log/.test(relay.stderr()))
  t.equal(textOf(await send(url('two'), await open(url('two')), call(1, 'echo', { word: 'fine' }))), 'fine')
})
