import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync, renameSync, readdirSync } from 'node:fs'
import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { auditOf, cli, scratch } from './bridge.js'
import { legacy, modern, request } from './cases.js'
import { lineOf, start, type Started } from './harness.js'
import { serve } from './http-bridges.js'

const skip = process.platform === 'win32' && 'has no sockets that are for one user alone'

/** Says in each answer which process it is; holds `held` until it is cancelled or told to go on; tells its stream what it is told to. */
const processServer = `
import { createInterface } from 'node:readline'
const say = message => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }))
const answer = (id, result) => say({ id, result: { resultType: 'complete', ...result } })
const text = words => ({ content: [{ type: 'text', text: words }] })
const tools = ['pid', 'held', 'tell'].map(name => ({ name, inputSchema: { type: 'object' } }))
const held = []
process.on('SIGUSR2', () => held.splice(0).forEach(id => answer(id, text('let go'))))
createInterface({ input: process.stdin }).on('line', line => {
  const { id, method, params } = JSON.parse(line)
  if (method === 'initialize') answer(id, { protocolVersion: '${legacy}', capabilities: { tools: {} }, serverInfo: { name: 'own', version: '1' } })
  else if (method === 'tools/list') answer(id, { tools, ttlMs: 60000, cacheScope: 'private' })
  else if (method === 'notifications/cancelled') say({ method: 'notifications/message', params: { level: 'info', data: 'cancelled ' + params.requestId } })
  else if (method === 'tools/call' && params.name === 'held') { held.push(id); console.error('held by ' + process.pid) }
  else if (method === 'tools/call' && params.name === 'tell') { say({ method: 'notifications/tools/list_changed' }); answer(id, text('told')) }
  else if (method === 'tools/call') answer(id, text(String(process.pid)))
})
`

/** Speaks HTTP, names its sessions, and asks in the middle of each call; what it is answered is its answer. */
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

const initialize = request(legacy, '0', 'initialize', `"protocolVersion":"${legacy}","capabilities":{"elicitation":{}},"clientInfo":{"name":"test","version":"1"}`)
const call = (id: number, name: string) => request(legacy, String(id), 'tools/call', `"name":"${name}","arguments":{}`)

interface Reply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

/** Each time by a connection of its own, so that workers take turns. */
const begin = async (url: string, method: string, headers: Record<string, string>, body = ''): Promise<IncomingMessage> => {
  const sent = httpRequest(url, { method, agent: false, headers: { accept: 'application/json, text/event-stream', 'content-type': 'application/json', ...headers } })
  sent.end(body)
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  return response
}

const whole = async (response: IncomingMessage): Promise<Reply> => {
  let text = ''
  for await (const chunk of response.setEncoding('utf8')) text += String(chunk)
  return { status: response.statusCode ?? 0, headers: response.headers, text }
}

const send = async (url: string, method: string, headers: Record<string, string>, body?: string): Promise<Reply> => whole(await begin(url, method, headers, body))

/** Reads a stream up to what fits. */
const until = async (response: IncomingMessage, fits: RegExp): Promise<string> => {
  let text = ''
  for await (const chunk of response.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    text += String(chunk)
    if (fits.test(text)) return text
  }
  throw new Error(`the stream ended without ${String(fits)}: ${text}`)
}

const open = async (url: string): Promise<Record<string, string>> => {
  const { headers } = await send(url, 'POST', {}, initialize)
  const session = { 'mcp-session-id': String(headers['mcp-session-id']), 'mcp-protocol-version': legacy }
  await send(url, 'POST', session, '{"jsonrpc":"2.0","method":"notifications/initialized"}')
  return session
}

const textOf = ({ text }: Reply): string => /"text":"([^"]*)"/.exec(text)?.[1] ?? text

const stderrOf = ({ child }: Started): NodeJS.ReadableStream => {
  if (child.stderr === null) throw new Error('no stderr')
  return child.stderr
}

interface Crew {
  readonly relay: Started
  /** Of the endpoint. */
  readonly url: string
  readonly directory: string
  /** The process of a worker; undefined while there is none. */
  readonly pid: (number: number) => number | undefined
  /** How many sessions have begun with a worker. */
  readonly starts: (number: number) => number
}

