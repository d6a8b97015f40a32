import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { HttpUpstream } from '#relay/transport/upstream/pool.js'
import { httpServer, type HttpServerOptions } from '#relay/transport/upstream/forward.js'
import { answer, ask, bare, frame, json, limits, modern, notify, post, serve, stream } from './harness.js'
import { listen } from '../listen.js'
import { exchange } from '#test/exchange.js'

/** The server as a gateway's session sees it, closed when the test is over. */
const connect = (t: Test, url: URL, options: Partial<HttpServerOptions> = {}) => {
  const upstream = new HttpUpstream(url)
  const transport =
    httpServer({
      upstream, headers: new Map(), limits, inputSchemaOf: () => undefined, stopMs: 50, ...options,
    })
  const events = listen(transport)
  t.teardown(async () => {
    await transport.close()
    await upstream.close()
  })
  return { ...events, transport, upstream }
}

for (const kind of ['json', 'sse'] as const) {
  t.test(`before a response is read, the transport asks for its schema by exchange and id (${kind})`, async t => {
    const server = await serve(t, ({ message }, response) => {
      // A short message is parsed without one.
      const text = answer(message.id ?? 0, { content: [], structuredContent: { a: 'x'.repeat(1024) } })
      if (kind === 'json') return json(response, text)
      stream(response).event(text)
      response.end()
    })
    const client = connect(t, server.url)
    post(client.transport, 'one', ask(1, 'tools/call'))
    await client.line(0)
    post(client.transport, 'two', ask('a', 'tools/call'))
    await client.line(1)
    t.strictSame(client.asked, [['one', '1'], ['two', '"a"']])
  })
}

t.test('a request goes out with the headers that are the client\'s to say, and the response\'s come back', async t => {
  const server = await serve(t, ({ message }, response) =>
    json(response, answer(message.id ?? 0), {
      'mcp-session-id': 's', 'x-own': '1', connection: 'x-hop', 'x-hop': '1', 'alt-svc': 'h3=":1"',
      'set-cookie': 'a=1',
    }))
  const client = connect(t, server.url, { headers: new Map([['x-key', 'operator']]) })
  post(client.transport, 'one', ask(1), {
    authorization: 'Bearer client', 'mcp-protocol-version': '2025-11-25', 'mcp-session-id': 's',
    'last-event-id': '7', 'x-key': 'client',
    'x-custom': 'yes', connection: 'keep-alive, x-hop', 'x-hop': '1', 'keep-alive': 'timeout=5',
    te: 'trailers', 'accept-encoding': 'br',
    'proxy-authorization': 'Basic x', 'content-length': '999', expect: '100-continue',
  })
  t.equal(await client.line(0), answer(1))
  const { headers, body } = await server.asked('ping')
  t.match(headers, {
    authorization: 'Bearer client', 'mcp-protocol-version': '2025-11-25', 'mcp-session-id': 's',
    'last-event-id': '7', 'x-key': 'operator',
    'x-custom': 'yes', accept: 'application/json, text/event-stream', host: server.url.host,
    'accept-encoding': 'identity',
    'content-length': String(body.length),
  })
  for (const name of ['x-hop', 'keep-alive', 'te', 'proxy-authorization', 'expect']) {
    t.equal(headers[name], undefined, name)
  }
  const { exchange: on, whole, frame: { envelope } } = await client.first('frame')
  t.match({ on, whole }, { on: exchange('one'), whole: true })
  const head = envelope?.response ?? { status: 0, headers: new Map<string, readonly string[]>() }
  t.equal(head.status, 200)
  t.same(head.headers.get('mcp-session-id'), ['s'])
  t.same(head.headers.get('set-cookie'), ['a=1'])
  for (const name of [
    'content-length', 'transfer-encoding', 'connection', 'x-hop', 'keep-alive', 'alt-svc',
  ]) t.notOk(head.headers.has(name), name)
  t.same(client.events.map(({ type }) => type), ['frame'])
})

