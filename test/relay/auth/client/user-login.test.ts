import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Login } from '#relay/auth/client/login.js'
import { loginKeyOf, type LoginSettings } from '#relay/auth/client/settings.js'
import { LoginFolder, type Stored } from '#relay/auth/client/store.js'
import { UserLogin, type UserLoginOptions } from '#relay/auth/client/user-login.js'
import { clientLogin, deviceLogin } from '#relay/auth/client/without-browser.js'
import { AuthorizedUpstream } from '#relay/transport/upstream/authorized.js'
import { HttpUpstream } from '#relay/transport/upstream/pool.js'
import { guardedFetch } from '#relay/transport/upstream/document.js'
import { scratch } from '#test/e2e/bridge.js'
import { freePort, listen } from '#test/kit/http.js'
import { comeBack, severalIssuers } from '../several.js'

const settings: LoginSettings = { grant: 'user', loginMs: 300 }

type Several = Awaited<ReturnType<typeof severalIssuers>>

/** A folder with the file of a login at the issuer `/a`. */
const home = async (t: Test, one: Several, login: Partial<Stored> = {}) => {
  const state = scratch(t)
  const folder = new LoginFolder(state)
  const file = folder.file(one.url.href, settings)
  const issuer = `${one.origin}/a`
  await file.change(() => ({
    url: one.url.href, resource: one.url.href, server: { issuer, token_endpoint: `${issuer}/token` },
    client: { issuer, id: 'of-a' }, requested: [],
    tokens: { access: 'access', type: 'bearer', refresh: 'refresh-of-a', expiresAt: Date.now() + 3600_000, lifetimeMs: 3600_000, scopes: undefined },
    ...login,
  }))
  const user = (options: Partial<UserLoginOptions> = {}) => new UserLogin({
    url: one.url, settings, file, fetch: guardedFetch({ mayBePrivate: true }), now: Date.now, alone: true,
    show: url => void comeBack(url), ...options,
  })
  return { state, folder, file, user }
}

const purpose = { wanted: { schemes: [], resourceMetadata: undefined, scopes: undefined, error: undefined }, refused: 'access', scopes: [] }

void t.test('a server that names another issuer than before gets no login there, in no way', async t => {
  const one = await severalIssuers(t, { issuers: ['b'], token: (_, json) => json(400, { error: 'invalid_grant' }) })
  const { folder, file, user } = await home(t, one)
  const login = new Login({ url: one.url, settings, folder, show: url => t.fail(url), warn: () => undefined })
  const upstream = new AuthorizedUpstream(new HttpUpstream(one.url), login)
  t.teardown(() => upstream.close())
  const ask = () => upstream.request({ method: 'POST', headers: new Map(), body: Buffer.from('{}'), signal: new AbortController().signal })
  await t.rejects(ask(), /names other issuers/)
  const options = { url: one.url, settings, file, fetch: guardedFetch({ mayBePrivate: true }), now: Date.now }
  const stepUp = { ...purpose, wanted: { ...purpose.wanted, error: 'insufficient_scope' }, scopes: ['more'] }
  for (const way of [
    () => user().run(purpose), () => user().run(stepUp), () => user({ alone: false }).run(purpose),
    () => deviceLogin(options, purpose, url => t.fail(url)), () => clientLogin(options, purpose),
  ]) await t.rejects(way(), /names other issuers than http\S+\/a: .*\/b.*mcp-customs logout http/)
  t.match(file.read(), { server: { issuer: `${one.origin}/a` }, client: { id: 'of-a' }, tokens: { access: 'access' } })
  t.same(one.log.filter(({ path }) => path.startsWith('/b') || path.endsWith('/b')), [], 'nothing is sent there')
})

