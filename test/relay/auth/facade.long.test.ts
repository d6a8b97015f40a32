import { createHash, randomBytes } from 'node:crypto'
import { chmodSync, lstatSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { freePort, postTo } from '#test/kit/http.js'
import { auditOf, scratch } from '../../e2e/bridge.js'
import { initializeOf, legacy, request } from '../../e2e/cases.js'
import { Browser, serveAt } from './facade-parts.js'
import { answerAsServer, openProtected, type Protected } from './protected.js'

const redirectUri = 'http://127.0.0.1:33418/callback'

interface Metadata { readonly [name: string]: string }
type Answer = Readonly<Record<string, string>>

/** A client of the facade that shows every step. */
class Login {
  readonly browser = new Browser()
  readonly verifier = randomBytes(32).toString('base64url')
  readonly state = randomBytes(8).toString('hex')
  clientId = ''

  constructor(readonly origin: string, readonly metadata: Metadata, readonly path = '/mcp') {}

  static async open(origin: string, path = '/mcp', prefix = ''): Promise<Login> {
    const url = `${origin}/.well-known/oauth-authorization-server${prefix}`
    const login = new Login(origin, await (await fetch(url)).json() as Metadata, path)
    login.clientId = (await login.register({ redirect_uris: [redirectUri], client_name: 'A <b>test</b>' })).body['client_id'] ?? ''
    return login
  }

  async register(metadata: object) {
    const response = await fetch(this.metadata['registration_endpoint'] ?? '', {
      method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(metadata),
    })
    return { status: response.status, body: await response.json() as Answer }
  }

  url(changes: Readonly<Record<string, string | undefined>> = {}): string {
    const url = new URL(this.metadata['authorization_endpoint'] ?? '')
    const parameters = {
      response_type: 'code', client_id: this.clientId, redirect_uri: redirectUri, state: this.state,
      code_challenge: createHash('sha256').update(this.verifier).digest('base64url'), code_challenge_method: 'S256',
      resource: this.origin + this.path, ...changes,
    }
    for (const [name, value] of Object.entries<string | undefined>(parameters)) {
      if (value !== undefined) url.searchParams.set(name, value)
    }
    return url.href
  }

  /** @returns the parameters that the client gets */
  async answer(changes?: Readonly<Record<string, string | undefined>>, answer?: 'deny'): Promise<URLSearchParams> {
    return (await this.browser.open(this.url(changes), isClients, answer)).searchParams
  }

  async token(parameters: Readonly<Record<string, string>>) {
    const response = await fetch(this.metadata['token_endpoint'] ?? '', {
      method: 'POST', body: new URLSearchParams({ client_id: this.clientId, ...parameters }),
    })
    return { status: response.status, body: await response.json() as Answer }
  }

  redeem(code: string, changes: Readonly<Record<string, string>> = {}) {
    return this.token({
      grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: this.verifier, ...changes,
    })
  }

  async tokens(changes?: Readonly<Record<string, string | undefined>>): Promise<Answer> {
    return (await this.redeem((await this.answer(changes)).get('code') ?? '')).body
  }

  post(token: string | undefined, body: string, headers: Record<string, string> = {}, path = this.path) {
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }
    return postTo(this.origin + path, body, { ...authorization, ...headers })
  }
}

const isClients = (url: URL): boolean => url.port === '33418' || url.protocol === 'cursor:'

const initialize = initializeOf()
const call = (tool: string) => request(legacy, '3', 'tools/call', `"name":"${tool}","arguments":{}`)

/** A facade in front of a server that checks the audience of its tokens. */
const facade = async (t: Test, options: Parameters<typeof openProtected>[1] = {}) => {
  const server = await openProtected(t, options)
  const audit = join(scratch(t), 'audit.ndjson')
  const { relay, origin } = await serveAt(
    t, await freePort(), ['--facade', '--audit', audit, '--log-level', 'debug', server.url],
  )
  return {
    server, origin, relay,
    /** Ends the relay. @returns all that it has written */
    written: async () => {
      await relay.stop()
      return { records: auditOf(audit), all: readFileSync(audit, 'utf8') + relay.stderr() }
    },
  }
}

const secretsIn = (
  text: string, { secrets }: Protected, own: readonly (string | undefined)[],
): readonly (string | undefined)[] =>
  [...secrets, ...own].filter(secret => secret !== undefined && secret.length > 20 && text.includes(secret))

