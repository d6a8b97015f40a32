import { readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { newKey } from '#relay/auth/client/dpop.js'
import { Login } from '#relay/auth/client/login.js'
import type { LoginSettings } from '#relay/auth/client/settings.js'
import { LoginFile, LoginFolder, type Stored } from '#relay/auth/client/store.js'
import type { Tokens } from '#relay/auth/client/requests.js'
import { AuthorizedUpstream } from '#relay/transport/upstream/authorized.js'
import { HttpUpstream } from '#relay/transport/upstream/pool.js'
import { scratch } from '#test/e2e/bridge.js'
import { comeBack, severalIssuers } from '../several.js'

type Several = Awaited<ReturnType<typeof severalIssuers>>

const tokens = (more: Partial<Tokens> = {}): Tokens => ({
  access: 'access', type: 'bearer', refresh: undefined, expiresAt: Date.now() + 3600_000, lifetimeMs: 3600_000,
  scopes: undefined, ...more,
})

/** One relay, with a file of its login unless `stored` is undefined. */
const relayOf = async (
  t: Test, one: Several, stored?: Partial<Stored>, settings: LoginSettings = { grant: 'user', loginMs: 5000 },
) => {
  const state = scratch(t)
  const folder = new LoginFolder(state)
  const file = folder.file(one.url.href, settings)
  const issuer = `${one.origin}/a`
  if (stored !== undefined) await file.change(() => ({
    url: one.url.href, resource: one.url.href, server: { issuer, token_endpoint: `${issuer}/token` },
    client: { issuer, id: 'me' }, requested: [], tokens: tokens(), ...stored,
  }))
  let ahead = 0
  const shown: string[] = []
  const warned: string[] = []
  const show = (url: string): void => {
    shown.push(url)
    void comeBack(url)
  }
  const now = () => Date.now() + ahead
  const login = new Login({ url: one.url, settings, folder, show, warn: text => warned.push(text), now })
  const upstream = new AuthorizedUpstream(new HttpUpstream(one.url), login)
  t.teardown(() => upstream.close())
  return {
    state, file, shown, warned, later: (ms: number) => (ahead += ms),
    given: async () => (await login.authorizationFor('POST', one.url))?.headers[0]?.[1],
    ask: () => upstream.request({
      method: 'POST', headers: new Map(), body: Buffer.from('{}'), signal: new AbortController().signal,
    }).then(({ status, body }) => {
      body.dump(1e6, 1000)
      return status
    }),
  }
}

const soon = () => tokens({ refresh: 'refresh', expiresAt: Date.now() + 30_000 })

void t.test('a valid access token is used although its renewal fails', async t => {
  const one = await severalIssuers(t, { token: (_, json) => json(503, {}) })
  const issuer = `${one.origin}/a`
  const robot = {
    grant: 'client', loginMs: 1000, issuer, client: { issuer, id: 'me', secret: 'secret', isDocument: false },
  } as const
  const own = await relayOf(t, one, { tokens: soon() }, robot)
  t.equal(await own.given(), 'Bearer access', 'the issuer is down')
  const user = await relayOf(t, one, { tokens: soon() })
  t.equal(await user.given(), 'Bearer access')
  const lost = await relayOf(t, one, { tokens: soon() })
  await lost.given()
  renameSync(join(lost.state, 'logins'), join(lost.state, 'moved'))
  writeFileSync(join(lost.state, 'logins'), '')
  lost.later(6000)
  t.equal(await lost.given(), 'Bearer access', 'the folder cannot be read or written')
})

void t.test('a process that has lost its claim does not send the refresh token', async t => {
  let sent = 0
  const one = await severalIssuers(t, {
    token: (_, json) => {
      sent += 1
      json(200, { access_token: 'renewed', token_type: 'Bearer', expires_in: 3600 })
    },
  })
  const { state, given, later } = await relayOf(t, one, { tokens: soon() })
  // eslint-disable-next-line @typescript-eslint/unbound-method
  const { claimed } = LoginFile.prototype
  let isStolen = true
  type Act = (held: never) => unknown
  LoginFile.prototype.claimed = function (this: LoginFile, act: Act, instead?: () => unknown) {
    return claimed.call(this, held => {
      const [lock = ''] = readdirSync(join(state, 'logins')).filter(name => name.endsWith('.lock'))
      if (isStolen) writeFileSync(join(state, 'logins', lock), JSON.stringify({ id: 'another' }))
      return act(held as never)
    }, instead) as never
  }
  t.teardown(() => (LoginFile.prototype.claimed = claimed))
  t.equal(await given(), 'Bearer access', 'the token is still valid')
  t.equal(sent, 0)
  isStolen = false
  for (const name of readdirSync(join(state, 'logins'))) if (name.endsWith('.lock')) rmSync(join(state, 'logins', name))
  later(6000)
  t.equal(await given(), 'Bearer renewed')
  t.equal(sent, 1)
})

void t.test('logout reaches a relay that runs, and so does a new login', async t => {
  const { file, given, later } = await relayOf(t, await severalIssuers(t), {})
  t.equal(await given(), 'Bearer access')
  await file.change(stored => ({ ...stored as Stored, tokens: tokens({ access: 'of-another-account' }) }))
  later(2000)
  t.equal(await given(), 'Bearer of-another-account')
  file.remove()
  later(2000)
  t.equal(await given(), undefined)
})

void t.test('a server that refuses every token gets one login, and the next requests an error', async t => {
  const { ask, shown, warned } = await relayOf(t, await severalIssuers(t, {
    token: (_, json) => json(200, { access_token: `never-${Math.random()}`, token_type: 'Bearer' }),
  }))
  t.equal(await ask(), 401)
  for (let times = 0; times < 3; times++) await t.rejects(ask(), /refuses the token that its issuer has given/)
  t.equal(shown.length, 1)
  t.equal(warned.length, 1)
})

void t.test('a token that expires on its way to the server is renewed, and nobody is asked', async t => {
  let [calls, granted] = [0, 0]
  const lives = { token_type: 'Bearer', expires_in: 2, refresh_token: 'next' }
  const one = await severalIssuers(t, {
    call: (_, json) => {
      calls += 1
      if (calls > 2) return json(200, {})
      later(3000)
      json(401, {}, { 'www-authenticate': 'Bearer error="invalid_token"' })
    },
    token: (_, json) => json(200, { access_token: `token-${++granted}`, ...lives }),
  })
  const { ask, shown, later } = await relayOf(t, one, { tokens: soon() })
  t.equal(await ask(), 200)
  t.same([calls, shown], [3, []])
})

void t.test('requests that need the same scope at once are one step-up', async t => {
  let granted = 'base'
  const one = await severalIssuers(t, {
    call: ({ headers: { authorization } }, json) => {
      if (authorization === 'Bearer more') json(200, {})
      else json(403, {}, { 'www-authenticate': 'Bearer error="insufficient_scope", scope="files.write"' })
    },
    token: (_, json) => json(200, { access_token: granted, token_type: 'Bearer', scope: granted === 'more' ? 'files.write' : 'files' }),
  })
  const { ask, shown } = await relayOf(t, one, { tokens: tokens({ scopes: ['files'] }) })
  granted = 'more'
  t.same(await Promise.all(Array.from({ length: 5 }, ask)), [200, 200, 200, 200, 200])
  t.equal(shown.length, 1)
  granted = 'base'
  const { ask: again, shown: asked, later: after } = await relayOf(t, one, { tokens: tokens({ scopes: ['files'] }) })
  for (let times = 0; times < 3; times++) t.equal(await again(), 403)
  t.equal(asked.length, 2, 'twice at most')
  after(11 * 60_000)
  t.equal(await again(), 403)
  t.ok(asked.length > 2, 'and again later')
})

void t.test('a bound token is sent as a bearer token only to a server that asks for bearer tokens', async t => {
  const schemes: (string | undefined)[] = []
  let challenge: string | undefined
  const one = await severalIssuers(t, { call: ({ headers: { authorization } }, json) => {
    const scheme = authorization?.split(' ')[0]
    schemes.push(scheme)
    const wanted = challenge?.split(' ')[0] ?? 'DPoP'
    if (scheme === wanted && challenge !== undefined) json(200, {})
    else json(401, {}, challenge === undefined ? {} : { 'www-authenticate': challenge })
  }, token: (_, json) => json(503, {}) })
  const { ask } = await relayOf(t, one, { dpop: await newKey(), tokens: tokens({ type: 'dpop', refresh: 'refresh' }) })
  await t.rejects(ask(), /could not be renewed/)
  t.same(schemes, ['DPoP'], 'a refusal without a challenge')
  challenge = 'DPoP'
  t.equal(await ask(), 200)
  challenge = 'Bearer'
  t.equal(await ask(), 200)
  challenge = 'DPoP'
  t.equal(await ask(), 200)
  t.same(schemes, ['DPoP', 'DPoP', 'DPoP', 'Bearer', 'Bearer', 'DPoP'])
})
