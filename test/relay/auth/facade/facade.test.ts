import { createHash, randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import t, { type Test } from 'tap'
import { Facade } from '#relay/auth/facade/facade.js'
import { consentPage } from '#relay/auth/facade/page.js'
import type { SitePage } from '#relay/transport/front/site.js'
import { listen } from '#test/kit/http.js'
import { severalIssuers } from '../several.js'

const origin = 'http://127.0.0.1:7400'
const redirectUri = 'https://client.example/callback'

/** Replicas of a facade in front of the server of several issuers, and a client of them. */
const opened = async (t: Test, options: Parameters<typeof severalIssuers>[1] = {}, count = 3) => {
  const one = await severalIssuers(t, options)
  let [ahead, costs] = [0, true]
  const warnings: string[] = []
  const key = randomBytes(32)
  const replica = (url = one.url, issuer?: string) => new Facade({
    name: 'tickets', origin, paths: ['/mcp'], prefix: '', key, revoked: new Set(), warn: message => warnings.push(message),
    behind: { url, settings: { grant: 'user', loginMs: 1000, issuer } }, now: () => Date.now() + ahead,
  })
  const replicas = Array.from({ length: count }, () => replica())
  let turn = 0
  interface More { query?: object; body?: string; headers?: object }
  const visit = (method: string, path: string, more: More = {}) =>
    (replicas[turn++ % count] as Facade).answer({
      method, path, query: new URLSearchParams({ ...more.query }), body: more.body ?? '', mayCost: () => costs,
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...more.headers },
    })
  const form = (fields: object) => new URLSearchParams({ ...fields }).toString()
  const register = (uris: readonly string[]) => visit('POST', '/register', {
    body: JSON.stringify({ redirect_uris: uris, client_name: 'a client' }), headers: { 'content-type': 'application/json' },
  })
  const registered = await register([redirectUri, 'http://127.0.0.1/callback'])
  const { client_id: clientId = '' } = JSON.parse(registered.body) as { client_id?: string }
  const verifier = randomBytes(32).toString('base64url')
  const authorize = (query: object = {}): Promise<SitePage> => visit('GET', '/authorize', { query: {
    client_id: clientId, redirect_uri: redirectUri, response_type: 'code', code_challenge_method: 'S256',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'), ...query,
  } })
  /** The page of the consent, after the user's login at the issuer. */
  const loggedIn = async (query?: object, answer: object = { code: 'a-code' }): Promise<SitePage> => {
    const { headers } = await authorize(query)
    const state = new URL(headers['location'] ?? 'x:').searchParams.get('state')
    return visit('GET', '/callback', { query: { ...answer, state } })
  }
  const decide = (page: SitePage, answer: string, headers: object = {}) => visit('POST', '/consent', {
    body: form({ request: /name="request" value="([^"]+)"/.exec(page.body)?.[1] ?? '', answer }), headers,
  })
  const token = async (fields: object) => {
    const page = await visit('POST', '/token', { body: form({ client_id: clientId, ...fields }) })
    const answer = { ...JSON.parse(page.body) as object, status: page.status }
    return answer as Record<string, string | number | undefined>
  }
  const codeOf = async (query?: object): Promise<string> => {
    const { headers } = await decide(await loggedIn(query), 'allow')
    return new URL(headers['location'] ?? 'x:').searchParams.get('code') ?? ''
  }
  const redeem = (code: string, more: object = { redirect_uri: redirectUri }) =>
    token({ grant_type: 'authorization_code', code, code_verifier: verifier, ...more })
  return {
    one, facade: replica(), replica, warnings, register, authorize, loggedIn, decide, codeOf, redeem, token,
    visit, form, clientId,
    later: (ms: number) => (ahead += ms), flood: () => (costs = false),
    login: async (query?: object, more?: object) => redeem(await codeOf(query), more),
  }
}