t.test('statuses pass as they are', async t => {
  const cases = [
    [202, {}, ''],
    [401, { 'www-authenticate': 'Bearer resource_metadata="https://x"' }, 'no'],
    [403, {}, ''],
    [404, {}, '<html>'],
    [405, { allow: 'POST' }, ''],
    [429, { 'retry-after': '3' }, ''],
    [503, {}, ''],
  ] as const
  const server = await serve(t, ({ url }, response) => {
    const [status, headers, body] = cases.find(([status]) => url === `/${status}`) ?? cases[0]
    response.writeHead(status, { 'content-type': 'text/html', ...headers }).end(body)
  })
  for (const [status, headers, body] of cases) {
    const client = connect(t, new URL(`/${status}`, server.url))
    for (const [name, begin] of [
      ['notification', () => post(client.transport, 'notification', notify('notifications/x'))],
      ['stream', () => bare(client.transport, 'stream', 'GET')],
      ['end', () => bare(client.transport, 'end', 'DELETE')],
    ] as const) {
      if (status === 202 && name === 'stream') continue
      begin()
      await client.of('stream-ended', name)
      const head = await client.of('head', name)
      t.equal(head.status, status, `${name} ${status}`)
      for (const [name, value] of Object.entries(headers)) t.same(head.headers.get(name), [value])
      if (status === 202) continue
      t.same(head.headers.get('content-type'), ['text/html'])
      const pages =
        client.all('frame').filter(event => event.exchange.name === name).map(({ frame }) => frame)
      t.match(pages, body === '' ? [] : [{
        bytes: Buffer.from(body), message: { kind: 'page', key: undefined, text: body },
      }])
    }
    if (status === 202) continue
    post(client.transport, 'request', ask(1))
    await client.of('stream-ended', 'request')
    const page = client.all('frame').find(({ exchange }) => exchange.name === 'request')?.frame
    if (body !== '') t.match(page, { bytes: Buffer.from(body), message: { kind: 'page', key: '1' } })
    else t.match(
      await client.first('lost'),
      { exchange: exchange('request'), key: '1', reason: `the server answered HTTP ${status}` },
    )
    t.ok(client.all('head').some(event => event.exchange.name === 'request' && event.status === status))
  }
})

t.test('an error of the protocol passes with its status, whatever its id', async t => {
  const server = await serve(t, ({ message }, response) => {
    const id = message.id === 1 ? 1 : null
    json(response, JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32022, message: 'no' } }), {}, 400)
  })
  const client = connect(t, server.url)
  post(client.transport, 'one', ask(1))
  post(client.transport, 'two', ask(2))
  await client.frames(2)
  t.same(client.all('head').map(({ status }) => status), [400, 400])
  t.match(
    client.all('frame').find(({ exchange }) => exchange.name === 'one')?.frame.message,
    { kind: 'error', key: '1' },
  )
  const unread = client.all('frame').find(({ exchange }) => exchange.name === 'two')?.frame
  t.match(unread, {
    message: { kind: 'error', id: 2, key: '2', error: { code: -32022 } }, faults: [],
    bytes: Buffer.from('{"jsonrpc":"2.0","id":null,"error":{"code":-32022,"message":"no"}}'),
  })
})

