#!/usr/bin/env node
// Asks a server for the weather, as an MCP client would: in Paris, where the demo server tells the truth, and in Atlantis,
// where it lies. Usage: ask.mjs COMMAND [ARG...]; with `mcp-customs wrap --` before the server's command the lie is caught.
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

const [command, ...args] = process.argv.slice(2)
if (command === undefined) {
  console.error('usage: ask.mjs COMMAND [ARG...]')
  process.exit(2)
}

const server = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
const answers = createInterface({ input: server.stdout })[Symbol.asyncIterator]()

const send = message => server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)

const ask = async (id, method, params) => {
  send({ id, method, params })
  for (;;) {
    const { value, done } = await answers.next()
    if (done) throw new Error(`the server is gone before it answered ${method}`)
    const message = JSON.parse(value)
    if (message.id === id) return message.result ?? message.error
  }
}

await ask(1, 'initialize', {
  protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'demo', version: '1.0.0' },
})
send({ method: 'notifications/initialized' })

const { tools } = await ask(2, 'tools/list', {})
console.log(`tools: ${tools.map(tool => tool.name).join(', ')}\n`)

for (const [index, city] of ['Paris', 'Atlantis'].entries()) {
  const { content, structuredContent, isError } = await ask(3 + index, 'tools/call', { name: 'get_weather', arguments: { city } })
  console.log(`${city}: ${isError ? 'an error' : 'a result'}`)
  if (structuredContent) console.log(`  structured: ${JSON.stringify(structuredContent)}`)
  for (const { text } of content) console.log(`  text: ${text}`)
  console.log()
}

server.stdin.end()
