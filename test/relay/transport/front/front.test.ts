import { request as secureRequest } from 'node:https'
import { createServer } from 'node:net'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { stdioExchange } from '#relay/core/event.js'
import {
  ask, begin, dial, echo, frameOf, frontWith, handshake, initialize, limits, post, rawPost, Reader, result,
  start,
  textOf,
} from './harness.js'
import { ManualTimers } from '../timers.js'

const ping = '{"jsonrpc":"2.0","id":7,"method":"ping"}'
const errorOf = (body: string): unknown => (JSON.parse(body) as { error?: { code?: unknown } }).error?.code

t.test('a request that is refused for its head gets a JSON-RPC error', async t => {
  const { port, sessions, refused } = await start(t, { tokens: [{ token: 'good' }], allowHosts: [] })
  const good = { ...post, authorization: 'Bearer good' }
  const cases = [
    ['a rebound name', { headers: { ...good, host: 'evil.example' } }, 403, {}],
    ['an origin from elsewhere', { headers: { ...good, origin: 'https://evil.example' } }, 403, {}],
    ['no token', { headers: post }, 401, { 'www-authenticate': 'Bearer' }],
    [
      'a wrong token', { headers: { ...post, authorization: 'Bearer bad' } }, 401,
      { 'www-authenticate': 'Bearer error="invalid_token"' },
    ],
    ['two tokens', { headers: { ...post, authorization: ['Bearer good', 'Bearer bad'] } }, 401, {}],
    ['another name in the target', { headers: good, path: 'http://evil.example/mcp' }, 403, {}],
    ['another method', { headers: good, method: 'PUT' }, 405, { allow: 'GET, POST, DELETE' }],
    ['a preflight of a stranger', { headers: good, method: 'OPTIONS' }, 405, {}],
    ['text', { headers: { ...good, 'content-type': 'text/plain' } }, 415, {}],
    [
      'two content types', { headers: { ...good, 'content-type': ['application/json', 'text/plain'] } }, 415,
      {},
    ],
    ['an unknown encoding', { headers: { ...good, 'content-encoding': 'zstd' } }, 415, {}],
    ['two encodings', { headers: { ...good, 'content-encoding': 'gzip, gzip' } }, 415, {}],
    [
      'a header that goes to the server, in Connection',
      { headers: { ...good, connection: 'close, Mcp-Name' } }, 400, {},
    ],
    ['a client that reads HTML only', { headers: { ...good, accept: 'text/html' } }, 406, {}],
    ['a long body', { headers: good, body: `"${'x'.repeat(limits.messageBytes)}"` }, 413, {}],
  ] as const
  for (const [name, what, status, headers] of cases) {
    const got = await ask(port, { body: ping, ...what })
    t.equal(got.status, status, name)
    t.match(got.headers, { 'content-type': 'application/json', ...headers }, name)
    t.match(
      JSON.parse(got.body), { jsonrpc: '2.0', id: null, error: { code: -31000, message: String } }, name,
    )
    t.notMatch(got.body, /evil|bad|good/, 'nothing that was sent is sent back')
  }
  t.same(refused, cases.map(([, , status]) => status))
  t.same(sessions, [], 'no session was begun for any of them')
})

t.test('outside the endpoints, a 404 says where servers are; where clients look for logins, it has no body', async t => {
  const { port } = await start(t)
  for (const path of ['/mcp/x', '/constructor', '/']) {
    t.match(await ask(port, { path, body: ping }), {
      status: 404, body: /no endpoint at this path: a server is at \/mcp/, headers: { 'content-type': 'application/json' },
    }, path)
  }
  for (const path of ['/.well-known/oauth-authorization-server', '/.well-known/oauth-protected-resource', '/register']) {
    const got = await ask(port, { path, body: ping })
    t.match(got, { status: 404, body: '', headers: { 'content-length': '0' } }, path)
    t.equal(got.headers['content-type'], undefined)
  }
})

t.test('an ambiguous framing of the body is refused', async t => {
  const { port, sessions } = await start(t)
  for (const [version, coding] of [['1.0', 'chunked'], ['1.1', 'gzip, chunked']] as const) {
    const { socket, reader } = await dial(t, port)
    socket.write(
      `POST /mcp HTTP/${version}\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: ${coding}\r\n\r\n0\r\n\r\n`,
    )
    t.match(await reader.rest(), /^HTTP\/1\.1 400 [^]*\r\nconnection: close\r\n/, coding)
  }
  t.same(sessions, [])
})

