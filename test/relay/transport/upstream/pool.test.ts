import { readFileSync } from 'node:fs'
import { createServer as createHttpServer, request as httpRequest } from 'node:http'
import { createServer } from 'node:https'
import { connect, createServer as createTcpServer, type AddressInfo, type Server } from 'node:net'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { stdioExchange } from '#relay/core/event.js'
import { decoded } from '#relay/transport/http/content-coding.js'
import {
  bodiless, forwardedHead, forwardedHeaders, headersOf, mediaType, only,
} from '#relay/transport/http/headers.js'
import { AuthorizedUpstream, NoLogin } from '#relay/transport/upstream/authorized.js'
import { UpstreamCall } from '#relay/transport/upstream/calls.js'
import { discard, failureOf, HttpUpstream } from '#relay/transport/upstream/pool.js'
import { ask, serve } from './harness.js'

const pem = (name: string) =>
  readFileSync(fileURLToPath(new URL(`../../../../test/fixtures/tls/${name}.pem`, import.meta.url)))

const signal = new AbortController().signal
const get = (upstream: HttpUpstream, headers: readonly (readonly [string, string])[] = []) =>
  upstream.request({ method: 'GET', headers: new Map(headers), signal })

const dial = (t: Test, url: URL, tls?: ConstructorParameters<typeof HttpUpstream>[1]) => {
  const upstream = new HttpUpstream(url, tls)
  t.teardown(() => upstream.close())
  return upstream
}

