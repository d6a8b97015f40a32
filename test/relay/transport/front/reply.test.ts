import { connect } from 'node:net'
import { once } from 'node:events'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { owning } from '#relay/transport/frames.js'
import type { TransportEvent } from '#relay/transport/transport.js'
import {
  ask, begin, dial, frameOf, handshake, initialize, rawPost, Reader, result, start, post, textOf, echo,
  type Opened,
} from './harness.js'
import type { Exchange } from '#relay/core/vocabulary.js'
import { ManualTimers } from '../timers.js'

const call = (id: string | number = 7) => `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":"tools/call"}`
const progress =
  '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}'
const modern = { ...post, 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call' }

/** Calls once what a server that speaks HTTP would do with a message. */
const upstream = (answer: (exchange: Exchange, opened: Opened) => void) => ({
  server: 'http' as const,
  act: (event: TransportEvent, opened: Opened) => {
    if (event.type === 'frame' || event.type === 'bare-request') answer(event.exchange, opened)
  },
})

const headers = (of: Readonly<Record<string, string>>) =>
  new Map(Object.entries(of).map(([name, value]) => [name, [value]]))

t.test('an answer that is sent first is one JSON text, byte for byte', async t => {
  const text = '{ "id":1, "jsonrpc":"2.0",\r\n "result":{"n":1.0,"e":"\\u00e9é"}}\n'
  const { port } = await start(t, {
    act: (event, { transport }) => {
      if (event.type === 'frame') transport.send(event.exchange, frameOf(text))
    },
  })
  const { socket, reader } = await dial(t, port)
  const body = initialize()
  socket.write(rawPost(body, `content-length: ${body.length}\r\nconnection: close\r\n`))
  const [head = '', got = ''] = (await reader.rest()).split('\r\n\r\n')
  t.match(head, /^HTTP\/1\.1 200 OK\r\n/)
  t.match(head, /\r\ncontent-type: application\/json\r\n/)
  t.match(head, new RegExp(`\r\ncontent-length: ${Buffer.byteLength(text)}\r\n`))
  t.match(head, /\r\nmcp-session-id: [0-9a-f-]{36}\r\n/)
  t.equal(got, text)
})

t.test('a message before the answer makes the response a stream, which ends with the answer', async t => {
  const { port } = await start(t, {
    act: (event, opened) => {
      if (event.type !== 'frame' || event.frame.message.kind !== 'request') return
      if (event.frame.message.method === 'initialize') return echo(event, opened)
      opened.transport.send(event.exchange, frameOf(progress))
      opened.transport.send(event.exchange, frameOf('{"jsonrpc":"2.0",\r\n"id":7,\n"result":{}}'))
    },
  })
  const got = await ask(port, { headers: { ...post, 'mcp-session-id': await handshake(port) }, body: call() })
  t.equal(got.status, 200)
  t.match(got.headers, {
    'content-type': 'text/event-stream', 'cache-control': 'no-cache, no-transform', 'x-accel-buffering': 'no',
  })
  t.equal(got.headers['content-length'], undefined)
  t.equal(got.body, `data: ${progress}\n\ndata: {"jsonrpc":"2.0",\ndata: "id":7,\ndata: "result":{}}\n\n`)
})

t.test('the memory of a result that owns it is freed when it was sent', async t => {
  const long = `{"jsonrpc":"2.0","id":7,"result":{"content":[]}}${' '.repeat(300_000)}`
  const sent: Buffer[] = []
  const { port } = await start(t, {
    act: (event, opened) => {
      if (event.type !== 'frame' || event.frame.message.kind !== 'request') return
      const { method } = event.frame.message
      if (method === 'initialize') return echo(event, opened)
      const frame = frameOf(long)
      sent.push(frame.bytes)
      if (method === 'streamed') opened.transport.send(event.exchange, frameOf(progress))
      opened.transport.send(event.exchange, method === 'kept' ? { ...owning(frame) } : owning(frame))
    },
  })
  const withSession = { ...post, 'mcp-session-id': await handshake(port) }
  for (const method of ['kept', 'whole', 'streamed']) {
    const { body } = await ask(port, { headers: withSession, body: call().replace('tools/call', method) })
    t.equal(body, method === 'streamed' ? `data: ${progress}\n\ndata: ${long}\n\n` : long)
  }
  // The client may have read a response before the front knows that it was sent.
  while (sent[1]?.length !== 0) await new Promise(setImmediate)
  t.strictSame(sent.map(({ length }) => length), [long.length, 0, 0])
})

t.test('a message without requests is answered with 202', async t => {
  const { port, session } = await start(t, { act: echo })
  const id = await handshake(port)
  for (const body of [
    '{"jsonrpc":"2.0","method":"notifications/initialized"}', '{"jsonrpc":"2.0","id":1,"result":{}}',
  ]) {
    const got = await ask(port, { headers: { ...post, 'mcp-session-id': id }, body })
    t.match(got, { status: 202, body: '' })
    t.equal(got.headers['content-type'], undefined)
    t.equal(got.headers['content-length'], '0')
  }
  t.same((await session(0)).told.filter(({ type }) => type === 'frame').length, 3)
})

t.test('a batch is answered by one batch, or by a stream', async t => {
  const batch = `[${call(1)},{"jsonrpc":"2.0","method":"a"},${call('1')}]`
  const { port } = await start(t, {
    act: (event, opened) => {
      if (event.type !== 'frame') return
      const { message } = event.frame
      if (message.kind !== 'batch') return echo(event, opened)
      if (message.members.length === 4) opened.transport.send(event.exchange, frameOf(progress))
      opened.transport.send(event.exchange, result('"1"'))
      opened.transport.send(event.exchange, result('1'))
    },
  })
  const within = { ...post, 'mcp-session-id': await handshake(port) }
  const joined = await ask(port, { headers: within, body: batch })
  t.equal(joined.body, '[{"jsonrpc":"2.0","id":"1","result":{}},{"jsonrpc":"2.0","id":1,"result":{}}]')
  const streamed = await ask(port, {
    headers: within, body: batch.replace(']', ',{"jsonrpc":"2.0","method":"b"}]'),
  })
  t.equal(
    streamed.body,
    `data: ${progress}\n\ndata: {"jsonrpc":"2.0","id":"1","result":{}}\n\ndata: {"jsonrpc":"2.0","id":1,"result":{}}\n\n`,
  )
})

t.test('an error sets the status for modern clients only', async t => {
  const complete =
    '{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'
  const cases = [
    [-32601, complete, 404, 200],
    [-32602, complete, 200, 200],
    [-32602, '{}', 400, 200],
    [-32602, '{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}', 400, 200],
    [-32020, complete, 400, 200],
    [-32021, complete, 400, 200],
    [-32022, complete, 400, 200],
    [-32603, complete, 200, 200],
    [-31000, complete, 200, 200],
    [-31001, complete, 200, 200],
  ] as const
  for (const [code, meta, modernStatus, legacyStatus] of cases) {
    const { port } = await start(t, {
      act: (event, opened) => {
        if (event.type !== 'frame' || event.frame.message.kind !== 'request') return
        if (event.frame.message.method === 'initialize') return echo(event, opened)
        opened.transport.send(
          event.exchange, frameOf(`{"jsonrpc":"2.0","id":7,"error":{"code":${code},"message":"x"}}`),
        )
      },
    })
    const body = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"_meta":${meta}}}`
    t.equal((await ask(port, { headers: modern, body })).status, modernStatus, `${code} with ${meta}`)
    const legacy = { ...post, 'mcp-session-id': await handshake(port) }
    t.equal(
      (await ask(port, { headers: legacy, body: call() })).status, legacyStatus,
      `${code} for a legacy client`,
    )
  }
})

t.test('CORS headers are added to the server\'s, and the log gets the server\'s session id', async t => {
  const response = '{"jsonrpc":"2.0","id":1,"result":{}}'
  const theirs = new Map([
    ['content-type', ['application/json; charset=utf-8']], ['content-length', ['7']], ['vary', ['Accept']],
    ['set-cookie', ['a=1', 'b=2']], ['mcp-session-id', ['secret']],
  ])
  const served: { readonly session: string | undefined }[] = []
  const { port } = await start(t, {
    ...upstream((exchange, { transport }) => {
      transport.hand?.({ type: 'head', exchange, status: 200, headers: theirs })
      transport.send(exchange, frameOf(response))
    }),
    allowOrigins: ['https://app.example.com'], served: one => served.push(one),
  })
  const beginning = await ask(port, {
    headers: { ...post, origin: 'https://app.example.com' }, body: initialize(),
  })
  const following = await ask(port, {
    headers: { ...post, origin: 'https://app.example.com', 'mcp-session-id': 'secret' }, body: call(1),
  })
  for (const { headers, body } of [beginning, following]) {
    t.match(headers, {
      'access-control-allow-origin': 'https://app.example.com', vary: 'Origin, Accept',
      'set-cookie': ['a=1', 'b=2'], 'mcp-session-id': 'secret',
      'content-type': 'application/json; charset=utf-8', 'content-length': String(response.length),
    })
    t.equal(body, response)
  }
  t.match(served, [{ session: /^[0-9a-f]{8}$/ }, { session: served[0]?.session }])
})

t.test('a silent stream gets comments, and the response of a long call becomes a stream', async t => {
  const timers = new ManualTimers()
  const { port, session } = await start(t, { timers, keepAliveMs: 15_000 })
  const response = begin(port, { body: initialize() })
  const { transport, ...opened } =
    await session(0).then(async one => ({ transport: one.transport, ...(await one.until('frame')) }))
  timers.fire(5000)
  timers.fire(5000)
  t.equal(timers.fire(5000), 1)
  const stream = await response
  t.equal(stream.headers['content-type'], 'text/event-stream')
  const reader = new Reader(stream)
  t.equal(await reader.to('\n\n'), ': keep-alive\n\n')
  transport.send(opened.exchange, frameOf(progress))
  t.equal(await reader.to('\n\n'), `data: ${progress}\n\n`)
  for (let looked = 0; looked < 3; looked++) timers.fire(5000)
  t.equal(await reader.to('\n\n'), ': keep-alive\n\n', 'only an interval without a message is silent')
  transport.send(opened.exchange, result('1'))
  t.equal(await reader.rest(), 'data: {"jsonrpc":"2.0","id":1,"result":{}}\n\n')
  await (await session(0)).until('exchange-ended')
  timers.fire(5000)
  t.equal(timers.count(5000), 0, 'no clock is left running')
})

t.test('the client gets the status, headers and form that an HTTP server has chosen', async t => {
  const response = '{"jsonrpc":"2.0","id":7,"result":{}}'
  const unread = '{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}'
  const cases: readonly [
    string, (exchange: Exchange, opened: Opened) => void, { status: number; headers: object; body: string },
  ][] = [
    [
      'JSON with headers of its own',
      (exchange, { transport }) => {
        transport.hand?.({
          type: 'head', exchange, status: 200,
          headers: headers({ 'content-type': 'application/json; charset=utf-8', 'x-own': 'a' }),
        })
        transport.send(exchange, frameOf(response))
      },
      {
        status: 200, headers: { 'content-type': 'application/json; charset=utf-8', 'x-own': 'a' },
        body: response,
      },
    ],
    [
      'the same with the answer itself',
      (exchange, { transport }) => {
        const head = {
          status: 200, headers: headers({ 'content-type': 'application/json; charset=utf-8', 'x-own': 'a' }),
        }
        transport.send(exchange, { ...frameOf(response), envelope: { response: head } })
      },
      {
        status: 200, headers: { 'content-type': 'application/json; charset=utf-8', 'x-own': 'a' },
        body: response,
      },
    ],
    [
      'an answer of ours in the place of one: the headers are the server\'s, the status is not',
      (exchange, { transport }) => {
        const head = { status: 226, headers: headers({ 'content-type': 'application/json', 'x-own': 'a' }) }
        transport.send(exchange, { ...frameOf(response), relayMade: true, envelope: { response: head } })
      },
      { status: 200, headers: { 'x-own': 'a' }, body: response },
    ],
    [
      'a stream, although its first event is the answer',
      (exchange, { transport }) => {
        transport.hand?.({
          type: 'head', exchange, status: 200,
          headers: headers({ 'content-type': 'text/event-stream', 'cache-control': 'no-store' }),
        })
        transport.hand?.({ type: 'between', exchange, lines: 'id: 1\nretry: 5\ndata:\n\n' })
        transport.send(exchange, { ...frameOf(response), envelope: { event: 'event: message\r\nid: 2\r\n' } })
        transport.hand?.({ type: 'between', exchange, lines: ': bye\n' })
        transport.hand?.({ type: 'stream-ended', exchange, resumable: false })
      },
      {
        status: 200,
        headers: {
          'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no',
        },
        body: `id: 1\nretry: 5\ndata:\n\nevent: message\r\nid: 2\r\ndata: ${response}\n\n: bye\n`,
      },
    ],
    [
      'a stream that ends early, to be resumed',
      (exchange, { transport }) => {
        transport.hand?.({
          type: 'head', exchange, status: 200, headers: headers({ 'content-type': 'text/event-stream' }),
        })
        transport.hand?.({ type: 'between', exchange, lines: 'id: 1\n\n' })
        transport.hand?.({ type: 'stream-ended', exchange, resumable: true })
      },
      { status: 200, headers: { 'content-type': 'text/event-stream' }, body: 'id: 1\n\n' },
    ],
    [
      'a stream that is cut: our error ends it',
      (exchange, { transport }) => {
        transport.hand?.({
          type: 'head', exchange, status: 200, headers: headers({ 'content-type': 'text/event-stream' }),
        })
        transport.hand?.({ type: 'stream-ended', exchange, resumable: false })
        transport.send(exchange, frameOf('{"jsonrpc":"2.0","id":7,"error":{"code":-31001,"message":"gone"}}'))
      },
      {
        status: 200, headers: {},
        body: 'data: {"jsonrpc":"2.0","id":7,"error":{"code":-31001,"message":"gone"}}\n\n',
      },
    ],
    [
      'a refusal without a message',
      (exchange, { transport }) => {
        transport.hand?.({ type: 'head', exchange, status: 401, headers: headers({
          'www-authenticate': 'Bearer resource_metadata="x"', 'content-type': 'text/html',
        }) })
        transport.hand?.({ type: 'stream-ended', exchange, resumable: true })
      },
      { status: 401, headers: {
        'www-authenticate': 'Bearer resource_metadata="x"', 'content-length': '0', 'content-type': undefined,
      }, body: '' },
    ],
    [
      'a refusal with our answer in it',
      (exchange, { transport }) => {
        transport.hand?.({ type: 'head', exchange, status: 429, headers: headers({ 'retry-after': '9' }) })
        transport.hand?.({ type: 'stream-ended', exchange, resumable: false })
        transport.send(exchange, frameOf('{"jsonrpc":"2.0","id":7,"error":{"code":-31001,"message":"gone"}}'))
      },
      {
        status: 429, headers: { 'retry-after': '9', 'content-type': 'application/json' },
        body: '{"jsonrpc":"2.0","id":7,"error":{"code":-31001,"message":"gone"}}',
      },
    ],
    [
      'the page of an error, whose id could not be read',
      (exchange, { transport }) => {
        transport.hand?.({
          type: 'head', exchange, status: 404, headers: headers({ 'content-type': 'application/json' }),
        })
        transport.send(exchange, { ...frameOf(unread), message: { kind: 'unusable', keys: ['7'] } })
        transport.hand?.({ type: 'stream-ended', exchange, resumable: false })
      },
      { status: 404, headers: {}, body: unread },
    ],
    [
      'no head at all: our answer alone',
      (exchange, { transport }) =>
        transport.send(exchange, frameOf('{"jsonrpc":"2.0","id":7,"error":{"code":-31000,"message":"x"}}')),
      {
        status: 200, headers: { 'content-type': 'application/json' },
        body: '{"jsonrpc":"2.0","id":7,"error":{"code":-31000,"message":"x"}}',
      },
    ],
    [
      'cross-origin permissions: those are ours to give',
      (exchange, { transport }) => {
        transport.hand?.({ type: 'head', exchange, status: 200, headers: headers({
          'content-type': 'application/json', 'access-control-allow-origin': '*', vary: 'Accept',
        }) })
        transport.send(exchange, frameOf(response))
      },
      { status: 200, headers: { 'access-control-allow-origin': undefined, vary: 'Accept' }, body: response },
    ],
    [
      'a server that cannot be reached',
      (exchange, { transport }) => {
        transport.hand?.({ type: 'head', exchange, status: 502, headers: new Map() })
        transport.hand?.({ type: 'stream-ended', exchange, resumable: true })
      },
      {
        status: 502, headers: { 'content-type': 'application/json' },
        body: '{"jsonrpc":"2.0","id":7,"error":{"code":-31001,"message":"The server gave no answer"}}',
      },
    ],
    [
      'nothing to say at the end',
      (exchange, { transport }) => transport.complete?.(exchange),
      {
        status: 502, headers: { 'content-type': 'application/json' },
        body: '{"jsonrpc":"2.0","id":7,"error":{"code":-31001,"message":"The server gave no answer"}}',
      },
    ],
  ]
  for (const [name, answer, wanted] of cases) {
    const { port } = await start(t, upstream(answer))
    const got = await ask(port, { headers: modern, body: call() })
    t.equal(got.status, wanted.status, name)
    t.has(
      got.headers,
      Object.fromEntries(Object.entries(wanted.headers).filter(([, value]) => value !== undefined)), name,
    )
    for (const [key, value] of Object.entries(wanted.headers)) if (value === undefined) {
      t.equal(got.headers[key], undefined, `${name}: no ${key}`)
    }
    t.equal(got.body, wanted.body, name)
  }
})

t.test('no keep-alive comments are sent before the head of an HTTP server', async t => {
  const timers = new ManualTimers()
  const { port, session } = await start(t, { server: 'http', timers, keepAliveMs: 15_000 })
  const response = begin(port, { headers: modern, body: call() })
  const opened = await session(0)
  const { exchange } = await opened.until('frame')
  for (let looked = 0; looked < 3; looked++) timers.fire(5000)
  opened.transport.hand?.({ type: 'head', exchange, status: 404, headers: new Map() })
  opened.transport.send(exchange, frameOf('{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"x"}}'))
  t.equal((await response).statusCode, 404)
  await textOf(await response)
})

t.test('a notification gets the server\'s status, or the relay\'s when it was blocked', async t => {
  const accepted = await start(t, upstream((exchange, { transport }) => {
    transport.hand?.({ type: 'head', exchange, status: 202, headers: new Map() })
    transport.hand?.({ type: 'stream-ended', exchange, resumable: false })
  }))
  const body = '{"jsonrpc":"2.0","method":"notifications/x"}'
  t.match(await ask(accepted.port, { headers: modern, body }), { status: 202, body: '' })
  const stopped = await start(t, upstream((exchange, { transport }) => transport.complete?.(exchange)))
  t.match(await ask(stopped.port, { headers: modern, body }), { status: 202, body: '' })
  const unreadable = await ask(stopped.port, { headers: modern, body: '{' })
  t.equal(unreadable.status, 400)
  t.match(JSON.parse(unreadable.body), { jsonrpc: '2.0', id: null, error: { code: -31000 } })
})

t.test('a disconnected client is reported once, and later messages to it are dropped', async t => {
  const { port, session } = await start(t)
  const { socket } = await dial(t, port)
  const body = initialize()
  socket.write(rawPost(body))
  const opened = await session(0)
  const { exchange } = await opened.until('frame')
  socket.destroy()
  t.match(await opened.next(), { type: 'exchange-ended', exchange })
  t.equal(opened.transport.send(exchange, result('1')), true)
  t.same(opened.told.map(({ type }) => type), ['frame', 'exchange-ended', 'ended'])
})

t.test('the pipelined requests of a disconnected client do not begin', async t => {
  const { port, session, sessions, front } = await start(t)
  const { socket } = await dial(t, port)
  const request = (body: string) =>
    rawPost(body)
  socket.write(
    request(initialize(1)) + request(initialize(2)) + 'GET /mcp HTTP/1.1\r\nhost: localhost\r\n\r\n',
  )
  const opened = await session(0)
  await opened.until('frame')
  socket.destroy()
  t.match(await opened.next(), { type: 'exchange-ended' })
  await front.close(60_000)
  t.equal(sessions.length, 1)
})

t.test('a pipelined request begins when the response before it is over', async t => {
  const { port, session, sessions } = await start(t)
  const { socket, reader } = await dial(t, port)
  const request = (body: string) =>
    rawPost(body)
  socket.write(request(initialize(1)) + request(initialize(2)) + request(initialize(3)))
  for (const [index, id] of ['1', '2', '3'].entries()) {
    const opened = await session(index)
    const { exchange } = await opened.until('frame')
    t.equal(sessions.length, index + 1)
    opened.transport.send(exchange, result(id))
    t.match(await reader.to('}}'), new RegExp(`"id":${id}`))
  }
})

/** A reader that reads nothing of what it asked for. */
const deaf = async (port: number, body: string) => {
  const socket = connect({ port, host: '127.0.0.1' })
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.pause()
  socket.write(rawPost(body))
  return socket
}

const large = frameOf(`{"jsonrpc":"2.0","method":"a","params":{"x":"${'x'.repeat(64 * 1024)}"}}`)

t.test('a slow client pauses the session until it reads again', async t => {
  const { port, session } = await start(t, { timers: new ManualTimers() })
  const socket = await deaf(port, initialize())
  t.teardown(() => {
    socket.destroy()
  })
  const opened = await session(0)
  const { exchange } = await opened.until('frame')
  let sent = 0
  while (opened.transport.send(exchange, large)) sent++
  t.ok(sent < 1000, `${sent} frames were taken before`)
  t.equal(opened.transport.send(exchange, large), false)
  socket.resume()
  t.match(await opened.next(), { type: 'drained' })
  t.equal(opened.transport.send(exchange, frameOf(progress)), true)
})

t.test('the head of a stream has the bytes that the server sent', async t => {
  const { port } = await start(t, upstream((exchange, { transport }) => {
    transport.hand?.({
      type: 'head', exchange, status: 200,
      headers: headers({ 'content-type': 'text/event-stream', 'x-own': 'caf\u00e9' }),
    })
    transport.send(exchange, result('7'))
    transport.hand?.({ type: 'stream-ended', exchange, resumable: false })
  }))
  const socket = connect(port, '127.0.0.1')
  const body = call()
  const head = Object.entries(modern).map(([name, value]) => `${name}: ${value}\r\n`).join('')
  socket.write(
    `POST /mcp HTTP/1.1\r\nhost: localhost\r\n${head}connection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  )
  const chunks: Buffer[] = []
  for await (const chunk of socket) if (Buffer.isBuffer(chunk)) chunks.push(chunk)
  t.match(Buffer.concat(chunks).toString('latin1'), /^HTTP\/1\.1 200 [^]*\r\nx-own: caf\u00e9\r\n/)
})