void t.test('each step of a login, and each request, may be another replica, also after a restart', async t => {
  const { one, facade, login, token, later } = await opened(t)
  const granted = await login()
  t.match(granted, { status: 200, token_type: 'Bearer', expires_in: 3600 })
  t.match(await facade.check(String(granted['access_token'])), {
    audience: [`${origin}/mcp`], subject: { scopes: [] }, upstream: { header: /^Bearer access-\d+$/ },
  })
  const again = await token({ grant_type: 'refresh_token', refresh_token: granted['refresh_token'] })
  t.match(again, { status: 200 })
  t.not(again['refresh_token'], granted['refresh_token'])
  const [redeemed, refreshed] = one.tokens('a')
  t.equal(redeemed?.['client_id'], refreshed?.['client_id'], 'by the client to which the issuer gave it')
  t.match(refreshed, { grant_type: 'refresh_token', refresh_token: /^refresh-/ })
  later(3601_000)
  t.equal(await facade.check(String(granted['access_token'])), 'invalid', 'it ends with the token of the issuer')
  for (const kind of ['access_token', 'refresh_token']) t.equal(await facade.check(`${granted[kind]}x`), 'invalid')
  t.equal(await facade.check(String(granted['refresh_token'])), 'invalid', 'a refresh token is no access token')
})

void t.test('the issuer decides what counts once, and how long; its errors are those of the client', async t => {
  let error = { status: 400, body: { error: 'invalid_grant' } }
  const { one, codeOf, redeem, warnings } = await opened(t, {
    token: (_, json) => json(error.status, error.body),
  })
  const code = await codeOf()
  t.match(await redeem(code), { status: 400, error: 'invalid_grant' })
  t.match(await redeem(code), { status: 400, error: 'invalid_grant' })
  t.equal(one.tokens('a').length, 2, 'the issuer hears of a code that comes twice')
  t.same(warnings, [])
  error = { status: 503, body: { error: 'x' } }
  t.match(await redeem(code), { status: 503, error: 'temporarily_unavailable' })
  t.equal(warnings.length, 1)
})

void t.test('a code is for its client, redirect URI and verifier, or the issuer is not asked', async t => {
  const { one, codeOf, redeem, register, later } = await opened(t)
  const code = await codeOf()
  const { client_id: other } = JSON.parse((await register([redirectUri])).body) as { client_id: string }
  for (const more of [
    { code_verifier: 'A'.repeat(43) }, { code_verifier: '' }, { redirect_uri: 'http://127.0.0.1/callback' }, { client_id: other },
    { code: `${code}x` },
  ]) t.match(await redeem(code, more), { status: 400, error: 'invalid_grant' }, JSON.stringify(more))
  t.match(await redeem(code, { client_id: 'x' }), { status: 401, error: 'invalid_client' })
  t.match(await redeem(code, { resource: one.url.href }), { status: 400, error: 'invalid_target' })
  later(61_000)
  t.match(await redeem(code), { error: 'invalid_grant' }, 'too late')
  t.same(one.tokens('a'), [])
  t.match(await redeem(await codeOf(), {}), { status: 200 }, 'a client of OAuth 2.1 does not send its redirect URI again')
})

void t.test('a token is not sent to another server that takes the place of its own, also not of the same host', async t => {
  const { one, login, replica } = await opened(t)
  const token = String((await login())['access_token'])
  const at = (path: string) => replica(new URL(path, one.url)).check(token)
  t.match(await at(one.url.pathname), { upstream: { header: /^Bearer / } })
  for (const other of ['/other', `${one.url.pathname}/below`, 'http://127.0.0.1:1/mcp']) t.equal(await at(other), 'invalid', other)
  const of = (issuer: string) => replica(one.url, one.url.origin + issuer).check(token)
  t.match(await of('/a'), { upstream: { header: /^Bearer / } })
  t.equal(await of('/b'), 'invalid', 'the operator names another issuer now')
})

