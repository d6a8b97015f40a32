import t from 'tap'
import { exchangeNamed, stdioExchange } from '#relay/core/event.js'
import type { NewSession } from '#relay/transport/front/front.js'
import { FrontSession } from '#relay/transport/front/sessions/session.js'
import type { TransportEvent } from '#relay/transport/transport.js'
import {
  ask, begin, echo, frameOf, handshake, initialize, Reader, result, start, post, textOf, type Opened,
} from '../harness.js'
import { ManualTimers } from '../../timers.js'

const ping = (id: string | number = 7) => `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":"ping"}`
const note = (method: string) => `{"jsonrpc":"2.0","method":"${method}"}`
const modernPing = (id: number) =>
  `{"jsonrpc":"2.0","id":${id},"method":"ping","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
const modern = { ...post, 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'ping' }
const idleMs = 1000

t.test('a session of our own begins with initialize and ends with DELETE', async t => {
  const { port, session, sessions } = await start(t, { act: echo })
  const id = await handshake(port)
  t.match(id, /^[0-9a-f-]{36}$/)
  const opened = await session(0)
  t.match(opened.opening, { path: '/mcp', kind: 'own' })
  t.not(opened.opening.session, id, 'what names it in records opens nothing')
  const headers = { ...post, 'mcp-session-id': id }
  const answered = await ask(port, { headers, body: ping() })
  t.equal(answered.status, 200)
  t.equal(answered.headers['mcp-session-id'], id)
  const stream = await begin(port, { method: 'GET', headers })
  t.match(await ask(port, { method: 'DELETE', headers }), { status: 200, body: '' })
  t.match(await opened.until('ended'), { reason: 'the client ended the session' })
  t.equal(await textOf(stream), '', 'its streams end with it')
  for (const method of ['POST', 'GET', 'DELETE']) {
    const gone = await ask(port, { method, headers, ...(method === 'POST' && { body: ping() }) })
    t.equal(gone.status, 404, method)
    t.match(JSON.parse(gone.body), { error: { code: -31000 } })
  }
  t.equal(sessions.length, 1)
})

t.test('a session that takes no more requests answers those that it has', async t => {
  let arrived: (answer: () => void) => void = () => {}
  const waiting = new Promise<() => void>(resolve => {
    arrived = resolve
  })
  const { port, session } = await start(t, {
    act: (event, opened) => {
      const isLate = event.type === 'frame' && event.frame.bytes.includes('"late"')
      if (isLate) arrived(() => echo(event, opened))
      else echo(event, opened)
    },
  })
  const headers = { ...post, 'mcp-session-id': await handshake(port) }
  const late = ask(port, { headers, body: ping('late') })
  const answer = await waiting
  const { transport } = await session(0)
  transport.leave?.()
  t.equal((await ask(port, { headers, body: ping() })).status, 404)
  answer()
  t.equal((await late).status, 200)
})

t.test('a stream that the relay ends is over for its server at once: it must not announce a change on it', async t => {
  const types: string[] = []
  const { port, session } = await start(t, {
    act: (event, opened) => {
      types.push(event.type)
      echo(event, opened)
    },
  })
  const headers = { ...post, 'mcp-session-id': await handshake(port) }
  const stream = await begin(port, { method: 'GET', headers })
  const { transport } = await session(0)
  if (!(transport instanceof FrontSession)) return t.fail('no session of the front')
  const before = types.length
  transport.endStreams()
  t.strictSame(types.slice(before), ['exchange-ended'])
  t.equal(await textOf(stream), '')
})

t.test('a batch begins no session: its server would be started, and nobody could use it', async t => {
  const { port, sessions } = await start(t, { act: echo })
  for (const headers of [post, { ...post, 'mcp-protocol-version': '2025-03-26' }]) {
    const got = await ask(port, { headers, body: `[${initialize()}]` })
    t.equal(got.status, 400)
    t.equal(got.headers['mcp-session-id'], undefined)
  }
  t.same(sessions, [])
})

t.test('the responses to a batch go to no other request when its client has left', async t => {
  const { port, session } = await start(t, {
    act: (event, opened) => {
      if (event.type === 'frame' && event.frame.bytes.includes('initialize')) echo(event, opened)
    },
  })
  const headers = { ...post, 'mcp-session-id': await handshake(port) }
  const opened = await session(0)
  const { transport } = opened
  await opened.until('exchange-ended')
  const later = ask(port, { headers, body: ping(3) })
  const { exchange } = await opened.until('frame')
  const batch = '[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,"result":{}}]'
  transport.send(exchangeNamed('gone'), frameOf(batch))
  transport.send(exchange, result('3'))
  t.match(JSON.parse((await later).body), { id: 3 })
})

t.test('an unknown session id is answered with 404', async t => {
  const { port, sessions } = await start(t, { act: echo })
  for (const id of ['constructor', '__proto__', 'toString', 'x'.repeat(1000), '%00', ' ']) {
    const got = await ask(port, { headers: { ...post, 'mcp-session-id': id }, body: ping() })
    t.equal(got.status, 404, JSON.stringify(id.slice(0, 20)))
    t.match(JSON.parse(got.body), { id: 7, error: { code: -31000 } })
  }
  t.same(sessions, [])
})

t.test('a legacy request without a session is answered with 400', async t => {
  const { port } = await start(t, { act: echo })
  const id = await handshake(port)
  const cases = [
    ['no session', 'POST', post, ping()],
    ['a stream without a session', 'GET', post, undefined],
    ['an end without a session', 'DELETE', post, undefined],
    ['a second initialize', 'POST', { ...post, 'mcp-session-id': id }, initialize(2)],
    [
      'a revision that never was', 'POST',
      { ...post, 'mcp-session-id': id, 'mcp-protocol-version': '1999-01-01' }, ping(),
    ],
    [
      'no revision at all', 'POST', { ...post, 'mcp-session-id': id, 'mcp-protocol-version': 'latest' },
      ping(),
    ],
  ] as const
  for (const [name, method, headers, body] of cases) {
    const got = await ask(port, { method, headers, ...(body !== undefined && { body }) })
    t.equal(got.status, 400, name)
    t.match(JSON.parse(got.body), { error: { code: -32600 } })
  }
  for (const method of ['GET', 'DELETE']) {
    const got = await ask(port, { method, headers: modern })
    t.equal(got.status, 405, `${method} of a modern client`)
    t.equal(got.headers.allow, 'POST')
  }
})

t.test('a session belongs to the token that began it, whatever its cookies are', async t => {
  const { port, sessions } = await start(t, { act: echo, tokens: [{ token: 'a' }, { token: 'b' }] })
  const begun = await ask(port, {
    headers: { ...post, authorization: 'Bearer a', cookie: 'AWSALB=one' }, body: initialize(),
  })
  const id = begun.headers['mcp-session-id']
  const headers = { ...post, 'mcp-session-id': typeof id === 'string' ? id : '' }
  t.equal((await ask(
    port, { headers: { ...headers, authorization: 'Bearer a', cookie: 'AWSALB=two' }, body: ping() },
  )).status, 200)
  for (const [method, body] of [['POST', ping()], ['GET', undefined], ['DELETE', undefined]] as const) {
    t.equal((await ask(
      port, { method, headers: { ...headers, authorization: 'Bearer b' }, ...(body && { body }) },
    )).status, 404, method)
  }
  t.equal((await ask(port, { headers: { ...headers, authorization: 'Bearer c' }, body: ping() })).status, 401)
  t.equal(sessions.length, 1)
  t.match(sessions[0]?.opening.peer, { address: '127.0.0.1', token: 0 })
})

t.test('without configured tokens a session is bound to no header', async t => {
  const { port, sessions } = await start(t, { act: echo })
  const headers = { ...post, 'mcp-session-id': await handshake(port) }
  for (const more of [{ cookie: 'AWSALB=two' }, { authorization: 'Bearer x' }, { 'x-api-key': 'y' }]) {
    t.equal((await ask(port, { headers: { ...headers, ...more }, body: ping() })).status, 200)
  }
  t.equal(sessions.length, 1)
})

/** Sends requests of the server's until it is held back. @returns how many that took */
const fill = ({ transport }: Opened): number => {
  for (let count = 1; ; count += 1) {
    if (!transport.send(stdioExchange, frameOf(`{"jsonrpc":"2.0","id":${count},"method":"roots/list"}`))) {
      return count
    }
    if (count > 5000) throw new Error('it is never held back')
  }
}

t.test('a server is paused while many of its messages wait for a stream, and none is lost', async t => {
  const { port, session } = await start(t, { act: echo })
  const id = await handshake(port)
  const opened = await session(0)
  const count = fill(opened)
  // What was read with the last of them comes all the same.
  for (let more = 1; more <= 700; more += 1) {
    opened.transport.send(
      stdioExchange, frameOf(`{"jsonrpc":"2.0","id":${count + more},"method":"roots/list"}`),
    )
  }
  const reader = new Reader(await begin(port, { method: 'GET', headers: { ...post, 'mcp-session-id': id } }))
  t.match(await opened.until('drained'), { type: 'drained' })
  const got = await reader.to(`"id":${count + 700},`)
  t.same(
    [...got.matchAll(/"id":(\d+),/g)].map(([, each]) => Number(each)),
    Array.from({ length: count + 700 }, (_, index) => index + 1),
  )
})

t.test('a paused server is resumed when a request needs its answer', async t => {
  const { port, session } = await start(t)
  const opening = begin(port, { body: initialize() })
  const opened = await session(0)
  const { exchange } = await opened.until('frame')
  // Nothing goes with the answer to initialize, and nothing may keep it back.
  for (let count = 1; count <= 300; count += 1) {
    t.ok(opened.transport.send(
      stdioExchange, frameOf(`{"jsonrpc":"2.0","id":${count},"method":"roots/list"}`),
    ))
  }
  opened.transport.send(exchange, result('1'))
  t.match(JSON.parse(await textOf(await opening)), { id: 1, result: {} })
  t.equal(
    opened.transport.send(stdioExchange, frameOf('{"jsonrpc":"2.0","id":301,"method":"roots/list"}')), false,
  )
  const { headers } = await opening
  const asked = await begin(port, {
    headers: { ...post, 'mcp-session-id': String(headers['mcp-session-id']) }, body: ping(),
  })
  t.match(await opened.until('drained'), { type: 'drained' })
  t.match(await new Reader(asked).to('"id":301,'), /"id":1,[^]*"id":301,/)
})

t.test('unrelated messages of the server go to the stream of a GET, or wait for one', async t => {
  const { port, session } = await start(t, { act: echo })
  const id = await handshake(port)
  const { transport } = await session(0)
  const headers = { ...post, 'mcp-session-id': id }
  transport.send(stdioExchange, frameOf(note('early')))
  const first = new Reader(await begin(port, { method: 'GET', headers }))
  t.equal(await first.to('\n\n'), `data: ${note('early')}\n\n`)
  const second = new Reader(await begin(port, { method: 'GET', headers }))
  transport.send(stdioExchange, frameOf('{"jsonrpc":"2.0","id":1,"method":"roots/list"}'))
  t.equal(
    await second.to('\n\n'), 'data: {"jsonrpc":"2.0","id":1,"method":"roots/list"}\n\n',
    'to the newest, and to it alone',
  )
  transport.send(stdioExchange, result('99'))
  transport.send(stdioExchange, frameOf(note('last')))
  t.equal(await second.to('\n\n'), `data: ${note('last')}\n\n`, 'an answer to nobody goes nowhere')
  await transport.close()
  t.equal(await first.rest(), '')
})

t.test('progress goes to the response of its request, even while a stream of a GET is open', async t => {
  const { port, session } = await start(
    t, { act: (event, opened) => event.type === 'frame' && opened.told.length === 1 && echo(event, opened) },
  )
  const headers = { ...post, 'mcp-session-id': await handshake(port) }
  const stream = new Reader(await begin(port, { method: 'GET', headers }))
  const calling = begin(
    port,
    { headers, body: '{"jsonrpc":"2.0","id":7,"method":"ping","params":{"_meta":{"progressToken":5}}}' },
  )
  const opened = await session(0)
  await opened.until('exchange-ended')
  const { exchange } = await opened.until('frame')
  const progress =
    '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":5,"progress":1}}'
  opened.transport.send(stdioExchange, frameOf(progress))
  opened.transport.send(exchange, result('7'))
  opened.transport.send(stdioExchange, frameOf(progress))
  t.equal(await textOf(await calling), `data: ${progress}\n\ndata: {"jsonrpc":"2.0","id":7,"result":{}}\n\n`)
  t.equal(await stream.to('\n\n'), `data: ${progress}\n\n`, 'what comes late goes where there is a stream')
})

t.test('without a stream, responses carry unrelated messages, but not before the handshake is over', async t => {
  const { port, session } = await start(t)
  const handshaking = begin(port, { body: initialize() })
  const opened = await session(0)
  const { exchange } = await opened.until('frame')
  opened.transport.send(stdioExchange, frameOf(note('early')))
  opened.transport.send(exchange, result('1'))
  const shaken = await handshaking
  t.equal(await textOf(shaken), '{"jsonrpc":"2.0","id":1,"result":{}}')
  const id = shaken.headers['mcp-session-id']
  const calling =
    begin(port, { headers: { ...post, 'mcp-session-id': typeof id === 'string' ? id : '' }, body: ping() })
  const call = await opened.until('frame')
  opened.transport.send(stdioExchange, frameOf(note('between')))
  opened.transport.send(call.exchange, result('7'))
  t.equal(
    await textOf(await calling),
    `data: ${note('early')}\n\ndata: ${note('between')}\n\ndata: {"jsonrpc":"2.0","id":7,"result":{}}\n\n`,
  )
})

t.test('the messages that wait for a stream are limited, and so are the streams', async t => {
  const { port, session } = await start(t, { act: echo })
  const headers = { ...post, 'mcp-session-id': await handshake(port) }
  const { transport } = await session(0)
  for (let i = 0; i < 4140; i++) transport.send(stdioExchange, frameOf(note(`n${i}`)))
  const streams = [new Reader(await begin(port, { method: 'GET', headers }))]
  const [first] = streams
  t.equal(await first?.to('\n\n'), `data: ${note('n44')}\n\n`)
  await first?.to(`data: ${note('n4139')}\n\n`)
  for (let i = 0; i < 4; i++) streams.push(new Reader(await begin(port, { method: 'GET', headers })))
  t.equal(await first?.rest(), '', 'the oldest of too many streams is ended')
})

t.test('the bytes of messages that wait for a stream are limited', async t => {
  const { port, session } = await start(t, { act: echo })
  const headers = { ...post, 'mcp-session-id': await handshake(port) }
  const { transport } = await session(0)
  for (let i = 0; i < 10; i++) transport.send(stdioExchange, frameOf(note(`n${i} ${'x'.repeat(5_000_000)}`)))
  const stream = new Reader(await begin(port, { method: 'GET', headers }))
  t.match((await stream.to('\n\n')).slice(0, 100), 'n7 ', 'three of them fit')
})

t.test('an idle session times out, but not while a request or stream is open', async t => {
  const timers = new ManualTimers()
  const { port, session } = await start(t, { act: echo, timers, idleMs })
  const headers = { ...post, 'mcp-session-id': await handshake(port) }
  const opened = await session(0)
  await opened.until('exchange-ended')
  const stream = await begin(port, { method: 'GET', headers })
  t.equal(timers.fire(idleMs), 0)
  stream.destroy()
  await opened.until('exchange-ended')
  t.equal(timers.fire(idleMs), 1)
  t.match(await opened.until('ended'), { reason: 'nobody used the session' })
  t.equal((await ask(port, { headers, body: ping() })).status, 404)
})

t.test('the number of sessions is limited, and no session is ended for another', async t => {
  const { port, session } = await start(t, { act: echo, maxSessions: 1 })
  const headers = { ...post, 'mcp-session-id': await handshake(port) }
  await (await session(0)).until('exchange-ended')
  const refused = await ask(port, { body: initialize() })
  t.equal(refused.status, 503)
  t.equal(refused.headers['retry-after'], '5')
  t.match(JSON.parse(refused.body), { id: 1, error: { code: -31000 } })
  t.equal((await ask(port, { headers, body: ping() })).status, 200, 'one that is idle goes on')
  await ask(port, { method: 'DELETE', headers })
  t.equal((await ask(port, { body: initialize() })).status, 200)
})

t.test('the number of processes is limited, and a place is free once its process is gone', async t => {
  let gone = (): void => {}
  const { port, sessions } = await start(t, {
    maxProcesses: 1,
    act: (event, opened) => {
      echo(event, opened)
      if (event.type === 'ended') gone = () => void opened.transport.close()
    },
    closes: false,
  })
  const headers = { ...post, 'mcp-session-id': await handshake(port) }
  t.equal((await ask(port, { body: initialize() })).status, 503)
  t.equal(
    (await ask(port, { headers: modern, body: modernPing(1) })).status, 200,
    'who needs none of its own is served',
  )
  await ask(port, { method: 'DELETE', headers })
  t.equal((await ask(port, { body: initialize() })).status, 503, 'the process has not ended yet')
  gone()
  await new Promise(resolve => setImmediate(resolve))
  t.equal((await ask(port, { body: initialize() })).status, 200)
  t.equal(sessions.length, 3)
})

t.test('one client cannot use up all places for sessions', async t => {
  const { port } = await start(t, { act: echo, tokens: [{ token: 'a' }, { token: 'b' }], maxSessions: 10 })
  const begins = async (token: string) =>
    (await ask(port, { headers: { ...post, authorization: `Bearer ${token}` }, body: initialize() })).status
  for (let i = 0; i < 9; i++) t.equal(await begins('a'), 200)
  t.equal(await begins('a'), 503)
  t.equal(await begins('b'), 200)
})

t.test('a request whose headers contradict its body reaches the core with a fault', async t => {
  const { port, session } = await start(t, {
    act: (event, { transport }) => {
      if (event.type !== 'frame' || event.frame.message.kind !== 'request') return
      const { key } = event.frame.message
      const fault = event.frame.faults.find(({ kind }) => kind === 'http')
      transport.send(
        event.exchange,
        fault ? frameOf(`{"jsonrpc":"2.0","id":${key},"error":{"code":-32020,"message":"x"}}`) : result(key),
      )
    },
  })
  const cases = [
    [modern, 200],
    [{ ...modern, 'mcp-method': 'tools/call' }, 400],
    [{ ...modern, 'mcp-protocol-version': '2026-07-29' }, 400],
    [{ ...modern, 'mcp-protocol-version': '2025-11-25' }, 400],
    [{ ...post, 'mcp-method': 'ping' }, 400],
    [{ ...post, 'mcp-protocol-version': '2026-07-28' }, 400],
  ] as const
  for (const [headers, status] of cases) {
    t.equal((await ask(port, { headers, body: modernPing(1) })).status, status, JSON.stringify(headers))
  }
  const { told } = await session(0)
  t.equal(told.filter(event => event.type === 'frame' && event.frame.faults.length > 0).length, 5)
})

t.test('a modern request without its _meta is refused before it reaches a stdio server', async t => {
  const { port, sessions } = await start(t)
  const asks = (version: string, meta: string) => ask(port, {
    headers: { ...modern, 'mcp-protocol-version': version },
    body: `{"jsonrpc":"2.0","id":3,"method":"ping","params":{"_meta":${meta}}}`,
  })
  const version = (value: string) => `"io.modelcontextprotocol/protocolVersion":"${value}"`
  const capabilities = '"io.modelcontextprotocol/clientCapabilities":{}'
  for (const meta of ['{}', `{${capabilities}}`, `{${version('2026-07-28')}}`]) {
    const { status, body } = await asks('2026-07-28', meta)
    t.equal(status, 400, meta)
    t.match(JSON.parse(body), { id: 3, error: { code: -32602 } }, meta)
  }
  for (const named of ['v999.0.0', '2025-11-25']) {
    const { status, body } = await asks(named, `{${version(named)},${capabilities}}`)
    t.equal(status, 400, named)
    t.match(
      JSON.parse(body),
      { id: 3, error: { code: -32022, data: { supported: ['2026-07-28'], requested: named } } }, named,
    )
  }
  t.equal(sessions.length, 0)
})

/** A server that speaks HTTP and answers everything, with headers of its own. */
const upstream = (head: (
  opened: Opened, event: TransportEvent,
) => { status?: number; headers?: Record<string, string> }) => ({
  server: 'http' as const,
  act: (event: TransportEvent, opened: Opened) => {
    if (event.type !== 'frame' && event.type !== 'bare-request') return
    const { status = 200, headers = {} } = head(opened, event)
    const { exchange } = event
    const of = { 'content-type': 'application/json', ...headers }
    opened.transport.hand?.({
      type: 'head', exchange, status,
      headers: new Map(Object.entries(of).map(([name, value]) => [name, [value]])),
    })
    if (event.type === 'frame' && event.frame.message.kind === 'request' && status === 200) opened.transport.send(
      exchange, result(event.frame.message.key),
    )
    else opened.transport.hand?.({ type: 'stream-ended', exchange, resumable: true })
  },
})

t.test('the session of an HTTP server is found by the server\'s session id', async t => {
  const { port, session, sessions } = await start(t, upstream(({ opening: { kind } }, { type }) =>
    type === 'frame' && kind === 'upstream' ? { headers: { 'mcp-session-id': 'theirs' } } : {}))
  const begun = await ask(port, { body: initialize() })
  t.equal(begun.headers['mcp-session-id'], 'theirs')
  const headers = { ...post, 'mcp-session-id': 'theirs', 'last-event-id': '5' }
  t.equal((await ask(port, { headers, body: ping() })).status, 200)
  await ask(port, { method: 'GET', headers })
  const opened = await session(0)
  t.match(await opened.until('bare-request'), { method: 'GET', headers: new Map([['last-event-id', '5']]) })
  t.equal(sessions.length, 1)
  t.equal((await ask(port, { method: 'DELETE', headers })).status, 200)
  t.match(await opened.until('ended'), { reason: 'the client ended the session' })
})

t.test('a session id counts only in the response to initialize', async t => {
  let named = 0
  const { port, sessions } = await start(t, upstream(({ opening: { kind } }, event) =>
    kind === 'upstream' || event.type === 'frame' ? {
      headers: { 'mcp-session-id': `${'x'.repeat(15_000)}${named++}` },
    } : {}))
  const began = await ask(port, { body: initialize() })
  const id = String(began.headers['mcp-session-id'])
  for (let calls = 0; calls < 3; calls++) {
    const later = await ask(port, { headers: { ...post, 'mcp-session-id': id }, body: ping() })
    t.not(later.headers['mcp-session-id'], id, 'the response passes as it is')
    t.equal((await ask(port, { body: ping() })).status, 200, 'and without a session too')
  }
  t.strictSame(
    sessions.map(({ opening: { kind, joined } }) => [kind, joined]),
    [['upstream', false], ['stateless', false]],
  )
  // A name that was in another response belongs to no session here.
  await ask(port, { headers: { ...post, 'mcp-session-id': `${'x'.repeat(15_000)}1` }, body: ping() })
  t.match(sessions[2]?.opening, { kind: 'upstream', joined: true })
})

t.test('the Accept header need not allow streams', async t => {
  const { port } = await start(t, upstream(() => ({})))
  t.equal((await ask(port, { headers: { ...post, accept: 'application/json' }, body: ping() })).status, 200)
  const process = await start(t, { act: echo })
  t.equal((await ask(
    process.port, { headers: { ...post, accept: 'application/json' }, body: initialize() },
  )).status, 200)
  t.equal((await ask(
    process.port, { headers: { ...post, accept: 'text/html' }, body: initialize() },
  )).status, 406)
})

t.test('an answer to the server reaches its session under a renewed token', async t => {
  const { port, session, sessions } = await start(t, upstream(({ opening: { kind } }, { type }) =>
    type === 'frame' && kind === 'upstream' ? { headers: { 'mcp-session-id': 'theirs' } } : {}))
  await ask(port, { headers: { ...post, authorization: 'Bearer old' }, body: initialize() })
  const answer = '{"jsonrpc":"2.0","id":77,"result":{"roots":[]}}'
  await ask(port, {
    headers: { ...post, authorization: 'Bearer new', cookie: 'x=1', 'mcp-session-id': 'theirs' },
    body: answer,
  })
  const { told } = await session(0)
  t.match(
    told.filter(({ type }) => type === 'frame').at(-1), { frame: { message: { kind: 'result', key: '77' } } },
  )
  t.equal(sessions.length, 1)
})

t.test('an unknown session id is forwarded to an HTTP server, and forgotten when the server answers 404', async t => {
  const { port, session, sessions } = await start(t, upstream((_, event) =>
    event.type === 'frame' && event.frame.envelope?.headers?.get(
      'mcp-session-id',
    ) === 'unknown' ? { status: 404 } : {}))
  t.equal((await ask(port, { headers: { ...post, 'mcp-session-id': 'before' }, body: ping() })).status, 200)
  t.match((await session(0)).opening, { kind: 'upstream', joined: true })
  t.equal((await ask(port, { headers: { ...post, 'mcp-session-id': 'before' }, body: ping() })).status, 200)
  t.equal(sessions.length, 1)
  t.equal((await ask(port, { headers: { ...post, 'mcp-session-id': 'unknown' }, body: ping() })).status, 404)
  t.match(await (await session(1)).until('ended'), { reason: 'the server knows no such session' })
})

t.test('requests without a session share one for each authorization context', async t => {
  const { port, session, sessions } = await start(t, upstream(() => ({})))
  const as = (token: string) => ({ ...post, authorization: `Bearer ${token}` })
  for (const token of ['a', 'b', 'a']) await ask(port, { headers: as(token), body: ping() })
  await ask(port, { headers: { ...as('a'), ...modern }, body: modernPing(1) })
  t.equal(sessions.length, 3)
  const kinds = await Promise.all([0, 1, 2].map(async index => (await session(index)).opening))
  t.same(kinds.map(({ kind }) => kind), ['stateless', 'stateless', 'stateless'])
})

t.test('an HTTP server\'s handshake without a session id leaves no session', async t => {
  const { port, session } = await start(t, upstream(() => ({})))
  await ask(port, { body: initialize() })
  t.match(await (await session(0)).until('ended'), { reason: 'the server named no session' })
})

t.test('clients that the server refuses leave no session', async t => {
  const { port, session, sessions } =
    await start(t, upstream(() => ({ status: 401, headers: { 'www-authenticate': 'Bearer' } })))
  for (const token of ['a', 'b']) {
    const got = await ask(port, { headers: { ...post, authorization: `Bearer ${token}` }, body: ping() })
    t.equal(got.status, 401)
    t.equal(got.headers['www-authenticate'], 'Bearer')
  }
  t.equal(sessions.length, 2)
  await (await session(0)).until('ended')
  await (await session(1)).until('ended')
})

t.test('a closed session ends its open responses, and is unknown afterwards', async t => {
  const { port, session } = await start(t)
  const waiting = begin(port, { body: initialize() })
  const opened = await session(0)
  await opened.until('frame')
  await opened.transport.close()
  const got = await waiting
  t.equal(got.statusCode, 502)
  t.match(JSON.parse(await textOf(got)), { id: 1, error: { code: -31001 } })
  const id = got.headers['mcp-session-id']
  t.equal((await ask(
    port, { headers: { ...post, 'mcp-session-id': typeof id === 'string' ? id : '' }, body: ping() },
  )).status, 404)
})

t.test('while a session is paused, the bodies of its requests are not read', async t => {
  const { port, session } = await start(t, { act: echo })
  const headers = { ...post, 'mcp-session-id': await handshake(port) }
  const { transport, told } = await session(0)
  transport.pause(stdioExchange)
  const waiting = ask(port, { headers, body: ping() })
  await handshake(port)
  t.equal(told.filter(({ type }) => type === 'frame').length, 1)
  transport.resume(stdioExchange)
  t.equal((await waiting).status, 200)
})

t.test('what replicas share of a session has the id that the server gives it', async t => {
  const names: (readonly [id: string | undefined, kind: string])[] = []
  const shared = (id: string | undefined, kind: string) => {
    names.push([id, kind])
    return { named: () => undefined, touch: () => undefined, ask: () => Promise.resolve('none' as const) }
  }
  const open = ({ transport }: NewSession) => transport.start(event => {
    if (event.type === 'frame') transport.send(event.exchange, result('1'))
  })
  const { port } = await start(t, { endpoints: new Map([['/mcp', { server: 'http' as const, shared, open }]]) })
  const headers = { ...post, 'mcp-session-id': 'stale' }
  await ask(port, { headers, body: initialize() })
  t.same(names.splice(0), [['stale', 'session'], [undefined, 'session']], 'the server has yet to name it')
  await ask(port, { headers: { ...headers, 'mcp-session-id': 'known' }, body: ping(1) })
  t.same(names.splice(0).at(-1), ['known', 'session'])
  await ask(port, { headers: post, body: ping(1) })
  t.match(names, [[String, 'group']], 'clients without a session')
})
