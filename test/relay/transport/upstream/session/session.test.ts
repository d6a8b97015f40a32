import t, { type Test } from 'tap'
import { stdioExchange } from '#relay/core/event.js'
import type { Frame } from '#relay/protocol/frame.js'
import { backoff, waitMs } from '#relay/transport/upstream/session/responses.js'
import { httpSession, type HttpSessionOptions } from '#relay/transport/upstream/session/session.js'
import {
  answer, ask, initialize, initialized, json, limits, modern, notify, serve, session, stream,
} from '../harness.js'
import { listen } from '../../listen.js'

const quick = { firstMs: 1, maxMs: 5, attempts: 3 }

/** A session with the server, closed when the test is over. */
const connect = (t: Test, url: URL, options: Partial<HttpSessionOptions> = {}) => {
  const transport = httpSession({
    url, headers: new Map(), limits, inputSchemaOf: () => undefined, backoff: quick, patienceMs: 20,
    stopMs: 50, ...options,
  })
  const events = listen(transport)
  t.teardown(() => transport.close())
  return { ...events, transport, send: (sent: Frame) => transport.send(stdioExchange, sent) }
}

/** As `connect`, with the handshake done. */
const greet = async (t: Test, url: URL, options?: Partial<HttpSessionOptions>) => {
  const client = connect(t, url, options)
  client.send(initialize)
  await client.line(0)
  client.send(initialized)
  return client
}

t.test('the session id and the agreed revision go with everything after initialize, and DELETE ends the session', async t => {
  const server = await serve(t, session(({ message }, response) => json(response, answer(message.id ?? 0))))
  const client = await greet(t, server.url)
  client.send(ask(1, 'tools/list'))
  await client.line(1)
  await client.transport.close()
  const [first, second, , third] =
    server.seen.filter(({ method }) => method !== 'GET').concat(server.of('GET'))
  t.equal(first?.headers['mcp-session-id'], undefined)
  t.equal(first?.headers['mcp-protocol-version'], undefined)
  t.equal(first?.headers.accept, 'application/json, text/event-stream')
  t.equal(first?.headers['accept-encoding'], 'identity')
  t.match(second?.headers, { 'mcp-session-id': 'session-1', 'mcp-protocol-version': '2025-11-25' })
  t.match(third?.headers, { 'mcp-session-id': 'session-1', 'mcp-protocol-version': '2025-11-25' })
  t.match(server.of('DELETE')[0]?.headers, { 'mcp-session-id': 'session-1' })
  t.match(client.all('ended'), [{ type: 'ended' }])
  await server.quiet()
})

for (const kind of ['json', 'sse'] as const) {
  t.test(`before a response is read, the session asks for its schema by its id (${kind})`, async t => {
    const server = await serve(t, session(({ message }, response) => {
      // A short message is parsed without one.
      const text = answer(message.id ?? 0, { content: [], structuredContent: { a: 'x'.repeat(1024) } })
      if (kind === 'json') return json(response, text)
      stream(response).event(text)
      response.end()
    }))
    const client = await greet(t, server.url)
    client.send(ask('a', 'tools/call'))
    await client.line(1)
    t.strictSame(client.asked.at(-1), [stdioExchange.name, '"a"'])
  })
}

t.test('nothing overtakes the handshake', async t => {
  let welcome = () => {}
  const server = await serve(t, (seen, response) => {
    if (seen.message.method === 'initialize') welcome = () => session(() => {})(seen, response)
    else session(({ message }) => json(response, answer(message.id ?? 0)))(seen, response)
  })
  const client = connect(t, server.url)
  client.send(initialize)
  client.send(initialized)
  client.send(ask(1))
  await server.asked('initialize')
  t.equal(server.seen.length, 1)
  welcome()
  await client.line(1)
  t.same(
    server.seen.filter(({ method }) => method === 'POST').map(({ message }) => message.method),
    ['initialize', 'notifications/initialized', 'ping'],
  )
})

