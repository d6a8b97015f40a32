import { subscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import type { ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { stdioExchange } from '#relay/core/event.js'
import type { Frame } from '#relay/protocol/frame.js'
import { httpSession, type HttpSessionOptions } from '#relay/transport/upstream/session/session.js'
import {
  answer, ask, initialize, initialized, json, limits, notify, serve, session, stream, type Seen,
} from '../harness.js'
import { listen } from '../../listen.js'

const connect = async (t: Test, url: URL, options: Partial<HttpSessionOptions> = {}) => {
  const transport = httpSession({
    url, headers: new Map(), limits, inputSchemaOf: () => undefined, stopMs: 50, ...options,
  })
  const events = listen(transport)
  t.teardown(() => transport.close())
  const send = (sent: Frame) => transport.send(stdioExchange, sent)
  send(initialize)
  await events.line(0)
  send(initialized)
  return { ...events, send, transport }
}

type Form = readonly [name: string, refuse: (seen: Seen, response: ServerResponse) => void]

const error = (id: unknown, code: number, message: string): string =>
  JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } })

const refusing = (status: number, text: string, type = 'application/json'): Form => [
  `${status} ${text}`,
  (_, response) => void response.writeHead(status, { 'content-type': type }).end(text),
]

const saidAs200 = (text: string): Form =>
  [`200 ${text}`, ({ message }, response) => json(response, error(message.id, -32001, text))]

const inStream = (status: number, text: string): Form => [
  `${status} in a stream: ${text}`,
  ({ message }, response) => {
    response.writeHead(status, { 'content-type': 'text/event-stream' })
    response.end(`data: ${error(message.id, -32001, text)}\n\n`)
  },
]

const texts = ['Session not found', 'Invalid session', 'Unknown session id abc; client should reinitialize']
const forms: readonly Form[] = [
  refusing(404, '<p>not here</p>', 'text/html'), refusing(404, ''), refusing(410, ''), refusing(410, 'Gone'),
  ...texts.flatMap(text => [
    ...[400, 401, 409, 422, 500, 503].flatMap(status => [
      refusing(status, text, 'text/plain'), refusing(status, error(null, -32000, text)),
      refusing(status, error(null, -32602, text)), refusing(status, JSON.stringify({ error: text })),
      inStream(status, text),
    ]),
    saidAs200(text), inStream(200, text),
  ]),
]

/** A server that refuses every request of an older session, and counts the calls that it runs. */
const forgetful = async (t: Test) => {
  let [sessions, runs] = [0, 0]
  let refuse: Form[1] = () => {}
  const server = await serve(t, (seen, response) => {
    if (seen.message.method === 'initialize') sessions += 1
    else if (seen.method === 'POST' && seen.headers['mcp-session-id'] !== `session-${sessions}`)
      return refuse(seen, response)
    session(({ message }) => {
      runs += 1
      json(response, answer(message.id ?? 0))
    }, { id: `session-${sessions}` })(seen, response)
  })
  return {
    server, runs: () => runs,
    forget: (form: Form[1]) => {
      sessions += 1
      refuse = form
    },
  }
}

t.test('every form in which a session is lost begins a new one, and each request runs once', async t => {
  const { server, runs, forget } = await forgetful(t)
  const client = await connect(t, server.url)
  await server.asked('notifications/initialized')
  let id = 0
  for (const [name, refuse] of forms) {
    const [before, begun] = [runs(), server.of('initialize').length]
    forget(refuse)
    client.send(ask(++id, 'tools/call', { name: 'a' }))
    client.send(ask(++id, 'tools/list'))
    client.send(ask(++id, 'custom/method'))
    await client.line(id)
    t.same(new Set(client.lines().slice(-3)), new Set([answer(id - 2), answer(id - 1), answer(id)]), name)
    t.equal(runs() - before, 3, `${name}: runs`)
    t.equal(server.of('initialize').length - begun, 1, `${name}: sessions`)
  }
  t.same(client.all('lost'), [])
  t.equal(server.of('notifications/initialized').length, forms.length + 1)
})