t.test('a response that is neither JSON nor a stream is a frame with a fault, and hides its head', async t => {
  const server = await serve(t, (_, response) =>
    void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'))
  const client = connect(t, server.url)
  post(client.transport, 'one', ask(1))
  await client.first('stream-ended')
  t.match(
    client.all('frame')[0]?.frame, { message: { kind: 'unusable', keys: ['1'] }, faults: [{ kind: 'http' }] },
  )
  t.same(client.all('head'), [])
  t.match(client.all('lost'), [{ key: '1' }])
  bare(client.transport, 'two', 'GET')
  await client.of('stream-ended', 'two')
  t.match(client.all('head'), [{ exchange: exchange('two'), status: 502 }])
})

t.test('what cannot be reached is 502 where nobody is due an answer, and a loss where somebody is', async t => {
  const server = await serve(t, () => {})
  await server.stop()
  const client = connect(t, server.url)
  post(client.transport, 'request', ask('x'))
  t.match(
    await client.first('lost'),
    { exchange: exchange('request'), key: '"x"', reason: 'the server refused the connection' },
  )
  t.same(client.all('head'), [])
  post(client.transport, 'notification', notify('notifications/x'))
  t.match(await client.first('head'), { exchange: exchange('notification'), status: 502 })
})

t.test('an event keeps its fields, and those without a message pass beside the messages', async t => {
  const server = await serve(t, (_, response) => {
    const events = stream(response, { 'x-accel-buffering': 'no' })
    events.write(': keep-alive\n\nid: 1\nretry: 3000\ndata: \n\n')
    events.event(answer(1), 'event: message\nid: 2\n')
    events.end()
  })
  const client = connect(t, server.url)
  post(client.transport, 'one', ask(1))
  await client.first('stream-ended')
  t.same(client.all('frame').map(({ frame }) => frame.envelope), [{ event: 'event: message\nid: 2\n' }])
  t.equal(
    client.all('between').map(({ lines }) => lines).join(''),
    ': keep-alive\n\nid: 1\nretry: 3000\ndata: \n\n',
  )
  t.match(client.events.at(-1), { type: 'stream-ended', exchange: exchange('one') })
})

t.test('a cut stream is resumable only in a legacy session, and once the client has an id to go on from', async t => {
  const server = await serve(t, ({ message }, response) => {
    const events = stream(response)
    events.write(message.params?.['id'] === true ? 'id: 1\ndata: \n\n' : ': no id\n\n')
    events.cut()
  })
  const client = connect(t, server.url)
  const cases = [
    [
      'with an id', ask(1, 'x', { id: true }),
      { 'mcp-session-id': 's', 'mcp-protocol-version': '2025-11-25' }, true,
    ],
    ['without an id', ask(2, 'x'), { 'mcp-session-id': 's', 'mcp-protocol-version': '2025-11-25' }, false],
    ['without a session', ask(3, 'x', { id: true }), { 'mcp-protocol-version': '2025-11-25' }, false],
    [
      'modern', modern(4, 'x', { id: true }), { 'mcp-session-id': 's', 'mcp-protocol-version': '2026-07-28' },
      false,
    ],
  ] as const
  for (const [name, sent, headers, resumable] of cases) {
    post(client.transport, name, sent, headers)
    t.equal((await client.of('stream-ended', name)).resumable, resumable, name)
    t.equal(client.all('lost').some(({ exchange }) => exchange.name === name), !resumable, name)
  }
})

t.test('a stream whose last id cannot be passed on is not resumable; one that was resumed still is', async t => {
  const server = await serve(t, ({ headers }, response) => {
    const events = stream(response)
    if (headers['x-event'] === undefined) events.write(': nothing yet\n\n')
    else {
      events.write(`id: ${String(headers['x-event'])}\n`)
      events.event('{"jsonrpc":"2.0","id":1,"method":"roots/list"}')
    }
    events.cut()
  })
  const client = connect(t, server.url)
  const legacy = { 'mcp-session-id': 's', 'mcp-protocol-version': '2025-11-25' }
  // Some readers take the second character for the end of a line: the client does not get the id.
  for (const [name, event, resumable] of [['a call', '7', true], ['a strange id', 'a\u0085', false]] as const) {
    post(client.transport, name, ask(1), { ...legacy, 'x-event': event })
    t.equal((await client.of('stream-ended', name)).resumable, resumable, name)
    t.equal(client.all('lost').some(({ exchange }) => exchange.name === name), !resumable, name)
  }
  for (const [name, more, resumable] of [['first', {}, false], ['resumed', { 'last-event-id': '4' }, true]] as const) {
    bare(client.transport, name, 'GET', { ...legacy, ...more })
    t.equal((await client.of('stream-ended', name)).resumable, resumable, name)
  }
  t.notOk(client.all('between').some(({ lines }) => lines.includes('data')), 'nothing is added to a stream')
})

t.test('the client gets no event ids of a request of the relay, which it cannot resume', async t => {
  const server = await serve(t, ({ message }, response) => {
    const events = stream(response)
    events.event('{"jsonrpc":"2.0","method":"notifications/x"}', 'id: 1\n')
    events.event(answer(message.id ?? 0), 'id: 2\n')
    events.end()
  })
  const client = connect(t, server.url)
  client.transport.open?.(exchange('one'), { method: 'POST', body: ask(1).bytes, headers: new Map() })
  client.transport.send(exchange('one'), { ...ask('own-1', 'tools/list'), relayMade: true })
  await client.frames(2)
  t.strictSame(client.all('frame').map(({ frame }) => frame.envelope?.event), [undefined, undefined])
})

t.test('a GET is handed on, and what comes of it is heard in its exchange', async t => {
  const server = await serve(t, ({ headers }, response) => {
    const events = stream(response)
    if (headers['last-event-id'] === '5') events.event(answer(1), 'id: 6\n')
    events.event('{"jsonrpc":"2.0","method":"notifications/x"}')
  })
  const client = connect(t, server.url)
  bare(client.transport, 'rest', 'GET', { 'last-event-id': '5', 'mcp-session-id': 's' })
  await client.frames(2)
  t.match(client.events, [
    { type: 'head', exchange: exchange('rest') }, { type: 'frame', exchange: exchange('rest') },
    { type: 'frame', exchange: exchange('rest') },
  ])
  t.match(server.seen[0], { method: 'GET', headers: { accept: 'text/event-stream', 'mcp-session-id': 's' } })
  client.transport.shut?.(exchange('rest'))
  await server.seen[0]?.closed
})

t.test('what the relay asks on a client\'s exchange borrows its credentials, and shows nothing of HTTP', async t => {
  const server = await serve(t, ({ message }, response) => json(response, answer(message.id ?? 0)))
  const client = connect(t, server.url)
  const call = modern(1, 'tools/call', { name: 'x', arguments: {} })
  client.transport.open?.(exchange('one'), {
    method: 'POST', body: call.bytes,
    headers: new Map([
      ['authorization', 'Bearer client'], ['mcp-method', 'tools/call'], ['mcp-name', 'x'],
      ['mcp-param-a', 'b'], ['mcp-protocol-version', '2026-07-28'],
    ]),
  })
  client.transport.send(exchange('one'), { ...modern('own-1', 'tools/list'), relayMade: true })
  await client.line(0)
  t.same(client.events.map(({ type }) => type), ['frame'])
  const { headers } = await server.asked('tools/list')
  t.match(headers, {
    authorization: 'Bearer client', 'mcp-method': 'tools/list', 'mcp-protocol-version': '2026-07-28',
    'content-type': 'application/json',
  })
  t.equal(headers['mcp-name'], undefined)
  t.equal(headers['mcp-param-a'], undefined)
  client.transport.send(exchange('one'), call)
  await client.line(1)
  t.match((await server.asked('tools/call')).headers, { 'mcp-name': 'x', 'mcp-param-a': 'b' })
})

t.test('a call that the relay has changed is still the client\'s, with headers that repeat its new body', async t => {
  const server = await serve(t, ({ message }, response) =>
    json(response, answer(message.id ?? 0), { 'www-authenticate': 'Bearer error="x"' }, 401))
  const inputSchema = { type: 'object', properties: { q: { type: 'string', 'x-mcp-header': 'q' } } }
  const client = connect(t, server.url, { inputSchemaOf: name => (name === 'a.b' ? inputSchema : undefined) })
  const sent = modern(1, 'tools/call', { name: 'a_b_1', arguments: { q: 'hi' } })
  client.transport.open?.(exchange('one'), {
    method: 'POST', body: sent.bytes,
    headers: new Map([
      ['authorization', 'Bearer client'], ['mcp-method', 'tools/call'], ['mcp-name', 'a_b_1'],
      ['mcp-param-q', 'hi'], ['mcp-protocol-version', '2026-07-28'], ['x-custom', 'yes'],
    ]),
  })
  client.transport.send(exchange('one'), modern(1, 'tools/call', { name: 'a.b', arguments: { q: 'hi' } }))
  await client.of('stream-ended', 'one')
  t.match((await server.asked('tools/call')).headers, {
    authorization: 'Bearer client', 'mcp-method': 'tools/call', 'mcp-name': 'a.b', 'mcp-param-q': 'hi',
    'mcp-protocol-version': '2026-07-28', 'x-custom': 'yes',
  })
  const head = await client.of('head', 'one')
  t.equal(head.status, 401)
  t.same(head.headers.get('www-authenticate'), ['Bearer error="x"'])
})

t.test('the client going away reaches the server; so does a request that nobody waits for', async t => {
  const server = await serve(t, (_, response) =>
    void stream(response).event('{"jsonrpc":"2.0","method":"notifications/x"}'))
  const client = connect(t, server.url)
  post(client.transport, 'one', ask(1))
  await client.line(0)
  client.transport.shut?.(exchange('one'))
  await server.seen[0]?.closed
  post(client.transport, 'two', ask(2))
  await client.line(1)
  client.transport.abandon?.(exchange('two'), '2')
  await server.seen[1]?.closed
  await client.first('stream-ended')
  t.same(client.all('lost').filter(({ exchange }) => exchange.name === 'two'), [])
})

t.test('what the relay asks for a client that has left is not sent: nobody would end it', async t => {
  const server = await serve(t, (_, response) => json(response, answer(1)))
  const client = connect(t, server.url)
  post(client.transport, 'one', ask(1))
  await client.line(0)
  client.transport.shut?.(exchange('one'))
  client.transport.send(exchange('one'), { ...ask('own-1', 'tools/list'), relayMade: true })
  t.match(await client.of('lost', 'one'), { key: '"own-1"', reason: 'the client has left' })
  t.equal(server.of('tools/list').length, 0)
})

t.test('a stream that its client closes has no failure', async t => {
  const server = await serve(t, (_, response) => void stream(response).write(': open\n\n'))
  const client = connect(t, server.url)
  bare(client.transport, 'stream', 'GET', { 'mcp-session-id': 's' })
  await client.of('head', 'stream')
  client.transport.shut?.(exchange('stream'))
  await client.of('stream-ended', 'stream')
  t.strictSame(client.all('head').map(({ status }) => status), [200])
})

t.test('a modern server is not told of a cancellation of the relay\'s own, a legacy one is', async t => {
  const server = await serve(t, ({ message }, response) => {
    if (message.method === 'notifications/cancelled') response.writeHead(202).end()
    else stream(response).event('{"jsonrpc":"2.0","method":"notifications/x"}')
  })
  const client = connect(t, server.url)
  const cancelled = { ...notify('notifications/cancelled', { requestId: 1 }), relayMade: true as const }
  post(client.transport, 'modern', modern(1, 'x'), { 'mcp-protocol-version': '2026-07-28' })
  await client.of('frame', 'modern')
  client.transport.abandon?.(exchange('modern'), '1')
  client.transport.send(exchange('modern'), cancelled)
  post(
    client.transport, 'legacy', ask(1, 'x'),
    { 'mcp-protocol-version': '2025-11-25', authorization: 'Bearer client' },
  )
  await client.of('frame', 'legacy')
  client.transport.abandon?.(exchange('legacy'), '1')
  client.transport.send(exchange('legacy'), cancelled)
  t.match(
    (await server.asked('notifications/cancelled')).headers,
    { 'mcp-protocol-version': '2025-11-25', authorization: 'Bearer client' },
  )
  t.equal(server.of('notifications/cancelled').length, 1)
  t.same(client.all('head').map(({ exchange }) => exchange.name), ['modern', 'legacy'])
})

for (const form of ['202', 'an empty stream']) {
  t.test(`a request that is answered by ${form} waits for the stream of its session, while there is one`, async t => {
    const gets = new Map<unknown, ReturnType<typeof stream>>()
    const server = await serve(t, ({ method, headers }, response) => {
      if (method === 'GET') gets.set(headers['mcp-session-id'], stream(response))
      else if (form === '202') response.writeHead(202).end()
      else stream(response).end()
    })
    const client = connect(t, server.url)
    const on = (id: string) => ({ 'mcp-session-id': id, 'mcp-protocol-version': '2025-11-25' })
    for (const id of ['a', 'b']) bare(client.transport, `get ${id}`, 'GET', on(id))
    await client.of('head', 'get a')
    await client.of('head', 'get b')
    post(client.transport, 'one', ask(1, 'tools/call'), on('a'))
    t.match(await client.of('stream-ended', 'one'), { resumable: true })
    t.match(await client.of('head', 'one'), { status: form === '202' ? 202 : 200 }, 'as the server says')
    t.match(client.all('lost'), [{ key: '1', isElsewhere: true }])
    gets.get('a')?.event(answer(1))
    await client.line(0)
    post(client.transport, 'two', ask(2, 'tools/call'), on('a'))
    await client.of('stream-ended', 'two')
    gets.get('b')?.end()
    await client.of('stream-ended', 'get b')
    t.equal(client.all('lost').length, 2, 'the stream of another session')
    gets.get('a')?.end()
    await client.of('stream-ended', 'get a')
    t.match(client.all('lost')[2], { key: '2', isElsewhere: undefined, exchange: { name: 'get a' } })
    t.equal(client.all('lost').length, 3)
    post(client.transport, 'three', ask(3, 'tools/call'), on('a'))
    t.match(await client.of('lost', 'three'), { key: '3', isElsewhere: undefined })
  })
}

t.test('two clients may ask with the same id', async t => {
  const server = await serve(t, ({ message, headers }, response) =>
    json(response, answer(message.id ?? 0, { to: headers['x-client'] })))
  const client = connect(t, server.url)
  post(client.transport, 'a', ask(1), { 'x-client': 'a' })
  post(client.transport, 'b', ask(1), { 'x-client': 'b' })
  await client.frames(2)
  for (const name of ['a', 'b']) {
    t.match(
      client.all('frame').find(({ exchange }) => exchange.name === name)?.frame.message,
      { result: { to: name } },
    )
  }
  t.same(client.all('lost'), [])
})

t.test('a packed body is unpacked, though none was asked for', async t => {
  const packers = {
    gzip: gzipSync, 'x-gzip': gzipSync, deflate: deflateSync, br: brotliCompressSync, raw: deflateRawSync,
    identity: (body: Buffer) => body,
  }
  for (const [encoding, pack] of Object.entries(packers)) {
    const server = await serve(t, ({ message: { id } }, response) => {
      const headers = { 'content-encoding': encoding === 'raw' ? 'deflate' : encoding }
      if (id === 1) return json(response, pack(Buffer.from(answer(1))), headers)
      response.writeHead(200, { 'content-type': 'text/event-stream', ...headers })
        .end(pack(Buffer.from(`data: ${answer(2)}\n\n`)))
    })
    const client = connect(t, server.url)
    post(client.transport, 'json', ask(1))
    t.equal(await client.line(0), answer(1), encoding)
    post(client.transport, 'sse', ask(2))
    t.equal(await client.line(1), answer(2), encoding)
    t.notOk((await client.first('head')).headers.has('content-encoding'))
  }
})

t.test('a body that cannot be unpacked is a fault, and a bomb is cut off at the limit', async t => {
  const bomb = Buffer.alloc(5_000_000, 'a')
  const packed = gzipSync(answer(1))
  const cases = [
    ['an encoding that was not asked for', 'zstd', Buffer.from('x'), 'http'],
    ['two encodings', 'gzip, br', packed, 'http'],
    ['a body that is not packed as it says', 'gzip', Buffer.from(answer(1)), 'http'],
    ['a packed body without its end', 'gzip', packed.subarray(0, -12), 'http'],
    ['a gzip bomb', 'gzip', gzipSync(bomb), 'size'],
    ['a brotli bomb', 'br', brotliCompressSync(bomb), 'size'],
    ['too long a body', 'identity', Buffer.alloc(limits.messageBytes + 1, ' '), 'size'],
  ] as const
  for (const [name, encoding, body, kind] of cases) {
    const server = await serve(t, (_, response) => json(response, body, { 'content-encoding': encoding }))
    const client = connect(t, server.url)
    post(client.transport, 'one', ask(1))
    await client.first('stream-ended')
    t.match(
      client.all('frame').map(({ frame }) => frame),
      [{ message: { kind: 'unusable', keys: ['1'] }, faults: [{ kind }] }], name,
    )
    t.ok((client.all('frame')[0]?.frame.bytes.length ?? 0) <= 4096)
  }
})

t.test('an event over the limit is reported, and the next ones are read', async t => {
  const server = await serve(t, (_, response) => {
    const events = stream(response)
    events.event(`{"jsonrpc":"2.0","id":1,"result":{"text":"${'x'.repeat(limits.messageBytes)}"}}`)
    events.event(answer(1))
    events.end()
  })
  const client = connect(t, server.url)
  post(client.transport, 'one', ask(1))
  await client.frames(2)
  t.match(
    client.all('frame').map(({ frame }) => frame),
    [{ faults: [{ kind: 'size' }] }, { message: { kind: 'result' } }],
  )
})

t.test('a body that is cut off is a loss, not a frame', async t => {
  const server = await serve(t, (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).write(answer(1))
    setImmediate(() => response.socket?.destroySoon())
  })
  const client = connect(t, server.url)
  post(client.transport, 'one', ask(1))
  t.match(await client.first('lost'), { key: '1', reason: 'the connection to the server was cut' })
  t.same(client.lines(), [])
})