t.test('every event of a stream is one frame, wherever the stream is split', async t => {
  const text =
    `: hello\nid: 1\ndata: \n\ndata: {"jsonrpc":"2.0",\ndata: "method":"notifications/é"}\r\n\r\nevent: message\nid: 2\ndata: ${answer(1)}\n\n`
  const bytes = Buffer.from(text)
  for (let at = 1; at < bytes.length; at += 7) {
    const server = await serve(t, (_, response) => {
      stream(response)
      response.write(bytes.subarray(0, at), () => response.end(bytes.subarray(at)))
    })
    const client = connect(t, server.url)
    client.send(ask(1))
    t.equal(await client.line(1), answer(1))
    t.same(client.lines(), ['{"jsonrpc":"2.0",\n"method":"notifications/é"}', answer(1)])
    t.same(client.all('lost'), [])
    await client.transport.close()
    await server.stop()
  }
})

t.test('a stream that is cut before the answer is lost, and says why', async t => {
  const server = await serve(t, (_, response) => {
    const events = stream(response)
    events.event('{"jsonrpc":"2.0","method":"notifications/progress"}')
    response.write(`data: ${answer(1).slice(0, 10)}`, () => events.cut())
  })
  const client = connect(t, server.url)
  client.send(ask(1, 'tools/call', { name: 'x' }))
  t.match(await client.first('lost'), { key: '1', reason: 'the connection to the server was cut' })
  t.equal(client.lines().length, 1)
})

t.test('a stream with event ids is resumed where it was cut, as often as it goes on', async t => {
  const server = await serve(t, session((seen, response) => {
    const events = stream(response)
    const last = seen.headers['last-event-id']
    if (seen.method === 'POST') events.write('id: a\nretry: 1\ndata: \n\n')
    else if (last === 'a') events.event('{"jsonrpc":"2.0","method":"notifications/progress"}', 'id: b\n')
    else events.event(answer(1), 'id: c\n')
    if (last === undefined || last === 'a') events.cut()
    else events.end()
  }))
  const client = await greet(t, server.url)
  client.send(ask(1, 'tools/call', { name: 'x' }))
  t.equal(await client.line(2), answer(1))
  const resumed = server.of('GET').filter(({ headers }) => headers['last-event-id'] !== undefined)
  t.same(resumed.map(({ headers }) => headers['last-event-id']), ['a', 'b'])
  t.match(
    resumed[0]?.headers,
    { 'mcp-session-id': 'session-1', 'mcp-protocol-version': '2025-11-25', accept: 'text/event-stream' },
  )
  t.same(client.all('lost'), [])
})

t.test('a stream that cannot be resumed is lost', async t => {
  const cases = [
    ['refused', 405, 'the stream was cut, and the server does not resume it (HTTP 405)', 1],
    ['failing', 503, 'the stream was cut and could not be resumed: HTTP 503', 3],
  ] as const
  for (const [name, status, reason, attempts] of cases) {
    const server = await serve(t, session(({ method }, response) => {
      if (method === 'GET') return void response.writeHead(status).end()
      const events = stream(response)
      events.write('id: a\ndata: \n\n')
      events.end()
    }))
    const client = await greet(t, server.url)
    client.send(ask(1, 'tools/call', { name: 'x' }))
    t.match(await client.first('lost'), { key: '1', reason }, name)
    t.equal(server.of('GET').filter(({ headers }) => headers['last-event-id'] !== undefined).length, attempts)
  }
})

t.test('what the server says unasked comes by a stream of its own, opened after the handshake and resumed when it is cut', async t => {
  const server = await serve(t, (seen, response) => {
    if (seen.method !== 'GET') return session(() => {})(seen, response)
    const events = stream(response)
    if (seen.headers['last-event-id'] === 'x') {
      return void events.event('{"jsonrpc":"2.0","id":"s","method":"ping"}')
    }
    events.event('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}', 'id: x\n')
    events.cut()
  })
  const client = await greet(t, server.url)
  t.equal(await client.line(1), '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}')
  t.equal(await client.line(2), '{"jsonrpc":"2.0","id":"s","method":"ping"}')
  t.equal(server.seen.findIndex(
    ({ method }) => method === 'GET',
  ) > server.seen.findIndex(({ message }) => message.method === 'notifications/initialized'), true)
  await client.transport.close()
  await server.quiet()
})

