import { EventEmitter, once } from 'node:events'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { serveBodies } from '#test/kit/http.js'
import { start, urlOf } from './harness.js'

const cli = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))

const error = (id: string, code = -32000) =>
  `{"jsonrpc":"2.0",${id}"error":{"code":${code},"message":"Session not found"}}`
const json = { 'content-type': 'application/json' }
const text = { 'content-type': 'text/plain; charset=utf-8' }
const html = { 'content-type': 'text/html' }

/** What real servers answer when they refuse a request. `says` is what a JSON-RPC client is told by it. */
const answers: readonly (readonly [
  name: string, status: number, headers: Readonly<Record<string, string>>, body: string, says?: number,
])[] = [
  ['an error whose id is null', 400, json, error('"id":null,'), -32000],
  ['an error without an id', 400, json, error(''), -32000],
  ['an error with the id that was asked', 400, json, 'asked', -32000],
  ['an error with an id that nobody asked', 400, json, error('"id":"server-error",'), -32000],
  ['no session, as the official SDK says it', 404, json, error('"id":null,', -32001), -32001],
  ['a page that is not found', 404, html, '<html><body>Not found</body></html>'],
  ['nothing', 404, {}, ''],
  ['a token that is not known', 401, {
    ...json, 'www-authenticate': 'Bearer resource_metadata="https://x.example/"',
  }, '{"error":"invalid_token"}'],
  ['a token that is wanted', 401, { 'www-authenticate': 'Bearer' }, ''],
  ['a text', 403, text, 'Forbidden'],
  [
    'a method that is not allowed, as the official SDK says it', 405, { ...json, allow: 'POST' },
    error('"id":null,'), -32000,
  ],
  ['a method that is not allowed', 405, { allow: 'POST' }, ''],
  ['a type that is not acceptable', 406, json, error('"id":null,'), -32000],
  ['too many requests', 429, { ...text, 'retry-after': '3' }, 'Slow down'],
  ['an error of the server', 500, json, error('"id":null,', -32603), -32603],
  ['a page of a framework', 500, html, '<pre>Error: at /srv/app.js</pre>'],
  ['a page of a proxy', 502, html, '<html>Bad gateway</html>'],
  ['JSON of a proxy', 503, { ...json, 'retry-after': '7' }, '{"message":"no healthy upstream"}'],
]

const requests = [
  [
    'initialize', 'POST',
    '{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}',
  ],
  ['a call', 'POST', '{"jsonrpc":"2.0","id":7,"method":"tools/list"}'],
  ['a notification', 'POST', '{"jsonrpc":"2.0","method":"notifications/initialized"}'],
  ['GET', 'GET', undefined],
  ['DELETE', 'DELETE', undefined],
] as const

/**
 * Answers everything with one of the above, chosen by `answer`; the id of the body is the one that was asked
 * where it must be.
 */
const refusing = async (t: Test) => {
  const chosen: { answer: (typeof answers)[number] | undefined } = { answer: undefined }
  const heard = new EventEmitter()
  const url = await serveBodies(t, (body, response) => {
    const [, status = 500, headers = {}, said = ''] = chosen.answer ?? []
    const id = /"id":([^,]*)/.exec(body)?.[1] ?? 'null'
    if (id === 'null') heard.emit('notification')
    response.writeHead(status, headers).end(said === 'asked' ? error(`"id":${id},`) : said)
  })
  return { chosen, heard, url }
}

const seen = async (url: string, method: string, body: string | undefined) => {
  const headers = {
    accept: 'application/json, text/event-stream', 'mcp-session-id': 's',
    'mcp-protocol-version': '2025-11-25', ...(body !== undefined && json),
  }
  const response = await fetch(url, { method, headers, ...(body !== undefined && { body }) })
  const told = ['content-type', 'allow', 'retry-after', 'www-authenticate'].map(name =>
    response.headers.get(name))
  return { status: response.status, told, body: await response.text() }
}

t.test('what a server refuses a request with reaches an HTTP client as it is', async t => {
  const { chosen, url } = await refusing(t)
  const relay = start(t, process.execPath, [cli, 'serve', '--audit', 'none', '--listen', '127.0.0.1:0', url])
  const through = `${await urlOf(relay)}/mcp`
  for (const answer of answers) {
    chosen.answer = answer
    const [name, status, , said] = answer
    for (const [asked, method, body] of requests) {
      const direct = await seen(url, method, body)
      const relayed = await seen(through, method, body)
      const label = `${name} (${status}) to ${asked}`
      const due = asked === 'initialize' || asked === 'a call'
      // Promise 3: who is due an answer gets one, by its id, where the server says nothing or names
      // another's.
      if (due && said === '') {
        t.match(relayed, {
          ...direct, told: ['application/json', ...direct.told.slice(1)],
          body: /"id":7,"error":\{"code":-31001/,
        }, label)
      } else if (due && said.includes('server-error')) t.strictSame(
        relayed, { ...direct, body: direct.body.replace('"server-error"', '7') }, label,
      )
      else t.strictSame(relayed, direct, label)
    }
  }
  t.notMatch(relay.stderr(), /blocked/, 'and none of it is an alarm')
})

t.test('and a client with a pipe as the error that it is, or as the status', async t => {
  const { chosen, heard, url } = await refusing(t)
  const relay = start(t, process.execPath, [cli, 'wrap', '--audit', 'none', url])
  for (const answer of answers) {
    chosen.answer = answer
    const [name, status, , , says] = answer
    const notified = once(heard, 'notification')
    for (const [asked, method, body] of requests) {
      if (method !== 'POST') continue
      relay.send(body)
      if (asked === 'a notification') {
        await notified
        continue
      }
      const told = says === undefined
        ? { code: -31001, message: new RegExp(`HTTP ${status}`) }
        : { code: says, message: 'Session not found' }
      t.match(JSON.parse(await relay.next()), { id: 7, error: told }, `${name} (${status}) to ${asked}`)
    }
    t.strictSame(relay.untaken, [], `${name}: a notification has no answer`)
  }
  await relay.end()
  t.strictSame(relay.untaken, [], 'nor later')
  t.notMatch(relay.stderr(), /blocked/)
})
