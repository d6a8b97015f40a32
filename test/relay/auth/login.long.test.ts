import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { postTo } from '#test/kit/http.js'
import { cli, scratch } from '../../e2e/bridge.js'
import { legacy, request } from '../../e2e/cases.js'
import { start } from '../../e2e/harness.js'
import { serve } from '../../e2e/http-bridges.js'
import { ForgingIssuer } from './issuers.js'
import { browse, openProtected } from './protected.js'
import { RotatingIssuer } from './rotating.js'
import { browser, callOf, initialize, processesOf, readIf } from './wrapped.js'

const list = request(legacy, '2', 'tools/list')
/** A home for the relays of one user. */
const homeOf = (t: Test) => {
  const folder = scratch(t)
  const state = join(folder, 'state')
  const opened = join(folder, 'opened')
  const env = { XDG_STATE_HOME: state, BROWSER: browser, BROWSER_LOG: opened }
  const logins = join(state, 'mcp-customs', 'logins')
  return {
    folder, env,
    opened: (): string[] => readIf(opened).split('\n').filter(line => line !== ''),
    files: (): string[] => readdirSync(logins).filter(name => name.endsWith('.json')).map(name => join(logins, name)),
    wrap: (url: string, args: string[] = [], more: NodeJS.ProcessEnv = {}) =>
      start(t, process.execPath, [cli, 'wrap', ...args, url], { ...env, ...more }),
    run: (args: string[], more: NodeJS.ProcessEnv = {}) =>
      start(t, process.execPath, [cli, ...args], { ...env, ...more }),
    /** All that was written in the home, besides the files of the logins. */
    written: (): string => readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile() && !entry.parentPath.endsWith('logins'))
      .map(entry => readFileSync(join(entry.parentPath, entry.name), 'utf8')).join('\n'),
  }
}

/** The tokens and codes that a text holds. */
const foundIn = (text: string, { secrets }: { readonly secrets: ReadonlySet<string> }): readonly string[] =>
  [...secrets].filter(secret => text.includes(secret))

void t.test('wrap logs in when the server asks for it, and the next relay uses the same login', async t => {
  const [one, home] = [await openProtected(t), homeOf(t)]
  const relay = home.wrap(one.url)
  relay.send(initialize)
  t.match(await relay.responseTo('1'), '"serverInfo"')
  relay.send(list)
  t.match(await relay.responseTo('2'), 'honest')
  t.equal(home.opened().length, 1)
  const [file = ''] = home.files()
  t.equal(statSync(file).mode & 0o777, 0o600)
  t.equal(statSync(join(file, '..')).mode & 0o777, 0o700)
  const second = home.wrap(one.url)
  second.send(initialize)
  t.match(await second.responseTo('1'), '"serverInfo"')
  t.equal(home.opened().length, 1, 'nobody is asked again')
  for (const each of [relay, second]) {
    await each.end()
  }
  t.match(relay.stderr(), /asks for a login: a browser was opened; if none appears, open http:\/\/127/)
  t.notMatch(relay.stderr(), /state|code_challenge/, 'only a page of this machine is named')
  t.match(home.opened()[0], /^http:\/\/127\.0\.0\.1:\d+\/[\w-]{22} http/, 'and is in the arguments of the browser')
  t.same(foundIn(home.written() + relay.stderr() + second.stderr() + relay.untaken.join(''), one), [], 'no token is written')
  t.ok(one.secrets.size >= 2)
})

void t.test('a tool that needs another scope is called after a step-up, and the client sees nothing of it', async t => {
  const [one, home] = [await openProtected(t), homeOf(t)]
  const relay = home.wrap(one.url)
  relay.send(initialize)
  await relay.responseTo('1')
  relay.send(callOf('admin'))
  t.match(await relay.responseTo('3'), '"done"')
  t.equal(home.opened().length, 2)
  t.match(new URL(home.opened()[1]?.split(' ')[1] ?? '').searchParams.get('scope'), /^mcp (?:offline_access )?admin$/)
  t.same(relay.untaken, [])
})

