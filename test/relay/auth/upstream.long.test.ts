import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { auditOf, scratch } from '../../e2e/bridge.js'
import { initializeOf, legacy, modern, request } from '../../e2e/cases.js'
import { serve } from '../../e2e/http-bridges.js'
import { ForgingIssuer } from './issuers.js'
import { bodyOf, listen, postTo } from '#test/kit/http.js'
import { answerAsServer } from './protected.js'

/** An HTTP server that does not ask who sends a request, and notes the headers by the request's path. */
const recording = async (t: Test) => {
  const seen = new Map<string, (string | undefined)[]>()
  const server = createServer((request, response) => {
    const path = request.url ?? ''
    seen.set(path, [...seen.get(path) ?? [], request.headers.authorization])
    void bodyOf(request).then(body => {
      if (body.includes('"initialize"')) response.setHeader('mcp-session-id', `session-${seen.get(path)?.length}`)
      if (body === '') response.writeHead(405).end()
      else answerAsServer(body, response)
    })
  })
  return { url: await listen(t, server), seen }
}

const initialize = initializeOf()

const post = (url: string, body: string, token?: string, headers: Record<string, string> = {}) =>
  postTo(url, body, { ...(token !== undefined && { authorization: `Bearer ${token}` }), ...headers })

const gateway = async (t: Test, config: object) => {
  const directory = scratch(t)
  const [file, audit] = [join(directory, 'customs.json'), join(directory, 'audit.ndjson')]
  writeFileSync(file, JSON.stringify({ version: 1, audit: { file: audit }, ...config }))
  const { relay, url } = await serve(t, ['--config', file])
  return { relay, url, records: (name: string) => auditOf(audit.replace('audit.', `audit.${name}.`)) }
}

void t.test('upstream says which Authorization header the server gets', async t => {
  const { url: origin, seen } = await recording(t)
  const headers = { Authorization: 'Bearer of-the-operator' }
  const { url } = await gateway(t, {
    servers: {
      usual: { url: `${origin}/usual` }, passed: { url: `${origin}/passed`, upstream: 'passthrough' },
      none: { url: `${origin}/none`, upstream: 'none' }, fixed: { url: `${origin}/fixed`, upstream: 'static', headers },
    },
  })
  for (const name of ['usual', 'passed', 'none', 'fixed']) {
    t.equal((await post(`${url}/${name}/mcp`, initialize, 'of-the-client')).status, 200)
  }
  t.strictSame(Object.fromEntries(seen), {
    '/usual': ['Bearer of-the-client'], '/passed': ['Bearer of-the-client'], '/none': [undefined],
    '/fixed': ['Bearer of-the-operator'],
  })
})

// OWASP AISVS 10.4.9: through a proxy with one upstream identity no client uses what another was granted.
void t.test('of two users behind one upstream identity, neither gets what only the other may have', async t => {
  const { url: origin, seen } = await recording(t)
  const issuer = await ForgingIssuer.open(t)
  const audience = 'https://gateway.example.com'
  const { url, relay, records } = await gateway(t, {
    auth: { issuer: issuer.url, audience, scopes: ['mcp'] },
    servers: {
      tickets: {
        url: `${origin}/mcp`, upstream: 'static', headers: { Authorization: 'Bearer of-the-operator' },
        tools: { admin: { scopes: ['admin'] } },
      },
      vault: { url: `${origin}/vault`, scopes: ['vault'] },
    },
  })
  const alice = await issuer.token({ aud: audience, scope: 'mcp admin vault' })
  const bob = await issuer.token({ aud: audience, sub: 'bob', scope: 'mcp' })
  const begun = await post(`${url}/tickets/mcp`, initialize, alice)
  const session = { 'mcp-session-id': begun.headers.get('mcp-session-id') ?? '' }
  t.equal(begun.status, 200)
  const list = request(legacy, '2', 'tools/list')
  t.equal((await post(`${url}/tickets/mcp`, list, alice, session)).status, 200)
  t.equal((await post(`${url}/tickets/mcp`, list, bob, session)).status, 404, 'the other one\'s session')
  for (const revision of [legacy, modern] as const) {
    const isModern = revision === modern
    const ask = (token: string, method: string, params: string, more: Record<string, string> = {}, path = 'tickets') => {
      const name = /"name":"(\w+)"/.exec(params)?.[1]
      return post(`${url}/${path}/mcp`, request(revision, '7', method, params), token, {
        'mcp-protocol-version': revision, ...(isModern && { 'mcp-method': method, ...(name && { 'mcp-name': name }) }), ...more,
      })
    }
    const tools = async (token: string, more?: Record<string, string>) =>
      [...(await (await ask(token, 'tools/list', '', more)).text()).matchAll(/"name":"(\w+)"/g)].map(([, name]) => name)
    const admin = '"name":"admin","arguments":{}'
    t.strictSame(await tools(alice), ['honest', 'admin'], revision)
    t.equal((await ask(alice, 'tools/call', admin)).status, 200)
    t.strictSame(await tools(bob), ['honest'], revision)
    const before = seen.get('/mcp')?.length
    const refused = await ask(bob, 'tools/call', admin)
    t.equal(refused.status, 403)
    t.match(refused.headers.get('www-authenticate'), /error="insufficient_scope", scope="mcp admin"/)
    t.equal((await ask(bob, 'tools/list', '', {}, 'vault')).status, 403, 'another server')
    t.equal(seen.get('/mcp')?.length, before, 'the server was not asked')
    if (!isModern) {
      const batch = `[${request(legacy, '8', 'tools/list')},${request(legacy, '9', 'tools/call', admin)}]`
      t.equal((await post(`${url}/tickets/mcp`, batch, bob)).status, 403, 'in a batch')
    }
  }
  t.ok(seen.get('/mcp')?.every(header => header === 'Bearer of-the-operator'))
  await relay.stop()
  const subjects = records('tickets').filter(({ event }) => event === 'tools/call' || event === 'tools/list')
    .map(record => (record as unknown as { subject?: { sub?: string } }).subject?.sub)
  t.ok(subjects.includes('alice') && subjects.includes('bob') && !subjects.includes(undefined), 'each is on record')
})
