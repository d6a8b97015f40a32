import { createHash, randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { Facade } from '#auth/facade/facade.js'
import { consentPage } from '#auth/facade/page.js'
import type { Claims } from '#transport/front/authority.js'
import type { Page } from '#transport/front/site.js'
import { severalIssuers } from '../several.js'

const origin = 'http://127.0.0.1:7400'
const redirectUri = 'https://client.example/callback'

/** A facade in front of the server of several issuers, and a client of it. */
const opened = async (t: Test, options: Parameters<typeof severalIssuers>[1] = {}) => {
  const one = await severalIssuers(t, options)
  let ahead = 0
  const warnings: string[] = []
  const facade = new Facade({
    name: 'tickets', origin, paths: ['/mcp'], prefix: '', key: randomBytes(32), behind: { url: one.url, settings: {} },
    warn: message => warnings.push(message), now: () => Date.now() + ahead,
  })
  interface More { query?: object; body?: string; headers?: object }
  const visit = (method: string, path: string, more: More = {}) =>
    facade.answer({
      method, path, query: new URLSearchParams({ ...more.query }), body: more.body ?? '', client: 'x',
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...more.headers },
    })
  const form = (fields: object) => new URLSearchParams({ ...fields }).toString()
  const registered = await visit('POST', '/register', {
    body: JSON.stringify({ redirect_uris: [redirectUri, 'http://127.0.0.1/callback'] }),
    headers: { 'content-type': 'application/json' },
  })
  const { client_id: clientId = '' } = JSON.parse(registered.body) as { client_id?: string }
  const verifier = randomBytes(32).toString('base64url')
  const authorize = (query: object = {}): Promise<Page> => visit('GET', '/authorize', { query: {
    client_id: clientId, redirect_uri: redirectUri, response_type: 'code', code_challenge_method: 'S256',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'), ...query,
  } })
  const token = async (fields: object) => {
    const page = await visit('POST', '/token', { body: form({ client_id: clientId, ...fields }) })
    const answer = { ...JSON.parse(page.body) as object, status: page.status }
    return answer as Record<string, string | number | undefined>
  }
  return {
    one, facade, warnings, authorize, token, visit,
    later: (ms: number) => (ahead += ms),
    /** The user allows all, and logs in. */
    login: async (query?: object, redeemed: object = { redirect_uri: redirectUri }) => {
      const asked = await authorize(query)
      const headers = { cookie: (asked.headers['set-cookie'] ?? '').split(';')[0] }
      const [, request] = /name="request" value="([^"]+)"/.exec(asked.body) ?? []
      const sent = await visit('POST', '/consent', { body: form({ request, answer: 'allow' }), headers })
      const state = new URL(sent.headers['location'] ?? '').searchParams.get('state')
      const back = await visit('GET', '/callback', { query: { code: 'a-code', state }, headers })
      const code = new URL(back.headers['location'] ?? '').searchParams.get('code')
      return token({ grant_type: 'authorization_code', code, code_verifier: verifier, ...redeemed })
    },
  }
}

void t.test('a grant is refreshed at its own issuer, also while its metadata is down', async t => {
  const down = new Set<string>()
  const { one, facade, login, later, token } = await opened(t, { issuers: ['a', 'b'], down })
  const granted = await login()
  t.equal(granted.status, 200)
  down.add('a')
  later(3600_000 - 10_000)
  t.match(await token({ grant_type: 'refresh_token', refresh_token: granted['refresh_token'] }), { status: 200 })
  t.equal(one.tokens('a').length, 2, 'the code, and the refresh token')
  const again = await login()
  t.equal(again.status, 200, 'new logins go to the next issuer')
  t.same(one.tokens('b').map(({ grant_type: type }) => type), ['authorization_code'])
  t.match(await facade.check(String(again['access_token'])), { subject: { scopes: [] } })
})

void t.test('metadata that was read once is used on while it cannot be read', async t => {
  const down = new Set<string>()
  const { login, later } = await opened(t, { down })
  t.equal((await login()).status, 200)
  down.add('a')
  later(11 * 60_000)
  t.equal((await login()).status, 200)
})

void t.test('the scopes of a request are those of the issuer\'s newest token', async t => {
  let scope = 'files files.write'
  const { facade, login, later } = await opened(t, { token: (_, json) => json(200, {
    access_token: `a-${scope}`, token_type: 'Bearer', expires_in: 3600, refresh_token: 'refresh', scope,
  }) })
  const token = String((await login())['access_token'])
  t.match(await facade.check(token), { subject: { scopes: ['files', 'files.write'] } })
  scope = 'files'
  later(3600_000 - 10_000)
  const { subject, upstream } = await facade.check(token) as Claims
  t.same(subject.scopes, ['files'])
  t.equal(upstream?.header, 'Bearer a-files')
})

void t.test('before the consent, an error sends no browser to a web site that a stranger has registered', async t => {
  const { authorize } = await opened(t)
  const page = await authorize({ response_type: 'token' })
  t.match(page, { status: 400, body: /unsupported_response_type/ })
  t.notOk('location' in page.headers)
  const { status, headers } = await authorize({ response_type: 'token', redirect_uri: 'http://127.0.0.1:7/callback' })
  t.equal(status, 303)
  t.match(headers['location'], 'http://127.0.0.1:7/callback?error=unsupported_response_type')
})

void t.test('the consent page lists what the issuer will be asked for', async t => {
  const { one, authorize, login } = await opened(t, {
    call: (_, json) => json(401, {}, { 'www-authenticate': 'Bearer scope="files admin.delete"' }),
  })
  t.match((await authorize()).body, '<dd>files</dd><dd>admin.delete</dd>', 'those of the server')
  t.match((await authorize({ scope: 'files' })).body, '<dd>files</dd></dl>', 'those of the client')
  t.equal((await login({}, {})).status, 200, 'a client of OAuth 2.1 does not send its redirect URI again')
  t.equal((await login({}, { redirect_uri: 'http://127.0.0.1/callback' }))['error'], 'invalid_grant')
  t.equal(one.tokens('a').length, 2)
})

void t.test('the consent page shows hosts and scopes to their ends', t => {
  const host = `login.example.com.${'a'.repeat(60)}.${'b'.repeat(60)}.evil.example`
  const scopes = [...Array.from({ length: 20 }, (_, n) => `profile.read.${n}`), 'admin.delete.everything']
  const { body } = consentPage({
    server: 's', issuer: host, client: 'a <b>', redirectUri: `https://${host}/callback`, scopes, action: '/consent', request: 'x',
  }, 'c=1')
  t.equal(body.split(host).length, 3)
  for (const scope of scopes) t.match(body, `<dd>${scope}</dd>`)
  t.notMatch(body, '<b>')
  t.end()
})
