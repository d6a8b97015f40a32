import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Login, type LoginOptions } from '#relay/auth/client/login.js'
import { LoginFolder } from '#relay/auth/client/store.js'
import { AuthorizedUpstream } from '#relay/transport/upstream/authorized.js'
import { HttpUpstream } from '#relay/transport/upstream/pool.js'
import { scratch } from '#test/e2e/bridge.js'
import { browse } from '../protected.js'
import { RotatingIssuer } from '../rotating.js'

const ping = Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping"}')

/** Processes of one user: each `relay` is one, as far as the login is concerned. */
const machine = (t: Test, one: RotatingIssuer) => {
  const state = scratch(t)
  const shown: string[] = []
  let ahead = 0
  return {
    shown,
    /** Lets the clocks of the relays go on. */
    later: (ms: number) => (ahead += ms),
    file: () => {
      const folder = join(state, 'logins')
      const [name = ''] = readdirSync(folder).filter(each => each.endsWith('.json'))
      return JSON.parse(readFileSync(join(folder, name), 'utf8')) as Record<string, unknown>
    },
    relay: (options: Partial<LoginOptions> = {}) => {
      const login = new Login({
        url: new URL(one.url), settings: { grant: 'user', loginMs: 10_000 }, folder: new LoginFolder(state),
        show: url => {
          shown.push(url)
          void browse(url)
        },
        warn: () => undefined, now: () => Date.now() + ahead, ...options,
      })
      const upstream = new AuthorizedUpstream(new HttpUpstream(options.url ?? new URL(one.url)), login)
      t.teardown(() => void upstream.close())
      return {
        login, close: () => upstream.close(),
        ask: async (body = ping): Promise<number> => {
          const { status, body: answer } = await upstream.request({
            method: 'POST', headers: new Map([['content-type', 'application/json']]), body,
            signal: new AbortController().signal,
          })
          answer.dump(1e6, 1000)
          return status
        },
      }
    },
  }
}

const asked = (one: RotatingIssuer, path: string) =>
  one.asked.filter(each => each.path === path).map(({ parameters }) => Object.fromEntries(parameters))

void t.test('a token is renewed before it ends, with the resource, and every relay of the user has the new one', async t => {
  const one = await RotatingIssuer.open(t)
  const { relay, later, shown } = machine(t, one)
  const [first, second] = [relay(), relay()]
  t.equal(await first.ask(), 200)
  t.equal(await second.ask(), 200)
  t.equal(shown.length, 1)
  later(3600_000 - 59_000)
  t.same(await Promise.all([first.ask(), second.ask(), first.ask(), second.ask()]), [200, 200, 200, 200])
  t.match(one.counts, { logins: 1, refreshes: 1, reuses: 0 })
  for (const path of ['/authorize', '/token']) {
    for (const { resource } of asked(one, path)) t.equal(resource, one.url, path)
  }
  t.match(asked(one, '/authorize')[0], { code_challenge_method: 'S256', scope: 'mcp', response_type: 'code' })
})

void t.test('a token that the server refuses is renewed at once, and the user is asked only when that fails', async t => {
  const one = await RotatingIssuer.open(t)
  const { relay, shown } = machine(t, one)
  const [first, second] = [relay(), relay()]
  t.equal(await first.ask(), 200)
  t.equal(await second.ask(), 200)
  one.expire()
  t.same(await Promise.all([first.ask(), second.ask()]), [200, 200])
  t.match(one.counts, { logins: 1, refreshes: 1, reuses: 0 })
  one.revokeAll()
  t.same(await Promise.all([first.ask(), second.ask()]), [200, 200])
  t.match(one.counts, { logins: 2, reuses: 0 })
  t.equal(shown.length, 2)
  t.equal(one.counts.registrations, 1, 'the registration is used again')
})

void t.test('a valid access token stays when the issuer refuses or does not answer a refresh', async t => {
  const one = await RotatingIssuer.open(t)
  const { relay, later, shown, file } = machine(t, one)
  const { ask } = relay()
  t.equal(await ask(), 200)
  one.onRefresh = response => void response.writeHead(503).end()
  later(3600_000 - 50_000)
  t.equal(await ask(), 200, 'the issuer is down')
  t.type(file()['sentAt'], 'number', 'the refresh token may be used up')
  one.onRefresh = response => void response.writeHead(400, { 'content-type': 'application/json' })
    .end('{"error":"invalid_grant"}')
  later(10_000)
  t.equal(await ask(), 200, 'it is not risked while the access token is valid')
  t.equal(shown.length, 1)
  later(60_000)
  one.expire()
  t.equal(await ask(), 200)
  t.equal(shown.length, 2, 'asked when both are of no use')
})

void t.test('an issuer that cannot be reached is no reason to ask the user, but for an error that says so', async t => {
  const one = await RotatingIssuer.open(t)
  const { relay, later, shown } = machine(t, one)
  const { ask } = relay()
  t.equal(await ask(), 200)
  one.onRefresh = response => void response.writeHead(503).end()
  one.expire()
  later(3600_000)
  await t.rejects(ask(), /could not be renewed/)
  t.equal(shown.length, 1)
  one.onRefresh = undefined
  later(6000)
  t.equal(await ask(), 200, 'the same refresh token, which was never used')
  t.match(one.counts, { logins: 1, refreshes: 1, reuses: 0 })
})

