// What people write today: the official SDK's client and server back to back, with what they check by default.
// `node sdk.mjs stdio|http URL|COMMAND…`; where it listens, its URL is the first line that it writes.
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'

const [front, command, ...args] = process.argv.slice(2)
const info = { name: 'sdk', version: '1' }
const client = new Client(info)
await client.connect(URL.canParse(command) ? new StreamableHTTPClientTransport(new URL(command)) : new StdioClientTransport({ command, args, stderr: 'inherit' }))

const relayTo = async transport => {
  const server = new Server(info, { capabilities: { tools: {} } })
  server.setRequestHandler(ListToolsRequestSchema, ({ params }) => client.listTools(params))
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => client.callTool(params))
  await server.connect(transport)
}

if (front === 'stdio') {
  await relayTo(new StdioServerTransport())
  process.stdin.on('end', () => process.exit())
} else {
  const sessions = new Map()
  createServer(async (request, response) => {
    let transport = sessions.get(request.headers['mcp-session-id'])
    if (transport === undefined) {
      transport = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID, enableJsonResponse: true, onsessioninitialized: id => sessions.set(id, transport) })
      await relayTo(transport)
    }
    await transport.handleRequest(request, response)
  }).listen(0, '127.0.0.1', function () {
    process.stdout.write(`http://127.0.0.1:${this.address().port}/mcp\n`)
  })
}