void t.test('the consent is asked of whoever has logged in, and nobody is sent away before', async t => {
  const { one, authorize, loggedIn, decide, visit } = await opened(t)
  const asked = await authorize({ state: 'of-the-client' })
  t.equal(asked.status, 303)
  const at = new URL(asked.headers['location'] ?? '')
  t.equal(at.origin + at.pathname, `${one.origin}/a/authorize`)
  const page = await loggedIn({ state: 'of-the-client', scope: 'files admin' })
  t.match(page, { status: 200, body: /client\.example[^]*<dd>files<\/dd><dd>admin<\/dd>/ })
  t.notMatch(page.body + JSON.stringify(page.headers), 'a-code', 'no cookie, and no code of the issuer')
  const denied = new URL((await decide(page, 'deny')).headers['location'] ?? '')
  t.match(Object.fromEntries(denied.searchParams), { error: 'access_denied', state: 'of-the-client', iss: origin })
  for (const headers of [{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }, { 'sec-fetch-site': 'same-site' }]) {
    t.match(await decide(page, 'allow', headers), { status: 400 }, 'a form of another site')
  }
  t.match(await decide(page, 'allow', { origin, 'sec-fetch-site': 'same-origin' }), { status: 303 })
  const stays = [
    { client_id: 'x' }, { redirect_uri: 'https://evil.example' }, { response_type: 'token' }, { code_challenge: '' },
    { code_challenge_method: 'plain' }, { resource: 'https://elsewhere.example' }, { scope: 'x'.repeat(3000) },
    { redirect_uri: 'http://127.0.0.1:7/callback', response_type: 'token' },
  ]
  for (const query of stays) {
    const { status, headers } = await authorize(query)
    t.match([status, headers['location']], [400, undefined], JSON.stringify(query))
  }
  const back = [{ error: 'access_denied' }, { error: 'server_error' }, { code: 'x', iss: 'https://evil.example' }, {}]
  for (const answer of back) t.match(await loggedIn({}, answer), { status: 400 }, JSON.stringify(answer))
  t.match(await visit('GET', '/callback', { query: { code: 'x', state: 'y' } }), { status: 400 })
  t.same(one.tokens('a'), [])
})

void t.test('redirect URIs are https, http on loopback, or of a scheme with a dot', async t => {
  const { register } = await opened(t)
  for (const uri of ['https://a.example/cb', 'http://127.0.0.1:1/cb', 'http://[::1]/cb', 'http://localhost/cb', 'com.example.app:/cb',
    'cursor://anysphere.cursor-mcp/oauth/callback', 'vscode://saoudrizwan.claude-dev/mcp-auth/callback/ab12']) {
    t.equal((await register([uri])).status, 201, uri)
  }
  for (const uri of [
    'http://a.example/cb', 'javascript:alert(1)', 'ms-msdt://x', 'vscode://x', 'vscode://file/etc', 'cursor://a.b/c?d=e', 'other://a.b/c',
    'vscode://vscode.git/clone', 'intent://x', 'data:text/html,x', 'https://u@a.example/',
    'https://a.example/#x', 'file:///x', 'x', '', 'https://a.example/ b',
  ]) t.equal((await register([redirectUri, uri])).status, 400, uri)
})

void t.test('a client describes itself by a document at its id, which the consent names', async t => {
  const document = { client_id: '', client_name: 'An app', redirect_uris: ['http://127.0.0.1/callback'] }
  let found: object = document
  const site = await listen(t, createServer((_, response) => void response.end(JSON.stringify(found))))
  document.client_id = `${site}/client.json`
  const { loggedIn, decide, authorize, redeem, visit } = await opened(t)
  const { body } = await visit('GET', '/.well-known/oauth-authorization-server')
  t.match(JSON.parse(body), { client_id_metadata_document_supported: true })
  const asks = { client_id: document.client_id, redirect_uri: 'http://127.0.0.1:9999/callback' }
  const page = await loggedIn(asks)
  t.match(page.body, `An app (so it calls itself)</dd><dd>of ${new URL(site).host}</dd>`)
  const code = new URL((await decide(page, 'allow')).headers['location'] ?? '').searchParams.get('code') ?? ''
  t.match(await redeem(code, asks), { status: 200 })
  for (const changes of [
    { client_id: `${site}/other.json` }, { redirect_uris: ['http://a.example/'] }, { redirect_uris: [] },
    { token_endpoint_auth_method: 'private_key_jwt' }, { redirect_uris: ['http://127.0.0.1/other'] }, { client_name: 'x'.repeat(10_000) },
  ]) {
    found = { ...document, ...changes }
    t.match(await authorize(asks), { status: 400 }, JSON.stringify(changes).slice(0, 60))
  }
  for (const id of ['http://10.0.0.1/client.json', `${site}/`, `${site}/a/../client.json`, `${site}/client.json#x`, 'ftp://a.example/x']) {
    t.match(await authorize({ ...asks, client_id: id }), { status: 400 }, id)
  }
})

