import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import * as ai from '@ai-sdk/mcp'
import type { Configuration } from 'oidc-provider'
import t, { type Test } from 'tap'
import * as v2 from '@modelcontextprotocol/client'
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import {
  StreamableHTTPClientTransport as Transport1,
} from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import * as beta from 'mcp-client-beta'
import { auditOf, scratch } from '../../e2e/bridge.js'
import { lineOf, start, type Started } from '../../e2e/harness.js'
import { balance, engine, startEngine, startReplica, type Replica } from '../../e2e/replicas.js'
import { installed } from '../../installed.js'
import { bodyOf, freePort, listen } from '#test/kit/http.js'
import { Browser, serveAt } from './facade-parts.js'
import { answerAsServer, openProtected, type Protected } from './protected.js'

const browser = `${process.execPath} ${fileURLToPath(new URL('../../../test/fixtures/browser.mjs', import.meta.url))}`

/** Has the tools of `answerAsServer`. */
const toolServer = `require('node:readline').createInterface({ input: process.stdin }).on('line', line => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) return
  const tool = name => ({ name, inputSchema: { type: 'object' } })
  const result = method === 'initialize'
    ? { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } }
    : method === 'tools/list' ? { tools: [tool('honest'), tool('admin')] }
      : { content: [{ type: 'text', text: 'done' }] }
  console.log(JSON.stringify({ jsonrpc: '2.0', id, result }))
})`

/** What happens to the relay meanwhile. */
interface Moments {
  /** The user has logged in at the issuer, and is not back yet. */
  readonly halfway: () => Promise<void>
  /** The client has used its tokens, and will call once more. */
  readonly loggedIn: () => Promise<void>
}

const never = () => Promise.resolve()
const undisturbed: Moments = { halfway: never, loggedIn: never }

/** The user logs in. @returns where the client's own page begins */
const goBack = async (
  begin: string, isClients: (url: URL) => boolean, { halfway }: Moments,
): Promise<URL> => {
  const browser = new Browser()
  const { href } = await browser.open(begin, url => url.pathname === '/callback' || isClients(url))
  await halfway()
  return browser.open(href, isClients)
}

/** What a client of the SDKs keeps of its login, and its user's browser. */
class Provider {
  constructor(readonly moments: Moments) {}

  readonly redirectUrl = 'http://127.0.0.1:33418/callback'
  // Older SDKs ask for these scopes, whatever a challenge says.
  readonly clientMetadata = {
    scope: 'mcp', client_name: 'a client', redirect_uris: [this.redirectUrl], token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'],
  }
  readonly #kept = new Map<string, unknown>()
  /** What the user came back with. */
  answer = new URLSearchParams()