t.test('a batch is one request, and each of its members is owed an answer', async t => {
  const server = await serve(t, (_, response) => json(response, `[${answer(1)}]`))
  const client = connect(t, server.url)
  post(client.transport, 'one', frame(`[${ask(1).bytes.toString()},${ask(2).bytes.toString()}]`))
  await client.first('stream-ended')
  t.equal(client.lines()[0], `[${answer(1)}]`)
  t.match(client.all('lost'), [{ key: '2', reason: 'the response ended before the answer' }])
})

t.test('closing tells the end, and cuts what is open', async t => {
  const server = await serve(t, (_, response) => void stream(response))
  const client = connect(t, server.url)
  bare(client.transport, 'one', 'GET')
  await client.first('head')
  await client.transport.close()
  await server.seen[0]?.closed
  t.same(client.events.map(({ type }) => type), ['head', 'ended'])
})

t.test('what may be taken for a result is judged as one, whatever the status says', async t => {
  const result = { content: [{ type: 'text', text: 'x' }] }
  const deep = `{"jsonrpc":"2.0","result":${'['.repeat(100)}${']'.repeat(100)}}`
  const error = { jsonrpc: '2.0', error: { code: -1, message: 'no' } }
  const asked = (body: unknown) => [body, { kind: 'unusable', keys: ['1'] }] as const
  const cases = [
    [[{ jsonrpc: '2.0', id: 1, result }], { kind: 'batch' }],
    [{ jsonrpc: '2.0', id: 1, result }, { kind: 'result', key: '1' }],
    asked({ jsonrpc: '2.0', result }),
    asked({ jsonrpc: '2.0', id: null, result }),
    asked({ jsonrpc: '2.0', id: null, result, error: error.error }),
    asked({ result }),
    ['{"jsonrpc":"2.0","id":1,"result":{"content":[]},"Result":{}}', { kind: 'result', key: '1' }],
    asked('{"jsonrpc":"2.0","Result":{"content":[]}}'),
    asked(deep),
    [error, { kind: 'error', key: '1' }],
    [{ ...error, id: 1 }, { kind: 'error', key: '1' }],
    [{ error: 'invalid_token' }, { kind: 'page', key: '1' }],
    [{ message: 'result' }, { kind: 'page', key: '1' }],
    ['{"error":', { kind: 'page', key: '1' }],
  ] as const
  for (const [body, message] of cases) {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const server = await serve(t, (_, response) => json(response, text, {}, 400))
    const client = connect(t, server.url)
    post(client.transport, 'one', ask(1))
    t.match((await client.of('frame', 'one')).frame, { bytes: Buffer.from(text), message }, text.slice(0, 60))
  }
})