void t.test('a user logs in as itself at the server behind, and the client gets tokens of the relay', async t => {
  const { server, origin, written } = await facade(t)
  const login = await Login.open(origin)
  t.match(login.metadata, {
    issuer: origin, authorization_endpoint: `${origin}/authorize`,
    authorization_response_iss_parameter_supported: true, code_challenge_methods_supported: ['S256'],
  })
  const missing = await login.post(undefined, initialize)
  t.equal(missing.status, 401)
  const metadataUrl = `${origin}/.well-known/oauth-protected-resource/mcp`
  t.equal(missing.headers.get('www-authenticate'), `Bearer resource_metadata="${metadataUrl}"`)
  t.match(await (await fetch(metadataUrl)).json(), { resource: `${origin}/mcp`, authorization_servers: [origin] })

  const answer = await login.answer()
  t.equal(answer.get('iss'), origin, 'our own iss')
  t.equal(answer.get('state'), login.state)
  const [consent = ''] = login.browser.pages
  t.match(consent, 'A &#60;b&#62;test&#60;/b&#62;')
  t.match(consent, 'this computer (127.0.0.1:33418)')
  const atIssuer = login.browser.visited.find(url => url.startsWith(`${server.issuer}/auth`)) ?? ''
  t.equal(new URL(atIssuer).searchParams.get('resource'), server.url, 'the resource is that of the server')
  t.equal(new URL(atIssuer).searchParams.get('redirect_uri'), `${origin}/callback`)
  t.not(new URL(atIssuer).searchParams.get('state'), login.state)
  const { status, body } = await login.redeem(answer.get('code') ?? '')
  t.equal(status, 200)
  t.match(body, { token_type: 'Bearer', expires_in: 3600 })
  const { access_token: access = '', refresh_token: refresh = '' } = body
  t.notOk([...server.secrets].some(secret => JSON.stringify(body).includes(secret)), 'no token of the issuer')
  t.equal((await login.post(access, initialize)).status, 200)
  t.equal((await login.post(access, call('honest'))).status, 200)

  const refused = await login.post(access, call('admin'))
  t.equal(refused.status, 403)
  t.equal(refused.headers.get('www-authenticate'),
    `Bearer error="insufficient_scope", scope="admin", resource_metadata="${metadataUrl}"`)
  const more = await login.tokens({ scope: 'mcp admin' })
  t.equal((await login.post(more['access_token'], call('admin'))).status, 200, 'step-up')

  const rotated = (await login.token({ grant_type: 'refresh_token', refresh_token: refresh })).body
  t.equal((await login.post(rotated['access_token'], initialize)).status, 200)
  t.equal((await login.post(access, initialize)).status, 200, 'the access token of before')
  const { records, all } = await written()
  t.match(records.find(({ event }) => event === 'tools/call'), { subject: { iss: server.issuer, sub: 'alice' } })
  const own = [access, refresh, rotated['access_token'], rotated['refresh_token'], answer.get('code') ?? '', login.verifier]
  t.strictSame(secretsIn(all, server, own), [], 'no token is written')
})

void t.test('a client that keeps its registration logs in after the relay was killed', async t => {
  const server = await openProtected(t)
  const port = await freePort()
  const key = join(t.testdir(), 'mcp-customs', 'facade.key')
  const begin = () => serveAt(t, port, ['--facade', '--audit', 'none', server.url], { XDG_STATE_HOME: join(key, '..', '..') })
  const killed = await begin()
  const login = await Login.open(killed.origin)
  const { access_token: before = '', refresh_token: refresh = '' } = await login.tokens()
  t.equal((await login.post(before, initialize)).status, 200)
  await killed.relay.stop('SIGKILL')

  const { relay } = await begin()
  t.equal((await login.post(before, initialize)).status, 200, 'the token counts on')
  t.match(await login.token({ grant_type: 'refresh_token', refresh_token: refresh }), { status: 200 })
  const { access_token: after } = await login.tokens()
  t.equal((await login.post(after, initialize)).status, 200, 'the same client id logs in')
  t.equal(statSync(key).mode & 0o777, 0o600)
  await relay.stop('SIGKILL')

  for (const spoil of [() => chmodSync(key, 0o644), () => writeFileSync(key, 'short'), () => { rmSync(key); symlinkSync('/etc/hostname', key) }]) {
    spoil()
    const spoiled = await begin()
    t.equal((await fetch(login.url())).status, 400, 'the registration was sealed with another key')
    await spoiled.relay.stop('SIGKILL')
    t.match(spoiled.relay.stderr(), /auth\.facade: cannot use .*facade\.key .*: after a restart, clients must register and users log in again/)
    if (lstatSync(key).isFile()) chmodSync(key, 0o600)
  }
})

