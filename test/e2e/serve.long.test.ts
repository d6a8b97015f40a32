import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { postHeaders, postTo } from '#test/kit/http.js'
import { auditOf, scratch, scripted } from './bridge.js'
import { answer, honest, initializeOf, legacy, listResult, on, request, type Reaction } from './cases.js'
import { cli } from '../desk/inspect/start.js'
import { HttpClient, serve } from './http-bridges.js'
import { lineOf, start } from './harness.js'

// Each waits for processes most of the time.
t.jobs = 3

const initialize = initializeOf('0')
const named = (name: string) =>
  `{"protocolVersion":"${legacy}","capabilities":{"tools":{}},"serverInfo":{"name":"${name}","version":"1"}}`
const manners = (name = 'scripted'): readonly Reaction[] => [
  on('initialize', answer('$ID', named(name))),
  on('tools/list', answer('$ID', listResult(legacy, [honest]))),
]
const call = (id: number) => request(legacy, String(id), 'tools/call', '"name":"honest","arguments":{}')
const okay = (id: string) => answer(id, '{"content":[]}')

/** A client of a path, its handshake done. @returns what the server calls itself */
const connected = async (url: string, path = '/mcp'): Promise<{ client: HttpClient; name: string }> => {
  const client = new HttpClient(url + path)
  client.send(initialize)
  const { result } = JSON.parse(await client.next()) as { result?: { serverInfo: { name: string } } }
  return { client, name: result?.serverInfo.name ?? '' }
}

const codeOf = (line: string): number | undefined =>
  (JSON.parse(line) as { error?: { code: number } }).error?.code

const stderrOf = (child: { readonly stderr: NodeJS.ReadableStream | null }): NodeJS.ReadableStream => {
  if (child.stderr === null) throw new Error('no stderr')
  return child.stderr
}

/** A scripted server that speaks HTTP. @returns its URL */
const overHttp = async (t: Test, reactions: readonly Reaction[]) => {
  const { command: [node = '', ...script], received } = scripted(scratch(t), reactions)
  const server = start(t, node, [...script, '--http'])
  return { server, received, url: `http://127.0.0.1:${await server.next()}/mcp` }
}

/** Looks until it is so. */
const until = async (isSo: () => boolean | Promise<boolean>): Promise<void> => {
  while (!(await isSo())) await pause(20)
}

/** The one process that the relay has started. */
const serverOf = (relay: number): number =>
  Number(readFileSync(`/proc/${relay}/task/${relay}/children`, 'utf8').trim())

const skip = process.platform !== 'linux' && 'reads /proc'

/** Holds every call until SIGUSR2. */
const patientServer = `
import { createInterface } from 'node:readline'
const answer = (id, result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }))
const held = []
createInterface({ input: process.stdin }).on('line', line => {
  const { id, method } = JSON.parse(line)
  if (method === 'initialize') answer(id, ${named('patient')})
  else if (method === 'tools/list') answer(id, { tools: [${honest}] })
  else if (method === 'tools/call') console.error('held'), held.push(id)
})
process.on('SIGUSR2', () => held.forEach(id => answer(id, { content: [] })))
`

/** Speaks HTTP, answers nothing, and tells who asks and who leaves. */
const silentServer = `
import { createServer } from 'node:http'
const server = createServer((request, response) => {
  response.on('close', () => console.log('left'))
  request.on('data', body => console.log('asked ' + body))
})
server.listen(0, '127.0.0.1', () => console.log(server.address().port))
`

/** Speaks HTTP, answers in a stream, and never ends it. */
const lingeringServer = `
import { createServer } from 'node:http'
const server = createServer((request, response) => {
  request.on('data', body => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: ' + JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(body).id, result: {} }) + '\\n\\n')
  })
})
server.listen(0, '127.0.0.1', () => console.log(server.address().port))
`

const written = (t: Test, script: string): string => {
  const file = join(scratch(t), 'server.mjs')
  writeFileSync(file, script)
  return file
}