  readonly clientInformation = () => this.#kept.get('client') as never
  readonly saveClientInformation = (client: unknown) => void this.#kept.set('client', client)
  readonly tokens = () => this.#kept.get('tokens') as never
  readonly saveTokens = (tokens: unknown) => void this.#kept.set('tokens', tokens)
  readonly saveCodeVerifier = (verifier: string) => void this.#kept.set('verifier', verifier)
  readonly codeVerifier = () => String(this.#kept.get('verifier'))
  readonly state = () => 'a-state-of-the-client'
  // Asked for by @ai-sdk/mcp.
  readonly saveState = () => undefined
  readonly storedState = () => 'a-state-of-the-client'
  readonly redirectToAuthorization = async (url: URL) => {
    this.answer = (await goBack(url.href, ({ port }) => port === '33418', this.moments)).searchParams
  }
}

interface Sdk {
  /** @returns the names of the tools, and what a call and a later one return, after a login */
  login(url: URL, provider: Provider): Promise<readonly unknown[]>
}

const about = { name: 'test', version: '1' }

interface AnyClient {
  listTools(): Promise<{ tools: readonly { name: string }[] }>
  callTool(call: { name: string; arguments: object }): Promise<unknown>
  close(): Promise<void>
}

const used = async (client: AnyClient, { loggedIn }: Moments): Promise<readonly unknown[]> => {
  const call = async () => (await client.callTool({ name: 'honest', arguments: {} }) as { content: unknown }).content
  const { tools } = await client.listTools()
  const first = await call()
  await loggedIn()
  const second = await call()
  await client.close()
  return [...tools.map(({ name }) => name), first, second]
}

/** Connects, which ends in a login, and connects again. */
interface Connection {
  readonly client: AnyClient
  readonly connected: Promise<void>
  readonly finish: () => Promise<void>
}

const sdk = (connect: (url: URL, provider: Provider) => Connection): Sdk => ({
  async login(url, provider) {
    const first = connect(url, provider)
    const isIn = await first.connected.then(() => true, (error: unknown) => {
      if (!/unauthorized/i.test(String(error))) throw error
      return false
    })
    if (isIn) return used(first.client, provider.moments)
    await first.finish()
    const { client, connected } = connect(url, provider)
    await connected
    return used(client, provider.moments)
  },
})

const sdk1 = (Client: typeof Client1, Transport: typeof Transport1): Sdk => sdk((url, provider) => {
  const transport = new Transport(url, { authProvider: provider })
  const client = new Client(about)
  return {
    client: client as unknown as AnyClient, connected: client.connect(transport),
    finish: () => transport.finishAuth(provider.answer.get('code') ?? ''),
  }
})

const sdk2 = ({ Client, StreamableHTTPClientTransport }: typeof v2): Sdk => sdk((url, provider) => {
  const transport = new StreamableHTTPClientTransport(url, { authProvider: provider as never })
  const client = new Client(about)
  return {
    client: client as unknown as AnyClient, connected: client.connect(transport),
    finish: () => transport.finishAuth(provider.answer.get('code') ?? '', provider.answer.get('iss') ?? ''),
  }
})

const aiSdk: Sdk = {
  async login(url, provider) {
    const config = { transport: { type: 'http' as const, url: url.href, authProvider: provider as never } }
    const connected = await ai.createMCPClient(config).catch(async (error: unknown) => {
      if (!/unauthorized/i.test(String(error))) throw error
      const answered = { authorizationCode: provider.answer.get('code') ?? '', callbackState: provider.answer.get('state') ?? '' }
      await ai.auth(provider, { serverUrl: url, ...answered })
      return ai.createMCPClient(config)
    })
    const { honest } = await connected.tools()
    return used({
      listTools: () => connected.listTools(), close: () => connected.close(),
      callTool: async () => honest?.execute({}, { toolCallId: '1', messages: [] }),
    }, provider.moments)
  },
}

interface Result {
  readonly tools: readonly { readonly name: string }[]
  readonly content: unknown
}

/** @param needsLogin false: the relay asks it for none */
const mcpRemote = (t: Test, proxy: string, needsLogin: boolean): Sdk => ({
  async login(url, { moments }) {
    const port = await freePort()
    const remote = start(t, process.execPath, [proxy, url.href, String(port)], { HOME: scratch(t), PATH: '/nowhere' })
    if (remote.child.stderr === null) throw new Error('no stderr')
    if (needsLogin) {
      const [shown] = await lineOf(remote.child.stderr, /https?:\/\/\S+\/auth\S+/)
      const back = await goBack(shown, found => found.port === String(port), moments)
      await (await fetch(back)).text()
    }
    remote.send(JSON.stringify({
      jsonrpc: '2.0', id: 1, method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: about },
    }))
    await remote.responseTo('1')
    remote.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
    let id = 1
    const resultOf = async (method: string, params: object) => {
      remote.send(JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params }))
      return (JSON.parse(await remote.responseTo(String(id))) as { result: Result }).result
    }
    return used({
      listTools: () => resultOf('tools/list', {}), callTool: call => resultOf('tools/call', call), close: never,
    }, moments)
  },
})

const more = installed('sdk120@npm:@modelcontextprotocol/sdk@1.20.2', 'mcp-remote@0.15.1')

const answer = [{ type: 'text', text: 'done' }]