void t.test('what does not fit is refused, and sends nobody away', async t => {
  const { server, origin, written } = await facade(t)
  const login = await Login.open(origin)
  const pageOf = async (changes: Readonly<Record<string, string | undefined>>) => {
    const response = await fetch(login.url(changes), { redirect: 'manual' })
    return { status: response.status, location: response.headers.get('location') }
  }
  const stays: readonly Readonly<Record<string, string | undefined>>[] = [
    { client_id: 'unknown' }, { client_id: undefined }, { client_id: `${login.clientId.slice(0, -4)}AAAA` },
    { redirect_uri: 'https://evil.example.com/callback' }, { redirect_uri: undefined },
    { redirect_uri: 'http://127.0.0.1:33418/callback/x' }, { redirect_uri: 'http://127.0.0.1.evil.example/callback' },
    { redirect_uri: 'http://localhost:33418/callback' }, { redirect_uri: `${redirectUri}?x=1` },
    { redirect_uri: 'https://127.0.0.1:33418/callback' },
  ]
  for (const changes of stays) {
    t.match(await pageOf(changes), { status: 400, location: null }, JSON.stringify(changes))
  }
  const { port } = new URL(redirectUri)
  for (const changes of [
    { response_type: 'token' }, { code_challenge: undefined }, { code_challenge_method: 'plain' }, { resource: server.url },
    { resource: 'https://elsewhere.example.com' },
  ]) t.match(await pageOf(changes), { status: 400, location: null }, JSON.stringify(changes))
  t.equal((await pageOf({ redirect_uri: 'http://127.0.0.1:4242/callback' })).status, 303, 'another port of loopback')
  t.match(Object.fromEntries(await login.answer({}, 'deny')), { error: 'access_denied', iss: origin, state: login.state })

  const shown = await login.browser.open(login.url(), url => url.pathname === '/callback' && url.port !== port)
  const mixed = new URL(shown)
  mixed.searchParams.set('iss', 'https://evil.example.com')
  t.equal((await fetch(mixed, { redirect: 'manual' })).status, 400, 'the answer of another issuer (mix-up)')
  const consent = await fetch(shown)
  t.equal(consent.headers.get('x-frame-options'), 'DENY')
  t.match(consent.headers.get('content-security-policy'), 'frame-ancestors \'none\'')
  const form = new URLSearchParams({ request: /name="request" value="([^"]*)"/.exec(await consent.text())?.[1] ?? '', answer: 'allow' })
  const submit = (headers: Record<string, string>) =>
    fetch(`${origin}/consent`, { method: 'POST', body: form, redirect: 'manual', headers })
  t.equal((await submit({ 'sec-fetch-site': 'cross-site' })).status, 403, 'a form of another site')
  t.equal((await submit({ origin: 'https://evil.example.com' })).status, 403)
  t.equal((await submit({ origin })).status, 303)

  for (const uris of [[], ['javascript:alert(1)'], ['http://example.com/cb'], ['https://a@b.example/cb'],
    ['https://b.example/#x'], ['data:text/html,x'], 'x', undefined, [7], Array.from({ length: 11 }, () => redirectUri)]) {
    t.match(await login.register({ redirect_uris: uris }), { status: 400, body: { error: 'invalid_redirect_uri' } }, JSON.stringify(uris))
  }
  t.equal((await login.register({ redirect_uris: ['com.example.app:/oauth/callback'] })).status, 201)
  t.match(await login.token({ grant_type: 'password' }), { status: 400, body: { error: 'unsupported_grant_type' } })
  t.match(await login.token({ client_id: 'x', grant_type: 'refresh_token' }), { status: 401, body: { error: 'invalid_client' } })
  const long = await fetch(`${origin}/register`, { method: 'POST', body: 'x'.repeat(70_000) })
  t.equal(long.status, 413)
  for (const path of ['/.well-known/openid-configuration', '/.well-known/x', '/.well-known/oauth-protected-resource/nowhere']) {
    const none = await fetch(origin + path)
    t.strictSame([none.status, await none.text()], [404, ''], path)
  }
  t.notMatch((await written()).all, 'Bearer ')
})

