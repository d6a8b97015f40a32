// A server that costs nothing, by HTTP: `node http-server.mjs json|sse`; its URL is the first line that it writes.
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { resultOf } from './answers.mjs'

const isStream = process.argv[2] === 'sse'

createServer((request, response) => {
  const chunks = []
  request.on('data', chunk => chunks.push(chunk)).on('end', () => {
    if (request.method !== 'POST') return response.writeHead(405).end()
    const message = JSON.parse(Buffer.concat(chunks))
    if (message.id === undefined) return response.writeHead(202).end()
    const answer = `{"jsonrpc":"2.0","id":${message.id},"result":${resultOf(message) ?? '{}'}}`
    const session = message.method === 'initialize' ? { 'mcp-session-id': randomUUID() } : {}
    response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json', ...session })
    response.end(isStream ? `event: message\ndata: ${answer}\n\n` : answer)
  })
}).listen(0, '127.0.0.1', function () {
  process.stdout.write(`http://127.0.0.1:${this.address().port}/mcp\n`)
})