t.test('a gateway offers every server of its file at a path of its own', async t => {
  const directory = scratch(t)
  const { command } = scripted(scratch(t), manners('one'))
  const remote = await overHttp(t, manners('two'))
  const file = join(directory, 'customs.json')
  writeFileSync(file, JSON.stringify({ version: 1, servers: { one: { command }, two: { url: remote.url } } }))
  const { url } = await serve(t, ['--audit', 'none', '--config', file])
  t.equal((await connected(url, '/one/mcp')).name, 'one')
  t.equal((await connected(url, '/two/mcp')).name, 'two')
  t.equal(
    (await fetch(`${url}/mcp`, { method: 'POST', body: '{}' })).status, 404,
    'of several servers none is the only one',
  )
  t.equal((await fetch(`${url}/constructor/mcp`, { method: 'POST', body: '{}' })).status, 404)
})

t.test('a client\'s own file is a configuration of its servers', async t => {
  const { command: [program, ...args] } = scripted(scratch(t), manners('one'))
  const remote = await overHttp(t, manners('two'))
  const file = join(scratch(t), 'claude_desktop_config.json')
  const two = { type: 'http', url: remote.url, headers: { 'X-Key': 'k' } }
  const one = { command: program, args, env: { A: 'b' }, autoApprove: ['honest'] }
  writeFileSync(file, JSON.stringify({ globalShortcut: 'F1', mcpServers: { one, two } }))
  const { url } = await serve(t, ['--audit', 'none', '--config', file])
  t.equal((await connected(url, '/one/mcp')).name, 'one')
  t.equal((await connected(url, '/two/mcp')).name, 'two')
  const wrapped = start(t, process.execPath, [cli, 'wrap', '--audit', 'none', '--config', file, '--server', 'one'])
  wrapped.send(initialize)
  t.match(JSON.parse(await wrapped.responseTo('0')), { result: { serverInfo: { name: 'one' } } })
})

t.test('a changed file is read again: by itself, and when it is told to; a broken one changes nothing', async t => {
  const file = join(scratch(t), 'customs.json')
  const write = (content: string) => {
    // As editors do it: another file takes the name.
    writeFileSync(`${file}.new`, content)
    renameSync(`${file}.new`, file)
  }
  const offering = (name: string) => JSON.stringify({ version: 1, servers: {
    only: { command: scripted(scratch(t), [...manners(name), on('tools/call', okay('$ID'))]).command },
  } })
  write(offering('first'))
  const { relay, url } = await serve(t, ['--audit', 'none', '--log-level', 'info', '--config', file])
  const told = (what: RegExp) => lineOf(stderrOf(relay.child), what)
  const { client: early, name } = await connected(url)
  t.equal(name, 'first')

  const read = told(/was read again/)
  write(offering('second'))
  await read
  t.equal((await connected(url)).name, 'second', 'a new session gets the new server')
  early.send(call(1))
  t.equal(await early.next(), okay('1'), 'one that runs keeps the old')

  const kept = told(/the old one stays: .*customs\.json/)
  write('{ "version": 1, "servers": { "only": { "comand": [] } } }')
  await kept
  t.equal((await connected(url)).name, 'second')

  const mended = told(/was read again/)
  write(offering('third'))
  await mended
  t.equal((await connected(url)).name, 'third')

  const again = told(/was read again/)
  relay.child.kill('SIGHUP')
  await again
  t.equal((await connected(url)).name, 'third')
})