void t.test('a step-up asks for all scopes so far, a few times at most', async t => {
  const one = await RotatingIssuer.open(t)
  const { relay, shown } = machine(t, one)
  const { ask } = relay()
  t.equal(await ask(), 200)
  let needed = 'admin'
  const granted = (): string => asked(one, '/authorize').at(-1)?.['scope'] ?? ''
  one.onCall = (token, response) => {
    if (token === undefined || granted().split(' ').includes(needed)) return false
    response.writeHead(403, { 'www-authenticate': `Bearer error="insufficient_scope", scope="${needed}"` }).end()
    return true
  }
  t.equal(await ask(), 200)
  t.equal(granted(), 'mcp admin')
  needed = 'delete'
  t.equal(await ask(), 200)
  t.equal(granted(), 'mcp admin delete')
  one.onCall = (_, response) => {
    response.writeHead(403, { 'www-authenticate': 'Bearer error="insufficient_scope", scope="never"' }).end()
    return true
  }
  t.equal(await ask(), 403)
  t.equal(await ask(), 403)
  t.ok(shown.length <= 6, 'not without end')
  const before = shown.length
  one.onCall = (_, response) => {
    response.writeHead(403).end()
    return true
  }
  t.equal(await ask(), 403, 'any other 403 passes')
  t.equal(shown.length, before)
})

void t.test('offline_access is asked for where the issuer offers it, and only there', async t => {
  const one = await RotatingIssuer.open(t)
  one.metadata = { scopes_supported: ['mcp', 'offline_access'] }
  t.equal(await machine(t, one).relay().ask(), 200)
  t.match(asked(one, '/authorize')[0], { scope: 'mcp offline_access', prompt: 'consent' })
  t.match(JSON.parse([...(one.asked.find(({ path }) => path === '/register')?.parameters.keys() ?? [])][0] ?? '') as object, {
    application_type: 'native', token_endpoint_auth_method: 'none',
  })
})

void t.test('an answer of another issuer is not acted on, and the error says so', async t => {
  const one = await RotatingIssuer.open(t)
  one.iss = 'https://evil.example'
  const { relay } = machine(t, one)
  await t.rejects(relay().ask(), /unexpected "iss"/)
  t.same(asked(one, '/token'), [], 'the code was sent nowhere')
})

void t.test('two relays that start at once ask once; the successor of one that ended finishes its login', async t => {
  const one = await RotatingIssuer.open(t)
  const { relay, shown } = machine(t, one)
  let opened: (url: string) => void = () => undefined
  const first = new Promise<string>(resolve => (opened = resolve))
  const show = (url: string): void => {
    shown.push(url)
    opened(url)
  }
  const [former, successor] = [relay({ show }), relay({ show })]
  const lost = former.ask()
  lost.catch(() => undefined)
  const url = await first
  const answer = successor.ask()
  await former.close()
  await t.rejects(lost)
  const seen = shown.length
  // The browser that the former opened comes back only now.
  while (shown.length === seen) await new Promise(resolve => setImmediate(resolve))
  t.equal(shown.at(-1), url, 'the same flow')
  await browse(url)
  t.equal(await answer, 200)
  t.match(one.counts, { logins: 1, registrations: 1 })
})

void t.test('who waits in vain gets an error that names the URL, which stays good', async t => {
  const one = await RotatingIssuer.open(t)
  const { relay } = machine(t, one)
  const { ask } = relay({ show: () => undefined, settings: { grant: 'user', loginMs: 100 } })
  const error = await ask().then(() => '', (reason: unknown) => String(reason))
  t.match(error, /nobody has logged in within 0\.1 s: open http:\/\/127\.0\.0\.1:\d+\/[\w-]{22} in a browser, or run mcp-customs login http/)
  await browse(/open (\S+)/.exec(error)?.[1] ?? '')
  t.equal(await ask(), 200)
})

void t.test('a client that the issuer shows an error for is registered anew, in the same relay and in the next one', async t => {
  for (const isNext of [false, true]) {
    const one = await RotatingIssuer.open(t)
    const { relay } = machine(t, one)
    t.equal(await relay().ask(), 200)
    one.revokeAll()
    const show = (start: string, _: boolean, url: string): void => {
      if (new URL(url).searchParams.get('client_id') !== 'client-1') void browse(start)
    }
    const options = { show, settings: { grant: 'user', loginMs: 1000 } } as const
    const first = relay(options)
    await t.rejects(first.ask(), /nobody has logged in/)
    if (isNext) await first.close()
    t.equal(await (isNext ? relay(options) : first).ask(), 200)
    t.match(one.counts, { registrations: 2, logins: 2 })
    t.equal(await relay().ask(), 200)
  }
})

void t.test('a user who only hesitates is not asked with another client each time', async t => {
  const one = await RotatingIssuer.open(t)
  const { relay } = machine(t, one)
  const { ask } = relay({ show: () => undefined, settings: { grant: 'user', loginMs: 20 } })
  for (let times = 0; times < 3; times++) await t.rejects(ask(), /nobody has logged in/)
  t.equal(one.counts.registrations, 1)
})

void t.test('four servers of one issuer have a login each, with a token for its resource', async t => {
  const one = await RotatingIssuer.open(t)
  const { relay } = machine(t, one)
  const urls = ['', '/a', '/b', '/c'].map(path => new URL(one.url + path))
  const relays = urls.map(url => relay({ url }))
  t.same(await Promise.all(relays.map(({ ask }) => ask())), [200, 200, 200, 200])
  t.same(asked(one, '/authorize').map(({ resource }) => resource).sort(), urls.map(({ href }) => href))
  t.equal(new Set(asked(one, '/authorize').map(({ state }) => state)).size, 4)
  t.same(new Set(asked(one, '/token').map(({ code_verifier: verifier }) => verifier)).size, 4)
})