t.test('the body of an HTTP error is the response to a batch', async t => {
  const page = '{"error":"invalid_token"}'
  const { port } = await start(t, upstream((exchange, { transport }) => {
    transport.hand?.({
      type: 'head', exchange, status: 401,
      headers: headers({ 'content-type': 'application/json', 'www-authenticate': 'Bearer' }),
    })
    transport.send(
      exchange,
      { bytes: Buffer.from(page), message: { kind: 'page', key: undefined, text: page }, faults: [] },
    )
    // The requests are lost, and the core answers them.
    transport.send(exchange, frameOf('[{"jsonrpc":"2.0","id":1,"error":{"code":-31001,"message":"x"}}]'))
    transport.hand?.({ type: 'stream-ended', exchange, resumable: false })
  }))
  const got = await ask(port, { body: `[${call(1)},${call(2)}]` })
  t.match(got, { status: 401, body: page, headers: { 'www-authenticate': 'Bearer' } })
})

t.test('a client that stops reading is cut off, and the session goes on', async t => {
  const { port, session } = await start(t, { stallMs: 100 })
  const socket = await deaf(port, initialize())
  t.teardown(() => {
    socket.destroy()
  })
  const opened = await session(0)
  const { exchange } = await opened.until('frame')
  // Until the buffers of the system are full as well. That something is written to it shows nothing.
  const fill = () => {
    while (opened.transport.send(exchange, large));
  }
  const timer = setInterval(fill, 10)
  fill()
  await opened.until('exchange-ended')
  clearInterval(timer)
  t.same(opened.told.slice(-2).map(({ type }) => type), ['drained', 'exchange-ended'])
})

