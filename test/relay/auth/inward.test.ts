import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { exportSPKI, importJWK, SignJWT, UnsecuredJWT } from 'jose'
import t, { type Test } from 'tap'
import { postTo } from '#test/kit/http.js'
import { auditOf, scratch, scripted } from '../../e2e/bridge.js'
import { answer, honest, initializeOf, legacy, listResult, on, request } from '../../e2e/cases.js'
import { serve } from '../../e2e/http-bridges.js'
import { ForgingIssuer, realIssuer, tokenOf } from './issuers.js'

const audience = 'https://gateway.example.com'
const resource = `${audience}/files/mcp`
const metadataUrl = `${audience}/.well-known/oauth-protected-resource/files/mcp`

const admin = honest.replace('"honest"', '"delete_all"')
const reactions = [
  on('initialize', answer('$ID',
    `{"protocolVersion":"${legacy}","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`)),
  on('tools/list', answer('$ID', listResult(legacy, [honest, admin]))),
  on('tools/call', answer('$ID', '{"content":[]}')),
]

interface Setting {
  readonly auth: object
  readonly server?: object
  readonly env?: NodeJS.ProcessEnv
  readonly args?: readonly string[]
}

/** A gateway with two servers that asks for the tokens of an issuer. */
const gateway = async (t: Test, { auth, server, env, args = [] }: Setting) => {
  const directory = scratch(t)
  const { command } = scripted(directory, reactions)
  const config = join(directory, 'customs.json')
  const audit = join(directory, 'audit.ndjson')
  const one = { command, inheritEnv: true }
  writeFileSync(config, JSON.stringify({
    version: 1, auth, audit: { file: audit }, servers: { files: { ...one, ...server }, other: one },
  }))
  const { relay, url } = await serve(t, ['--config', config, ...args], [], env)
  return {
    url, relay,
    audit: () => auditOf(audit.replace('audit', 'audit.files')),
    post: (token: string | undefined, body: string, headers: Record<string, string> = {}, path = '/files/mcp') =>
      postTo(url + path, body, { ...(token !== undefined && { authorization: `Bearer ${token}` }), ...headers }),
  }
}

const initialize = initializeOf()
const list = request(legacy, '2', 'tools/list')
const call = (tool: string) => request(legacy, '3', 'tools/call', `"name":"${tool}","arguments":{}`)

const challengeOf = (response: Response): string => response.headers.get('www-authenticate') ?? ''

const lacksAdmin = 'The bearer token lacks a scope that the tool "delete_all" of the server "files" needs: admin'

void t.test('a real issuer\'s tokens let clients in, and the subject is on record', async t => {
  const issuer = await realIssuer(t, 'read admin')
  const relay = await gateway(t, {
    auth: { issuer, audience }, server: { scopes: ['read'], tools: { delete_all: { scopes: ['admin'] } } },
  })
  const missing = await relay.post(undefined, initialize)
  t.equal(missing.status, 401)
  t.equal(challengeOf(missing), `Bearer scope="read", resource_metadata="${metadataUrl}"`)
  const metadata = await fetch(`${relay.url}/.well-known/oauth-protected-resource/files/mcp`)
  t.equal(metadata.headers.get('access-control-allow-origin'), '*')
  t.same(await metadata.json(), {
    resource, authorization_servers: [issuer], bearer_methods_supported: ['header'], scopes_supported: ['read', 'admin'],
  })
  t.equal((await fetch(`${relay.url}/.well-known/oauth-protected-resource/nowhere`)).status, 404)

  const reader = await tokenOf(issuer, resource, 'read')
  const begun = await relay.post(reader, initialize)
  t.equal(begun.status, 200)
  const session = { 'mcp-session-id': begun.headers.get('mcp-session-id') ?? '' }
  const names = async (token: string) => [...(await (await relay.post(token, list, session)).text())
    .matchAll(/"name":"(\w+)"/g)].map(([, name]) => name)
  t.same(await names(reader), ['honest'], 'a tool that needs another scope is not listed')
  t.equal((await relay.post(reader, call('honest'), session)).status, 200)
  const refused = await relay.post(reader, call('delete_all'), session)
  t.equal(refused.status, 403)
  t.equal(challengeOf(refused),
    `Bearer error="insufficient_scope", scope="read admin", resource_metadata="${metadataUrl}"`)
  t.match(await refused.json(), { error: { message: lacksAdmin } })
  const admin = await relay.post(await tokenOf(issuer, resource, 'admin'), initialize)
  t.match(await admin.json(), { error: { message: 'The bearer token lacks a scope that the server "files" needs: read' } })
  const more = await tokenOf(issuer, resource, 'read admin')
  t.same(await names(more), ['honest', 'delete_all'], 'the same session after the step-up')
  t.equal((await relay.post(more, call('delete_all'), session)).status, 200)

  const other = await tokenOf(issuer, `${audience}/other/mcp`)
  const wrong = await relay.post(other, initialize)
  t.equal(wrong.status, 401, 'a token for another endpoint')
  t.match(challengeOf(wrong), 'error="invalid_token"')
  t.equal(
    (await relay.post(await tokenOf(issuer, audience, 'read'), initialize)).status, 200, 'one for the whole relay',
  )

  await relay.relay.stop()
  const records = relay.audit()
  t.match(records.find(one => JSON.stringify(one).includes(': admin')), { subject: { sub: 'robot' }, reason: `HTTP 403: ${lacksAdmin}` })
  t.match(relay.relay.stderr().replaceAll('\\"', '"'), `("robot"): HTTP 403: ${lacksAdmin}`)
  t.ok(records.length > 4)
  const subject = { client_id: 'robot', iss: issuer, sub: 'robot' }
  for (const record of records) if (record.event !== 'http/refused') t.match(record, { subject })
  const written = JSON.stringify(records) + relay.relay.stderr()
  for (const token of [reader, more, other]) {
    t.notOk(written.includes(token.slice(-40)), 'no token is written')
  }
})