t.test('an answer that comes by another stream of the session is no loss', async t => {
  let push: (text: string) => void = () => {}
  const server = await serve(t, (seen, response) => {
    if (seen.method !== 'GET') return session(() => void stream(response))(seen, response)
    const events = stream(response)
    push = text => events.event(text)
  })
  const client = await greet(t, server.url)
  await server.asked('GET')
  client.send(ask(5, 'tools/call', { name: 'x' }))
  const called = await server.asked('tools/call')
  push(answer(5))
  t.equal(await client.line(1), answer(5))
  called.response.end()
  await called.closed
  client.send(notify('notifications/last'))
  await server.asked('notifications/last')
  t.same(client.all('lost'), [])
})

t.test('a stream that ends soon is asked for less and less often, unless its retry asks for a pause', t => {
  const cases = [
    ['after one that lasted, as the server asks', 0, 0, 0, 10, 10],
    ['after one that lasted, without retry', undefined, 0, 0, 500, 500],
    ['after one that ended soon', 0, 1, 0, 1000, 1000],
    ['events for ever, and no retry', undefined, 90, 0, 30_000, 2000],
    ['events for ever, and retry: 0', 0, 90, 0, 30_000, 2000],
    ['events for ever, and a pause', 3000, 90, 0, 3000, 3000],
    ['nothing at all', 0, 3, 3, 4000, 4000],
    ['nothing at all, for long', undefined, 90, 5, 30_000, 30_000],
    ['nothing at all, and a short pause', 3000, 4, 4, 8000, 8000],
    ['retry raises it', 60_000, 3, 3, 60_000, 60_000],
    ['retry has a bound', 1e9, 3, 3, 300_000, 300_000],
  ] as const
  for (const [name, retryMs, brief, failures, unsolicited, awaited] of cases) {
    const attempts = { retryMs, brief, failures }
    t.equal(waitMs({ ...attempts, isUnsolicited: true }, backoff), unsolicited, name)
    t.equal(waitMs({ ...attempts, isUnsolicited: false }, backoff), awaited, `${name}, and a client waits`)
  }
  t.end()
})

for (const form of ['202', 'an empty stream']) {
  t.test(`a request that is answered by ${form} waits for the stream of the session, while there is one`, async t => {
    let get: ReturnType<typeof stream> | undefined
    const server = await serve(t, (seen, response) => {
      if (seen.method === 'GET') {
        if (get === undefined) get = stream(response)
        else response.writeHead(405).end()
      } else session(() => {
        if (form === '202') response.writeHead(202).end()
        else stream(response).end()
      })(seen, response)
    })
    const client = await greet(t, server.url)
    await server.asked('GET')
    client.send(ask(5, 'tools/call', { name: 'x' }))
    t.match(await client.first('lost'), { key: '5', isElsewhere: true })
    get?.event(answer(5))
    t.equal(await client.line(1), answer(5))
    client.send(ask(6, 'tools/call', { name: 'x' }))
    await client.until(() => client.all('lost')[1])
    get?.end()
    t.match(await client.until(() => client.all('lost')[2]), { key: '6', isElsewhere: undefined })
    client.send(ask(7, 'tools/call', { name: 'x' }))
    t.match(await client.until(() => client.all('lost')[3]), { key: '7', isElsewhere: undefined }, 'no stream is left')
  })
}