t.test('a refusal about something else passes, and no session begins', async t => {
  let refuse: Form[1] = () => {}
  const server = await serve(t, session((seen, response) => refuse(seen, response)))
  const client = await connect(t, server.url, { patienceMs: 0 })
  const others: readonly Form[] = [
    ...[400, 401, 403, 409, 422, 429, 500, 502, 503].flatMap(status =>
      ['Service overloaded', 'Too many sessions', 'Invalid token'].map(text =>
        refusing(status, error(null, -32000, text)))),
    ['200 about arguments', ({ message }, response) =>
      json(response, error(message.id, -32602, 'Session not found'))],
    ['401 with a challenge', (_, response) => void response.writeHead(401, {
      'content-type': 'application/json', 'www-authenticate': 'Bearer realm="a"',
    }).end(error(null, -32000, 'Session not found'))],
  ]
  for (const [index, [name, form]] of others.entries()) {
    refuse = form
    client.send(ask(index + 1, 'tools/call', { name: 'a' }))
    t.match(JSON.parse(await client.line(index + 1)), { id: index + 1, error: { code: Number } }, name)
  }
  t.equal(server.of('initialize').length, 1)
  t.equal(server.of('tools/call').length, others.length, 'each was sent once')
  refuse = saidAs200('Session not found')[1]
  client.send(ask('tool', 'tools/call', { name: 'attach', arguments: { session: 'work' } }))
  const own = JSON.parse(await client.line(others.length + 1)) as unknown
  t.match(own, { id: 'tool', error: { code: -32001 } }, 'the tool\'s own')
  t.equal(server.of('initialize').length, 1)
})

t.test('a session that is lost again gives the server\'s own words', async t => {
  const server = await serve(t, session((_, response) =>
    json(response, error(null, -32000, 'No session'), {}, 400)))
  const client = await connect(t, server.url)
  client.send(ask(1, 'tools/call', { name: 'a' }))
  t.match(JSON.parse(await client.line(1)), { id: 1, error: { message: 'No session' } })
  t.equal(server.of('initialize').length, 2)
  t.equal(server.of('tools/call').length, 2)
})

t.test('a stream that the server refuses to resume for its lost session begins a new one', async t => {
  let refuse: Form[1] | undefined
  const server = await serve(t, (seen, response) => {
    if (seen.method !== 'GET')
      return session(({ message }) => json(response, answer(message.id ?? 0)))(seen, response)
    if (refuse === undefined) {
      refuse = refusing(400, error(null, -32000, 'Session expired'))[1]
      stream(response).end()
    } else if (server.of('initialize').length === 1) refuse(seen, response)
    else stream(response)
  })
  await connect(t, server.url, { backoff: { firstMs: 1, maxMs: 5, attempts: 3 } })
  await server.asked('notifications/initialized', 2)
  await server.asked('GET', 3)
  t.equal(server.of('initialize').length, 2)
})

/** Refuses the first requests of a method, and counts what it runs. */
const restarting = async (
  t: Test, { status, method, times, headers = {}, message = 'Service overloaded' }: {
    status: number; method: string; times: number; headers?: Record<string, string>; message?: string
  },
) => {
  let left = times
  let runs = 0
  const server = await serve(t, (seen, response) => {
    const asked = seen.message.method
    const isMeant = method === '*' ? left < times || asked === 'tools/call' : asked === method
    if (seen.method === 'POST' && isMeant && left > 0) {
      left -= 1
      return json(response, error(null, -32000, message), headers, status)
    }
    if (seen.message.method === 'tools/call') runs += 1
    session(({ message }) => json(response, answer(message.id ?? 0)))(seen, response)
  })
  return { ...server, runs: () => runs }
}

