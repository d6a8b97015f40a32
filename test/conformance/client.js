// The client that the official MCP conformance suite asks for: `node client.js URL`. It does what the scenario's server offers:
// lists everything, calls every tool with arguments that its schema takes, reads every resource, gets every prompt.
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client'
import { HeadlessProvider } from './oauth.js'

const url = new URL(process.argv.at(-1))
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? ''
const revision = process.env.MCP_CONFORMANCE_PROTOCOL_VERSION ?? '2025-11-25'
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}')

const provider = new HeadlessProvider(context)

/**
 * A user grants an authorization this many times in a scenario, and then gives up. auth/scope-retry-limit counts them so: its server
 * lets `initialize` pass without a token, but a facade needs one with every request (authorization, access token usage), and that
 * login is the first of three.
 */
let patience = 2

async function main() {
  const { client, transport } = await connect()
  if (client.getServerCapabilities()?.tools) await useTools(client, transport)
  if (client.getServerCapabilities()?.resources) {
    const { resources } = await client.listResources()
    for (const { uri } of resources) await client.readResource({ uri })
  }
  if (client.getServerCapabilities()?.prompts) {
    const { prompts } = await client.listPrompts()
    for (const { name } of prompts) await client.getPrompt({ name })
  }
  await client.close()
}

async function connect() {
  for (;;) {
    const client = new Client(
      { name: 'conformance-client', version: '1.0.0' },
      {
        capabilities: { elicitation: { form: { applyDefaults: true } }, sampling: {}, roots: {} },
        ...(revision >= '2026-07-28' && { versionNegotiation: { mode: 'auto' } }),
      },
    )
    client.setRequestHandler('elicitation/create', ({ params }) => ({ action: 'accept', content: accepted(params.requestedSchema) }))
    client.setRequestHandler('sampling/createMessage', () => ({ role: 'assistant', model: 'none', content: { type: 'text', text: 'Hello' } }))
    client.setRequestHandler('roots/list', () => ({ roots: [{ uri: 'file:///', name: 'root' }] }))
    const transport = new StreamableHTTPClientTransport(url, { authProvider: provider })
    try {
      await client.connect(transport)
      return { client, transport }
    } catch (error) {
      if (!(error instanceof UnauthorizedError) || patience-- === 0) throw error
      await transport.finishAuth(provider.callback())
    }
  }
}

/** Calls as the scenario wants them; every tool once, when it does not say. */
async function useTools(client, transport) {
  const { tools } = await authorized(transport, () => client.listTools())
  const rich = tools.find(tool => tool.name === 'json_schema_2020_12_tool')
  const calls = context.toolCalls ?? tools.map(tool => ({ name: tool.name, arguments: sample(tool.inputSchema, rich) }))
  for (const call of calls) await authorized(transport, () => client.callTool(call)).catch(report)
}

/** Does something, asking for more authority when the server wants it. */
async function authorized(transport, action) {
  for (;;) {
    try {
      return await action()
    } catch (error) {
      if (!(error instanceof UnauthorizedError) || patience-- === 0) throw error
      await transport.finishAuth(provider.callback())
    }
  }
}

/** Values for what a schema requires. */
function sample({ properties = {}, required = [] }, rich) {
  const values = { string: 'text', number: 1, integer: 1, boolean: true, array: [], object: {} }
  const value = (name, { type, enum: choices }) => (name === 'schema' && rich ? rich.inputSchema : choices?.[0] ?? values[type] ?? 'text')
  return Object.fromEntries(required.map(name => [name, value(name, properties[name] ?? {})]))
}

/** What a user fills in: what has no default. */
function accepted({ properties = {}, required = [] } = {}) {
  const fields = Object.entries(properties).filter(([name, field]) => field.default === undefined && (required.includes(name) || field.type === 'boolean'))
  return sample({ properties, required: fields.map(([name]) => name) })
}

/** Some scenarios refuse calls on purpose: a refusal is told, and the next call made. */
function report(error) {
  if (error instanceof UnauthorizedError) throw error
  console.error(`${scenario}: ${error.message}`)
}

try {
  await main()
} catch (error) {
  console.error(`${scenario}: ${error.stack ?? error}`)
  process.exitCode = 1
}
