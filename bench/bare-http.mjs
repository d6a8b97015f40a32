// The same server by node:http, without a relay: what an attack costs any program that reads HTTP with Node. Its URL is the first line that it
// writes.
import { createServer } from 'node:http'
import { responseTo } from './answers.mjs'

let sessions = 0

createServer((request, response) => {
  if (request.method === 'GET') return response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
  const chunks = []
  request.on('data', chunk => chunks.push(chunk))
  request.on('end', () => {
    const answer = responseTo(Buffer.concat(chunks))
    if (answer === undefined) return response.writeHead(202).end()
    const length = Number(request.headers['x-bench-name'] ?? 0)
    if (length > 0 || answer.method === 'initialize') response.setHeader('mcp-session-id', `bench-${++sessions}-`.padEnd(length, 'x'))
    response.writeHead(200, { 'content-type': 'application/json' }).end(Buffer.concat(answer.pieces))
  })
}).listen(0, '127.0.0.1', 1024, function () {
  process.stdout.write(`http://127.0.0.1:${this.address().port}/mcp\n`)
})