for (const status of [502, 503]) for (const method of ['initialize', 'tools/list'])
  t.test(`${status} for ${method} is waited for`, async t => {
    const server = await restarting(t, { status, method, times: 1 })
    const client = await connect(t, server.url)
    client.send(ask(1, 'tools/list'))
    t.equal(await client.line(1), answer(1))
    t.same(client.all('lost'), [])
  })

const refusals = [
  [503, 'Service overloaded', 1], [503, 'upstream connect error or disconnect/reset before headers', 0],
  [502, 'Bad gateway', 0],
] as const
for (const [status, message, runs] of refusals)
  t.test(`${status} ${message}: a call ${runs === 1 ? 'is waited for' : 'may have run, and is sent once'}`, async t => {
    const server = await restarting(t, { status, method: 'tools/call', times: 1, message })
    const client = await connect(t, server.url)
    client.send(ask(1, 'tools/call', { name: 'a' }))
    t.match(JSON.parse(await client.line(1)), runs === 1 ? { result: {} } : { error: { message } })
    t.equal(server.runs(), runs)
  })

t.test('a call that the client has cancelled meanwhile is not sent again', async t => {
  const server = await restarting(t, { status: 503, method: 'tools/call', times: 1 })
  const client = await connect(t, server.url)
  client.send(ask(1, 'tools/call', { name: 'a' }))
  await server.asked('tools/call')
  client.send(notify('notifications/cancelled', { requestId: 1 }))
  client.send(ask(2))
  t.equal(await client.line(2), answer(2))
  t.equal(server.runs(), 0)
})

t.test('a call that may have run is sent once: 502 of a server that is there, a connection that is cut', async t => {
  let cut = false
  const server = await serve(t, session((seen, response) => {
    if (seen.message.method === 'ping') return json(response, answer(seen.message.id ?? 0))
    if (cut) return void response.destroy()
    json(response, error(null, -32000, 'upstream closed'), {}, 502)
  }))
  const client = await connect(t, server.url)
  client.send(ask(1, 'tools/call', { name: 'a' }))
  t.match(JSON.parse(await client.line(1)), { id: 1, error: { message: 'upstream closed' } })
  cut = true
  client.send(ask(2, 'tools/call', { name: 'a' }))
  t.match(await client.first('lost'), { key: '2', reason: 'the connection to the server was cut' })
  t.equal(server.of('tools/call').length, 2)
})

t.test('Retry-After that asks for more time than there is gives the refusal at once', async t => {
  const server = await restarting(
    t, { status: 503, method: 'tools/list', times: 1, headers: { 'retry-after': '60' } })
  const client = await connect(t, server.url)
  client.send(ask(1, 'tools/list'))
  t.match(JSON.parse(await client.line(1)), { id: 1, error: { message: 'Service overloaded' } })
  t.equal(server.of('tools/list').length, 1)
})

t.test('a server that begins to listen after the first request answers it', async t => {
  const place = createServer().listen(0, '127.0.0.1')
  await once(place, 'listening')
  const { port } = place.address() as AddressInfo
  place.close()
  await once(place, 'close')
  const refused = new Promise<void>(resolve => {
    subscribe('undici:client:connectError', () => resolve())
  })
  const connected = connect(t, new URL(`http://127.0.0.1:${port}/mcp`))
  await refused
  const answering = session(({ message }, response) => json(response, answer(message.id ?? 0)))
  const late = await serve(t, answering, port)
  const client = await connected
  client.send(ask(1))
  t.equal(await client.line(1), answer(1))
  t.equal(late.of('initialize').length, 1)
})

t.test('a client that leaves while a server is away is not waited for', async t => {
  const server = await restarting(t, { status: 503, method: 'tools/list', times: 1000 })
  const client = await connect(t, server.url)
  client.send(ask(1, 'tools/list'))
  await server.asked('tools/list')
  client.transport.abandon?.(stdioExchange, '1')
  client.send(ask(2))
  t.equal(await client.line(1), answer(2))
  await client.transport.close()
  t.same(client.all('lost'), [])
})