t.test('a changed file holds for sessions that run: tokens, tools, payloads; what takes a restart is said', async t => {
  const directory = scratch(t)
  const file = join(directory, 'customs.json')
  const audit = join(directory, 'audit.ndjson')
  const { command } = scripted(scratch(t), [...manners(), on('tools/call', okay('$ID'))])
  const write = (tokens: readonly string[], more: object = {}, tools: object = {}, payloads = 'full') => {
    writeFileSync(`${file}.new`, JSON.stringify({
      version: 1, auth: { tokens }, audit: { file: audit, payloads }, servers: { only: { command, tools } },
      ...more,
    }))
    renameSync(`${file}.new`, file)
  }
  write(['leaked', 'kept'])
  const { relay, url } = await serve(t, ['--log-level', 'info', '--config', file])
  const status = async (token: string) => {
    const response = await postTo(`${url}/mcp`, initialize, { authorization: `Bearer ${token}` })
    await response.text()
    return { status: response.status, session: response.headers.get('mcp-session-id') ?? '' }
  }
  const { session } = await status('kept')
  const calls = async (id: number) => {
    const response =
      await postTo(`${url}/mcp`, call(id), { authorization: 'Bearer kept', 'mcp-session-id': session })
    return { status: response.status, text: await response.text() }
  }
  t.match(await calls(1), { text: okay('1') })
  const read = lineOf(stderrOf(relay.child), /was read again/)
  const warned = lineOf(stderrOf(relay.child), /admin: changed, which takes a restart/)
  write(['new', 'kept'], { admin: '127.0.0.1:1' }, { honest: 'deny' }, 'none')
  await warned
  await read
  t.equal((await status('leaked')).status, 401)
  t.match(
    auditOf(join(directory, 'audit._front.ndjson')).filter(({ event }) => event === 'http/refused'),
    [{ server: 'only', verdict: 'block', peer: { address: '127.0.0.1' }, reason: /HTTP 401/ }],
  )
  t.match(
    auditOf(audit).find(({ event }) => event === 'session/start'),
    { peer: { address: '127.0.0.1', token: 1 } },
  )
  t.equal((await status('new')).status, 200)
  t.match(await calls(2), { status: 200, text: /denie/ })
  const records = auditOf(audit).filter(({ event }) => event === 'tools/call')
  t.match(records.map(({ verdict }) => verdict), ['pass', 'block'])
  t.same(records.map(record => 'payload' in record), [true, false])

  const again = lineOf(stderrOf(relay.child), /was read again/)
  write(['kept'], { sessions: { onReload: 'end' } })
  await again
  await until(async () => (await calls(3)).status === 404)
})

t.test('a stop lets what runs be answered within its grace, and takes nothing new', { skip }, async t => {
  const { relay, url } =
    await serve(t, ['--audit', 'none', '--grace', '30', '--', process.execPath, written(t, patientServer)])
  const held = lineOf(stderrOf(relay.child), /held/)
  const { client } = await connected(url)
  client.send(call(1))
  await held
  relay.child.kill('SIGTERM')
  await until(async () => (await fetch(url, { method: 'POST' }).catch(() => undefined))?.status !== 404)
  t.equal(relay.child.exitCode, null, 'it waits for the answer')
  process.kill(serverOf(relay.pid), 'SIGUSR2')
  t.equal(await client.next(), okay('1'))
  t.strictSame(await relay.exit, { code: 0, signal: null })
})

t.test('a stop does not wait for a stream in which everything was said', async t => {
  const server = start(t, process.execPath, [written(t, lingeringServer)])
  const { relay, url } =
    await serve(t, ['--audit', 'none', '--grace', '600', `http://127.0.0.1:${await server.next()}/mcp`])
  const client = new HttpClient(`${url}/mcp`)
  client.send(request(legacy, '1', 'ping'))
  t.equal(await client.next(), answer('1', '{}'))
  t.match(await relay.stop(), { code: 0 })
})

t.test('who waits when the grace is over is told, though the server does not end', { skip }, async t => {
  const audit = join(scratch(t), 'audit.ndjson')
  const stubborn = written(t, `process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)${patientServer}`)
  const { relay, url } = await serve(t, ['--audit', audit, '--grace', '0', '--', process.execPath, stubborn])
  const held = lineOf(stderrOf(relay.child), /held/)
  const { client } = await connected(url)
  client.send(call(1))
  await held
  relay.child.kill('SIGTERM')
  t.match(
    JSON.parse(await client.next()), { id: 1, error: { code: -31001, message: /the relay is stopping/ } },
  )
  t.strictSame(await relay.exit, { code: 0, signal: null })
  t.match(auditOf(audit).filter(({ event }) => event === 'tools/call'), [{ error: -31001 }], 'on record once')
})