t.test('every header is checked, also after the thousandth', async t => {
  const { port } = await start(t)
  const many = Object.fromEntries(Array.from({ length: 2100 }, (_, index) => [`a${index}`, '']))
  t.equal(
    (await ask(port, { headers: { ...many, ...post, origin: 'https://evil.example' }, body: ping })).status,
    403,
  )
})

t.test('a target may end with a slash, and may be an absolute URL', async t => {
  const { port } = await start(t, { act: echo })
  for (const path of ['/mcp/', '/mcp/?x=/', 'http://localhost/mcp', 'HTTP://127.0.0.1:1/mcp/?x']) {
    t.equal((await ask(port, { path, body: initialize() })).status, 200, path)
  }
  t.equal((await ask(
    port, { path: 'http://localhost/mcp', headers: { ...post, host: 'evil.example' }, body: initialize() },
  )).status, 200, 'the target counts')
})

t.test('an unparsable message is answered with 400', async t => {
  const { port } = await start(t, { act: echo })
  const session = { ...post, 'mcp-session-id': await handshake(port) }
  for (const body of ['', '{', 'null', '[]', '{"id":1}', '\u0000', '\ufeff{}']) {
    const got = await ask(port, { headers: post, body })
    t.equal(got.status, 400, JSON.stringify(body))
    t.type(errorOf(got.body), 'number')
    const within = await ask(port, { headers: session, body })
    t.equal(within.status, 400, `${JSON.stringify(body)} in a session`)
    t.type(errorOf(within.body), 'number')
  }
})

t.test('the error for a refused message has its id, if that can be read', async t => {
  const { port } = await start(t)
  t.match(JSON.parse((await ask(port, { body: ping })).body), { id: 7, error: { code: -32600 } })
  t.match(
    JSON.parse((await ask(port, { body: '{"jsonrpc":"1.0","id":"x","method":"ping"}' })).body), { id: 'x' },
  )
})

t.test('a body without Content-Length is limited as well', async t => {
  const { port } = await start(t)
  const { socket, reader } = await dial(t, port)
  socket.write(rawPost('', 'transfer-encoding: chunked\r\n'))
  const chunk = 'x'.repeat(600)
  socket.write(`258\r\n${chunk}\r\n258\r\n${chunk}\r\n`)
  t.match(await reader.to('\r\n\r\n'), /^HTTP\/1\.1 413 [^]*\r\nconnection: close\r\n/)
  t.match(JSON.parse(await reader.to('}}')), { error: { code: -31000 } })
  t.notOk(reader.ended, 'the client may still send the end')
  socket.write('0\r\n\r\n')
  t.equal(await reader.rest(), '', 'and the connection ends, as it was told')
})

t.test('a refused client is cut off when it sends no rest of its body, or too much', async t => {
  const timers = new ManualTimers()
  const { port } = await start(t, { timers })
  const head = rawPost('', 'transfer-encoding: chunked\r\n')
  const chunk = `400\r\n${'x'.repeat(1024)}\r\n`
  for (const goesOn of [true, false]) {
    const { socket, reader } = await dial(t, port)
    socket.write(head + chunk + chunk)
    const flood = () => {
      while (!socket.destroyed && socket.write(chunk));
    }
    if (goesOn) {
      socket.on('drain', flood)
      flood()
    }
    t.match(await reader.to('}}'), /^HTTP\/1\.1 413 /, 'it gets to read why')
    t.equal(timers.fire(1000), 1)
    await reader.rest()
    t.ok(reader.ended)
  }
})

t.test('requests without a valid token do not count against maxRequests', async t => {
  const timers = new ManualTimers()
  const { port } = await start(t, { act: echo, tokens: [{ token: 'good' }], maxRequests: 2, timers })
  const strangers = await Promise.all([1, 2, 3].map(async () => {
    const { socket, reader } = await dial(t, port)
    socket.write(rawPost('', 'content-length: 1000\r\n'))
    t.match(await reader.to('}}'), /^HTTP\/1\.1 401 /)
    return reader
  }))
  t.equal(
    (await ask(port, { headers: { ...post, authorization: 'Bearer good' }, body: initialize() })).status, 200,
  )
  t.equal(timers.fire(1000), 3)
  for (const reader of strangers) await reader.rest()
})