void t.test('a relay that was killed while it renewed is succeeded: no token is used twice, nobody is asked in vain', async t => {
  const [one, home] = [await RotatingIssuer.open(t), homeOf(t)]
  const open = async () => {
    const relay = home.wrap(one.url)
    relay.send(initialize)
    await relay.responseTo('1')
    return relay
  }
  const [first, second, third] = [await open(), await open(), await open()]
  const killed = async (relay: typeof first, used: boolean) => {
    const sent = new Promise<void>(resolve => {
      one.onRefresh = (_, answer) => {
        one.onRefresh = undefined
        if (used) answer(true)
        resolve()
      }
    })
    one.expire()
    relay.send(callOf('honest'))
    await sent
    await relay.stop('SIGKILL')
  }
  await killed(first, false)
  second.send(callOf('honest'))
  t.match(await second.responseTo('3'), '"done"')
  t.match(one.counts, { logins: 1, refreshes: 1, reuses: 0 }, 'the issuer had not used the token')
  await killed(second, true)
  third.send(callOf('honest', '4'))
  t.match(await third.responseTo('4'), '"done"')
  t.match(one.counts, { logins: 2, refreshes: 2 }, 'the issuer had used it: the user logs in')
})

void t.test('a relay that is stopped while it renews does not stop the others, and changes nothing when it goes on', async t => {
  const [one, home] = [await RotatingIssuer.open(t), homeOf(t)]
  const open = async () => {
    const relay = home.wrap(one.url)
    relay.send(initialize)
    await relay.responseTo('1')
    return relay
  }
  const [first, second] = [await open(), await open()]
  let late: () => void = () => undefined
  const sent = new Promise<void>(resolve => {
    one.onRefresh = response => {
      one.onRefresh = undefined
      const granted = { access_token: 'late', token_type: 'Bearer', expires_in: 3600 }
      late = () => void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(granted))
      resolve()
    }
  })
  one.expire()
  first.send(callOf('honest'))
  await sent
  first.child.kill('SIGSTOP')
  second.send(callOf('honest'))
  t.match(await second.responseTo('3'), '"done"')
  first.child.kill('SIGCONT')
  late()
  t.match(await first.responseTo('3'), '"done"', 'with the token of its successor')
  t.notMatch(home.files().map(file => readFileSync(file, 'utf8')).join(''), '"late"')
  t.match(one.counts, { logins: 1, refreshes: 1, reuses: 0 })
})

void t.test('a client that waits for a login hears of it, and gets an error when nobody logs in', async t => {
  const [one, home] = [await RotatingIssuer.open(t), homeOf(t)]
  const config = join(home.folder, 'customs.json')
  writeFileSync(config, JSON.stringify({
    version: 1, servers: { tickets: { url: one.url, auth: { clientId: 'desktop', issuer: one.origin, loginMs: 300 } } },
  }))
  const relay = home.run(['wrap', '--config', config], { BROWSER_ONLY: 'open' })
  relay.send(initialize.replace('"clientInfo"', '"_meta":{"progressToken":"p"},"clientInfo"'))
  t.match(JSON.parse(await relay.next()), {
    method: 'notifications/progress', params: { progressToken: 'p', progress: 1, message: /waiting for a login/ },
  })
  const answer = JSON.parse(await relay.responseTo('1')) as { error: { code: number; message: string } }
  t.equal(answer.error.code, -31001)
  t.match(answer.error.message, /nobody has logged in within 0\.3 s: open http:\/\/127\.0\.0\.1:\d+\/[\w-]{22} in a browser/)
  t.equal(one.counts.registrations, 0, 'the operator has named the client')
})

