import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import * as v2 from '@modelcontextprotocol/client'
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import * as beta from 'mcp-client-beta'
import { auditOf, scratch } from '../e2e/bridge.js'
import { lineOf, start } from '../e2e/harness.js'
import { Browser, freePort, serveAt } from './facade-parts.js'
import { openProtected } from './protected.js'

/** What a client of the SDKs keeps of its login, and its user's browser. */
class Provider {
  readonly redirectUrl = 'http://127.0.0.1:33418/callback'
  readonly clientMetadata = {
    client_name: 'a client', redirect_uris: [this.redirectUrl], token_endpoint_auth_method: 'none',
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
    await first.connected.catch((error: unknown) => {
      if (!/unauthorized/i.test(String(error))) throw error
    })
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

/** A folder with more clients: `npm install sdk120@npm:@modelcontextprotocol/sdk@1.20 mcp-remote @ai-sdk/mcp`. */
const more = process.env['MCP_CUSTOMS_TEST_CLIENTS']

void t.test('clients log in by the URL of the relay, in front of a server that checks the audience', async t => {
  const server = await openProtected(t)
  const directory = scratch(t)
  const audit = join(directory, 'audit.ndjson')
  const { relay, origin } = await serveAt(t, await freePort(), ['--facade', '--audit', audit, server.url])
  const url = new URL(`${origin}/mcp`)
  const done = ['honest', 'admin', [{ type: 'text', text: 'done' }]]
  t.match(await sdk1(Client1, Transport1).login(url, new Provider()), done, '@modelcontextprotocol/sdk')
  t.match(await sdk2(v2).login(url, new Provider()), done, '@modelcontextprotocol/client')
  t.match(await sdk2(beta as unknown as typeof v2).login(url, new Provider()), done, 'its beta')

  await t.test('older and other clients', { skip: more === undefined }, async t => {
    const require = createRequire(pathToFileURL(join(more ?? '', 'package.json')))
    const load = async (name: string) => import(pathToFileURL(require.resolve(name)).href) as Promise<unknown>
    const [{ Client }, { StreamableHTTPClientTransport }] = await Promise.all([
      load('sdk120/client/index.js'), load('sdk120/client/streamableHttp.js'),
    ]) as [{ Client: typeof Client1 }, { StreamableHTTPClientTransport: typeof Transport1 }]
    t.match(await sdk1(Client, StreamableHTTPClientTransport).login(url, new Provider()), done, 'SDK 1.20')

    const proxy = join(more ?? '', 'node_modules', 'mcp-remote', 'dist', 'proxy.js')
    t.ok(existsSync(proxy))
    const port = await freePort()
    const remote = start(t, process.execPath, [proxy, url.href, String(port)], { HOME: directory, PATH: '/nowhere' })
    if (remote.child.stderr === null) throw new Error('no stderr')
    const [shown] = await lineOf(remote.child.stderr, /https?:\/\/\S+\/authorize\S+/)
    const back = await new Browser().open(shown, found => found.port === String(port))
    const page = await fetch(back)
    t.equal(page.status, 200, await page.text())
    remote.send(JSON.stringify({
      jsonrpc: '2.0', id: 1, method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: about },
    }))
    await remote.responseTo('1')
    remote.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
    remote.send('{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"honest","arguments":{}}}')
    t.match(await remote.responseTo('2'), '"text":"done"', 'mcp-remote')
  })
  relay.child.kill('SIGTERM')
  await relay.exit
  const calls = auditOf(audit).filter(({ event }) => event === 'tools/call')
  t.equal(calls.length, more === undefined ? 3 : 5)
  for (const record of calls) t.match(record, { subject: { iss: server.issuer, sub: 'alice' } })
})