/** Each client logs in, and calls a tool twice, all at the same time. @returns their number */
const logIn = async (
  t: Test, url: URL, needsLogin = true, momentsOf: (clients: number) => Moments = () => undisturbed,
): Promise<number> => {
  const clients: [name: string, client: Sdk][] = [
    ['@modelcontextprotocol/sdk', sdk1(Client1, Transport1)], ['@modelcontextprotocol/client', sdk2(v2)],
    ['its beta', sdk2(beta as unknown as typeof v2)], ['@ai-sdk/mcp', aiSdk],
  ]
  if (more === undefined) t.comment('SDK 1.20 and mcp-remote could not be installed')
  else {
    const require = createRequire(pathToFileURL(join(more, 'package.json')))
    const load = async (name: string) => import(pathToFileURL(require.resolve(name)).href) as Promise<unknown>
    const [{ Client }, { StreamableHTTPClientTransport }] = await Promise.all([
      load('sdk120/client/index.js'), load('sdk120/client/streamableHttp.js'),
    ]) as [{ Client: typeof Client1 }, { StreamableHTTPClientTransport: typeof Transport1 }]
    const proxy = join(more, 'node_modules', 'mcp-remote', 'dist', 'proxy.js')
    clients.push(['SDK 1.20', sdk1(Client, StreamableHTTPClientTransport)])
    clients.push(['mcp-remote', mcpRemote(t, proxy, needsLogin)])
  }
  const moments = momentsOf(clients.length)
  await Promise.all(clients.map(async ([name, client]) =>
    t.same(await client.login(url, new Provider(moments)), ['honest', 'admin', answer, answer], name)))
  return clients.length
}

const areOfAlice = (t: Test, audits: readonly string[], count: number, issuer: string): void => {
  const calls = audits.flatMap(auditOf).filter(({ event }) => event === 'tools/call')
  t.equal(calls.length, count)
  for (const record of calls) t.match(record, { subject: { iss: issuer, sub: 'alice' } })
}

/** Each client logs in and calls. */
const callsAsAlice = async (t: Test, { relay, origin, audit, issuer }: {
  readonly relay: Started; readonly origin: string; readonly audit: string; readonly issuer: string
}): Promise<void> => {
  const clients = await logIn(t, new URL(`${origin}/mcp`))
  await relay.stop()
  areOfAlice(t, [audit], 2 * clients, issuer)
}

void t.test('clients log in by the URL of the relay, in front of a server that checks the audience', async t => {
  const server = await openProtected(t)
  const audit = join(scratch(t), 'audit.ndjson')
  const { relay, origin } = await serveAt(t, await freePort(), ['--facade', '--audit', audit, server.url])
  await callsAsAlice(t, { relay, origin, audit, issuer: server.issuer })
})

/** The issuer gives tokens for any resource that a client names. */
const named: Configuration = { features: { resourceIndicators: {
  enabled: true, defaultResource: () => '', useGrantedResource: () => true,
  getResourceServerInfo: (_, audience) => ({ audience, scope: 'mcp', accessTokenFormat: 'jwt' }),
} } }

void t.test('clients log in at the issuer that the relay names, and it accepts their tokens', async t => {
  const server = await openProtected(t, { configuration: named })
  const [config, audit, port] = [join(scratch(t), 'customs.json'), join(scratch(t), 'audit.ndjson'), await freePort()]
  writeFileSync(config, JSON.stringify({
    version: 1, auth: { issuer: server.issuer, audience: `http://127.0.0.1:${port}`, scopes: ['mcp'] },
    servers: { one: { command: [process.execPath, '-e', toolServer], inheritEnv: true } },
  }))
  const { relay, origin } = await serveAt(t, port, ['--config', config, '--audit', audit])
  await callsAsAlice(t, { relay, origin, audit, issuer: server.issuer })
})

void t.test('the relay logs in itself, once, for clients that know nothing of it', async t => {
  const server = await openProtected(t)
  const [config, state] = [join(scratch(t), 'customs.json'), scratch(t)]
  writeFileSync(config, JSON.stringify({
    version: 1, servers: { one: { url: server.url, auth: { shared: true } } }, audit: { file: 'none' },
  }))
  const opened = join(state, 'opened')
  const { origin } = await serveAt(t, await freePort(), ['--config', config], {
    XDG_STATE_HOME: state, BROWSER: browser, BROWSER_LOG: opened,
  })
  await logIn(t, new URL(`${origin}/mcp`), false)
  t.equal(readFileSync(opened, 'utf8').trim().split('\n').length, 1)
})

/** All clients come here; then it happens, and they go on. */
const meeting = (count: number, happens: () => Promise<void>): (() => Promise<void>) => {
  let [here, go] = [0, (): void => undefined]
  const all = new Promise<void>(resolve => (go = resolve))
  return async () => {
    if (++here === count) await happens().then(go)
    await all
  }
}