t.test('an error of HTTP is the answer to what was asked, whatever id it names', async t => {
  const server = await serve(t, (_, response) =>
    json(response, '{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"no"}}', {}, 404))
  const client = connect(t, server.url)
  post(client.transport, 'one', ask(1))
  const { frame: { bytes, message } } = await client.of('frame', 'one')
  t.match(message, { kind: 'error', id: 1, key: '1', error: { code: -32600, message: 'no' } })
  t.equal(
    bytes.toString(), '{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"no"}}',
    'for a client with others in flight',
  )
})

t.test('an error to several requests passes as it is, and is the answer to none of them', async t => {
  const server = await serve(t, (_, response) =>
    json(response, '{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"no"}}', {}, 400))
  const client = connect(t, server.url)
  post(
    client.transport, 'batch',
    frame([{ jsonrpc: '2.0', id: 1, method: 'ping' }, { jsonrpc: '2.0', id: 2, method: 'ping' }]),
  )
  await client.of('stream-ended', 'batch')
  t.match(client.all('head'), [{ status: 400 }])
  t.match(
    client.all('frame').map(({ frame }) => frame),
    [{ message: { kind: 'page', key: undefined, text: /"no"/ } }],
  )
  t.match(client.all('lost').map(({ key }) => key), ['1', '2'])
})