void t.test('a token that was not issued for this relay, or not by its issuer, is refused', async t => {
  const issuer = await ForgingIssuer.open(t)
  const relay = await gateway(t, { auth: { issuer: issuer.url, audience, scopes: ['mcp'] }, args: ['--log-level', 'info'] })
  const good = { aud: resource, scope: 'mcp', client_id: 'app' }
  const statusOf = async (token: string) => (await relay.post(token, initialize)).status
  const now = Math.floor(Date.now() / 1000)
  t.equal(await statusOf(await issuer.token(good)), 200)
  t.equal(await statusOf(await issuer.token({ ...good, scope: undefined, scp: ['mcp', 'x'] })), 200, 'scp')
  t.equal(await statusOf(await issuer.token({
    ...good, aud: ['https://x', `HTTPS://GATEWAY.example.com/files/mcp/`],
  })), 200)
  const [key] = issuer.keys
  if (key === undefined) throw new Error('no key')
  const pem = await exportSPKI(await importJWK({ ...key, alg: 'RS256' }, 'RS256', { extractable: true }) as never)
  const hmac = new SignJWT({ iss: issuer.url, sub: 'alice', ...good })
    .setProtectedHeader({ alg: 'HS256', kid: 'first' }).setExpirationTime('5m').sign(Buffer.from(pem))
  const [head = '', payload = ''] = (await issuer.token(good)).split('.')
  const bad: readonly (readonly [name: string, token: string])[] = [
    ['another audience', await issuer.token({ ...good, aud: 'https://elsewhere.example.com' })],
    [
      'an audience that only begins like ours',
      await issuer.token({ ...good, aud: `${audience}.evil.example` }),
    ],
    ['no audience', await issuer.token({ scope: 'mcp' })],
    ['another issuer', await issuer.token({ ...good, iss: 'https://elsewhere.example.com' })],
    ['the issuer with a slash', await issuer.token({ ...good, iss: `${issuer.url}/` })],
    ['expired', await issuer.token({ ...good, exp: now - 60 })],
    ['not valid yet', await issuer.token({ ...good, nbf: now + 600 })],
    ['alg none', new UnsecuredJWT({ iss: issuer.url, sub: 'alice', ...good }).setExpirationTime('5m').encode()],
    ['HS256 with the public key', await hmac],
    ['no signature', `${head}.${payload}.`],
    ['another payload', `${head}.${Buffer.from(JSON.stringify({ ...good, iss: issuer.url, sub: 'root', exp: now + 600 })).toString('base64url')}.${'A'.repeat(342)}`],
    ['opaque', 'abcdef'],
    ['three dots', 'a.b.c'],
    ['bound to a certificate', await issuer.token({ ...good, cnf: { 'x5t#S256': 'x' } })],
  ]
  for (const [name, token] of bad) t.equal(await statusOf(token), 401, name)
  const log = relay.relay.stderr()
  t.match(log, 'its audience is \\"https://elsewhere.example.com\\", not \\"https://gateway.example.com\\"')
  t.match(log, /"iss\\" claim/)
  for (const [name, token] of bad) if (token.length > 20) t.notOk(log.includes(token.slice(-20)), name)
  const lacking = await relay.post(await issuer.token({ ...good, scope: 'other' }), initialize)
  t.equal(lacking.status, 403)
  t.match(challengeOf(lacking), /error="insufficient_scope", scope="mcp"/)
  const malformed = await relay.post(undefined, initialize, { authorization: 'Bearer' })
  t.equal(malformed.status, 400)
  t.match(challengeOf(malformed), 'error="invalid_request"')
  t.equal((await relay.post(undefined, initialize, { authorization: 'Basic YTpi' })).status, 401)
})