t.test('the bodies in memory are limited in total, compressed or not', async t => {
  const { port, session } = await start(t, { bufferedBytes: 600 })
  const long = (length: number) => initialize().replace('"c"', `"${'c'.repeat(length)}"`)
  const waiting = begin(port, { body: long(200) })
  const first = await session(0)
  const { exchange } = await first.until('frame')
  const refused = await ask(port, { body: long(200) })
  t.equal(refused.status, 503)
  t.equal(refused.headers['retry-after'], '5')
  t.equal(
    (await ask(port, { headers: { ...post, 'content-encoding': 'gzip' }, body: gzipSync(long(400)) })).status,
    503,
  )
  first.transport.send(exchange, result('1'))
  await textOf(await waiting)
  await first.until('exchange-ended')
  const next = begin(port, { headers: { ...post, 'content-encoding': 'gzip' }, body: gzipSync(long(200)) })
  const second = await session(1)
  second.transport.send((await second.until('frame')).exchange, result('1'))
  t.equal((await next).statusCode, 200, 'what is answered gives its room back')
})

t.test('unfinished bodies of one client leave memory for those of others', async t => {
  const { port } = await start(
    t,
    { act: echo, limits: { messageBytes: 100_000, depth: 32 }, bufferedBytes: 100_000, tokens: [{ token: 'a' }, { token: 'b' }] },
  )
  const head = (token: string, length: number) =>
    `POST /mcp HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`
  const half = Array.from({ length: 4 }, () => dial(t, port))
  for (const { socket } of await Promise.all(half)) socket.write(`${head('a', 30_001)}${' '.repeat(30_000)}`)
  // The first three have their room; the fourth is refused, as its client has its share.
  const readers = (await Promise.all(half)).map(({ reader }) => reader.to('\r\n'))
  t.match(await Promise.race(readers), /^HTTP\/1\.1 503 /)
  const own = await ask(port, { headers: { ...post, authorization: 'Bearer b' }, body: initialize() })
  t.equal(own.status, 200)
})

t.test('compressed bodies are decompressed, up to the limit of a message', async t => {
  const { port } = await start(t, { act: echo })
  const packers = [
    ['gzip', gzipSync], ['x-gzip', gzipSync], ['deflate', deflateSync], ['br', brotliCompressSync],
  ] as const
  for (const [encoding, pack] of packers) {
    const headers = { ...post, 'content-encoding': encoding }
    const fine = await ask(port, { headers, body: pack(Buffer.from(initialize())) })
    t.equal(fine.status, 200, encoding)
    const bomb = pack(Buffer.alloc(500 * limits.messageBytes, 32))
    t.ok(bomb.length < limits.messageBytes)
    t.equal((await ask(port, { headers, body: bomb })).status, 413, `a bomb in ${encoding}`)
    t.equal(
      (await ask(port, { headers, body: pack(Buffer.alloc(limits.messageBytes + 1, 32)) })).status, 413,
      `one byte too many in ${encoding}`,
    )
    const broken = await ask(port, { headers, body: 'no such thing' })
    t.equal(broken.status, 400, `no ${encoding}`)
    t.equal(errorOf(broken.body), -32700)
  }
})

for (const server of [
  'http', 'stdio',
] as const) t.test(`the bytes of a message arrive as they were sent (${server})`, async t => {
  const { port, session } = await start(t, { server })
  const body =
    '{ "jsonrpc" : "2.0",\r\n"id":1.0,"method":"initialize","params":{"x":"é\\u00e9","n":12345678901234567890}}\r\n'
  const { socket } = await dial(t, port)
  const bytes = Buffer.from(body)
  const split = bytes.indexOf(Buffer.from('é')) + 1
  socket.write(
    `POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${bytes.length}\r\n\r\n`,
  )
  socket.write(bytes.subarray(0, split), () => socket.write(bytes.subarray(split)))
  const told = await (await session(0)).until('frame')
  t.equal(told.frame.bytes.toString(), body)
  t.equal(told.frame.envelope?.headers?.get('content-type'), 'application/json')
})

t.test('an empty or damaged request gets a response with a JSON-RPC error', async t => {
  const { port } = await start(t)
  const cases = [
    ['garbage\r\n\r\n', 400],
    [`GET / HTTP/1.1\r\nhost: localhost\r\nx: ${'x'.repeat(40_000)}\r\n\r\n`, 431],
    ['POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n', 400],
    ['POST /mcp HTTP/1.1\r\n\r\n', 403],
    ['GET /mcp HTTP/1.1\r\nhost: localhost\r\nhost: evil.example\r\n\r\n', 403],
  ] as const
  for (const [text, status] of cases) {
    const { socket, reader } = await dial(t, port)
    socket.write(text)
    t.match(await reader.to('\r\n\r\n'), new RegExp(`^HTTP/1.1 ${status} `), text.slice(0, 60))
    t.match(JSON.parse(await reader.to('}}')), { jsonrpc: '2.0', id: null })
    socket.destroy()
  }
})

