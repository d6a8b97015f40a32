import { createHash, randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { freePort, postTo } from '#test/kit/http.js'
import { cli, scratch, scripted } from '../../e2e/bridge.js'
import { answer, legacy, on } from '../../e2e/cases.js'
import { start, urlOf, type Started } from '../../e2e/harness.js'
import { engine, startEngine } from '../../e2e/replicas.js'
import { Browser } from './facade-parts.js'
import { ForgingIssuer } from './issuers.js'
import { openProtected, type Protected } from './protected.js'
import { browser, callOf, initialize, processesOf } from './wrapped.js'

const reactions = [on('initialize', answer('$ID',
  `{"protocolVersion":"${legacy}","capabilities":{},"serverInfo":{"name":"x","version":"1"}}`))]
const clientToken = 'a-token-of-a-client-that-is-long-enough'
const stateKey = 'a-key-of-the-replicas-that-is-long-enough'

/** Everything secret that an issuer has seen or given: also states, verifiers and secrets of clients. */
const watch = (one: Protected): void => {
  const { provider, secrets } = one
  const keep = ({ oidc }: { readonly oidc: { readonly params?: unknown } }): void => {
    for (const [name, value] of Object.entries(oidc.params ?? {})) {
      if (['state', 'code', 'code_verifier', 'client_secret', 'refresh_token'].includes(name) && typeof value === 'string') secrets.add(value)
    }
  }
  provider.on('authorization.accepted', keep)
  provider.on('grant.success', keep)
}

/** The operator has given the relay and its relay processes their environment. */
const isRelay = (line: string): boolean => line.includes(dirname(cli))

/** Whatever is sent to the engine of the state. */
const commandsTo = async (t: Test, port: number): Promise<() => string> => {
  let text = ''
  const socket = connect(port, '127.0.0.1', () => socket.write('MONITOR\r\n'))
  t.teardown(() => socket.destroy())
  await new Promise(resolve => socket.once('data', resolve))
  socket.on('data', chunk => (text += chunk.toString()))
  return () => text
}

/** A relay that writes as much as it can. */
const serve = async (t: Test, configuration: object, env: NodeJS.ProcessEnv = {}) => {
  const folder = scratch(t)
  const [config, port] = [join(folder, 'customs.json'), await freePort()]
  writeFileSync(config, JSON.stringify({
    version: 1, listen: `127.0.0.1:${port}`, audit: { file: join(folder, 'audit.ndjson'), payloads: 'full' }, ...configuration,
  }))
  const relay: Started = start(t, process.execPath, [
    cli, 'serve', '--config', config, '--log-level', 'trace', '--admin', '127.0.0.1:0', '--capture', join(folder, 'capture.ndjson'),
  ], { XDG_STATE_HOME: join(folder, 'state'), BROWSER: browser, ...env })
  const origin = await urlOf(relay)
  return {
    origin,
    post: (path: string, token: string, body: string) =>
      postTo(origin + path, body, { authorization: `Bearer ${token}` }),
    /** Ends the relay. @returns all that it has written and shown */
    all: async (): Promise<string> => {
      const [, admin = ''] = /page on (\S+)\/\?/.exec(relay.stderr()) ?? []
      const metrics = await (await fetch(`${admin}/metrics`)).text()
      const shown = processesOf(relay.pid, isRelay)
      await relay.stop()
      // A login is kept in its own file, and the keys of the relay in theirs (0600).
      const isSecret = (path: string) => /customs\.json$|\blogins\b|\.key$/.test(path)
      const files = readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter(one => one.isFile() && !isSecret(join(one.parentPath, one.name).slice(folder.length)))
        .map(one => readFileSync(join(one.parentPath, one.name), 'utf8'))
      return [...files, metrics, shown, relay.stderr()].join('\n')
    },
  }
}

const foundIn = (text: string, secrets: Iterable<string | undefined>): readonly string[] =>
  [...secrets].flatMap(secret => secret ?? []).filter(secret => secret.length > 10 && text.includes(secret))

t.test('no secret of a login or of client credentials is shown or written', async t => {
  const [one, robot] = [await openProtected(t), await openProtected(t)]
  for (const each of [one, robot]) watch(each)
  const relay = await serve(t, {
    auth: { tokens: [clientToken] },
    servers: {
      login: { url: one.url, auth: { shared: true } },
      robot: { url: robot.url, auth: { clientId: 'robot', clientSecret: '${env:SECRET}', issuer: robot.issuer, scopes: ['admin'] } },
      process: { command: scripted(scratch(t), reactions).command },
    },
  }, { SECRET: 'robot-secret' })
  for (const name of ['login', 'robot', 'process']) {
    const response = await relay.post(`/${name}/mcp`, clientToken, initialize)
    t.equal(response.status, 200, name)
    if (name !== 'process') t.equal((await relay.post(`/${name}/mcp`, clientToken, callOf('admin'))).status, 200)
  }
  t.ok(one.secrets.size >= 5, 'a state, a code, a verifier and tokens')
  const all = await relay.all()
  t.match(all, 'tools/call')
  t.same(foundIn(all, [...one.secrets, ...robot.secrets, clientToken, 'robot-secret']), [])
})

t.test('no secret of a client of the facade is shown or written, nor sent to the shared state', {
  skip: engine === undefined && 'neither Valkey nor Redis is installed',
}, async t => {
  const [one, store] = [await openProtected(t), await startEngine(t)]
  watch(one)
  const commands = await commandsTo(t, store.port)
  const relay = await serve(t, { auth: 'facade', servers: { one: { url: one.url } }, state: { url: store.url, key: stateKey } })
  const registered = await (await fetch(`${relay.origin}/register`, {
    method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ redirect_uris: ['http://127.0.0.1:1/cb'] }),
  })).json() as { client_id: string }
  const [verifier, state] = [randomBytes(32).toString('base64url'), randomBytes(16).toString('hex')]
  const url = new URL(`${relay.origin}/authorize`)
  const parameters = {
    response_type: 'code', client_id: registered.client_id, redirect_uri: 'http://127.0.0.1:1/cb', state, scope: 'mcp admin',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'), code_challenge_method: 'S256',
  }
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  const user = new Browser()
  const back = await user.open(url.href, ({ port }) => port === '1')
  const code = back.searchParams.get('code') ?? ''
  const ask = async (path: string, form: Record<string, string>) => await (await fetch(relay.origin + path, {
    method: 'POST', body: new URLSearchParams({ client_id: registered.client_id, ...form }),
  })).json() as Record<string, string>
  const first = await ask('/token', { grant_type: 'authorization_code', code, code_verifier: verifier, redirect_uri: 'http://127.0.0.1:1/cb' })
  t.equal((await relay.post('/mcp', first['access_token'] ?? '', callOf('admin'))).status, 200)
  const second = await ask('/token', { grant_type: 'refresh_token', refresh_token: first['refresh_token'] ?? '' })
  t.equal((await relay.post('/mcp', second['access_token'] ?? '', initialize)).status, 200)
  await ask('/revoke', { token: second['refresh_token'] ?? '' })
  const texts = user.visited.flatMap(visited => [...new URL(visited).searchParams])
    .flatMap(([name, value]) => (name === 'state' || name === 'code' ? [value] : []))
  const all = await relay.all() + commands()
  t.match(commands(), '"SET"', 'the state was used')
  t.match(all, 'tools/call')
  t.same(foundIn(all, [
    ...one.secrets, ...texts, code, state, verifier, stateKey,
    ...[first, second].flatMap(tokens => [tokens['access_token'], tokens['refresh_token']]),
  ]), [])
})

t.test('no token that an issuer has given to a client is shown or written', async t => {
  const issuer = await ForgingIssuer.open(t)
  const audience = 'https://gateway.example.com'
  const one = await openProtected(t)
  issuer.documents.set('/introspect', { active: true, sub: 'carol', aud: audience })
  const introspection = { url: `${issuer.url}/introspect`, clientId: 'relay', clientSecret: '${env:SECRET}' }
  const relay = await serve(t, {
    auth: { issuer: issuer.url, audience, introspection }, servers: { one: { url: one.url, upstream: 'none' } },
  }, { SECRET: 'the-secret-of-the-relay' })
  const tokens = [
    await issuer.token({ aud: audience }), await issuer.token({ aud: 'https://elsewhere.example.com' }),
    await issuer.token({ aud: audience, exp: 1 }), 'an-opaque-token-of-a-client',
  ]
  for (const token of tokens) await (await relay.post('/mcp', token, initialize)).text()
  const all = await relay.all()
  t.match(all, 'its audience is', 'the log says why')
  t.same(foundIn(all, [...tokens.map(token => token.slice(-40)), 'the-secret-of-the-relay']), [])
})
