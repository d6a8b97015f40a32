import t from 'tap'
import type { Authority, Claims, Unverified } from '#relay/transport/front/authority.js'
import type { NewSession } from '#relay/transport/front/front.js'
import { ask, echo, initialize, limits, Opened, post, start } from './harness.js'

const resource = { audience: 'https://relay.example', issuer: 'https://issuer', scopes: [] }
const claims = (scopes: readonly string[] = []): Claims =>
  ({ subject: { issuer: 'https://issuer', subject: 'alice', scopes }, audience: ['https://relay.example'] })
const ping = '{"jsonrpc":"2.0","id":7,"method":"ping"}'
const headers = { ...post, authorization: 'Bearer t' }

t.test('a request whose token is checked while a reload comes enters by the new settings', async t => {
  const newSettings = [
    ['of no token', { tokens: [{ token: 'other' }] }, 401],
    ['of another issuer that does not know the token', {
      authority: { resourceAt: () => resource, check: () => Promise.resolve('invalid' as const) },
    }, 401],
    ['of other hosts', { authority: { resourceAt: () => resource, check: () => claims() }, allowHosts: [] }, 403],
    ['with a further host', { authority: { resourceAt: () => resource, check: () => claims() } }, 200],
  ] as const
  for (const [name, settings, status] of newSettings) {
    const checks: ((found: Claims | Unverified) => void)[] = []
    const authority: Authority =
      { resourceAt: () => resource, check: () => new Promise(resolve => checks.push(resolve)) }
    const { port, front } = await start(t, { act: echo, authority, allowHosts: ['old.example'] })
    const asked = ask(port, { headers: { ...headers, host: 'old.example' }, body: initialize() })
    while (checks.length === 0) await new Promise(setImmediate)
    front.reload({ limits, allowHosts: ['old.example'], ...settings })
    checks[0]?.(claims())
    t.equal((await asked).status, status, name)
  }
})

t.test('a subscription without a session ends with a reload: later requests belong to another session', async t => {
  const modern = '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",' +
    '"io.modelcontextprotocol/clientCapabilities":{}}'
  let begun = () => {}
  const hasBegun = new Promise<void>(resolve => (begun = resolve))
  const open = ({ transport }: NewSession) => transport.start(event => {
    if (event.type === 'frame') begun()
    if (event.type === 'ended') void transport.close()
  })
  const endpoints = () => new Map([['/mcp', { server: 'stdio' as const, open }]])
  const { port, front } = await start(t, { endpoints: endpoints() })
  const asked = ask(port, {
    headers: { ...post, 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' },
    body: `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{},${modern}}}`,
  })
  await hasBegun
  front.offer(endpoints())
  t.match(await asked, { status: 200, headers: { 'content-type': 'text/event-stream' }, body: '' })
})

t.test('the running sessions of an endpoint that is gone need its scopes; with the last, the path is gone', async t => {
  let scopes = ['read']
  const authority: Authority = { resourceAt: () => resource, check: () => claims(scopes) }
  const open = (opening: NewSession) => {
    const opened = new Opened(opening)
    opening.transport.start(event => {
      echo(event, opened)
      if (event.type === 'ended') void opening.transport.close()
    })
  }
  const { port, front } = await start(t, {
    authority, resource, ownAuthorization: true,
    endpoints: new Map([['/mcp', { server: 'stdio' as const, open, scopes: ['read'] }]]),
  })
  const { headers: { 'mcp-session-id': id } } = await ask(port, { headers, body: initialize() })
  const own = { ...headers, 'mcp-session-id': String(id) }
  front.offer(new Map())
  t.equal((await ask(port, { headers: own, body: ping })).status, 200)
  t.match(await ask(port, { headers, body: initialize() }), { status: 404, body: /any more/ })
  scopes = []
  t.equal((await ask(port, { headers: own, body: ping })).status, 403)
  scopes = ['read']
  t.equal((await ask(port, { method: 'DELETE', headers: own })).status, 200)
  t.match(await ask(port, { headers, body: initialize() }), { status: 404, body: /no endpoint/ }, 'no such path')
})
