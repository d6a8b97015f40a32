import { once } from 'node:events'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { createServer, request as httpRequest, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Handover, type Claim } from '../../../dist/transport/front/handover.js'
import { ask, begin, dial, echo, handshake, initialize, post, Reader, result, start, textOf, type Ask } from './harness.js'

const skip = process.platform === 'win32' && 'has no sockets that are for one user alone'

/** Its path must be short. */
const folder = (t: Test): string => {
  const directory = mkdtempSync(join(tmpdir(), 'customs-'))
  t.teardown(() => rmSync(directory, { recursive: true }))
  return directory
}

/** Two fronts: what comes to the first and has a session is the second's. */
const two = async (t: Test, options: Parameters<typeof start>[1] = {}) => {
  const directory = folder(t)
  const [near, far] = [join(directory, '1'), join(directory, '2')]
  const claims: Claim[] = []
  const forgotten: Claim[] = []
  const socketOf = (claim: Claim) => {
    claims.push(claim)
    return forgotten.length > 1 ? undefined : far
  }
  const first = await start(t, { handover: receive => new Handover({ socket: near, socketOf, forget: claim => forgotten.push(claim) }, receive), ...options })
  const second = await start(t, { handover: receive => new Handover({ socket: far, socketOf: () => undefined, forget: () => undefined }, receive), ...options })
  return { first, second, claims, forgotten, far, directory }
}

t.test('a request is served where its session is, as it came', { skip }, async t => {
  const { first, second, claims, far } = await two(t, { act: echo, server: 'http' })
  t.equal(statSync(far).mode & 0o777, 0o600)
  const headers = {
    ...post, 'mcp-session-id': 'one', host: 'localhost', 'x-twice': ['a', 'b'], connection: 'x-hop', 'x-hop': 'for you', 'mcp-customs-origin': '{"address":"6.6.6.6","scheme":"https"}',
  }
  const got = await ask(first.port, { headers, body: initialize(7) })
  t.match(got, { status: 200, body: /"id":7/ })
  t.same(claims, [{ path: '/mcp', session: 'one' }])
  t.equal(first.sessions.length, 0)
  const { opening } = await second.session(0)
  t.equal(opening.peer.address, '127.0.0.1')
  t.match(Object.fromEntries(opening.headers), { 'x-forwarded-for': '127.0.0.1', 'x-forwarded-proto': 'http', 'x-forwarded-host': 'localhost', 'x-twice': 'a, b' })
  await ask(second.port, { headers: { ...headers, 'mcp-session-id': 'two', 'mcp-customs-origin': '' }, body: initialize(7) })
  const direct = new Map((await second.session(1)).opening.headers)
  t.equal(direct.get('mcp-customs-origin'), '', 'on its own it is a header like any other')
  direct.delete('mcp-customs-origin')
  t.same(opening.headers, new Map([...direct, ['mcp-session-id', 'one']]), 'in front of the sibling itself it would have been the same')
  t.equal((await ask(first.port, { body: initialize(8) })).status, 200)
  t.equal(first.sessions.length, 1, 'what has no session is served where it comes')
})

