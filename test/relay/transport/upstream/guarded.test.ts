import t from 'tap'
import type { ResponseHead } from '#relay/protocol/frame.js'
import { httpServer } from '#relay/transport/upstream/forward.js'
import { type Credentials, guardedHead, GuardedUpstream } from '#relay/transport/upstream/guarded.js'
import { HttpUpstream } from '#relay/transport/upstream/pool.js'
import { answer, ask, bare, limits, notify, post, serve } from './harness.js'
import { listen } from '../listen.js'

const told = {
  'www-authenticate': 'Bearer resource_metadata="https://evil.example/prm", error="insufficient_scope"',
  'proxy-authenticate': 'Basic realm="evil"', 'authentication-info': 'nextnonce="evil"',
  'proxy-authentication-info': 'nextnonce="evil"', 'dpop-nonce': 'evil',
  'optional-www-authenticate': 'Basic realm="evil"', 'authentication-control': 'Basic realm="evil"',
}
const refusals = [401, 403, 407]
const headersOf = (all: object) =>
  new Map(Object.entries(all).map(([name, value]) => [name, [String(value)]]))

t.test('where the relay authenticates clients, no status or header of a server is about authorization', t => {
  for (let status = 200; status < 600; status++) {
    for (const [name, value] of Object.entries(told)) {
      const head: ResponseHead = { status, headers: headersOf({ [name]: value, 'x-own': '1' }) }
      t.strictSame(guardedHead(head, 'of the server'), { head, isRefusal: false })
      const isRefusal = refusals.includes(status)
      t.strictSame(guardedHead(head, 'of the relay'), {
        head: isRefusal ? { status: 502, headers: new Map() } : { status, headers: headersOf({ 'x-own': '1' }) },
        isRefusal,
      })
      const exchanged = guardedHead(head, 'exchanged')
      t.notOk(exchanged.head.headers.has(name) && name !== 'www-authenticate')
      const isUsers = status === 401 || (status === 403 && name === 'www-authenticate')
      t.equal(exchanged.head.status, isUsers || !isRefusal ? status : 502)
      t.equal(exchanged.head.headers.has('www-authenticate'), isUsers && name === 'www-authenticate')
    }
  }
  t.end()
})

const kinds = {
  'a request answered by JSON': 'application/json', 'a request answered by a stream': 'text/event-stream',
  'a request answered by a page': 'text/html', 'a request answered by nothing': '', 'a notification': 'application/json',
  GET: 'text/event-stream', 'GET that resumes': 'text/event-stream', DELETE: 'application/json',
}

for (const [kind, type] of Object.entries(kinds)) {
  t.test(`the guard holds for ${kind}`, async t => {
    const server = await serve(t, ({ headers, message }, response) => {
      const body = type === 'text/event-stream' ? `data: ${answer(message.id ?? 0)}\n\n` : answer(message.id ?? 0)
      response.writeHead(Number(headers['x-status']), { ...told, ...(type && { 'content-type': type }) })
      response.end(type === '' ? '' : body)
    })
    let credentials: Credentials = 'of the relay'
    const reasons: string[] = []
    const upstream =
      new GuardedUpstream(new HttpUpstream(server.url), () => credentials, reason => reasons.push(reason))
    const transport =
      httpServer({ upstream, headers: new Map(), limits, inputSchemaOf: () => undefined, stopMs: 50 })
    const { all, of, until } = listen(transport)
    t.teardown(async () => {
      await transport.close()
      await upstream.close()
    })
    const asked = async (status: number, name = String(status)) => {
      const headers = { 'x-status': String(status), ...(kind === 'GET that resumes' && { 'last-event-id': '1' }) }
      if (kind.startsWith('a request')) post(transport, name, ask(status), headers)
      else if (kind === 'a notification') post(transport, name, notify('notifications/x'), headers)
      else bare(transport, name, kind === 'DELETE' ? 'DELETE' : 'GET', headers)
      await until(() =>
        [...all('stream-ended'), ...all('frame').filter(({ whole }) => whole === true)]
          .find(({ exchange }) => exchange.name === name))
      const heads = [
        ...all('head').filter(({ exchange }) => exchange.name === name),
        ...all('frame').flatMap(({ exchange, frame: { envelope } }) =>
          (exchange.name === name && envelope?.response ? [envelope.response] : [])),
      ]
      return heads
    }
    for (let status = 200; status < 600; status++) {
      const heads = await asked(status)
      const isRefusal = refusals.includes(status)
      for (const { headers } of heads) {
        t.strictSame(Object.keys(told).filter(name => headers.has(name)), [], `${status}`)
      }
      if (isRefusal) {
        t.strictSame(heads.map(head => [head.status, head.headers.size]), [[502, 0]], `${status}`)
        t.match(reasons.pop(), `HTTP ${status}`)
        if (kind.startsWith('a request')) t.match((await of('lost', `${status}`)).reason, `HTTP ${status}`)
      }
      t.notOk(heads.some(head => refusals.includes(head.status)))
      t.strictSame(all('frame').filter(({ exchange }) => isRefusal && exchange.name === `${status}`), [])
    }
    t.strictSame(reasons, [])
    credentials = 'of the server'
    t.ok((await asked(401, 'again')).some(({ status, headers }) => status === 401 && headers.has('www-authenticate')),
      'the credentials are the server\'s after a reload')
  })
}