t.test('a response may take longer than a client may stall', async t => {
  const { port, session } = await start(t, { stallMs: 50 })
  const response = ask(port, { body: initialize() })
  const opened = await session(0)
  const { exchange } = await opened.until('frame')
  // A connection on which nothing is asked is cut in that time; this one was quiet before.
  const { reader } = await dial(t, port)
  await reader.rest()
  opened.transport.send(exchange, result('1'))
  t.match(await response, { status: 200, body: '{"jsonrpc":"2.0","id":1,"result":{}}' })
})

t.test('an open connection does not keep the frames of its last response', async t => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const frames: WeakRef<object>[] = []
  const { port, session } = await start(t, upstream((exchange, { transport }) => {
    const frame = result('1')
    frames.push(new WeakRef(frame))
    transport.send(exchange, frame)
  }))
  const { socket, reader } = await dial(t, port)
  const body = initialize()
  const head = 'POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json'
  socket.write(`${head}\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
  await reader.to('"result":{}}')
  const { told } = await session(0)
  while (!told.some(({ type }) => type === 'exchange-ended')) await new Promise(setImmediate)
  // The test's own record of the events holds them too.
  told.length = 0
  await new Promise(setImmediate)
  collect()
  t.same(frames.map(frame => frame.deref()), [undefined])
  t.notOk(reader.ended)
})

t.test('a call that lacks a scope is answered with a challenge', async t => {
  const refused = '{"jsonrpc":"2.0","id":7,"error":{"code":-31000,"message":"lacks a scope"}}'
  const { port } = await start(t, {
    ...upstream((exchange, { transport }) => {
      transport.send(exchange, { ...frameOf(refused), relayMade: true, envelope: { neededScopes: ['admin'] } })
    }),
    resource: { audience: 'https://relay.example', scopes: ['mcp'] },
  })
  const got = await ask(port, { headers: modern, body: call() })
  t.match(got, {
    status: 403, body: refused,
    headers: {
      'content-type': 'application/json',
      'www-authenticate': 'Bearer error="insufficient_scope", scope="mcp admin", ' +
        'resource_metadata="https://relay.example/.well-known/oauth-protected-resource/mcp"',
    },
  })
})

for (const accept of ['application/json', 'text/event-stream'])
  t.test(`a client that accepts ${accept} alone gets its response in that form, and nothing else`, async t => {
    const timers = new ManualTimers()
    const { port, session } = await start(t, { timers, keepAliveMs: 15_000 })
    const response = begin(port, { headers: { ...post, accept }, body: initialize() })
    const opened = await session(0)
    const { exchange } = await opened.until('frame')
    for (let turn = 0; turn < 5; turn += 1) timers.fire(15_000)
    const isJson = accept === 'application/json'
    if (isJson) opened.transport.send(exchange, frameOf(progress))
    opened.transport.send(exchange, result('1'))
    const got = await response
    t.equal(got.headers['content-type'], accept)
    const text = (await textOf(got)).replaceAll(': keep-alive\n\n', '')
    const answer = '{"jsonrpc":"2.0","id":1,"result":{}}'
    t.equal(text, isJson ? answer : `data: ${answer}\n\n`)
  })

t.test('the first bytes of a GET stream come at once', async t => {
  const { port, session } = await start(t, { act: echo, timers: new ManualTimers() })
  const headers = { ...post, 'mcp-session-id': await handshake(port) }
  const response = await begin(port, { method: 'GET', headers })
  const [chunk] = (await once(response, 'data')) as [Buffer]
  t.equal(chunk.toString(), ': open\n\n')
  response.destroy()
  await session(0)
})