void t.test('a new key of the issuer is fetched, and unknown keys do not flood the issuer', async t => {
  const issuer = await ForgingIssuer.open(t)
  const relay = await gateway(t, { auth: { issuer: issuer.url, audience } })
  t.equal((await relay.post(await issuer.token({ aud: audience }), initialize)).status, 200)
  await issuer.addKey('second')
  const token = await issuer.token({ aud: audience }, 'second')
  // The issuer is asked at most every two seconds.
  while ((await relay.post(token, initialize)).status !== 200) await pause(200)
  const before = issuer.fetched.length
  await issuer.addKey('hidden')
  issuer.keys.pop()
  const unknown = await Promise.all(Array.from({ length: 50 }, (_, index) =>
    issuer.token({ aud: audience, jti: `${index}` }, 'hidden')))
  for (const one of unknown) t.equal((await relay.post(one, initialize)).status, 401)
  t.ok(issuer.fetched.length - before < 20, `${issuer.fetched.length - before} documents for 50 tokens`)
})

void t.test('metadata of another issuer, or keys at a private address, are not believed', async t => {
  const issuer = await ForgingIssuer.open(t)
  const path = '/.well-known/oauth-authorization-server'
  for (const document of [
    { issuer: 'https://elsewhere.example.com', jwks_uri: `${issuer.url}/keys` },
    { issuer: issuer.url, jwks_uri: 'file:///etc/passwd' },
    { issuer: issuer.url, jwks_uri: 'http://169.254.169.254/keys' },
    { issuer: issuer.url },
  ]) {
    issuer.documents.set(path, document)
    const relay = await gateway(t, { auth: { issuer: issuer.url, audience } })
    const response = await relay.post(await issuer.token({ aud: audience }), initialize)
    t.equal(response.status, 503, JSON.stringify(document))
    t.equal(response.headers.get('retry-after'), '5')
  }
})

void t.test('a session belongs to the subject that began it, whichever token it shows', async t => {
  const issuer = await ForgingIssuer.open(t)
  const relay = await gateway(t, {
    auth: { issuer: issuer.url, audience, tokens: { ci: 'ci-token-of-the-file' } },
  })
  const begun = await relay.post(await issuer.token({ aud: audience }), initialize)
  const session = { 'mcp-session-id': begun.headers.get('mcp-session-id') ?? '' }
  t.equal((await relay.post(await issuer.token({ aud: audience, jti: '2' }), list, session)).status, 200)
  t.equal((await relay.post(await issuer.token({ aud: audience, sub: 'bob' }), list, session)).status, 404)
  t.equal((await relay.post('ci-token-of-the-file', list, session)).status, 404)
  t.equal((await relay.post('ci-token-of-the-file', initialize)).status, 200, 'a token of the file')
  await relay.relay.stop()
  t.match(JSON.stringify(relay.audit()), '"subject":{"name":"ci"}')
})

void t.test('a token of the file grants no scopes, also not those that every token needs', async t => {
  const issuer = await ForgingIssuer.open(t)
  const auth = { issuer: issuer.url, audience, tokens: { ci: 'ci-token-of-the-file' } }
  for (const [setting, status] of [[{ auth }, 200], [{ auth: { ...auth, scopes: ['mcp'] } }, 403], [{ auth, server: { scopes: ['files'] } }, 403]] as const) {
    t.equal((await (await gateway(t, setting)).post('ci-token-of-the-file', initialize)).status, status)
  }
})

void t.test('a token that is no JWT is asked about where introspection is configured', async t => {
  const issuer = await ForgingIssuer.open(t)
  issuer.documents.set('/introspect', {
    active: true, iss: issuer.url, sub: 'carol', client_id: 'app', aud: audience, scope: 'mcp',
    exp: Math.floor(Date.now() / 1000) + 60,
  })
  const introspection = { url: `${issuer.url}/introspect`, clientId: 'relay', clientSecret: '${env:SECRET}' }
  const relay = await gateway(t, {
    auth: { issuer: issuer.url, audience, introspection }, env: { SECRET: 'the-secret-of-the-relay' },
  })
  t.equal((await relay.post('opaque-1', initialize)).status, 200)
  t.equal((await relay.post('opaque-1', initialize)).status, 200)
  t.equal(issuer.fetched.length, 1, 'it is asked once')
  issuer.documents.set('/introspect', { active: false })
  t.equal((await relay.post('opaque-2', initialize)).status, 401)
  issuer.documents.delete('/introspect')
  t.equal((await relay.post('opaque-3', initialize)).status, 503)
  await relay.relay.stop()
  t.notMatch(relay.relay.stderr(), 'the-secret-of-the-relay')
})
