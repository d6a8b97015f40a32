import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { Arrival } from '#transport/front/arrival.js'
import { Passing } from '#transport/front/passing.js'
import { ManualTimers } from '../timers.js'
import { waiter } from '../listen.js'
import { ask, begin, dial, post, Reader } from './harness.js'

const listenTo = async (
  t: Test, act: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<number> => {
  const server = createServer(act)
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

const id = `r${'1'.repeat(16)}-session`
const headers = { ...post, 'mcp-session-id': id }

/** A front that passes on to a replica, which opens a stream for every request. */
const setUp = async (
  t: Test,
  { runsProcess = true, act }:
  { runsProcess?: boolean; act?: (request: IncomingMessage, response: ServerResponse) => void } = {},
) => {
  const timers = new ManualTimers()
  const { wake, until } = waiter()
  const refused: number[] = []
  const open = new Set<ServerResponse>()
  let asked = 0
  const home = await listenTo(t, (request, response) => {
    asked++
    if (act) return act(request, response)
    open.add(response)
    response.on('close', () => {
      open.delete(response)
      wake()
    })
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': from home\n\n')
  })
  const known = () => Promise.resolve<string | undefined>(`http://127.0.0.1:${home}`)
  const state = { find: known, known }
  const passing = new Passing({
    inner: {
      has: () => true, runsProcess: () => runsProcess, endStreams: () => undefined,
      giveUp: () => Promise.resolve(), serve: (_, response) => void response.end('served here'),
    },
    replicas: {
      name: `r${'0'.repeat(16)}`,
      addressOf: () => state.find(),
      proofs: { proofOf: () => 'proof', isProof: () => false },
    },
    refused: ({ status }) => refused.push(status),
    timers,
  })
  t.teardown(() => passing.close())
  const port = await listenTo(t, (request, response) => {
    response.on('close', wake)
    passing.serve(request, response, new Arrival(request))
  })
  return { port, timers, refused, open, state, passing, wake, until, asked: () => asked }
}

t.test('only sessions in front of a process are passed on', async t => {
  const { port } = await setUp(t, { runsProcess: false })
  t.equal((await ask(port, { headers })).body, 'served here', 'the id of an HTTP server')
  const { port: other } = await setUp(t)
  t.equal((await ask(other, { headers: { ...headers, 'mcp-protocol-version': '2026-07-28' } })).body, 'served here')
  t.equal((await ask(other, { headers: post })).body, 'served here', 'no session')
})

t.test('an open request ends when its replica is gone', async t => {
  const { port, timers, state, open, until } = await setUp(t)
  const reader = new Reader(await begin(port, { method: 'GET', headers }))
  await reader.to('from home')
  timers.fire(5000)
  t.equal(open.size, 1, 'while the replica is there, it goes on')
  state.find = () => Promise.resolve(undefined)
  timers.fire(5000)
  await reader.rest()
  await until(() => open.size === 0 || undefined)
})

t.test('streams end when the relay stops', async t => {
  const { port, passing, open, until } = await setUp(t)
  const response = await begin(port, { method: 'GET', headers })
  const reader = new Reader(response)
  await reader.to('from home')
  passing.endStreams()
  await reader.rest()
  t.equal(response.complete, true)
  await until(() => open.size === 0 || undefined)
})

t.test('a client that leaves while its replica is sought is not passed on', async t => {
  const { port, state, asked } = await setUp(t)
  let found = () => {}
  const sought = new Promise<void>(resolve => (found = resolve))
  state.find = () => sought.then(state.known)
  const left = new AbortController()
  const asks = fetch(`http://127.0.0.1:${port}/mcp`, { headers, signal: left.signal })
  await new Promise(resolve => setImmediate(resolve))
  left.abort()
  await t.rejects(asks)
  // Another request has its answer, so the first one's end has arrived.
  await (await fetch(`http://127.0.0.1:${port}/mcp`, { headers: post })).text()
  found()
  await sought
  await new Promise(resolve => setImmediate(resolve))
  t.equal(asked(), 0)
})

t.test('a replica that is gone is 404, and is recorded', async t => {
  const { port, state, refused } = await setUp(t)
  state.find = () => Promise.resolve(undefined)
  t.equal((await ask(port, { headers })).status, 404)
  state.find = () => Promise.reject(new Error('no state'))
  t.equal((await ask(port, { headers })).status, 503)
  t.same(refused, [404, 503])
})

t.test('a refusal of the replica reaches a client that is still sending its body', async t => {
  const replica: IncomingMessage[] = []
  const { port } = await setUp(t, {
    act: (request, response) => {
      replica.push(request)
      request.on('error', () => undefined)
      response.writeHead(413, { 'content-length': 4, connection: 'close', 'x-name': 'caf\xe9' }).write('full')
    },
  })
  const { socket, reader } = await dial(t, port)
  const errors: Error[] = []
  socket.on('error', error => errors.push(error))
  const head = Object.entries({ ...headers, host: 'localhost', 'content-length': 30_000 })
  socket.write(`POST /mcp HTTP/1.1\r\n${head.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`)
  socket.write('x'.repeat(1000))
  const text = await reader.to('full')
  t.match(text, /^HTTP\/1\.1 413 /)
  t.match(text, /connection: close/i)
  replica[0]?.socket.destroy()
  for (let at = 0; at < 29; at++) {
    await new Promise(setImmediate)
    socket.write('x'.repeat(1000))
  }
  await reader.rest()
  t.strictSame(errors, [], 'it may send the rest, and the connection ends in order')
})

t.test('the headers of a passed response have the bytes that the replica sent', async t => {
  const { port } = await setUp(t, {
    act: (_, response) => void response.writeHead(200, { 'x-name': 'caf\xe9' }).end('done'),
  })
  const got = await ask(port, { headers, body: '{}' })
  t.strictSame([got.status, got.headers['x-name'], got.body], [200, 'caf\xe9', 'done'])
})