void t.test('a code counts once, a refresh token counts once, and a replay ends the grant', async t => {
  const { server, origin, written } = await facade(t)
  const login = await Login.open(origin)
  const code = (await login.answer()).get('code') ?? ''
  t.equal((await login.redeem(code, { code_verifier: 'A'.repeat(43) })).body['error'], 'invalid_grant', 'another verifier')
  t.equal((await login.redeem(code, { redirect_uri: 'http://127.0.0.1:1/callback' })).body['error'], 'invalid_grant')
  const other = await Login.open(origin)
  t.equal((await login.redeem(code, { client_id: other.clientId })).body['error'], 'invalid_grant', 'another client')
  t.equal((await login.redeem(code, { resource: server.url })).body['error'], 'invalid_target')
  const { body: { access_token: access = '' } } = await login.redeem(code)
  t.equal((await login.post(access, initialize)).status, 200)
  t.equal((await login.redeem(code)).body['error'], 'invalid_grant')
  t.equal((await login.post(access, initialize)).status, 401, 'a replayed code')

  const { refresh_token: first = '' } = await login.tokens()
  const refresh = (token: string, client = login.clientId) =>
    login.token({ grant_type: 'refresh_token', refresh_token: token, client_id: client })
  t.equal((await refresh(first, other.clientId)).body['error'], 'invalid_grant', 'another client')
  const { body: second } = await refresh(first)
  t.equal((await login.post(second['access_token'], initialize)).status, 200)
  t.equal((await refresh(first)).body['error'], 'invalid_grant')
  t.equal((await login.post(second['access_token'], initialize)).status, 401, 'a refresh token that comes again')
  t.equal((await refresh(second['refresh_token'] ?? '')).body['error'], 'invalid_grant')

  const third = await login.tokens()
  const revoke = (token = '', client = login.clientId) => fetch(`${origin}/revoke`, {
    method: 'POST', body: new URLSearchParams({ token, client_id: client }),
  })
  t.equal((await revoke(third['access_token'], other.clientId)).status, 200)
  t.equal((await login.post(third['access_token'], initialize)).status, 200, 'another client revokes nothing')
  t.equal((await revoke(third['refresh_token'])).status, 200)
  t.equal((await login.post(third['access_token'], initialize)).status, 401)
  t.ok(server.asked.some(path => path === 'POST /token/revocation'), 'the issuer is told')
  const own = [code, first, second, third].flatMap(one => (typeof one === 'string' ? [one] : Object.values(one)))
  t.strictSame(secretsIn((await written()).all, server, own), [])
})

void t.test('what a client revokes ends its whole login, and the streams of it', async t => {
  const { origin } = await facade(t, {
    answer: (body, response) => {
      if (!body.includes('"tools/call"')) return answerAsServer(body, response)
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': the response comes later\n\n')
    },
  })
  const login = await Login.open(origin)
  const [revoked, other] = [await login.tokens(), await login.tokens()]
  const open = async ({ access_token: token }: Answer) => {
    const response = await login.post(token, call('honest'))
    return { status: response.status, ended: response.text().then(() => 'complete', () => 'cut off') }
  }
  const [first, second] = [await open(revoked), await open(other)]
  t.same([first.status, second.status], [200, 200])
  let isOver = false
  void second.ended.then(() => (isOver = true))
  await fetch(login.metadata['revocation_endpoint'] ?? '', {
    method: 'POST', body: new URLSearchParams({ token: revoked['refresh_token'] ?? '', client_id: login.clientId }),
  })
  t.equal((await login.post(revoked['access_token'], initialize)).status, 401, 'its access token')
  t.equal(await first.ended, 'cut off')
  t.equal(isOver, false, 'another login goes on')
})

