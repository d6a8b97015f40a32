import { createHash, randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { Facade } from '#auth/facade/facade.js'
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
    name: 'tickets', origin, paths: ['/mcp'], prefix: '', behind: { url: one.url, settings: {} },
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
