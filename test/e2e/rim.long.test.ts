import { readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { postHeaders, postTo, serveBodies } from '#test/kit/http.js'
import { start, urlOf, type Started } from './harness.js'

const cli = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))

const revision = { 'mcp-protocol-version': '2025-11-25' }
const request = (id: number, method: string, params: object = {}): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params })
const answer = (id: number, result: object): string => JSON.stringify({ jsonrpc: '2.0', id, result })
const weather = {
  name: 'weather', inputSchema: { type: 'object' },
  outputSchema: { type: 'object', properties: { degrees: { type: 'number' } }, required: ['degrees'] },
}
const wrong = (id: number): string =>
  answer(id, { content: [{ type: 'text', text: 'EVIL' }], structuredContent: { degrees: 'EVIL' } })

/** An HTTP server that lists one tool; `call` answers its calls. */
const weatherServer =
  (t: Test, call: (id: number, response: ServerResponse) => void): Promise<string> =>
    serveBodies(t, (body, response, incoming) => {
      const { id, method } = JSON.parse(body || '{}') as { id?: number; method?: string }
      if (id === undefined) return response.writeHead(incoming.method === 'POST' ? 202 : 405).end()
      if (method === 'tools/call') return call(id, response)
      response.setHeader('content-type', 'application/json')
      return response.end(answer(id, method === 'tools/list' ? { tools: [weather] } : {
        protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' },
      }))
    })

const relayTo = async (t: Test, ...target: readonly string[]): Promise<{ relay: Started; url: string }> => {
  const audit = target.includes('--audit') ? [] : ['--audit', 'none']
  const relay = start(
    t, process.execPath,
    [cli, 'serve', ...audit, '--log-level', 'silent', '--listen', '127.0.0.1:0', ...target],
  )
  return { relay, url: `${await urlOf(relay)}/mcp` }
}

const ask = async (url: string, body: string, headers: Readonly<Record<string, string>> = {}) => {
  const response = await postTo(url, body, { ...revision, ...headers })
  return { status: response.status, headers: response.headers, body: await response.text() }
}

t.test('whatever marks and fields a stream begins with, a result that breaks its schema does not leave', async t => {
  const mark = '\ufeff'
  const beginnings = [
    `${mark}${mark}data: `, `${mark}${mark}${mark}data: `, `: x\n${mark}data: `, `${mark}\n${mark}data: `,
    ' data: ', 'Data: ', 'data : ', `id: 1\u2028data: `,
  ]
  let begins = ''
  const server = await weatherServer(t, (id, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`${begins}${wrong(id)}\n\n`)
  })
  const { url } = await relayTo(t, server)
  await ask(url, request(1, 'tools/list'))
  for (begins of beginnings) {
    const got = await ask(url, request(2, 'tools/call', { name: 'weather', arguments: {} }))
    t.notMatch(got.body, /EVIL/, encodeURI(begins))
    t.match(got.body, /"error":\{"code":-31001/, 'and the call is answered')
  }
})

t.test('a session is found by whose token began it, and by nobody else', async t => {
  const server = await serveBodies(t, (_, response) => {
    response.setHeader('mcp-session-id', 'theirs')
    response.setHeader('content-type', 'application/json')
    response.end(answer(
      1, { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 's', version: '1' } },
    ))
  })
  const file = join(t.testdir({ tokens: 'a\nb\n' }), 'tokens')
  const { url } = await relayTo(t, '--token-file', file, server)
  const begun = await fetch(url, { method: 'POST', headers: {
    ...postHeaders, ...revision, authorization: 'Bearer a',
  }, body: request(
    1, 'initialize',
    { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } },
  ) })
  const id = begun.headers.get('mcp-session-id') ?? ''
  t.match(id, /^theirs\../, 'the id is bound to its owner')
  const as = (token: string, session = id) => ({ authorization: `Bearer ${token}`, 'mcp-session-id': session })
  t.equal((await ask(url, request(1, 'ping'), as('a'))).status, 200)
  t.equal((await ask(url, request(1, 'ping'), as('a', 'theirs'))).status, 404, 'without the proof of its owner')
  t.equal((await ask(url, request(1, 'ping'), as('b'))).status, 404)
  for (const method of ['GET', 'DELETE']) {
    t.equal(
      (await fetch(url, { method, headers: { accept: 'text/event-stream', ...as('b') } })).status, 404,
      method,
    )
  }
})

t.test('an answer comes with a status by which clients read it', async t => {
  let status = 202
  const server = await weatherServer(t, (id, response) => {
    response.writeHead(status, { 'content-type': 'text/event-stream' }).end(`data: ${wrong(id)}\n\n`)
  })
  const { url } = await relayTo(t, server)
  await ask(url, request(1, 'tools/list'))
  for (status of [202, 204, 205, 304]) {
    const got = await ask(url, request(2, 'tools/call', { name: 'weather', arguments: {} }))
    t.equal(got.status, 200, String(status))
    t.match(got.body, /"id":2/, 'and the call is answered')
  }
})