const crew = async (t: Test, target: readonly string[], options: readonly string[] = [], env: NodeJS.ProcessEnv = {}): Promise<Crew> => {
  const directory = scratch(t)
  const { relay, url } = await serve(t, ['--workers', '2', '--audit', join(directory, 'audit.ndjson'), '--log-level', 'info', ...options, ...target], [], env)
  return {
    relay, directory,
    url: `${url}/mcp`,
    pid: number => {
      const claim = join(directory, `audit.${number}.ndjson.lock`)
      const text = existsSync(claim) ? readFileSync(claim, 'utf8') : ''
      // A worker that is starting makes the claim first and writes it then.
      return text === '' ? undefined : (JSON.parse(text) as { pid: number }).pid
    },
    starts: number => auditOf(join(directory, `audit.${number}.ndjson`)).filter(({ event }) => event === 'session/start').length,
  }
}

/** A session that one worker has. */
const openAt = async (number: number, { url, starts }: Crew): Promise<Record<string, string>> => {
  for (;;) {
    const before = starts(number)
    const session = await open(url)
    if (starts(number) > before) return session
    // Workers take turns with connections: with an odd number of them, sessions change over as well.
    await send(`${url}/none`, 'GET', {})
  }
}

const script = (t: Test, text: string): string => {
  const file = join(scratch(t), 'server.mjs')
  writeFileSync(file, text)
  return file
}

const onProcess = (t: Test): readonly string[] => ['--', process.execPath, script(t, processServer)]

/** Goes on until both workers have taken requests in, as the access log tells. */
const untilBoth = async (relay: Started, ask: () => Promise<unknown>): Promise<void> => {
  const processes = () => new Set([...relay.stderr().matchAll(/"pid":(\d+),[^\n]*"msg":"request"/g)].map(([, pid = '']) => pid))
  while (processes().size < 2) await ask()
}

const numbers = Array.from({ length: 8 }, (_, index) => index + 1)