void t.test('a step-up that nobody answers leaves the login as it was, also where it takes another client', async t => {
  const busy = new URL(await listen(t, createServer())).port
  const one = await severalIssuers(t)
  const { file, user } = await home(t, one, { client: { issuer: `${one.origin}/a`, id: 'old', redirectUri: `http://127.0.0.1:${busy}/callback` } })
  const asking = user({ show: () => void asking.close() })
  await t.rejects(asking.run({ ...purpose, scopes: ['more'] }), /given up/)
  t.match(file.read(), { client: { id: 'old' }, tokens: { refresh: 'refresh-of-a' } })
  t.match(file.begun.read(), { client: { id: 'client-1' }, pending: { redirectUri: /callback/ } }, 'a successor can finish it')
  const finished = await user().run({ ...purpose, scopes: ['more'] })
  t.match(finished, { client: { id: 'client-1' }, requested: ['more'] })
  t.equal(file.begun.read(), undefined)
})

void t.test('a client that its issuer has forgotten is registered again', async t => {
  const one = await severalIssuers(t, { token: ({ body }, json) => (body.get('client_id') === 'client-1'
    ? json(200, { access_token: 'new', token_type: 'Bearer' }) : json(400, { error: 'invalid_client' })) })
  const { file, user } = await home(t, one, { client: { issuer: `${one.origin}/a`, id: 'forgotten', redirectUri: `http://127.0.0.1:${await freePort()}/callback` } })
  await t.rejects(user().run(purpose), /invalid_client/)
  t.equal(file.read()?.tokens?.access, 'access', 'the access token may stay valid')
  t.match(await user().run(purpose), { client: { id: 'client-1' }, tokens: { access: 'new' } })
})

void t.test('the command login is not ended by a relay that renews its token', async t => {
  const one = await severalIssuers(t)
  const { file, user } = await home(t, one)
  const renewed = () => file.change(stored => ({ ...stored as Stored, tokens: { access: 'renewed', type: 'bearer', refresh: undefined, expiresAt: undefined, lifetimeMs: undefined, scopes: undefined } }))
  const show = (url: string): void => void renewed().then(() => comeBack(url))
  const stored = await user({ alone: false, show }).run({ ...purpose, refused: undefined })
  t.match(stored?.tokens?.access, /^access-/)
  t.equal(stored?.client.id, 'client-1', 'by a client of its own: the issuer may have forgotten the last one')
})

void t.test('tokens that are on their way when the process ends are kept', async t => {
  let answer: () => void = () => undefined
  const asked = new Promise<void>(resolve => (answer = resolve))
  const one = await severalIssuers(t, { token: (_, json) => {
    answer()
    setImmediate(() => json(200, { access_token: 'last', token_type: 'Bearer' }))
  } })
  const { file, user } = await home(t, one)
  const asking = user()
  const ran = asking.run(purpose)
  await asked
  await asking.close()
  t.equal(file.read()?.tokens?.access, 'last')
  await ran
})

void t.test('a port of auth.callbackPort that is in use is an error, and nothing is registered', async t => {
  const busy = Number(new URL(await listen(t, createServer())).port)
  const one = await severalIssuers(t)
  const { user } = await home(t, one)
  await t.rejects(user({ settings: { ...settings, callbackPort: busy } }).run(purpose), /auth\.callbackPort is in use/)
  t.same(one.log.filter(({ path }) => path.endsWith('/register')), [])
})

void t.test('logins at two issuers are two, and what a killed process was writing goes', async t => {
  t.not(loginKeyOf(settings), loginKeyOf({ ...settings, issuer: 'https://login.example' }))
  const one = await severalIssuers(t)
  const { state, file, folder } = await home(t, one)
  const logins = join(state, 'logins')
  const [name = ''] = readdirSync(logins)
  const unfinished = () => writeFileSync(join(logins, `${name}.6f9619ff.new`), readFileSync(join(logins, name)))
  unfinished()
  await file.change(stored => stored as Stored)
  t.same(readdirSync(logins), [name])
  unfinished()
  await file.begun.write(file.read() as Stored)
  t.equal(folder.all().length, 1)
  file.remove()
  t.same(readdirSync(logins), [])
})