t.test('whatever an HTTP error calls its body, a result in it that breaks its schema does not leave, and what is not judged is called JSON by nobody', async t => {
  const utf8 = (text: string) => Buffer.from(text)
  const utf16 = (text: string) => Buffer.from(text, 'utf16le')
  const cases: readonly (readonly [type: string | undefined, encode: (text: string) => Buffer])[] = [
    [undefined, utf8],
    ['text/json', utf8],
    ['application/problem+json', utf8],
    ['text/html; charset=iso-8859-1', utf8],
    ['application/json', text => Buffer.from(`\ufeff${text}`)],
    ['application/json', text => Buffer.from(`${' '.repeat(70_000)}${text}`)],
    ['application/json', text =>
      Buffer.concat([Buffer.from(text.slice(0, -1)), Buffer.from(',"x":"\xff"}', 'latin1')])],
    ['application/json; charset=utf-16', utf16],
    ['application/json', utf16],
    ['application/json', text => Buffer.concat([Buffer.from([0xff, 0xfe]), utf16(text)])],
    ['application/json; charset=cp037', utf8],
  ]
  let answered: (typeof cases)[number] = ['', utf8]
  let isPage = false
  const server = await weatherServer(t, (id, response) => {
    const [type, encode] = answered
    response.writeHead(500, type === undefined ? {} : { 'content-type': type })
      .end(isPage ? 'Not today' : encode(wrong(id)))
  })
  const { url } = await relayTo(t, server)
  await ask(url, request(1, 'tools/list'))
  for (answered of cases) {
    const got = await fetch(
      url,
      { method: 'POST', headers: { ...postHeaders, ...revision }, body: request(2, 'tools/call', { name: 'weather', arguments: {} }) },
    )
    const body = Buffer.from(await got.arrayBuffer())
    for (const encoding of ['utf8', 'utf16le'] as const) {
      t.notMatch(body.toString(encoding), /EVIL/, String(answered[0]))
    }
    t.equal(got.headers.get('content-type'), 'application/json')
    t.match(JSON.parse(body.toString()), { id: 2 }, 'and the call is answered')
  }
  isPage = true
  for (answered of [[undefined, utf8], ['text/json', utf8]] as const) {
    const got = await ask(url, request(2, 'tools/call', { name: 'weather', arguments: {} }))
    t.equal(got.headers.get('content-type'), answered[0] ?? null)
    t.equal(got.body, 'Not today')
  }
})

/** A server whose answers to calls lack their last bytes. */
const cutting = `require('readline').createInterface({ input: process.stdin }).on('line', line => {
  const { id, method } = JSON.parse(line)
  const said = result => console.log(JSON.stringify({ jsonrpc: '2.0', result, id }))
  if (method === 'tools/list') said({ tools: [{ name: 'weather', inputSchema: { type: 'object' } }] })
  else if (method === 'initialize') said({ protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } })
  else if (method === 'tools/call') console.log(JSON.stringify({ jsonrpc: '2.0', result: { content: [] }, id }).slice(0, -1))
})`

t.test('a call whose answer is cut off is answered by us', async t => {
  const relay =
    start(t, process.execPath, [cli, 'wrap', '--audit', 'none', '--', process.execPath, '-e', cutting])
  relay.send(request(
    1, 'initialize',
    { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } },
  ))
  await relay.responseTo('1')
  relay.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
  relay.send(request(2, 'tools/list'))
  await relay.responseTo('2')
  relay.send(request(5, 'tools/call', { name: 'weather', arguments: {} }))
  t.match(JSON.parse(await relay.responseTo('5')), { error: { code: -31000 } })
})

t.test('where a server asks for credentials, its user is told how to give them', async t => {
  const server = await serveBodies(t, (_, response) => {
    response.writeHead(401, { 'www-authenticate': 'Bearer resource_metadata="https://x.example/"' }).end()
  })
  const relay = start(t, process.execPath, [cli, 'wrap', '--audit', 'none', server])
  relay.send(request(
    1, 'initialize',
    { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } },
  ))
  t.match(JSON.parse(await relay.responseTo('1')), { error: { code: -31001, message: /HTTP 401.*--header/ } })
})

t.test('headers that act on what stands in front of the relay pass where the operator says so', async t => {
  const acting = {
    'x-accel-redirect': '/etc/passwd', 'x-accel-buffering': 'yes', 'x-sendfile': '/etc/passwd',
    location: 'https://evil.example/', refresh: '0; url=https://evil.example/',
    'clear-site-data': '"*"', 'strict-transport-security': 'max-age=1',
    link: '<https://evil.example/>; rel=preload', nel: '{}', 'report-to': '{}',
  }
  const server = await serveBodies(t, (_, response) => {
    response.writeHead(200, { ...acting, 'x-own': 'a', 'content-type': 'application/json' })
      .end(answer(1, {}))
  })
  const { url } = await relayTo(t, server)
  const { headers } = await ask(url, request(1, 'ping'))
  for (const name of Object.keys(acting)) t.equal(headers.get(name), null, name)
  t.equal(headers.get('x-own'), 'a')
  const file = join(
    t.testdir({ 'customs.yaml': `version: 1\nservers: { a: { url: "${server}", passHeaders: [Link] } }\n` }),
    'customs.yaml',
  )
  const passing = await relayTo(t, '--config', file)
  const passed = (await ask(passing.url, request(1, 'ping'))).headers
  t.equal(passed.get('link'), acting.link)
  t.equal(passed.get('refresh'), null)
})