interface Three {
  readonly configOf: (origin: string) => object
  /** Undefined: each replica has a state folder of its own. */
  readonly environment?: Readonly<Record<string, string>>
  readonly needsLogin?: boolean
  /** What happens to the logins while the replicas restart. */
  readonly ends?: () => Promise<void>
}

/**
 * Each client logs in, and calls, by three replicas that get requests in turn. All of them are killed, and
 * start again, in the middle of the logins and before the last calls.
 */
const overThree = async (t: Test, { configOf, environment, needsLogin = true, ends = never }: Three) => {
  const [folder, balancer, store] = [scratch(t), await balance(t, []), await startEngine(t)]
  const config = { version: 1, state: { url: store.url, key: 'known-to-all-replicas' }, ...configOf(balancer.url) }
  const ports = await Promise.all([freePort(), freePort(), freePort()])
  let replicas: readonly Replica[] = []
  const begin = async () => {
    replicas = await Promise.all(ports.map(port => {
      const own = join(folder, String(port))
      return startReplica(t, own, config, port, [], { XDG_STATE_HOME: own, ...environment })
    }))
  }
  const end = (signal: 'SIGKILL' | 'SIGTERM') => Promise.all(replicas.map(({ relay }) => {
    relay.child.kill(signal)
    return relay.exit
  }))
  const restart = () => end('SIGKILL').then(begin)
  await begin()
  balancer.to.push(...replicas.map(({ url }) => url))
  const clients = await logIn(t, new URL(`${balancer.url}/mcp`), needsLogin, count => ({
    halfway: meeting(count, restart), loggedIn: meeting(count, () => restart().then(ends)),
  }))
  await end('SIGTERM')
  t.equal([...balancer.counts.values()].filter(count => count > clients).length, 3, 'every replica was asked')
  return { clients, audits: replicas.map(({ audit }) => audit) }
}

/** Ends the access tokens at the issuer. @returns how often tokens were renewed since */
const ending = ({ provider, secrets }: Protected) => {
  let renewed = 0
  provider.on('grant.success', ({ oidc: { params } }) => (renewed += params?.['grant_type'] === 'refresh_token' ? 1 : 0))
  return {
    renewed: () => renewed,
    ends: async () => {
      for (const token of secrets) await (await provider.AccessToken.find(token))?.destroy()
    },
  }
}

const skip = engine === undefined && 'neither valkey-server nor redis-server is installed'

void t.test('over three replicas that restart, clients log in by the facade, and renew what the issuer ends', { skip }, async t => {
  const server = await openProtected(t)
  const { ends, renewed } = ending(server)
  const { clients, audits } = await overThree(t, {
    configOf: audience => ({ auth: { facade: true, audience }, servers: { one: { url: server.url } } }), ends,
  })
  t.equal(renewed(), clients)
  // The one of these that the server refused, before the client renewed its token, is recorded, too.
  areOfAlice(t, audits, 3 * clients, server.issuer)
})

void t.test('over three replicas that restart, clients log in at the issuer that the relay names', { skip }, async t => {
  const server = await openProtected(t, { configuration: named })
  const plain = createServer((request, response) => void bodyOf(request).then(body =>
    (request.method === 'POST' ? answerAsServer(body, response) : response.writeHead(405).end())))
  const url = `${await listen(t, plain)}/mcp`
  const { clients, audits } = await overThree(t, {
    configOf: audience => ({ auth: { issuer: server.issuer, audience, scopes: ['mcp'] }, servers: { one: { url } } }),
  })
  areOfAlice(t, audits, 2 * clients, server.issuer)
})

void t.test('three replicas that restart log in themselves, once, and one of them renews what the issuer ends', { skip }, async t => {
  const server = await openProtected(t)
  const { ends, renewed } = ending(server)
  const state = scratch(t)
  const opened = join(state, 'opened')
  await overThree(t, {
    configOf: () => ({ servers: { one: { url: server.url, auth: { shared: true } } } }), ends,
    needsLogin: false,
    environment: { XDG_STATE_HOME: state, BROWSER: browser, BROWSER_LOG: opened },
  })
  t.equal(renewed(), 1)
  t.equal(readFileSync(opened, 'utf8').trim().split('\n').length, 1)
})
