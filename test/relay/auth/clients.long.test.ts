import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import * as ai from '@ai-sdk/mcp'
import t, { type Test } from 'tap'
import * as v2 from '@modelcontextprotocol/client'
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import {
  StreamableHTTPClientTransport as Transport1,
} from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import * as beta from 'mcp-client-beta'
import { auditOf, scratch } from '../../e2e/bridge.js'
import { lineOf, start, type Started } from '../../e2e/harness.js'
import { installed } from '../../installed.js'
import { Browser, freePort, serveAt } from './facade-parts.js'
import { openProtected } from './protected.js'

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

/** What a client of the SDKs keeps of its login, and its user's browser. */
class Provider {
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
    this.answer = (await new Browser().open(url.href, ({ port }) => port === '33418')).searchParams
  }
}

interface Sdk {
  /** @returns the names of the tools, and the text of a call, after a login */
  login(url: URL, provider: Provider): Promise<readonly unknown[]>
}

const about = { name: 'test', version: '1' }

interface AnyClient {
  listTools(): Promise<{ tools: readonly { name: string }[] }>
  callTool(call: { name: string; arguments: object }): Promise<unknown>
  close(): Promise<void>
}

const used = async (client: AnyClient): Promise<readonly unknown[]> => {
  const { tools } = await client.listTools()
  const { content } = await client.callTool({ name: 'honest', arguments: {} }) as { content: readonly unknown[] }
  await client.close()
  return [...tools.map(({ name }) => name), content]
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
    if (isIn) return used(first.client)
    await first.finish()
    const { client, connected } = connect(url, provider)
    await connected
    return used(client)
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
    const { tools } = await connected.listTools()
    const { honest } = await connected.tools()
    const { content } = await honest?.execute({}, { toolCallId: '1', messages: [] }) as { content: unknown }
    await connected.close()
    return [...tools.map(({ name }) => name), content]
  },
}

interface Result {
  readonly tools: readonly { readonly name: string }[]
  readonly content: unknown
}

/** @param needsLogin false: the relay asks it for none */
const mcpRemote = (t: Test, proxy: string, needsLogin: boolean): Sdk => ({
  async login(url) {
    const port = await freePort()
    const remote = start(t, process.execPath, [proxy, url.href, String(port)], { HOME: scratch(t), PATH: '/nowhere' })
    if (remote.child.stderr === null) throw new Error('no stderr')
    if (needsLogin) {
      const [shown] = await lineOf(remote.child.stderr, /https?:\/\/\S+\/auth\S+/)
      const back = await new Browser().open(shown, found => found.port === String(port))
      await (await fetch(back)).text()
    }
    remote.send(JSON.stringify({
      jsonrpc: '2.0', id: 1, method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: about },
    }))
    await remote.responseTo('1')
    remote.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
    const resultOf = async (id: string, method: string, params: object) => {
      remote.send(JSON.stringify({ jsonrpc: '2.0', id: Number(id), method, params }))
      const { result } = JSON.parse(await remote.responseTo(id)) as { result: Result }
      return result
    }
    const { tools } = await resultOf('2', 'tools/list', {})
    const { content } = await resultOf('3', 'tools/call', { name: 'honest', arguments: {} })
    return [...tools.map(({ name }) => name), content]
  },
})

const more = installed('sdk120@npm:@modelcontextprotocol/sdk@1.20.2', 'mcp-remote@0.15.1')

const done = ['honest', 'admin', [{ type: 'text', text: 'done' }]]

/** Each client logs in, and calls a tool. @returns their number */
const logIn = async (t: Test, url: URL, needsLogin = true): Promise<number> => {
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
  for (const [name, client] of clients) t.match(await client.login(url, new Provider()), done, name)
  return clients.length
}

/** Each client logs in and calls; the log has a call of alice for each. */
const callsAsAlice = async (t: Test, { relay, origin, audit, issuer }: {
  readonly relay: Started; readonly origin: string; readonly audit: string; readonly issuer: string
}): Promise<void> => {
  const clients = await logIn(t, new URL(`${origin}/mcp`))
  relay.child.kill('SIGTERM')
  await relay.exit
  const calls = auditOf(audit).filter(({ event }) => event === 'tools/call')
  t.equal(calls.length, clients)
  for (const record of calls) t.match(record, { subject: { iss: issuer, sub: 'alice' } })
}

void t.test('clients log in by the URL of the relay, in front of a server that checks the audience', async t => {
  const server = await openProtected(t)
  const audit = join(scratch(t), 'audit.ndjson')
  const { relay, origin } = await serveAt(t, await freePort(), ['--facade', '--audit', audit, server.url])
  await callsAsAlice(t, { relay, origin, audit, issuer: server.issuer })
})

void t.test('clients log in at the issuer that the relay names, and it accepts their tokens', async t => {
  const server = await openProtected(t, {
    configuration: { features: { resourceIndicators: {
      enabled: true, defaultResource: () => '', useGrantedResource: () => true,
      getResourceServerInfo: (_, audience) => ({ audience, scope: 'mcp', accessTokenFormat: 'jwt' }),
    } } },
  })
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