t.test('the header of siblings means nothing to who is none', { skip }, async t => {
  const { second, far } = await two(t, { act: echo })
  const id = await handshake(second.port)
  const told = '{"address":"6.6.6.6","scheme":"https"}'
  t.equal((await ask(second.port, { headers: { ...post, 'mcp-session-id': id, 'mcp-customs-origin': told }, body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' })).status, 200)
  t.equal((await second.session(0)).opening.peer.address, '127.0.0.1')
  for (const headers of [{}, { 'mcp-customs-origin': 'no JSON' }, { 'mcp-customs-origin': '[1]' }, { 'mcp-customs-origin': '{}' }]) {
    const sent = httpRequest({ socketPath: far, path: '/mcp', method: 'POST', headers: { ...post, ...headers } })
    sent.end(initialize())
    await t.rejects(once(sent, 'response'), { code: 'ECONNRESET' }, 'a sibling says who it speaks for')
  }
  t.equal(second.sessions.length, 1)
})

t.test('refusals, bodies that are waited for, and streams come back as they are', { skip }, async t => {
  const { first, second, claims } = await two(t, { act: echo })
  const id = await handshake(second.port)
  const headers = { ...post, 'mcp-session-id': id }
  const asked = async (what: Ask) => (await ask(first.port, what)).status
  t.equal(await asked({ headers: { ...headers, 'mcp-session-id': 'none' }, body: initialize() }), 404)
  t.same(claims, [], 'what is none of our ids in front of a process is nobody\'s')
  t.equal(await asked({ headers: { ...headers, 'content-type': 'text/plain' }, body: '{}' }), 415)
  t.equal(await asked({ headers, body: ' '.repeat(100_000) }), 413)
  t.equal(await asked({ headers: { ...headers, host: 'evil.example' }, body: '{}' }), 403)
  t.equal(await asked({ method: 'PUT', headers }), 405)

  const { socket, reader } = await dial(t, first.port)
  const body = '{"jsonrpc":"2.0","id":5,"method":"ping"}'
  const head = Object.entries({ ...headers, host: 'localhost', expect: '100-continue', 'content-length': String(body.length) }).map(([name, value]) => `${name}: ${value}\r\n`).join('')
  socket.write(`POST /mcp HTTP/1.1\r\n${head}\r\n`)
  t.match(await reader.to('\r\n\r\n'), /^HTTP\/1.1 100/)
  socket.write(body)
  t.match(await reader.to('"id":5'), /^HTTP\/1.1 200/)

  const stream = await begin(first.port, { method: 'GET', headers })
  t.equal(stream.headers['content-type'], 'text/event-stream')
  const lines = new Reader(stream)
  const session = await second.session(0)
  const { exchange } = await session.until('frame')
  session.transport.send(exchange, result('99'))
  stream.destroy()
  t.equal((await session.until('exchange-ended')).type, 'exchange-ended', 'who leaves is known to have left')
  await lines.rest()
})

t.test('who cannot be reached is looked for once more; then the request is answered all the same', { skip }, async t => {
  const { first, second, forgotten } = await two(t, { act: echo })
  const id = await handshake(first.port)
  await second.front.close(0)
  const got = await ask(first.port, { headers: { ...post, 'mcp-session-id': id }, body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' })
  t.match(got, { status: 503, headers: { 'retry-after': '1' }, body: /has ended/ })
  t.equal(forgotten.length, 2)
  t.equal((await ask(first.port, { headers: { ...post, 'mcp-session-id': id }, body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' })).status, 200, 'nothing of it was lost')
})

t.test('a sibling that ends in the middle of an answer does not leave its client waiting', { skip }, async t => {
  const socket = join(folder(t), 's')
  const dying = createServer((request, response) => {
    if (request.url === '/mcp?begun') response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n', () => request.socket.destroy())
    else request.socket.destroy()
  }).listen(socket)
  t.teardown(() => dying.close())
  await once(dying, 'listening')
  const { port } = await start(t, { handover: receive => new Handover({ socket: `${socket}2`, socketOf: () => socket, forget: () => undefined }, receive), server: 'http' })
  const headers = { ...post, 'mcp-session-id': 'one' }
  t.match(await ask(port, { headers, body: '{}' }), { status: 503 })
  const begun = await begin(port, { path: '/mcp?begun', headers, body: '{}' })
  await t.rejects(textOf(begun), { code: 'ECONNRESET' })
})

/** A front whose sessions are all with this sibling. */
const before = async (t: Test, sibling: Server, options: Parameters<typeof start>[1] = {}) => {
  const socket = join(folder(t), 's')
  sibling.listen(socket)
  t.teardown(() => sibling.close())
  await once(sibling, 'listening')
  return start(t, { handover: receive => new Handover({ socket: `${socket}2`, socketOf: () => socket, forget: () => undefined }, receive), server: 'http', ...options })
}

t.test('headers that come more than once come back so, whatever else is said of the answer here', { skip }, async t => {
  const repeating = createServer((_, response) => response.writeHead(200, ['Set-Cookie', 'a=1', 'Vary', 'Accept', 'set-cookie', 'b=2', 'vary', 'Origin']).end())
  const { port } = await before(t, repeating, { allowOrigins: ['https://a.example'] })
  for (const origin of [{}, { origin: 'https://a.example' }]) {
    const { headers } = await ask(port, { headers: { ...post, ...origin, 'mcp-session-id': 'one' }, body: '{}' })
    t.match(headers, { 'set-cookie': ['a=1', 'b=2'], vary: 'Accept, Origin' })
  }
})

t.test('a client that leaves is refused nothing', { skip }, async t => {
  const silent = createServer()
  const { port, refused } = await before(t, silent)
  const sent = httpRequest({ host: '127.0.0.1', port, path: '/mcp', method: 'POST', headers: { ...post, 'mcp-session-id': 'one' } })
  sent.on('error', () => undefined).end('{}')
  const [taken] = (await once(silent, 'request')) as [IncomingMessage]
  sent.destroy()
  await new Promise(resolve => taken.socket.once('close', resolve))
  silent.once('request', (_, response: ServerResponse) => response.end('got it'))
  t.match(await ask(port, { headers: { ...post, 'mcp-session-id': 'one' }, body: '{}' }), { status: 200 })
  t.same(refused, [])
})

t.test('a client of HTTP/1.0 is not told to go on, and trailers that are announced are no matter', { skip }, async t => {
  const answering = createServer((request, response) => void request.resume().on('end', () => response.end('got it')))
  const { port } = await before(t, answering)
  for (const [version, header] of [['1.0', 'Expect: 100-continue'], ['1.1', 'Trailer: x']] as const) {
    const { socket, reader } = await dial(t, port)
    socket.write(`POST /mcp HTTP/${version}\r\nHost: localhost\r\nContent-Type: application/json\r\nMcp-Session-Id: one\r\n${header}\r\nContent-Length: 2\r\n\r\n{}`)
    t.match(await reader.to('got it'), /^HTTP\/1.1 200/, header)
  }
})
