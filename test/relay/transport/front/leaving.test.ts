import { createServer, request as httpRequest } from 'node:http'
import { Duplex, PassThrough } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { stdioExchange } from '#relay/core/event.js'
import { FrontEnd } from '#relay/transport/channel/front-end.js'
import { RelayEnd } from '#relay/transport/channel/relay-end.js'
import { Wire, type WireKind } from '#relay/transport/channel/wire.js'
import { RequestArrival } from '#relay/transport/front/arrival.js'
import { Endpoints } from '#relay/transport/front/endpoints.js'
import { Quota } from '#relay/transport/front/quota.js'
import type { NewSession } from '#relay/transport/front/front.js'
import { portOf } from '#test/kit/http.js'
import { ask, echo, initialize, limits, Opened, post, result, start, type Ask } from './harness.js'

type Leaving = Pick<Ask, 'method' | 'body'> & { readonly headers?: Readonly<Record<string, string>> }

/** A request whose client leaves when told. */
const impatient = (port: number, { method = 'POST', headers = post, body }: Leaving) => {
  const request = httpRequest({ host: '127.0.0.1', port, path: '/mcp', method, headers, agent: false })
  request.on('error', () => undefined)
  request.end(body)
  return request
}

const turns = async (count: number): Promise<void> => {
  for (let at = 0; at < count; at++) await turn()
}

t.test('a client that leaves while the other replicas are asked for its session begins nothing', async t => {
  for (const method of ['GET', 'DELETE', 'POST']) {
    const asked: ((found: 'none') => void)[] = []
    let opened = 0
    const shared = () => ({
      named: () => undefined, touch: () => undefined,
      ask: () => new Promise<'none'>(resolve => asked.push(resolve)),
    })
    const open = () => void (opened += 1)
    let left = 0
    const { port } = await start(t, {
      endpoints: new Map([['/mcp', { server: 'http' as const, shared, open }]]), served: () => void (left += 1),
    })
    const client = impatient(port, {
      method, headers: { ...post, 'mcp-session-id': 'known' }, body: method === 'POST' ? initialize() : '',
    })
    while (asked.length === 0) await turn()
    client.destroy()
    while (left === 0) await turn()
    for (const resolve of asked) resolve('none')
    await turns(5)
    t.equal(opened, 0, method)
  }
})

t.test('a session whose client left before it got the id ends with its request', async t => {
  for (const server of ['stdio', 'http'] as const) {
    const { port, session, sessions } = await start(t, { server })
    const client = impatient(port, { body: initialize() })
    const opened = await session(0)
    await opened.until('frame')
    client.destroy()
    t.match(await opened.until('ended'), { reason: 'the client left before it got the id of the session' }, server)
    t.equal(sessions.length, 1)
  }
})

t.test('a session whose client got the id goes on when that client leaves', async t => {
  const { port, session } = await start(t, {
    act: (event, opened) => {
      if (event.type !== 'frame' || event.frame.message.kind !== 'request') return
      if (event.frame.message.method === 'initialize') echo(event, opened)
    },
  })
  const { headers: { 'mcp-session-id': id } } = await ask(port, { body: initialize(), headers: post })
  const headers = { ...post, 'mcp-session-id': String(id) }
  const client = impatient(port, { headers, body: '{"jsonrpc":"2.0","id":2,"method":"slow"}' })
  const opened = await session(0)
  await opened.until('frame')
  await opened.until('frame')
  client.destroy()
  await opened.until('exchange-ended')
  t.equal(opened.told.some(({ type }) => type === 'ended'), false)
})

/** Two ends of a socket pair. */
const streams = (): readonly [Duplex, Duplex] => {
  const [there, back] = [new PassThrough(), new PassThrough()]
  return [Duplex.from({ readable: back, writable: there }), Duplex.from({ readable: there, writable: back })]
}