void t.test('a revoked login does not count again after a reload that changes its server', async t => {
  // The issuer is not told, and the server goes on to accept the token.
  const configuration = { features: { revocation: { enabled: false } } }
  const seen: unknown[] = []
  const server = await openProtected(t, { configuration, answer: (body, response) => {
    seen.push(response.req.headers['x-new'])
    answerAsServer(body, response)
  } })
  const config = join(scratch(t), 'customs.json')
  const write = (headers: object) => writeFileSync(config, JSON.stringify({
    version: 1, auth: 'facade', audit: { file: 'none' }, servers: { one: { url: server.url, headers } },
  }))
  write({})
  const { relay, origin } = await serveAt(t, await freePort(), ['--config', config])
  const login = await Login.open(origin)
  const [revoked, other] = [await login.tokens(), await login.tokens()]
  const revoke = () => fetch(`${origin}/revoke`, {
    method: 'POST', body: new URLSearchParams({ token: revoked['refresh_token'] ?? '', client_id: login.clientId }),
  })
  t.equal((await revoke()).status, 200)
  t.equal((await login.post(revoked['access_token'], initialize)).status, 401)
  write({ 'x-new': 'a' })
  relay.child.kill('SIGHUP')
  while (!seen.includes('a')) t.equal((await login.post(other['access_token'], initialize)).status, 200)
  t.equal((await login.post(revoked['access_token'], initialize)).status, 401)
})

void t.test('a login of one replica counts at the others, also while each restarts', async t => {
  const server = await openProtected(t)
  const key = randomBytes(32).toString('hex')
  const port = await freePort()
  const config = join(scratch(t), 'customs.json')
  writeFileSync(config, JSON.stringify({
    version: 1, auth: 'facade', audit: { file: 'none' }, servers: { one: { url: server.url } },
    state: { url: 'redis://127.0.0.1:1', key },
  }))
  let replica: Awaited<ReturnType<typeof serveAt>> | undefined
  // Another process, with a state folder of its own, takes the place of the last one.
  const next = async () => {
    replica?.relay.child.kill('SIGKILL')
    await replica?.relay.exit
    replica = await serveAt(t, port, ['--config', config], { XDG_STATE_HOME: scratch(t) })
    return replica.origin
  }
  const login = await Login.open(await next())
  const shown = await login.browser.open(login.url(), url => url.pathname === '/callback' && url.port === String(port))
  await next()
  const back = await login.browser.open(shown.href, isClients)
  await next()
  const { body } = await login.redeem(back.searchParams.get('code') ?? '')
  t.equal((await login.post(body['access_token'], initialize)).status, 200)
  await next()
  t.equal((await login.post(body['access_token'], initialize)).status, 200)
  const refreshed = await login.token({ grant_type: 'refresh_token', refresh_token: body['refresh_token'] ?? '' })
  await next()
  t.equal((await login.post(refreshed.body['access_token'], initialize)).status, 200)
})

void t.test('in a gateway each server has a facade of its own, and its relay process gets the header alone', async t => {
  const [one, two] = [await openProtected(t), await openProtected(t)]
  const directory = scratch(t)
  const config = join(directory, 'customs.json')
  const audit = join(directory, 'audit.ndjson')
  writeFileSync(config, JSON.stringify({
    version: 1, auth: 'facade', audit: { file: audit }, servers: { one: { url: one.url }, two: { url: two.url } },
  }))
  const { relay, origin } = await serveAt(t, await freePort(), ['--config', config, '--log-level', 'debug'])
  const login = await Login.open(origin, '/one/mcp', '/one')
  t.equal(login.metadata['issuer'], `${origin}/one`)
  const { access_token: access = '' } = await login.tokens()
  t.equal((await login.post(access, initialize)).status, 200)
  t.equal((await login.post(access, initialize, {}, '/two/mcp')).status, 401, 'a token for another server')
  const refused = await login.post(access, call('admin'))
  t.equal(refused.status, 403)
  t.equal(refused.headers.get('www-authenticate'), 'Bearer error="insufficient_scope", scope="admin", ' +
    `resource_metadata="${origin}/.well-known/oauth-protected-resource/one/mcp"`)
  const other = await Login.open(origin, '/two/mcp', '/two')
  t.equal((await other.post((await other.tokens())['access_token'], initialize)).status, 200)
  t.equal((await fetch(login.url({ resource: `${origin}/two/mcp` }))).status, 400, 'invalid_target')
  await relay.stop()
  const files = ['audit.one.ndjson', 'audit.two.ndjson', 'audit._front.ndjson']
  const all = files.map(file => readFileSync(join(directory, file), 'utf8')).join('') + relay.stderr()
  t.match(all, '"sub":"alice"')
  t.strictSame([...secretsIn(all, one, [access]), ...secretsIn(all, two, [])], [])
})