const refusals = [
  ['404', 404, ''],
  [
    '400, as the official SDK says it', 400,
    '{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}',
  ],
] as const
for (const [
  name, status, refusal,
] of refusals) t.test(`a session that is lost by ${name} is begun anew once, and what it refused is asked again: nothing of that was carried out`, async t => {
  let sessions = 0
  const live = () => `session-${sessions}`
  const server = await serve(t, (seen, response) => {
    if (seen.message.method === 'initialize') sessions += 1
    else if (seen.method === 'POST' && seen.headers['mcp-session-id'] !== live()) return void response.writeHead(
      status, { 'content-type': 'application/json' },
    ).end(refusal)
    session(({ message }) => json(response, answer(message.id ?? 0)), { id: live() })(seen, response)
  })
  const client = await greet(t, server.url)
  await server.asked('notifications/initialized')
  sessions += 1
  client.send(ask(1, 'tools/list'))
  client.send(ask(2, 'tools/call', { name: 'x' }))
  client.send(ask('three', 'resources/read', { uri: 'a:b' }))
  await client.line(3)
  t.same(new Set(client.lines().slice(1)), new Set([answer(1), answer(2), answer('three')]))
  t.same(client.all('lost'), [])
  t.equal(server.of('initialize').length, 2)
  t.equal(server.of('initialize')[1]?.body, initialize.bytes.toString())
  t.equal(server.of('initialize')[1]?.headers['mcp-session-id'], undefined)
  t.equal(server.of('notifications/initialized').length, 2)
  t.equal(
    client.lines().filter(line => line.includes('protocolVersion')).length, 1,
    'the second answer to initialize is kept back',
  )
  client.send(ask(4))
  await client.line(4)
  t.equal(server.seen.at(-1)?.headers['mcp-session-id'], 'session-3')
})

t.test('a session that is lost again at once is not begun for ever', async t => {
  const server = await serve(t, session((_, response) => void response.writeHead(404).end()))
  const client = await greet(t, server.url)
  client.send(ask(1, 'tools/list'))
  t.match(await client.first('lost'), { key: '1' })
  t.equal(server.of('tools/list').length, 2)
  t.ok(server.of('initialize').length <= 3)
})

t.test('a new session of another revision is none that the client could go on in', async t => {
  let version = '2025-11-25'
  const server = await serve(t, (seen, response) =>
    session(() => void response.writeHead(404).end(), { version })(seen, response))
  const client = await greet(t, server.url)
  await server.asked('notifications/initialized')
  version = '2025-03-26'
  client.send(ask(1, 'tools/list'))
  t.match(
    await client.first('lost'),
    { key: '1', reason: 'the server has ended the session, and a new one could not be begun' },
  )
})