t.test('a client that disconnects before the end of its body leaves no session', async t => {
  const { port, front, sessions } = await start(t)
  const { socket } = await dial(t, port)
  socket.write(rawPost('{', 'content-length: 100\r\n'))
  await ask(port, { method: 'PUT' })
  socket.destroy()
  await front.close(60_000)
  t.same(sessions, [])
})

t.test('Expect: 100-continue is answered with 100 only when the head is accepted', async t => {
  const { port } = await start(t, { act: echo, timers: new ManualTimers() })
  const length = initialize().length
  const head = (more: string, version = '1.1') =>
    `POST /mcp HTTP/${version}\r\nexpect: 100-continue\r\n${more}\r\n`
  const fine = `host: localhost\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n`
  const cases = [
    ['another Host', head(fine.replace('localhost', 'evil.example')), 403],
    ['text', head(fine.replace('application/json', 'text/plain')), 415],
    ['a client that reads text', head(`${fine}accept: text/plain\r\n`), 406],
    ['a body that is too long', head(fine.replace(String(length), '99999999')), 413],
    ['an unknown encoding', head(`${fine}content-encoding: zstd\r\n`), 415],
    ['an unknown session', head(`${fine}mcp-session-id: x\r\n`), 404],
    ['another expectation', head(fine).replace('100-continue', 'odd'), 417],
    ['what it wants', head(fine), 100],
  ] as const
  for (const [name, text, status] of cases) {
    const { socket, reader } = await dial(t, port)
    socket.write(text)
    t.match(await reader.to('\r\n\r\n'), new RegExp(`^HTTP/1.1 ${status} `), name)
    if (status !== 100) t.match(JSON.parse(await reader.to('}}')), { error: { code: -31000 } }, name)
    else {
      socket.write(initialize())
      t.match(await reader.to('\r\n\r\n'), /^HTTP\/1\.1 200 /)
    }
  }
  const old = await dial(t, port)
  old.socket.write(head(fine, '1.0') + initialize())
  t.match(await old.reader.to('\r\n\r\n'), /^HTTP\/1\.1 200 /, 'HTTP/1.0 knows no 100')
})

t.test('only pages of an allowed origin may read responses (CORS)', async t => {
  const { port } = await start(t, {
    act: echo, allowOrigins: ['https://app.example.com'], tokens: [{ token: 'good' }],
  })
  const origin = 'https://app.example.com'
  const preflight = await ask(port, {
    method: 'OPTIONS',
    headers: {
      origin, 'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization, mcp-param-region',
    },
  })
  t.equal(preflight.status, 204)
  t.match(preflight.headers, {
    'access-control-allow-origin': origin,
    'access-control-allow-methods': 'GET, POST, DELETE',
    'access-control-allow-headers': 'authorization, mcp-param-region',
    vary: 'Origin',
  })
  t.equal(preflight.headers['access-control-allow-credentials'], undefined)

  const called = await ask(port, {
    headers: { ...post, origin, authorization: 'Bearer good' }, body: initialize(),
  })
  t.equal(called.headers['access-control-allow-origin'], origin)
  t.match(called.headers['access-control-expose-headers'], /Mcp-Session-Id/)
  t.type(called.headers['mcp-session-id'], 'string')

  const refused = await ask(port, { headers: { ...post, origin }, body: initialize() })
  t.equal(refused.status, 401)
  t.equal(refused.headers['access-control-allow-origin'], origin, 'the page learns that a token is needed')

  const local = await ask(port, {
    headers: { ...post, origin: 'http://localhost:1', authorization: 'Bearer good' }, body: initialize(),
  })
  t.equal(local.status, 200)
  t.equal(local.headers['access-control-allow-origin'], undefined)
})

t.test('credentials for this relay are not forwarded', async t => {
  const open = await start(t, { act: echo })
  await ask(open.port, { headers: { ...post, authorization: 'Bearer theirs' }, body: initialize() })
  t.equal((await open.session(0)).opening.headers.get('authorization'), 'Bearer theirs')

  const guarded = await start(t, { act: echo, tokens: [{ token: 'ours' }] })
  await ask(guarded.port, { headers: { ...post, authorization: 'Bearer ours' }, body: initialize() })
  const { opening, told } = await guarded.session(0)
  t.equal(opening.headers.get('authorization'), undefined)
  t.match(told[0], { type: 'frame', frame: { envelope: { headers: opening.headers } } })
})

