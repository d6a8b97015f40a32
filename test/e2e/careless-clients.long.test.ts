import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Client as Client2 } from '@modelcontextprotocol/client'
import { StdioClientTransport as Stdio2 } from '@modelcontextprotocol/client/stdio'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { Client as Client120 } from 'sdk120/client/index.js'
import { StdioClientTransport as Stdio120 } from 'sdk120/client/stdio.js'
import t, { type Test } from 'tap'
import { cli, scratch, scripted } from './bridge.js'
import { on, answer } from './cases.js'
import { serve } from './http-bridges.js'

// Results that careless servers return, and the clients that people use.

t.jobs = 2

const text = (text: string) => ({ type: 'text', text })
const counting =
  { type: 'object', properties: { n: { type: 'integer' }, d: { type: 'string', format: 'date-time' } }, required: ['n'] }

interface Row {
  readonly title: string
  readonly outputSchema?: object
  readonly result: object
  /** What the model reads under `compat`. */
  readonly says: string
  /** By the standard, such a result passes as it is. */
  readonly passes?: true
}

const rows: readonly Row[] = [
  { title: 'null for a number', outputSchema: counting, result: { content: [text('one')], structuredContent: { n: null } }, says: 'one' },
  { title: 'a text for a number', outputSchema: counting, result: { content: [text('one')], structuredContent: { n: '1' } }, says: 'one' },
  { title: 'a date without its zone', outputSchema: counting, result: { content: [text('one')], structuredContent: { n: 1, d: '2026-01-01T10:00:00' } }, says: 'one', passes: true },
  { title: 'text alone', outputSchema: counting, result: { content: [text('one')] }, says: 'one' },
  { title: 'null for the data', outputSchema: counting, result: { content: [text('one')], structuredContent: null }, says: 'one' },
  { title: 'a list', result: { content: [text('[1]')], structuredContent: [1] }, says: '[1]' },
  { title: 'a list, and no text', result: { content: [], structuredContent: [1] }, says: '[1]' },
  { title: 'data, and no text', outputSchema: counting, result: { content: [], structuredContent: { n: 1 } }, says: '{"n":1}', passes: true },
  { title: 'nulls', result: { content: [{ ...text('one'), annotations: null }], isError: null, _meta: null }, says: 'one' },
]

/** Connects a client, and answers with what it makes of a tool's result. */
type Ask = (t: Test, words: readonly string[]) => Promise<(tool: string) => Promise<unknown>>

interface AnyClient<Transport> {
  connect(transport: Transport): Promise<void>
  listTools(): Promise<unknown>
  callTool(call: { name: string }): Promise<unknown>
  close(): Promise<void>
}

const self = { name: 'asks', version: '1' }

const sdk = <Transport>(
  client: () => AnyClient<Transport>, transport: (server: { command: string; args: string[]; stderr: 'ignore' }) => Transport,
): Ask => async (t, [command = '', ...args]) => {
  const made = client()
  t.teardown(() => made.close())
  await made.connect(transport({ command, args, stderr: 'ignore' }))
  await made.listTools()
  return tool => made.callTool({ name: tool })
}

/** A folder with more clients: `npm install @ai-sdk/mcp mcp-remote`. */
const more = process.env['MCP_CUSTOMS_TEST_CLIENTS'] ?? ''
const require = createRequire(pathToFileURL(join(more, 'package.json')))
const isThere = (name: string) => more !== '' && existsSync(join(more, 'node_modules', name))

interface AiSdk {
  createMCPClient(options: { transport: unknown }): Promise<{
    tools(): Promise<Record<string, { execute(given: object, options: object): Promise<unknown> }>>
    close(): Promise<void>
  }>
  Experimental_StdioMCPTransport: new (server: { command: string; args: string[]; stderr: 'ignore' }) => unknown
}

const aiSdk: Ask = async (t, [command = '', ...args]) => {
  const load = (name: string) => import(pathToFileURL(require.resolve(name)).href) as Promise<AiSdk>
  const [sdk, { Experimental_StdioMCPTransport: Stdio }] =
    await Promise.all([load('@ai-sdk/mcp'), load('@ai-sdk/mcp/mcp-stdio')])
  const client = await sdk.createMCPClient({ transport: new Stdio({ command, args, stderr: 'ignore' }) })
  t.teardown(() => client.close())
  const tools = await client.tools()
  return async tool => tools[tool]?.execute({}, { toolCallId: '1', messages: [] })
}

const newest = sdk(() => new Client(self), server => new StdioClientTransport(server))

/** SDK 1.x before mcp-remote, which asks the relay over HTTP. */
const remote: Ask = async (t, [node = '', , , ...words]) => {
  const { url } = await serve(t, words)
  return newest(t, [node, join(more, 'node_modules', 'mcp-remote', 'dist', 'proxy.js'), `${url}/mcp`])
}

const clients: readonly (readonly [name: string, ask: Ask, skip: boolean])[] = [
  ['SDK 1.20', sdk(() => new Client120(self), server => new Stdio120(server)), false],
  ['SDK 1.x', newest, false],
  ['SDK 2.x', sdk(() => new Client2(self), server => new Stdio2(server)), false],
  ['@ai-sdk/mcp', aiSdk, !isThere('@ai-sdk/mcp')],
  ['mcp-remote', remote, !isThere('mcp-remote')],
]

const tools = rows.map((row, index) => ({ ...row, name: `tool_${index}` }))

/** The words that start the server, with the relay before it. */
const serverOf = (t: Test, policy: string): readonly string[] => {
  const greeting =
    { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } }
  const listed = tools.map(({ name, outputSchema }) =>
    ({ name, inputSchema: { type: 'object' }, ...(outputSchema && { outputSchema }) }))
  const { command } = scripted(scratch(t), [
    on('initialize', answer('$ID', JSON.stringify(greeting))),
    on('server/discover', '{"jsonrpc":"2.0","id":$ID,"error":{"code":-32601,"message":"no such method"}}'),
    on('tools/list', answer('$ID', JSON.stringify({ tools: listed }))),
    ...tools.map(({ name, result }) => ({ when: `"${name}"`, say: [answer('$ID', JSON.stringify(result))] })),
  ])
  const options = ['--policy', policy, '--trust', '--audit', 'none', '--server', 'shop']
  return [process.execPath, cli, 'wrap', ...options, '--', ...command]
}

for (const [name, ask, isMissing] of clients) {
  const skip = isMissing && 'MCP_CUSTOMS_TEST_CLIENTS names no folder with it'
  t.test(`${name} gets what careless servers return`, { skip }, async t => {
    const [compat, standard] =
      await Promise.all([ask(t, serverOf(t, 'compat')), ask(t, serverOf(t, 'standard'))])
    for (const { name: tool, title, says, passes } of tools) {
      const mended = JSON.stringify(await compat(tool))
      t.ok(mended.includes(JSON.stringify(says)), `${title}: ${mended}`)
      t.notOk(mended.includes('"isError":true'), title)
      if (passes === true) continue
      const told = JSON.stringify(await standard(tool))
      t.ok(told.includes(`mcp-customs relax shop ${tool}`), `${title}: the command that helps is told`)
    }
  })
}