t.test('a session is served whatever connection its requests come by', { skip }, async t => {
  const { relay, url } = await crew(t, onProcess(t))
  const [one, other] = [await open(url), await open(url)]
  const pids = async (session: Record<string, string>) => new Set(await Promise.all(numbers.map(async id => textOf(await send(url, 'POST', session, call(id, 'pid'))))))
  const [ones, others] = [await pids(one), await pids(other)]
  t.equal(ones.size, 1, 'one process has the session')
  t.equal(others.size, 1)
  t.notSame(ones, others)
  await untilBoth(relay, () => pids(one))

  const cut: Promise<IncomingMessage | undefined>[] = []
  for (const turn of [1, 2]) {
    const stream = await begin(url, 'GET', one)
    t.equal(stream.statusCode, 200)
    const told = until(stream, /list_changed/)
    t.equal(textOf(await send(url, 'POST', one, call(20 + turn, 'tell'))), 'told')
    await told
    const held = lineOf(stderrOf(relay), /held by/)
    const taken = begin(url, 'POST', one, call(30 + turn, 'held')).catch(() => undefined)
    await held
    const cancelled = until(stream, /cancelled 3/)
    t.equal((await send(url, 'POST', one, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${30 + turn}}}`)).status, 202)
    await cancelled
    cut.push(taken)
    stream.destroy()
  }
  t.equal((await send(url, 'DELETE', one)).status, 200)
  for (const response of await Promise.all(cut)) response?.destroy()
  for (const id of [1, 2]) t.equal((await send(url, 'POST', one, call(id, 'pid'))).status, 404, 'it is over at both workers')
  t.same(await pids(other), others)
})

t.test('what a server that names its sessions asks is answered by any connection', { skip }, async t => {
  const server = start(t, process.execPath, [script(t, askingServer)])
  const { relay, url } = await crew(t, [`http://127.0.0.1:${await server.next()}/mcp`])
  const session = await open(url)
  let id = 0
  await untilBoth(relay, async () => {
    id += 1
    const stream = await begin(url, 'POST', session, call(id, 'ask'))
    await until(stream, /elicitation\/create/)
    t.equal((await send(url, 'POST', session, `{"jsonrpc":"2.0","id":"q${id}","result":{"action":"decline"}}`)).status, 202)
    t.match(await until(stream, /"text"/), /"decline"/)
  })
})

t.test('clients without a session share one process, whichever worker they come to', { skip }, async t => {
  const { relay, url } = await crew(t, onProcess(t))
  const headers = { 'mcp-protocol-version': modern, 'mcp-method': 'tools/call', 'mcp-name': 'pid' }
  const pids = new Set<string>()
  await untilBoth(relay, async () => pids.add(textOf(await send(url, 'POST', headers, request(modern, '1', 'tools/call', '"name":"pid","arguments":{}')))))
  t.equal(pids.size, 1)
  t.match([...pids][0], /^\d+$/)
})

t.test('who a client is, is what its connection says: no header of its own changes that on the way', { skip }, async t => {
  const { url, directory } = await crew(t, onProcess(t))
  const liar = { 'mcp-customs-origin': '{"address":"6.6.6.6","scheme":"https"}', 'x-forwarded-for': '6.6.6.6' }
  const session = await open(url)
  for (const id of numbers) await send(url, 'POST', { ...session, ...liar }, request(legacy, String(id), 'tools/call', '"name":"none","arguments":{}'))
  for (const id of numbers) await send(url, 'POST', { ...liar, 'mcp-session-id': 'none' }, call(id, 'pid'))
  const records = [1, 2].flatMap(number => auditOf(join(directory, `audit.${number}.ndjson`))) as readonly { event: string; peer?: { address: string } }[]
  const peers = records.flatMap(({ peer }) => (peer ? [peer.address] : []))
  t.same(new Set(peers), new Set(['127.0.0.1']))
  t.ok(records.some(({ event }) => event === 'http/refused'))
})

t.test('a worker that is killed takes its sessions with it, and nobody else\'s; another takes its place', { skip }, async t => {
  const all = await crew(t, onProcess(t), ['--admin', '127.0.0.1:0'])
  const { relay, url, directory, pid, starts } = all
  const [, page = ''] = /page on (\S+)\/\?/.exec(relay.stderr()) ?? await lineOf(stderrOf(relay), /page on (\S+)\/\?/)
  const counted = async (name: string) => {
    const text = await (await fetch(`${page}/metrics`)).text()
    return [...text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'gm'))].reduce((sum, [, value]) => sum + Number(value), 0)
  }
  const [first, second] = [await openAt(1, all), await openAt(2, all)]
  const begun = starts(1) + starts(2)
  t.equal(await counted('mcp_customs_sessions_started_total'), begun, 'metrics are those of both')
  t.equal(await counted('mcp_customs_sessions'), begun)
  t.match(await (await fetch(`${page}/readyz`)).json(), { ready: true })
  const process2 = textOf(await send(url, 'POST', second, call(1, 'pid')))

  const [killed = 0, lost] = [pid(1), starts(1)]
  const replaced = lineOf(stderrOf(relay), /worker 1 \(process (\d+)\) has ended by SIGKILL/)
  process.kill(killed, 'SIGKILL')
  t.equal((await replaced)[1], String(killed))
  for (const id of numbers) t.equal(textOf(await send(url, 'POST', second, call(id, 'pid'))), process2, 'the other one goes on')
  for (const id of numbers) t.equal((await send(url, 'POST', first, call(id, 'pid'))).status, 404, 'its own are over')
  await openAt(1, all)
  t.ok(starts(1) > lost)
  t.not(pid(1), killed)
  t.equal(await counted('mcp_customs_sessions_started_total'), starts(1) + starts(2), 'no counter goes back')
  t.equal(await counted('mcp_customs_sessions'), starts(1) + starts(2) - lost)

  relay.child.kill('SIGTERM')
  t.same(await relay.exit, { code: 0, signal: null })
  const verified = start(t, process.execPath, [cli, 'audit', 'verify', directory])
  t.same(await verified.exit, { code: 0, signal: null })
  t.same(readdirSync(directory).filter(file => file.endsWith('.ndjson')), ['audit.1.ndjson', 'audit.2.ndjson'])
})

t.test('SIGTERM lets each worker answer what it was asked', { skip }, async t => {
  const all = await crew(t, onProcess(t))
  const { relay, url } = all
  const [first, second] = [await openAt(1, all), await openAt(2, all)]
  const held: Promise<Reply>[] = []
  const servers: number[] = []
  for (const session of [first, second]) {
    const line = lineOf(stderrOf(relay), /held by (\d+)/)
    held.push(send(url, 'POST', session, call(2, 'held')))
    servers.push(Number((await line)[1]))
  }
  relay.child.kill('SIGTERM')
  // Both refuse what is new when they have heard of it.
  const statuses = async () => Promise.all([first, second].map(session => send(url, 'POST', session, call(3, 'pid')).then(({ status }) => status, () => 'refused')))
  while ((await statuses()).some(status => status === 200)) await pause(20)
  for (const server of servers) process.kill(server, 'SIGUSR2')
  for (const reply of await Promise.all(held)) t.equal(textOf(reply), 'let go')
  t.same(await relay.exit, { code: 0, signal: null })
})