t.test('the server gets the headers of a proxy, and a loop back to this relay is refused', async t => {
  const { port, session } = await start(t, { act: echo, server: 'http' })
  await ask(port, {
    headers: { ...post, host: 'localhost', 'x-forwarded-for': '10.9.8.7', via: '1.1 before' },
    body: initialize(),
  })
  const { headers } = (await session(0)).opening
  t.equal(headers.get('x-forwarded-for'), '10.9.8.7, 127.0.0.1')
  t.equal(headers.get('x-forwarded-proto'), 'http')
  t.equal(headers.get('x-forwarded-host'), 'localhost')
  const via = headers.get('via') ?? ''
  t.match(via, /^1\.1 before, 1\.1 mcp-customs-[0-9a-f]{12}$/)
  t.equal((await ask(port, { headers: { ...post, via }, body: initialize() })).status, 508)
})

t.test('every request is reported at its end, without secrets', async t => {
  const served: object[] = []
  const { port } = await start(t, { act: echo, tokens: [{ token: 'good' }], served: one => served.push(one) })
  await ask(port, {
    path: '/mcp?key=secret', headers: { ...post, authorization: 'Bearer good' }, body: initialize(),
  })
  await ask(port, { path: '/mcp', headers: { ...post, authorization: 'Bearer bad' }, body: initialize() })
  t.match(served, [
    { method: 'POST', path: '/mcp', status: 200, session: /^[0-9a-f]{8}$/, peer: '127.0.0.1', ms: Number },
    { method: 'POST', path: '/mcp', status: 401, session: undefined, peer: '127.0.0.1' },
  ])
  t.notMatch(JSON.stringify(served), /secret|good|bad/)
})

t.test('the number of open requests is limited', async t => {
  const { port, session } = await start(t, { maxRequests: 1 })
  const held = begin(port, { body: initialize() })
  const opened = await session(0)
  const { exchange } = await opened.until('frame')
  const refused = await ask(port, { body: initialize() })
  t.equal(refused.status, 503)
  t.equal(refused.headers['retry-after'], '5')
  opened.transport.send(exchange, result('1'))
  t.match(await textOf(await held), /"id":1/)
})

t.test('a port in use is a clear error', async t => {
  const { port } = await start(t)
  const second = frontWith({ address: { host: '127.0.0.1', port }, limits, endpoints: new Map() })
  await t.rejects(
    second.listen(), { code: 'CANNOT_START', message: new RegExp(`cannot listen on 127.0.0.1:${port}: the address is in use: .*EADDRINUSE`) },
  )
})

t.test('a session that cannot be opened is answered with an error, and the front goes on', async t => {
  const front = frontWith({
    address: { host: '127.0.0.1', port: 0 }, limits,
    endpoints: new Map(
      [['/mcp', { server: 'stdio' as const, open: () => { throw new Error('no such command: secret') } }]],
    ),
  })
  t.teardown(() => front.close(0))
  const port = Number(new URL(await front.listen()).port)
  const got = await ask(port, { body: initialize() })
  t.equal(got.status, 500)
  t.notMatch(got.body, /secret/)
  t.equal((await ask(port, { method: 'PUT' })).status, 405)
})

t.test('a certificate makes it HTTPS', async t => {
  const pem = (name: string) =>
    readFileSync(new URL(`../../../../test/fixtures/tls/${name}.pem`, import.meta.url))
  const { port, url } = await start(t, { act: echo, tls: { cert: pem('cert'), key: pem('key') } })
  t.match(url, /^https:/)
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const request = secureRequest({
      host: '127.0.0.1', port, path: '/mcp', method: 'POST', headers: post, rejectUnauthorized: false,
    }, response => {
      response.resume()
      resolve(response.statusCode)
    })
    request.on('error', reject)
    request.end(initialize())
  })
  t.equal(status, 200)
})