t.test('TLS: the operator\'s authorities are trusted, no others, and our certificate is shown', async t => {
  const [cert, key] = [pem('cert'), pem('key')]
  let shown = false
  const server = createServer({
    cert, key, ca: cert, requestCert: true, rejectUnauthorized: false,
  }, (request, response) => {
    shown = 'authorized' in request.socket && request.socket.authorized === true
    response.end('{}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => new Promise(resolve => server.closeAllConnections() ?? server.close(resolve)))
  const url = new URL(`https://127.0.0.1:${(server.address() as AddressInfo).port}/mcp?token=secret`)
  const stranger = await get(dial(t, url)).catch(failureOf)
  t.equal(stranger, 'the request to the server failed (DEPTH_ZERO_SELF_SIGNED_CERT)')
  const reply = await get(dial(t, url, { ca: cert, cert, key }))
  t.equal(reply.status, 200)
  t.equal(shown, true)
  discard(reply)
})

t.test('why a request failed is said without a word of the request', async t => {
  const cases = [
    ['nonsense', 'HELLO\r\n\r\n', 'the server does not speak HTTP as it should'],
    [
      'endless headers', `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(40_000)}\r\n\r\n`,
      'the server\'s HTTP headers are too long',
    ],
    ['nothing at all', '', 'the connection to the server was cut'],
  ] as const
  for (const [name, bytes, reason] of cases) {
    const server = createTcpServer(socket => {
      socket.on('error', () => {})
      socket.once('data', () => socket.end(bytes))
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const upstream =
      dial(t, new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/?token=secret`))
    t.equal(await get(upstream, [['authorization', 'secret']]).catch(failureOf), reason, name)
    server.close()
  }
  const nowhere = dial(t, new URL('http://nowhere.invalid/?token=secret'))
  t.match(
    await get(nowhere).catch(failureOf), /^the server's host name (?:was not found|could not be looked up)$/,
  )
  const server = await serve(t, (_, response) => void response.end())
  t.equal(
    await get(dial(t, server.url), [['x-secret', 'a\nb']]).catch(failureOf),
    'a header of the request cannot be sent',
  )
  t.equal(failureOf('secret'), 'the request to the server failed')
})

t.test('100 Continue that was not asked for is skipped, wherever it is split', async t => {
  const interim = 'HTTP/1.1 100 Continue\r\nx: y\r\n\r\n'
  const response = 'HTTP/1.1 200 OK\r\ncontent-length: 14\r\n\r\nHTTP/1.1 100 C'
  for (const [name, pieces] of [
    ['with the response', [interim + response]],
    ['before it', [interim, response]],
    ['twice', [interim + interim, response]],
    [
      'in pieces',
      ['HTTP/1.', '1 100 Continue\r', '\nx: y\r\n\r', `\n${response.slice(0, 3)}`, response.slice(3)],
    ],
    ['never', [response]],
  ] as const) {
    let isFirst = true
    const server = createTcpServer({ noDelay: true }, socket => {
      socket.on('error', () => {}).on('data', () => {
        // The second request comes by the same connection, and its answer without an interim one.
        const rest = isFirst ? [...pieces] : [response]
        isFirst = false
        const next = () => {
          const piece = rest.shift()
          if (piece !== undefined) socket.write(piece, () => setImmediate(next))
        }
        next()
      })
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const upstream = dial(t, new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`))
    for (const time of ['first', 'second']) {
      const { status, body } = await get(upstream)
      const chunks: Buffer[] = []
      for await (const chunk of body) chunks.push(chunk)
      t.match(
        [status, Buffer.concat(chunks).toString()], [200, 'HTTP/1.1 100 C'], `${name}, the ${time} time`,
      )
    }
    server.close()
  }
})

t.test('a user and a password in the URL become credentials, unless there are others', async t => {
  const server = await serve(t, (_, response) => void response.end())
  const url = new URL(server.url)
  url.username = 'me'
  url.password = 'a:b'
  const upstream = dial(t, url)
  discard(await get(upstream))
  discard(await get(upstream, [['authorization', 'Bearer x']]))
  t.same(
    server.seen.map(({ headers }) => headers.authorization),
    [`Basic ${Buffer.from('me:a:b').toString('base64')}`, 'Bearer x'],
  )
})

t.test('an unread response leaves its connection to the next request when it is short, and costs it when it is long', async t => {
  const server = await serve(t, (_, response) => {
    response.write('x')
    if (server.seen.length > 1) response.write('x'.repeat(100_000))
    else response.end()
  })
  const upstream = dial(t, server.url)
  discard(await get(upstream))
  await server.seen[0]?.closed
  discard(await get(upstream))
  await server.seen[1]?.closed
  t.equal(server.seen.length, 2)
})

async function* inTurn(pieces: readonly Buffer[]): AsyncGenerator<Buffer> {
  for (const piece of pieces) yield await Promise.resolve(piece)
}

t.test('a server can be reached that speaks HTTP, whatever it says', async t => {
  const asked: (string | undefined)[] = []
  const server = await serve(t, ({ method }, response) => {
    asked.push(method)
    response.writeHead(405).end()
  })
  t.equal(await dial(t, server.url).reachable(), true)
  t.same(asked, ['HEAD'])
  const silent = createTcpServer().listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const { port } = silent.address() as AddressInfo
  silent.close()
  await once(silent, 'close')
  t.equal(await dial(t, new URL(`http://127.0.0.1:${port}/mcp`)).reachable(), false)
})

t.test('the body of a refusal that passes ends when its call is aborted, also after a login was tried', async t => {
  for (const fails of [false, true]) {
    const server = await serve(t, (_, response) => {
      response.writeHead(401)
      response.write('the beginning')
    })
    const refused = () => (fails ? Promise.reject(new NoLogin('no issuer')) : Promise.resolve(false))
    const upstream = new AuthorizedUpstream(dial(t, server.url), {
      authorizationFor: () => undefined, refused, waiting: () => () => undefined,
      close: () => Promise.resolve(),
    }, true)
    const call = new UpstreamCall(stdioExchange, ask(1))
    const { body } = await upstream.request({ method: 'POST', headers: new Map(), signal: call })
    t.match(await body.next(), { value: Buffer.from('the beginning') })
    call.abort()
    await t.rejects(body.next(), 'the connection is closed')
    await server.quiet()
  }
})

t.test('what is unpacked is what was packed, wherever it is split', async () => {
  const packers = {
    gzip: gzipSync, deflate: deflateSync, raw: deflateRawSync, br: brotliCompressSync,
    '': (body: Uint8Array) => body,
  }
  await fc.assert(
    fc.asyncProperty(
      fc.uint8Array({ minLength: 1, maxLength: 2000 }), fc.constantFrom('gzip', 'deflate', 'raw', 'br', ''),
      fc.array(fc.nat(2000), { maxLength: 5 }),
      async (body, encoding, cuts) => {
        const packed = Buffer.from(packers[encoding](body))
        const ends = [...cuts.map(cut => cut % (packed.length + 1)).sort((a, b) => a - b), packed.length]
        const pieces = ends.map((end, index) => packed.subarray(ends[index - 1] ?? 0, end)).filter(piece =>
          piece.length > 0)
        const headers =
          headersOf(encoding === '' ? {} : { 'content-encoding': encoding === 'raw' ? 'Deflate' : encoding })
        const chunks: Buffer[] = []
        for await (const chunk of decoded(inTurn(pieces), headers)) chunks.push(chunk)
        return Buffer.concat(chunks).equals(body)
      },
    ),
    { numRuns: 200 },
  )
})

t.test('headers of one connection are not handed on, nor those that the sender names as such', t => {
  const request = new Map([
    ['connection', 'close, X-Hop'], ['x-hop', '1'], ['te', 'trailers'], ['host', 'a'], ['accept', 'b'],
    ['mcp-session-id', 'c'],
  ])
  t.same([...forwardedHeaders(request, undefined, new Map())], [['accept', 'b'], ['mcp-session-id', 'c']])
  const response = headersOf({
    connection: ['x-a', 'x-b'], 'x-a': '1', 'x-b': '2', 'www-authenticate': ['A', 'B'], 'content-length': '3',
    'content-type': 'x/y; q=1',
  })
  const head = forwardedHead({ status: 200, headers: response }, {})
  t.same([...head.headers], [['www-authenticate', ['A', 'B']], ['content-type', ['x/y; q=1']]])
  t.same([...bodiless(head.headers)], [['www-authenticate', ['A', 'B']]])
  t.equal(only(response, 'www-authenticate'), undefined)
  t.equal(mediaType(response), 'x/y')
  t.equal(mediaType(headersOf({ 'content-type': ['application/json', 'text/html'] })), '')
  t.equal(mediaType(headersOf({ 'content-type': ' Application/JSON ;charset=utf-8' })), 'application/json')
  t.equal(headersOf({}).get('constructor'), undefined)
  t.end()
})

t.test('a proxy of the environment is used, but for what NO_PROXY names', async t => {
  const target = createHttpServer((_, response) => response.end('{}')).listen(0, '127.0.0.1')
  const asked: string[] = []
  const proxy = createHttpServer((request, response) => {
    // What is not tunnelled has the whole URL in its first line.
    asked.push(request.url ?? '')
    httpRequest(
      new URL((request.url ?? '').replace('server.test', '127.0.0.1')),
      { method: request.method, headers: request.headers }, reply => reply.pipe(response),
    ).end()
  }).on('connect', (request, socket) => {
    asked.push(request.url ?? '')
    const { port } = new URL(`http://${request.url ?? ''}`)
    const through = connect(Number(port), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      through.pipe(socket).pipe(through)
    })
  }).listen(0, '127.0.0.1')
  await Promise.all([once(target, 'listening'), once(proxy, 'listening')])
  const portOf = (server: Server) => (server.address() as AddressInfo).port
  t.teardown(() => {
    for (const server of [target, proxy]) server.close().closeAllConnections()
    delete process.env['HTTP_PROXY']
    delete process.env['NO_PROXY']
  })
  const ask = async (host: string) => {
    const upstream = new HttpUpstream(new URL(`http://${host}:${portOf(target)}/mcp`))
    const reply =
      await upstream.request({ method: 'GET', headers: new Map(), signal: AbortSignal.timeout(5000) })
    const chunks: Buffer[] = []
    for await (const chunk of reply.body) chunks.push(chunk)
    await upstream.close()
    return Buffer.concat(chunks).toString()
  }
  process.env['HTTP_PROXY'] = `http://127.0.0.1:${portOf(proxy)}`
  t.equal(await ask('server.test'), '{}')
  t.equal(asked.length, 1)
  t.equal(await ask('127.0.0.1'), '{}', 'this machine is none of the proxy\'s')
  t.equal(await ask('localhost'), '{}')
  t.equal(asked.length, 1)
  process.env['NO_PROXY'] = 'server.test'
  await t.rejects(ask('server.test'))
  t.equal(asked.length, 1)
})