t.test('in a session that began at another relay, calls are judged, and what the client declared is not known', async t => {
  let told: string | undefined
  let degrees: unknown = 20
  const server = await serveBodies(t, (body, response, incoming) => {
    const { id, method } = JSON.parse(body || '{}') as { id?: number; method?: string }
    if (method === undefined) told = body
    if (id === undefined || method === undefined) {
      return response.writeHead(incoming.method === 'POST' ? 202 : 405).end()
    }
    if (method !== 'tools/call') {
      response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 'theirs' })
      return response.end(answer(id, method === 'tools/list' ? { tools: [weather] } : {
        protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' },
      }))
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const asked = `asked-${id}`
    response.write(`data: {"jsonrpc":"2.0","id":"${asked}","method":"roots/list"}\n\n`)
    const timer = setInterval(() => {
      if (told?.includes(asked) !== true) return
      clearInterval(timer)
      response.end(
        `data: ${answer(id, { content: [{ type: 'text', text: JSON.stringify({ degrees }) }], structuredContent: { degrees } })}\n\n`,
      )
    }, 5)
    response.on('close', () => clearInterval(timer))
  })
  const log = join(t.testdir({}), 'audit.ndjson')
  const first = await relayTo(t, server)
  const client = {
    protocolVersion: '2025-11-25', capabilities: { roots: {} }, clientInfo: { name: 'c', version: '1' },
  }
  const began = await ask(first.url, request(1, 'initialize', client))
  t.equal(began.headers.get('mcp-session-id'), 'theirs')
  const headers = { 'mcp-session-id': 'theirs' }
  const second = await relayTo(t, '--audit', log, server)
  for (const [
    id, value, expected,
  ] of [[2, 20, /"structuredContent":\{"degrees":20\}/], [3, 'EVIL', /"isError":true/]] as const) {
    degrees = value
    const call = ask(second.url, request(id, 'tools/call', { name: 'weather', arguments: {} }), headers)
    const result = `{"jsonrpc":"2.0","id":"asked-${id}","result":{"roots":[]}}`
    while (told !== result) t.match(await ask(second.url, result, headers), { status: 202 })
    const { body } = await call
    t.match(body, `"id":"asked-${id}","method":"roots/list"`, 'the client is asked')
    t.match(body, expected)
  }
  const findingsOf = (line: string) => (JSON.parse(line) as { findings?: { rule: string }[] }).findings ?? []
  const rules = readFileSync(log, 'utf8').trim().split('\n').flatMap(findingsOf).map(({ rule }) => rule)
  t.ok(rules.includes('server/unchecked'))
  t.notOk(rules.includes('server/request'))
  const strict = await relayTo(t, '--policy', 'strict', server)
  const call = ask(strict.url, request(4, 'tools/call', { name: 'weather', arguments: {} }), headers)
  while (told?.includes('asked-4') !== true) await new Promise(setImmediate)
  t.match(told, /-32601/, 'the server is told that nobody can answer')
  t.notMatch((await call).body, /roots\/list/)
})

t.test('a batch gets the body of an HTTP error as it is, and its answers in a stream keep their place there', async t => {
  const page = '{"error":"invalid_token"}'
  const server = await serveBodies(t, (body, response) => {
    const message = JSON.parse(body || '{}') as { id?: number } | { id: number }[]
    if (!Array.isArray(message)) {
      response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 'theirs' })
      return response.end(answer(
        message.id ?? 0,
        { protocolVersion: '2025-03-26', capabilities: {}, serverInfo: { name: 's', version: '1' } },
      ))
    }
    if (message[0]?.id === 2) {
      return response.writeHead(
        401, { 'www-authenticate': 'Bearer', 'content-type': 'application/json' },
      ).end(page)
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(
      message.map(({ id }) => `event: message\nid: event-${id}\ndata: ${answer(id, {})}\n\n`).join(''),
    )
  })
  const { url } = await relayTo(t, server)
  const headers = { 'mcp-session-id': 'theirs', 'mcp-protocol-version': '2025-03-26' }
  await ask(url, request(
    1, 'initialize',
    { protocolVersion: '2025-03-26', capabilities: {}, clientInfo: { name: 'c', version: '1' } },
  ), headers)
  const refused = await ask(url, `[${request(2, 'ping')},${request(3, 'ping')}]`, headers)
  t.strictSame([refused.status, refused.body, refused.headers.get('www-authenticate')], [401, page, 'Bearer'])
  const { body } = await ask(url, `[${request(4, 'ping')},${request(5, 'ping')}]`, headers)
  t.equal(body, `event: message\nid: event-5\ndata: [${answer(4, {})},${answer(5, {})}]\n\n`)
})