t.test('a response that is not read holds back itself alone', async t => {
  const server = await serve(t, ({ message }, response) => {
    if (message.id === 2) return json(response, answer(2))
    const events = stream(response)
    for (let index = 0; index < 50; index++) {
      events.event(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"n":${index}}}`)
    }
    events.event(answer(1))
    response.end()
  })
  const client = connect(t, server.url)
  post(client.transport, 'slow', ask(1))
  client.transport.pause(exchange('slow'))
  post(client.transport, 'quick', ask(2))
  await client.of('frame', 'quick')
  t.notOk(client.all(
    'frame',
  ).some(({ exchange, frame: { message } }) => exchange.name === 'slow' && message.kind === 'result'))
  client.transport.resume(exchange('slow'))
  await client.of('stream-ended', 'slow')
  t.equal(client.all('frame').filter(({ exchange }) => exchange.name === 'slow').length, 51)
})

t.test('what answers the server is not cut off by the leaving of the client', async t => {
  let taken: (() => void) | undefined
  const server = await serve(t, (_, response) => {
    taken = () => response.writeHead(202).end()
  })
  const client = connect(t, server.url)
  post(client.transport, 'one', frame('{"jsonrpc":"2.0","id":"s","result":{}}'))
  const asked = await server.until(() => server.seen[0])
  client.transport.shut?.(exchange('one'))
  let isCut = false
  void asked.closed.then(() => (isCut = true))
  post(client.transport, 'two', ask(5))
  const due = await server.asked('ping')
  t.equal(isCut, false)
  client.transport.shut?.(exchange('two'))
  await due.closed
  t.equal(isCut, false, 'what waits for an answer is')
  taken?.()
})