t.test('a configuration that is read again holds in each worker, and is told of once', { skip }, async t => {
  const file = join(scratch(t), 'customs.json')
  const server = script(t, processServer)
  const write = (tokens: readonly string[], more: object = {}) => {
    writeFileSync(`${file}.new`, JSON.stringify({ version: 1, auth: { tokens }, servers: { own: { command: [process.execPath, server] } }, ...more }))
    renameSync(`${file}.new`, file)
  }
  write(['old'])
  const { relay, url } = await crew(t, ['--config', file])
  const statuses = async (token: string) => new Set((await Promise.all(numbers.map(() => send(url, 'POST', { authorization: `Bearer ${token}` }, initialize)))).map(({ status }) => status))
  t.same(await statuses('old'), new Set([200]))
  const read = lineOf(stderrOf(relay), /was read again/)
  const warned = lineOf(stderrOf(relay), /admin: changed, which takes a restart/)
  write(['new'], { admin: '127.0.0.1:1' })
  await read
  await warned
  t.same(await statuses('old'), new Set([401]))
  t.same(await statuses('new'), new Set([200]))
  t.equal(relay.stderr().match(/was read again/g)?.length, 1)

  const kept = lineOf(stderrOf(relay), /the old one stays: workers: they divide/)
  write(['newer'], { sessions: { max: 1 } })
  relay.child.kill('SIGHUP')
  await kept
  t.same(await statuses('new'), new Set([200]))
})

t.test('workers that end as soon as they begin end the whole', { skip }, async t => {
  const { relay, pid } = await crew(t, onProcess(t))
  const errors = stderrOf(relay)
  for (let end = 1; end <= 5; end += 1) {
    const told = lineOf(errors, /worker 1 .* has ended by SIGKILL|workers end as soon as they are started/)
    const before = pid(1)
    if (before !== undefined) process.kill(before, 'SIGKILL')
    await told
    while (end < 5 && (pid(1) ?? before) === before) await pause(20)
  }
  t.same(await relay.exit, { code: 2, signal: null })
  t.match(relay.stderr(), /^mcp-customs: workers end as soon as they are started: 5 in a row, the last by SIGKILL$/m)
})

t.test('when the first process is killed, the workers end by themselves, in order', { skip }, async t => {
  const folder = scratch(t)
  const { relay, url, directory } = await crew(t, onProcess(t), [], { TMPDIR: folder })
  await open(url)
  t.equal(readdirSync(folder).filter(name => name.startsWith('mcp-customs-')).length, 1)
  relay.child.kill('SIGKILL')
  await relay.exit
  const events = [1, 2].flatMap(number => auditOf(join(directory, `audit.${number}.ndjson`))).map(({ event }) => event)
  t.ok(events.includes('session/end'), 'what was going on is on record to its end')
  t.same(readdirSync(folder).filter(name => name.startsWith('mcp-customs-')), [], 'no sockets are left behind')
})

t.test('what workers cannot share is refused, in one line', { skip }, async t => {
  const directory = scratch(t)
  const other = createServer().listen(0, '127.0.0.1')
  t.teardown(() => other.close())
  await once(other, 'listening')
  const { port: taken } = other.address() as AddressInfo
  const cases: readonly (readonly [option: readonly [string, string], line: RegExp, env?: NodeJS.ProcessEnv])[] = [
    [['--listen', `unix:${join(directory, 's')}`], /^mcp-customs: workers: workers share no socket of the file system: .*\n$/],
    [['--audit', '-'], /^mcp-customs: workers: each worker has an audit log of its own.*\n$/],
    [['--audit', '/dev/null'], /^mcp-customs: workers: each worker has .*\/dev\/null.*\n$/],
    [['--max-sessions', '1'], /^mcp-customs: workers: they divide sessions.max .* one is 1\n$/],
    [['--workers', '65'], /^mcp-customs: --workers "65": must be .*\n$/],
    [['--workers', '3'], /^mcp-customs: workers: this process is itself a worker of a cluster.*\n$/, { NODE_UNIQUE_ID: '1' }],
    [['--workers', '3'], /^mcp-customs: workers: no folder for their sockets can be made in .*\n$/, { TMPDIR: join(directory, 'none') }],
    [['--listen', `127.0.0.1:${taken}`], /^mcp-customs: cannot listen on 127.0.0.1:\d+ \(EADDRINUSE\)\n$/],
  ]
  for (const [option, line, env] of cases) {
    const all = new Map([['--workers', '2'], ['--audit', 'none'], option])
    const relay = start(t, process.execPath, [cli, 'serve', ...[...all].flat(), '--', 'cat'], env)
    t.same(await relay.exit, { code: 2, signal: null }, option.join(' '))
    t.match(relay.stderr(), line)
  }
})