void t.test('login, --status and logout', async t => {
  const [one, home] = [await RotatingIssuer.open(t), homeOf(t)]
  const ran = async (
    args: string[], more: NodeJS.ProcessEnv = {}, input?: (text: string) => string | undefined,
  ) => {
    const run = home.run(args, more)
    let line: string | undefined
    if (input === undefined) run.closeInput()
    else run.child.stderr?.on('data', () => {
      if (line === undefined && (line = input(run.stderr())) !== undefined) {
        void browse(line, url => url.pathname === '/callback').then(url => run.send(`${one.origin}/?state=x\n${url.href}`))
      }
    })
    const { code } = await run.exit
    return { code, out: run.untaken.join('\n'), error: run.stderr() }
  }
  t.match(await ran(['login', '--status']), { code: 0, error: /There is no login/ })
  t.match(await ran(['login', one.url]), { code: 0, error: /Logged in at http.*, with the scopes mcp/ })
  const listed = await ran(['login', '--status'])
  t.match(listed, { code: 0, out: /renewed by itself/ })
  t.match(JSON.parse((await ran(['login', '--status', '--json'])).out), [
    { server: one.url, issuer: one.origin, scopes: ['mcp'], renewable: true },
  ])
  const relay = home.wrap(one.url)
  relay.send(initialize)
  await relay.responseTo('1')
  t.equal(one.counts.logins, 1, 'a relay uses it')
  const pasted = await ran(['login', '--no-browser', one.url], {}, text => /^(http\S+authorize\S+)$/m.exec(text)?.[1])
  t.match(pasted, { code: 0, error: /not the answer to this login[^]*Logged in/ })
  t.equal(one.counts.logins, 2)
  t.match(await ran(['logout', one.url]), { code: 0, error: /Logged out of/ })
  t.equal(one.counts.revocations, 1)
  t.same(home.files(), [])
  t.match(await ran(['logout']), { code: 2, error: /give its URL, or --all/ })
  t.same(foundIn(listed.out + pasted.out + pasted.error + home.written(), one), [])
  one.onCall = (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    return true
  }
})

void t.test('a client that the issuer has forgotten is registered anew, by the next relay and by login', async t => {
  const [one, home] = [await RotatingIssuer.open(t), homeOf(t)]
  const config = join(home.folder, 'customs.json')
  writeFileSync(config, JSON.stringify({
    version: 1, servers: { tickets: { url: one.url, auth: { loginMs: 2000 } } },
  }))
  const wrapped = async () => {
    const relay = home.run(['wrap', '--config', config])
    relay.send(initialize)
    const answer = await relay.responseTo('1')
    await relay.end()
    return answer
  }
  t.match(await wrapped(), '"serverInfo"')
  one.revokeAll()
  one.forgotten.add('client-1')
  t.match(await wrapped(), '-31001')
  t.match(await wrapped(), '"serverInfo"')
  t.match(one.counts, { registrations: 2, logins: 2 })
  one.revokeAll()
  one.forgotten.add('client-2')
  const login = home.run(['login', one.url])
  t.equal((await login.exit).code, 0, login.stderr())
  t.match(one.counts, { registrations: 3, logins: 3 })
})

void t.test('login --device gets tokens by a code', async t => {
  const [one, home] = [await openProtected(t, { configuration: { features: { deviceFlow: {
    enabled: true, mask: '****-****', charset: 'base-20', deviceInfo: () => ({}),
    userCodeInputSource: (context, form) => void (context.body = form),
    userCodeConfirmSource: (context, form) => void (context.body = form),
    successSource: context => void (context.body = 'done'),
  } } } }), homeOf(t)]
  const run = home.run(['login', '--device', one.url])
  run.closeInput()
  const start = await new Promise<string>(resolve => run.child.stderr?.on('data', () => {
    const [, url] = /Open (\S+)/.exec(run.stderr()) ?? []
    if (url !== undefined && run.stderr().includes('enter the code')) resolve(url)
  }))
  await enterCode(start)
  t.equal((await run.exit).code, 0, run.stderr())
  t.match(run.stderr(), 'Logged in')
})

/** Plays the user with the other device: the forms of the issuer are sent as they are. */
const enterCode = async (start: string): Promise<void> => {
  const cookies = new Map<string, string>()
  let request: [URL, RequestInit] = [new URL(start), {}]
  for (let steps = 0; steps < 20; steps++) {
    const cookie = [...cookies].map(pair => pair.join('=')).join('; ')
    const response = await fetch(request[0], { ...request[1], redirect: 'manual', headers: { cookie } })
    const text = await response.text()
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      cookies.set(name, value)
    }
    const location = response.headers.get('location')
    const fields = [...text.matchAll(/name="(\w+)" value="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value])
    const action = /action="([^"]+)"/.exec(text)?.[1]
    if (location !== null) request = [new URL(location, request[0]), {}]
    else if (action === undefined) return
    else request = [new URL(action, request[0]), { method: 'POST', body: new URLSearchParams(Object.fromEntries([...fields, ['confirm', 'yes']]) as Record<string, string>) }]
  }
}