/** A relay process: its endpoints, and the front's end of the channel as frames. */
const relayProcess = (t: Test, options: { readonly bufferedBytes?: number } = {}) => {
  const [near, far] = streams()
  const sessions: Opened[] = []
  const open = (opening: NewSession) => {
    const opened = new Opened(opening)
    sessions.push(opened)
    opening.transport.start(event => opened.tell(event))
  }
  const endpoints =
    new Endpoints({ limits, endpoints: new Map([['/mcp', { server: 'stdio' as const, open }]]), ...options })
  const relay = new RelayEnd(far, {
    serve: (...request) => endpoints.serve(...request), calls: {}, closed: () => undefined,
  })
  const heard: { kind: WireKind; exchange: number; payload: string }[] = []
  const wire = new Wire(near, {
    frame: (kind, exchange, payload) => heard.push({ kind, exchange, payload: payload.toString() }),
    closed: () => undefined,
  })
  t.teardown(() => {
    wire.close()
    for (const { transport } of sessions) void transport.close()
  })
  const request = (exchange: number, body: string, headers: object = {}) => {
    wire.sendJson('open', exchange, {
      path: '/mcp', method: 'POST', httpVersion: '1.1', headers: { ...post, ...headers },
      address: '::1', token: null, subject: null, upstream: null, isSecure: false, place: 'kept',
    })
    wire.send('body', exchange, Buffer.from(body))
    wire.send('bodyEnd', exchange)
  }
  const gone = (
    exchange: number, hasHead: boolean,
  ) => wire.send('gone', exchange, Buffer.from([Number(hasHead)]))
  const left = () => heard.flatMap(({ kind, exchange }) => (kind === 'leave' ? [exchange] : []))
  return { relay, wire, heard, sessions, request, gone, left }
}

t.test('a relay process gives a place back once: without a session at once, else when it is closed', async t => {
  const { sessions, request, gone, left, heard } = relayProcess(t)
  request(1, initialize())
  gone(1, false)
  request(2, 'not JSON')
  request(3, initialize())
  while (sessions.length === 0 || !heard.some(({ kind }) => kind === 'last')) await turn()
  await turns(5)
  t.strictSame([left(), sessions.length], [[1], 1], 'the client of the first had left before it was read')
  gone(2, true)
  gone(3, false)
  while (!left().includes(2)) await turn()
  const [opened] = sessions
  t.match(await opened?.until('ended'), {}, 'nobody knows the session')
  t.strictSame(left(), [1, 2])
  await opened?.transport.close()
  while (!left().includes(3)) await turn()
  t.strictSame(left(), [1, 2, 3])
})

t.test('a body takes no memory of the quota once its client has left', async t => {
  const { sessions, request, gone, heard } = relayProcess(t, { bufferedBytes: 1300 })
  request(1, initialize())
  while (sessions.length === 0) await turn()
  const [opened] = sessions
  const { exchange } = await opened?.until('frame') ?? {}
  if (opened === undefined || exchange === undefined) return t.fail('no session has begun')
  opened.transport.send(exchange, result('1'))
  while (!heard.some(({ kind }) => kind === 'last')) await turn()
  gone(1, true)
  const id = /"mcp-session-id","([^"]+)"/.exec(heard.map(({ payload }) => payload).join())?.[1]
  const body = `{"jsonrpc":"2.0","id":2,"method":"${'x'.repeat(900)}"}`
  opened.transport.pause(stdioExchange)
  for (const number of [2, 3]) {
    request(number, body, { 'mcp-session-id': id })
    await turns(5)
    gone(number, false)
  }
  await turns(5)
  opened.transport.resume(stdioExchange)
  await turns(5)
  request(4, body, { 'mcp-session-id': id })
  const { exchange: last } = await opened.until('frame')
  opened.transport.send(last, result('2'))
  while (heard.filter(({ kind }) => kind === 'last').length < 2) await turn()
  t.match(heard.findLast(({ kind }) => kind === 'head'), { exchange: 4, payload: /^\[200/ })
})

t.test('the front releases a place when the relay process says so, or is lost', async t => {
  const [near, far] = streams()
  const places = new Quota(() => 10)
  let released = 0
  const nothing = () => undefined
  const front = new FrontEnd(near, {
    calls: {}, bodies: new Quota(() => 1e9), named: nothing,
  })
  const heard: (readonly [WireKind, number])[] = []
  const wire = new Wire(far, { frame: (kind, number) => heard.push([kind, number]), closed: nothing })
  const server = createServer((request, response) => {
    places.reserve('one')
    const arrival = new RequestArrival(request)
    front.handOver({ request, response, arrival, place: () => void (released += 1) })
  })
  const port = await portOf(t, server)
  for (const number of [1, 2]) {
    const client = impatient(port, { body: initialize() })
    while (!heard.some(([kind, of]) => kind === 'open' && of === number)) await turn()
    client.destroy()
    while (!heard.some(([kind, of]) => kind === 'gone' && of === number)) await turn()
  }
  await turns(5)
  t.equal(released, 0, 'a session may have begun')
  wire.send('leave', 1)
  while (released === 0) await turn()
  front.lose()
  t.equal(released, 2)
  wire.close()
})