void t.test('a login stays at the first issuer, and metadata that was read once is used while it cannot be read', async t => {
  const down = new Set<string>()
  const { one, login, later } = await opened(t, { issuers: ['a', 'b'], down })
  for (let replica = 0; replica < 3; replica++) t.equal((await login()).status, 200)
  down.add('a')
  later(11 * 60_000)
  t.equal((await login()).status, 200)
  t.same(one.tokens('b'), [], 'no code of a login goes to another issuer')
})

void t.test('the scopes of a request are those of its token', async t => {
  let scope = 'files files.write'
  const { facade, login, token } = await opened(t, { token: (_, json) => json(200, {
    access_token: `a-${scope}`, token_type: 'Bearer', expires_in: 3600, refresh_token: 'refresh', scope,
  }) })
  const granted = await login()
  t.match(await facade.check(String(granted['access_token'])), { subject: { scopes: ['files', 'files.write'] } })
  scope = 'files'
  const refreshed = await token({ grant_type: 'refresh_token', refresh_token: granted['refresh_token'] })
  t.match(await facade.check(String(refreshed['access_token'])), {
    subject: { scopes: ['files'] }, upstream: { header: 'Bearer a-files' },
  })
})

void t.test('a token is revoked at the issuer, by its own client only', async t => {
  const { one, login, visit, form, clientId } = await opened(t)
  const granted = await login()
  const revoked = () => one.log.filter(({ path }) => path === '/a/revoke').map(({ body }) => body.get('token'))
  const revoke = (token: unknown, client = clientId) => visit('POST', '/revoke', { body: form({ token, client_id: client }) })
  for (const token of ['x', granted['access_token']]) t.match(await revoke(token, 'another'), { status: 200 })
  t.same(revoked(), [])
  await revoke(granted['refresh_token'])
  await revoke(granted['access_token'])
  t.match(revoked(), [/^refresh-/, /^access-/])
})

void t.test('strangers who begin logins cost no tokens of others', async t => {
  const { login, flood, authorize, token } = await opened(t)
  const granted = await login()
  flood()
  t.match(await authorize(), { status: 429 })
  t.match(await token({ grant_type: 'refresh_token', refresh_token: granted['refresh_token'] }), { status: 200 })
})

void t.test('a registration that the issuer has forgotten is made again', async t => {
  const forgotten = new Set<string | null>()
  const { one, login, authorize, later } = await opened(t, { token: ({ body }, json) => (forgotten.has(body.get('client_id'))
    ? json(401, { error: 'invalid_client' }) : json(200, { access_token: 'x', token_type: 'Bearer' })) }, 1)
  await login()
  forgotten.add(one.tokens('a')[0]?.['client_id'] ?? null)
  t.equal((await login()).status, 503)
  t.equal((await login()).status, 200)
  const registrations = () => one.log.filter(({ path }) => path.endsWith('/register')).length
  t.equal(registrations(), 2)
  await authorize()
  later(11 * 60_000)
  t.equal((await login()).status, 200)
  t.equal(registrations(), 3, 'nobody came back: perhaps the issuer shows an error only')
  later(11 * 60_000)
  t.equal((await login()).status, 200)
  t.equal(registrations(), 3)
})

void t.test('the consent page shows hosts and scopes to their ends', t => {
  const host = `login.example.com.${'a'.repeat(60)}.${'b'.repeat(60)}.evil.example`
  const scopes = [...Array.from({ length: 20 }, (_, n) => `profile.read.${n}`), 'admin.delete.everything']
  const { body } = consentPage({
    server: 's', issuer: host, name: 'a <b>', redirectUri: `https://${host}/callback`, scopes, action: '/consent', request: 'x',
  })
  t.equal(body.split(host).length, 3)
  for (const scope of scopes) t.match(body, `<dd>${scope}</dd>`)
  t.notMatch(body, '<b>')
  t.end()
})