t.test('a modern request carries what its body says in headers, and no session', async t => {
  const server = await serve(t, ({ message }, response) => json(response, answer(message.id ?? 0)))
  const schema = { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } }
  const client = connect(t, server.url, { inputSchemaOf: tool => (tool === 'süd' ? schema : undefined) })
  client.send(modern(1, 'tools/call', { name: 'süd', arguments: { region: 'us-west1' } }))
  await client.line(0)
  client.send(modern(2, 'tools/list'))
  await client.line(1)
  t.match(server.seen[0]?.headers, {
    'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': '=?base64?c8O8ZA==?=',
    'mcp-param-region': 'us-west1',
  })
  t.match(server.seen[1]?.headers, { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' })
  t.notOk(server.seen[1]?.headers['mcp-session-id'])
  await client.transport.close()
  t.same(server.of('DELETE'), [])
})

t.test('a modern request is cancelled by the closing of its stream, a legacy one by the notification', async t => {
  const server = await serve(t, session((seen, response) => {
    if (seen.message.id === undefined) response.writeHead(202).end()
    else stream(response).event('{"jsonrpc":"2.0","method":"notifications/progress"}')
  }))
  const client = connect(t, server.url)
  client.send(modern('a', 'subscriptions/listen'))
  const subscribed = await server.asked('subscriptions/listen')
  await client.line(0)
  client.send(notify('notifications/cancelled', { requestId: 'a' }))
  await subscribed.closed
  t.same(server.of('notifications/cancelled'), [])

  client.send(initialize)
  await client.line(1)
  client.send(initialized)
  client.send(ask(7, 'tools/call', { name: 'x' }))
  const called = await server.asked('tools/call')
  await client.line(2)
  client.send(notify('notifications/cancelled', { requestId: 7 }))
  await server.asked('notifications/cancelled')
  called.response.end()
  await called.closed
  client.send(notify('notifications/last'))
  await server.asked('notifications/last')
  t.same(client.all('lost'), [], 'nobody waits for what was cancelled')
})

t.test('abandoning a request closes its connection, and nothing is told of it', async t => {
  const server = await serve(t, (_, response) =>
    void stream(response).event('{"jsonrpc":"2.0","method":"notifications/progress"}'))
  const client = connect(t, server.url)
  client.send(ask(1, 'tools/call', { name: 'x' }))
  const called = await server.asked('tools/call')
  await client.line(0)
  client.transport.abandon?.(stdioExchange, '1')
  await called.closed
  t.same(client.all('lost'), [])
})

t.test('an error with a message of the protocol is a frame, any other is a loss that names the status', async t => {
  const server = await serve(t, ({ message: { method, id } }, response) => {
    switch (method ?? '') {
      case 'a': return json(
        response, `{"jsonrpc":"2.0","id":${id},"error":{"code":-32601,"message":"no"}}`, {}, 404,
      )
      case 'b': return json(response, '{"error":"invalid_token"}', { 'www-authenticate': 'Bearer' }, 401)
      case 'c': return void response.writeHead(502, { 'content-type': 'text/html' })
        .end('<html>Bad gateway</html>')
      case 'd': return void response.writeHead(202).end()
      case 'e': return void response.writeHead(429).end('slow down')
      default: return void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Log in</html>')
    }
  })
  const client = connect(t, server.url)
  const reasons = async (id: number, method: string) => {
    client.send(ask(id, method))
    return (await client.until(() => client.all('lost').find(({ key }) => key === String(id)))).reason
  }
  client.send(ask(1, 'a'))
  t.match(await client.line(0), /-32601/)
  t.match(await reasons(2, 'b'), /^the server answered HTTP 401: .*--header/)
  t.equal(await reasons(3, 'c'), 'the server answered HTTP 502')
  t.equal(await reasons(4, 'd'), 'the server gave no answer (HTTP 202)')
  t.equal(await reasons(5, 'e'), 'the server answered HTTP 429')
  t.equal(client.lines().length, 1)
  client.send(ask(6, 'f'))
  await client.line(1)
  t.match(client.all('frame')[1]?.frame, {
    message: { kind: 'unusable', keys: ['6'] },
    faults: [{ kind: 'http', message: 'the response is "text/html", neither JSON nor an event stream' }],
  })
})

t.test('a server that is not there, or goes away, loses every request, without a word of tokens or queries', async t => {
  const server = await serve(t, (_, response) => void response.destroy())
  const url = new URL('?key=secret', server.url)
  const client = connect(t, url, { headers: new Map([['authorization', 'Bearer secret']]) })
  client.send(ask(1))
  t.match(await client.first('lost'), { key: '1', reason: 'the connection to the server was cut' })
  t.equal(server.seen[0]?.headers.authorization, 'Bearer secret')
  t.equal(server.seen[0]?.url, '/mcp?key=secret')
  await server.stop()
  const other = connect(t, url, { headers: new Map([['authorization', 'Bearer secret']]) })
  other.send(ask(2))
  t.match(await other.first('lost'), { key: '2', reason: 'the server refused the connection' })
  t.notMatch(JSON.stringify([...client.events, ...other.events]), /secret/)
})

t.test('redirects are followed within the origin, and only where method and body stay', async t => {
  const elsewhere = await serve(t, (_, response) => json(response, answer(1)))
  const server = await serve(t, ({ url, message }, response) => {
    const to = (status: number, location: string) => void response.writeHead(status, { location }).end()
    switch (url) {
      case '/307': return to(307, '/308')
      case '/308': return to(308, '/there')
      case '/302': return to(302, '/there')
      case '/loop': return to(307, '/loop')
      case '/away': return to(307, `${elsewhere.origin}/there`)
      case '/userinfo': return to(307, `http://user:pass@${server.url.host}/there`)
      default: return json(response, answer(message.id ?? 0))
    }
  })
  const outcome = async (path: string) => {
    const client = connect(t, new URL(path, server.url))
    client.send(ask(1))
    return Promise.race([client.line(0), client.first('lost').then(({ reason }) => reason)])
  }
  t.equal(await outcome('/307'), answer(1))
  t.match(server.seen.at(-1), { url: '/there', method: 'POST', body: ask(1).bytes.toString() })
  t.equal(await outcome('/302'), 'the server redirects (HTTP 302) where it may not be followed')
  t.equal(await outcome('/away'), 'the server redirects (HTTP 307) where it may not be followed')
  t.equal(await outcome('/userinfo'), 'the server redirects (HTTP 307) where it may not be followed')
  t.equal(await outcome('/loop'), 'the server redirects without end')
  t.same(elsewhere.seen, [])
})

t.test('a hundred requests at once are a hundred answers, and leave no connection behind', async t => {
  const server = await serve(t, session(({ message }, response) => {
    if (Number(message.id) % 2 === 0) return json(response, answer(message.id ?? 0))
    const events = stream(response)
    events.event(answer(message.id ?? 0))
    events.end()
  }))
  const client = await greet(t, server.url)
  for (let id = 1; id <= 100; id++) client.send(ask(id))
  await client.frames(101)
  t.equal(new Set(client.lines()).size, 101)
  t.same(client.all('lost'), [])
  await client.transport.close()
  await server.quiet()
})

t.test('a stream that the server never ends is let go of, once all that was asked by it is answered', async t => {
  const server = await serve(t, (_, response) => {
    const events = stream(response)
    events.event('{"jsonrpc":"2.0","method":"notifications/progress"}')
    events.event(answer(1))
  })
  const client = connect(t, server.url, { lingerMs: 1 })
  client.send(ask(1))
  t.equal(await client.line(1), answer(1))
  await server.seen[0]?.closed
  t.same(client.all('lost'), [])
})

t.test('nothing is read while paused', async t => {
  const server = await serve(t, (_, response) => {
    const events = stream(response)
    for (let n = 0; n < 50; n++) events.event(`{"jsonrpc":"2.0","method":"notifications/${n}"}`)
    events.event(answer(1))
    events.end()
  })
  const client = connect(t, server.url)
  client.transport.pause(stdioExchange)
  client.send(ask(1))
  await (await server.asked('ping')).closed
  for (let turn = 0; turn < 20; turn++) await new Promise(resolve => setImmediate(resolve))
  t.same(client.lines(), [])
  client.transport.resume(stdioExchange)
  t.equal(await client.line(50), answer(1))
})

t.test('closing waits for answers under way, but not when asked twice, and tells the end', async t => {
  let release = () => {}
  const server = await serve(t, ({ message }, response) => {
    release = () => json(response, answer(message.id ?? 0))
  })
  const client = connect(t, server.url, { stopMs: 60_000 })
  client.send(ask(1))
  await server.asked('ping')
  const closed = client.transport.close()
  release()
  await closed
  t.same(client.events.map(({ type }) => type), ['frame', 'ended'])

  const hasty = connect(t, server.url, { stopMs: 60_000 })
  hasty.send(ask(1))
  await server.asked('ping', 2)
  void hasty.transport.close()
  await hasty.transport.close(2)
  t.same(hasty.events.map(({ type }) => type), ['ended'])
})

t.test('an HTTP error whose body does not name the request is its answer, under its id; a page is none', async t => {
  const unread = '{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"no such thing","data":1}}'
  const server = await serve(t, session(({ message }, response) => {
    if (message.method === 'ping') json(response, unread, {}, 400)
    else response.writeHead(401, { 'content-type': 'text/plain' }).end('who are you?')
  }))
  const client = await greet(t, server.url)
  client.send(ask('a'))
  await client.line(1)
  t.equal(client.lines()[1], unread.replace('null', '"a"'))
  client.send(ask(2, 'tools/list'))
  t.match(await client.first('lost'), { key: '2', reason: 'the server answered HTTP 401' })
})
