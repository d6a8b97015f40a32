import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { Client as NewClient, StreamableHTTPClientTransport as NewHttp } from '@modelcontextprotocol/client'
import { StdioClientTransport as NewStdio } from '@modelcontextprotocol/client/stdio'
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as OldStdio } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport as OldHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import t, { type Test } from 'tap'
import { freePort } from '#test/kit/http.js'
import { cli } from './bridge.js'
import { serve } from './http-bridges.js'
import { lineOf, start } from './harness.js'

// The official clients of both SDKs over every bridge, before an official server of either: each answer is
// what the client gets from the server directly.

const everything =
  createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/dist/index.js')
const fixture = (name: string) => fileURLToPath(new URL(`../../test/conformance/${name}`, import.meta.url))

/** Where a client connects to. */
type Place = { readonly command: readonly string[] } | { readonly url: string }

interface Official {
  readonly name: string
  readonly command: readonly string[]
  /** The same over HTTP, with the port in the environment. */
  readonly http: readonly string[]
  readonly listening: RegExp
  readonly calls: readonly [string, Record<string, unknown>][]
}

const servers: readonly Official[] = [
  {
    name: 'server-everything (SDK 1)',
    command: [everything, 'stdio'],
    http: [everything, 'streamableHttp'],
    listening: /listening on port/,
    calls: [
      ['echo', { message: 'héllo 🎉 <&> \u2028' }],
      ['get-sum', { a: 0.1, b: 2e21 }],
      ['get-sum', { a: 'one' }],
      ['get-structured-content', { location: 'New York' }],
      ['get-annotated-message', { messageType: 'error', includeImage: true }],
      ['get-resource-links', { count: 3 }],
      ['trigger-long-running-operation', { duration: 0.1, steps: 2 }],
    ],
  },
  {
    name: 'a server of SDK 2',
    command: [fixture('stdio.js')],
    http: [fixture('server.js')],
    listening: /conformance server at/,
    calls: [
      ['test_simple_text', {}],
      ['test_multiple_content_types', {}],
      ['test_error_handling', {}],
      ['test_tool_with_progress', {}],
      ['test_x_mcp_header', { region: 'eu' }],
      ['json_schema_2020_12_tool', { name: 'n', phone: '1' }],
    ],
  },
]

/** What both SDKs' clients do. */
interface AnyClient {
  listTools(): Promise<unknown>
  callTool(params: { name: string; arguments: Record<string, unknown> }): Promise<unknown>
  listPrompts(): Promise<unknown>
  listResources(): Promise<unknown>
  close(): Promise<void>
}

const info = { name: 'official', version: '1.0.0' }
const spawned = (place: { readonly command: readonly string[] }) => {
  const [command = '', ...args] = place.command
  return { command, args, stderr: 'ignore' as const, env: { PATH: process.env['PATH'] ?? '' } }
}

const clients: Readonly<Record<string, (place: Place) => Promise<AnyClient>>> = {
  'the client of SDK 1': async place => {
    const client = new OldClient(info)
    await client.connect('url' in place ? new OldHttp(new URL(place.url)) : new OldStdio(spawned(place)))
    return client
  },
  'the client of SDK 2': async place => {
    const client = new NewClient(info, { versionNegotiation: { mode: 'auto' } })
    await client.connect('url' in place ? new NewHttp(new URL(place.url)) : new NewStdio(spawned(place)))
    return client
  },
}

const listening = async (t: Test, { http, listening }: Official): Promise<string> => {
  const port = await freePort()
  const { child } = start(t, process.execPath, http, { PORT: String(port) })
  if (child.stderr === null) throw new Error('no stderr')
  await lineOf(child.stderr, listening)
  return `http://127.0.0.1:${port}/mcp`
}

const outcome = async (doing: Promise<unknown>): Promise<unknown> => {
  try {
    return JSON.parse(JSON.stringify(await doing))
  } catch (error) {
    return { failed: String(error) }
  }
}

const session = async (client: AnyClient, { calls }: Official): Promise<unknown[]> => {
  const outcomes = [await outcome(client.listTools())]
  for (const [name, given] of calls) outcomes.push(await outcome(client.callTool({ name, arguments: given })))
  outcomes.push(await outcome(client.listPrompts()), await outcome(client.listResources()))
  await client.close()
  return outcomes
}

const trusted = ['--trust', '--audit', 'none']

t.jobs = 2

for (const server of servers) {
  t.test(server.name, { buffered: true }, async t => {
    const command = [process.execPath, ...server.command]
    const url = await listening(t, server)
    const [byCommand, byUrl] =
      await Promise.all([serve(t, [...trusted, '--', ...command]), serve(t, [...trusted, url])])
    const local: Place = { command }
    const remote: Place = { url }
    const bridges = [
      ['stdio to stdio', local, { command: [process.execPath, cli, 'wrap', ...trusted, '--', ...command] }],
      ['stdio to HTTP', remote, { command: [process.execPath, cli, 'wrap', ...trusted, url] }],
      ['HTTP to stdio', local, { url: `${byCommand.url}/mcp` }],
      ['HTTP to HTTP', remote, { url: `${byUrl.url}/mcp` }],
    ] as const
    for (const [who, connect] of Object.entries(clients)) {
      const directly = new Map(await Promise.all([
        local, remote,
      ].map(async place => [place, await session(await connect(place), server)] as const)))
      for (const [bridge, direct, relayed] of bridges) {
        t.strictSame(await session(await connect(relayed), server), directly.get(direct), `${who}, ${bridge}`)
      }
    }
  })
}