t.test('where client certificates are required, a client without one is refused', async t => {
  const pem = (name: string) => readFileSync(new URL(`../../../../test/fixtures/tls/${name}.pem`, import.meta.url))
  const own = { cert: pem('cert'), key: pem('key') }
  const { port } = await start(t, { act: echo, tls: { ...own, ca: own.cert } })
  const asks = (client: object) => new Promise<number | undefined>((resolve, reject) => {
    const request = secureRequest({
      host: '127.0.0.1', port, path: '/mcp', method: 'POST', headers: post, rejectUnauthorized: false,
      agent: false, ...client,
    }, response => {
      response.resume()
      resolve(response.statusCode)
    })
    request.on('error', reject)
    request.end(initialize())
  })
  t.equal(await asks(own), 200)
  await t.rejects(asks({}))
})

t.test('a batch that is refused as a whole is answered with 400', async t => {
  const { port } = await start(t, {
    act: (event, opened) => {
      if (event.type !== 'frame' || event.frame.message.kind !== 'batch') return echo(event, opened)
      for (const key of ['5', '6']) {
        opened.transport.send(
          event.exchange,
          frameOf(`{"jsonrpc":"2.0","id":${key},"error":{"code":-31000,"message":"Blocked"}}`),
        )
      }
    },
  })
  const headers = { ...post, 'mcp-session-id': await handshake(port) }
  const got = await ask(port, {
    headers, body: '[{"jsonrpc":"2.0","id":5,"method":"a"},{"jsonrpc":"2.0","id":6,"method":"b"}]',
  })
  t.equal(got.status, 400)
  t.match(JSON.parse(got.body), [{ id: 5 }, { id: 6 }])
})

t.test('listen returns the address', async t => {
  const free = createServer().listen(0, '127.0.0.1')
  await new Promise<void>(resolve => free.once('listening', resolve))
  const address = free.address()
  const port = typeof address === 'object' && address ? address.port : 0
  await new Promise<void>(resolve => free.close(() => resolve()))
  const { url } = await start(t, { address: { port, host: 'localhost' } })
  t.equal(url, `http://localhost:${port}`)
})

t.test('new settings apply at once, also to open streams', async t => {
  const { port, front, session } =
    await start(t, {
      act: echo, tokens: [{ token: 'leaked' }, { token: 'kept' }], allowHosts: ['old.example'],
    })
  const as = (token: string, host = 'localhost') => ({ ...post, host, authorization: `Bearer ${token}` })
  const begun = await ask(port, { headers: as('kept'), body: initialize() })
  const id = String(begun.headers['mcp-session-id'])
  const leaked = await ask(port, { headers: as('leaked'), body: initialize() })
  const theirs = await begin(port, {
    method: 'GET', headers: { ...as('leaked'), 'mcp-session-id': String(leaked.headers['mcp-session-id']) },
  })
  const ours =
    new Reader(await begin(port, { method: 'GET', headers: { ...as('kept'), 'mcp-session-id': id } }))
  const cut = textOf(theirs)
  front.reload({
    limits: { ...limits, messageBytes: 300 }, tokens: [{ token: 'new' }, { token: 'kept' }], allowHosts: ['new.example'],
    maxSessions: 1,
  })
  await t.rejects(cut, 'a stream that was opened with a token that is none any more is cut')
  const { transport } = await session(0)
  transport.send(stdioExchange, frameOf('{"jsonrpc":"2.0","method":"x"}'))
  t.match(await ours.to('\n\n'), /"method":"x"/, 'others go on')
  const cases = [
    ['a token taken back', as('leaked'), ping, 401],
    ['a new token, in the session of another', { ...as('new'), 'mcp-session-id': id }, ping, 404],
    ['a host taken back', as('kept', 'old.example'), ping, 403],
    ['a new host', { ...as('kept', 'new.example'), 'mcp-session-id': id }, ping, 200],
    ['a longer body', { ...as('kept'), 'mcp-session-id': id }, `"${'x'.repeat(400)}"`, 413],
    ['one session more', as('kept'), initialize(), 503],
  ] as const
  for (const [name, headers, body, status] of cases) {
    t.equal((await ask(port, { headers, body })).status, status, name)
  }
})

t.test('what a process prints is no event of a stream, under a policy that lets it pass too', async t => {
  const { port, session } = await start(t, { act: echo })
  const id = await handshake(port)
  const stream = new Reader(await begin(port, { method: 'GET', headers: { ...post, 'mcp-session-id': id } }))
  const { transport } = await session(0)
  transport.send(stdioExchange, frameOf('injected env (0) from .env'))
  transport.send(stdioExchange, frameOf('{"jsonrpc":"2.0","method":"x"}'))
  const got = await stream.to('"method":"x"')
  t.notMatch(got, 'injected')
})