void t.test('serve is the OAuth client in front of a server that asks for a login, for its own user only', async t => {
  const [one, home] = [await openProtected(t), homeOf(t)]
  const [token, file] = ['a-token-of-a-client-long-enough', join(home.folder, 'tokens')]
  writeFileSync(file, token)
  const stranger = await serve(t, [one.url], [], home.env)
  const refused = await postTo(`${stranger.url}/mcp`, initialize)
  t.equal(refused.status, 401, 'loopback is no identity')
  t.match(refused.headers.get('www-authenticate'), 'resource_metadata', 'the client hears what the server says')
  await stranger.relay.stop()
  t.match(stranger.relay.stderr(), 'nothing shows which user the clients are')
  const { url, relay } = await serve(t, ['--token-file', file, '--admin', '127.0.0.1:0', one.url], [], home.env)
  const post = (body: string, headers: Record<string, string> = {}) =>
    postTo(`${url}/mcp`, body, { authorization: `Bearer ${token}`, ...headers })
  t.equal((await post(initialize)).status, 200)
  t.equal((await post(initialize, { authorization: 'Bearer own' })).status, 401)
  t.match(await (await post(callOf('admin'))).text(), 'done')
  t.equal(home.opened().length, 2)
  const [, admin = ''] = /page on (\S+)\/\?/.exec(relay.stderr()) ?? []
  const metrics = await (await fetch(`${admin}/metrics`)).text()
  t.match(metrics, 'mcp_customs_')
  const shown = processesOf(relay.pid)
  t.match(shown, one.url)
  await relay.stop()
  t.same(foundIn(home.written() + relay.stderr() + metrics + shown, one), [])
  const open = home.run(['serve', '--listen', '0.0.0.0:0', one.url])
  t.equal((await open.exit).code, 2)
  t.match(open.stderr(), /asks for a login, and others can reach this relay: let clients show one token .*, or write servers\.\S+\.auth: \{ shared: true \}/)
})

void t.test('credentials of the relay\'s own, and a login that is shared, serve every client', async t => {
  const [one, home] = [await openProtected(t), homeOf(t)]
  const config = join(home.folder, 'customs.json')
  writeFileSync(config, JSON.stringify({
    version: 1, listen: '0.0.0.0:0', auth: { tokens: ['a-token-of-a-client-long-enough'] },
    servers: {
      robot: { url: one.url, auth: { clientId: 'robot', clientSecret: '${env:SECRET}', issuer: one.issuer, scopes: ['admin'] } },
      shared: { url: one.url, auth: { shared: true } },
    },
  }))
  const relay = home.run(['serve', '--config', config], { SECRET: 'robot-secret' })
  const origin = await new Promise<string>(resolve => relay.child.stderr?.on('data', () => {
    const [, port] = /listening on http:\/\/0\.0\.0\.0:(\d+)/.exec(relay.stderr()) ?? []
    if (port !== undefined) resolve(`http://127.0.0.1:${port}`)
  }))
  for (const [name, logins] of [['robot', 0], ['shared', 1]] as const) {
    const response = await postTo(
      `${origin}/${name}/mcp`, initialize, { authorization: 'Bearer a-token-of-a-client-long-enough' },
    )
    t.equal(response.status, 200, name)
    t.equal(home.opened().length, logins, name)
  }
  await relay.stop()
  t.same(foundIn(home.written() + relay.stderr(), { secrets: new Set([...one.secrets, 'robot-secret']) }), [])
  const stored = home.files().map(file => readFileSync(file, 'utf8')).join('')
  t.notMatch(stored, 'robot-secret', 'the operator\'s secret is not copied')
})

void t.test('inspect and lock log in as well, and wait for the user', async t => {
  const [one, home] = [await RotatingIssuer.open(t), homeOf(t)]
  const inspect = home.run(['inspect', '--json', one.url])
  t.equal((await inspect.exit).code, 0, inspect.stderr())
  t.match(inspect.untaken.join(''), 'honest')
  const lock = join(home.folder, 'customs.lock.json')
  const locked = home.run(['lock', '--yes', '--lock', lock, one.url])
  t.equal((await locked.exit).code, 0, locked.stderr())
  t.equal(one.counts.logins, 1)
  t.same(foundIn(readFileSync(lock, 'utf8') + inspect.untaken.join('') + inspect.stderr() + home.written(), one), [])
})