t.test('a stop without grace cuts what runs, and leaves no process behind', { skip }, async t => {
  const { command, received } = scripted(scratch(t), [...manners(), { when: '"tools/call"', say: [] }])
  const audit = join(scratch(t), 'audit.ndjson')
  const { relay, url } = await serve(t, ['--audit', audit, '--grace', '0', '--', ...command])
  const { client } = await connected(url)
  client.send(call(1))
  await until(() => received().some(line => line.includes('tools/call')))
  const server = serverOf(relay.pid)
  relay.child.kill('SIGTERM')
  t.equal(codeOf(await client.next()), -31001, 'who waits is told')
  t.strictSame(await relay.exit, { code: 0, signal: null })
  t.throws(() => process.kill(server, 0), { code: 'ESRCH' })
  t.match(
    auditOf(audit).map(({ event }) => event), ['session/start', 'tools/list', 'tools/call', 'session/end'],
  )
})

t.test('a server that ends in the middle of a call is an error to the call, and a 404 to what comes after', async t => {
  const { command } = scripted(scratch(t), [...manners(), on('tools/call', { exit: 3 })])
  const { url } = await serve(t, ['--audit', 'none', '--', ...command])
  const { client } = await connected(url)
  client.send(call(1))
  t.equal(codeOf(await client.next()), -31001)
  await until(async () => (await client.status(call(2))) === 404)
  t.equal((await connected(url)).name, 'scripted', 'a new session starts another')
})

t.test('a stream that is cut in the middle of a call is an error to the call, and to no other', async t => {
  const progress =
    '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}'
  const remote = await overHttp(t, [
    ...manners(), { when: '"tools/call"', once: true, say: [progress, { closeOutput: true }] },
    on('tools/call', okay('$ID')),
  ])
  const { url } = await serve(t, ['--audit', 'none', remote.url])
  const { client } = await connected(url)
  client.send(call(1))
  t.equal(await client.next(), progress)
  t.equal(codeOf(await client.next()), -31001)
  client.send(call(2))
  t.equal(await client.next(), okay('2'))
})

t.test('a server that cannot be reached is an error, and no crash', async t => {
  const remote = await overHttp(t, manners())
  const { relay, url } = await serve(t, ['--audit', 'none', remote.url])
  const { client } = await connected(url)
  await remote.server.end()
  client.send(call(1))
  t.equal(codeOf(await client.next()), -31001)
  t.equal(relay.child.exitCode, null)
})

t.test('a client that goes away is let go of at the server', async t => {
  const server = start(t, process.execPath, [written(t, silentServer)])
  const upstream = `http://127.0.0.1:${await server.next()}/mcp`
  const { url } = await serve(t, ['--audit', 'none', upstream])
  const { hostname, port } = new URL(url)
  const body = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
  const post = httpRequest({ hostname, port, path: '/mcp', method: 'POST', headers: postHeaders })
  post.on('error', () => undefined)
  post.end(body)
  t.equal(await server.next(), `asked ${body}`)
  post.destroy()
  t.equal(await server.next(), 'left')
})

t.test('the admin listener tells of sessions and verdicts, and is not where clients are', async t => {
  const { command } = scripted(scratch(t), [...manners(), on('tools/call', 'Listening on stdio', okay('$ID'))])
  const { relay, url } =
    await serve(t, ['--audit', 'none', '--log-level', 'info', '--admin', '127.0.0.1:0', '--', ...command])
  const [, page = ''] = /page on (\S+)\/\?/.exec(relay.stderr())
    ?? await lineOf(stderrOf(relay.child), /page on (\S+)\/\?/)
  const at = async (path: string) => {
    const response = await fetch(page + path)
    return { status: response.status, text: await response.text() }
  }
  t.equal((await at('/healthz')).status, 200)
  t.equal((await at('/readyz')).status, 200)
  const { client } = await connected(url)
  client.send(call(1))
  await client.next()
  const { text } = await at('/metrics')
  t.match(text, /^mcp_customs_sessions\{[^}]*\} 1$/m)
  t.match(text, /^mcp_customs_answers_total\{[^}]*method="tools\/call",verdict="pass"\} 1$/m)
  t.match(text, /^mcp_customs_findings_total\{[^}]*rule="wire\/json",action="noise"\} 1$/m)
  t.equal((await fetch(`${url}/metrics`)).status, 404)
})