void t.test('where clients are authenticated, each has a login of its own, which nobody else is given', async t => {
  const [one, inward, home] = [await openProtected(t), await ForgingIssuer.open(t), homeOf(t)]
  const [config, audience] = [join(home.folder, 'customs.json'), 'https://gateway.example.com']
  const secret = 'a-token-of-a-client-long-enough'
  writeFileSync(config, JSON.stringify({
    version: 1, listen: '0.0.0.0:0', audit: { file: join(home.folder, 'audit.ndjson') },
    // A configured token with the name of a subject is not that subject.
    auth: { issuer: inward.url, audience, tokens: { alice: secret } }, servers: { tickets: { url: one.url } },
  }))
  const relay = home.run(['serve', '--config', config])
  const origin = await new Promise<string>(resolve => relay.child.stderr?.on('data', () => {
    const [, port] = /listening on http:\/\/0\.0\.0\.0:(\d+)/.exec(relay.stderr()) ?? []
    if (port !== undefined) resolve(`http://127.0.0.1:${port}`)
  }))
  const clients = new Map([
    ['--subject alice', await inward.token({ aud: audience, client_id: 'app' })],
    ['--subject bob', await inward.token({ aud: audience, client_id: 'app', sub: 'bob' })],
    ['--token-name alice', secret],
  ])
  const asks = async (client: string, body = initialize): Promise<string> =>
    (await postTo(`${origin}/tickets/mcp`, body, { authorization: `Bearer ${clients.get(client)}` })).text()
  const logIn = async (client: string): Promise<void> => {
    const login = home.run(['login', '--config', config, '--server', 'tickets', ...client.split(' ')])
    t.equal((await login.exit).code, 0, login.stderr())
  }
  for (const client of clients.keys()) {
    t.match(JSON.parse(await asks(client)), {
      error: { code: -31001, message: `run mcp-customs login --config FILE --server NAME ${client}` },
    })
  }
  await logIn('--subject alice')
  await t.resolves(asked(() => asks('--subject alice'), '"serverInfo"'))
  t.match(await asks('--subject bob'), '-31001', 'another subject')
  t.match(await asks('--token-name alice'), '-31001', 'a token with the name of the subject')
  t.match(await asks('--subject alice', callOf('admin')), 'auth.scopes [\\"admin\\"]', 'a step-up asks nobody either')
  await logIn('--token-name alice')
  await t.resolves(asked(() => asks('--token-name alice'), '"serverInfo"'))
  t.match(await asks('--subject bob'), '-31001')
  t.equal(home.files().length, 2)
  const status = home.run(['login', '--status', '--json'])
  await status.exit
  t.same(
    (JSON.parse(status.untaken.join('')) as { holder: object }[]).map(({ holder }) => JSON.stringify(holder)).sort(),
    [JSON.stringify({ iss: inward.url, sub: 'alice' }), '{"token":"alice"}'],
  )
  const own = home.run(['login', one.url])
  t.equal((await own.exit).code, 0, own.stderr())
  t.equal(home.files().length, 3)
  const logout = home.run(['logout', one.url])
  await logout.exit
  t.match(logout.stderr(), /Kept: 2 of clients of serve/)
  t.equal(home.files().length, 2, 'the logins of others stay')
  const unknown = home.run(['login', '--config', config, '--server', 'tickets', '--token-name', 'carol'])
  t.equal((await unknown.exit).code, 2)
  const two = home.run(['login', '--subject', 'alice', '--token-name', 'alice', '--config', config, '--server', 'tickets'])
  t.equal((await two.exit).code, 2)
  t.match(two.stderr(), 'either --subject or --token-name')
  const nobody = home.run(['login', '--subject', 'alice', one.url])
  t.equal((await nobody.exit).code, 2)
  t.match(nobody.stderr(), '--subject needs --config FILE with auth.issuer')
  const everybody = home.run(['logout', '--all-subjects', one.url])
  t.equal((await everybody.exit).code, 0)
  t.same(home.files(), [])
  await relay.stop()
  t.match(home.written(), '"sub":"bob"')
  t.same(foundIn(home.written() + relay.stderr() + status.stderr(), one), [])
})

/** A relay that runs notices a new login within two seconds. */
const asked = async (ask: () => Promise<string>, text: string): Promise<void> => {
  while (!(await ask()).includes(text)) await pause(50)
}
