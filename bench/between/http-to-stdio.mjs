// The least that node:http can do in front of a server on a pipe: `node http-to-stdio.mjs COMMAND…`; its URL is the first line that it writes. Requests
// get ids of its own; of answers it reads the id alone, which has to be where the server of these benchmarks puts it.
import { spawn } from 'node:child_process'
import { createServer } from 'node:http'
import { eachLine } from '../lines.mjs'

const [command, ...args] = process.argv.slice(2)
const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
const start = '{"jsonrpc":"2.0","id":'
const waiting = new Map()
let last = 0

eachLine(child.stdout, line => {
  const comma = line.indexOf(44, start.length)
  const own = Number(line.latin1Slice(start.length, comma))
  const { id, response, session } = waiting.get(own)
  waiting.delete(own)
  const head = Buffer.from(`${start}${JSON.stringify(id)}`)
  const rest = line.subarray(comma)
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': head.length + rest.length, ...session })
  response.write(head)
  response.end(rest)
})

createServer((request, response) => {
  if (request.method !== 'POST') return response.writeHead(request.method === 'DELETE' ? 200 : 405).end()
  const chunks = []
  request.on('data', chunk => chunks.push(chunk)).on('end', () => {
    const message = JSON.parse(Buffer.concat(chunks))
    const isRequest = message.id !== undefined
    if (isRequest) {
      waiting.set(++last, { id: message.id, response, session: message.method === 'initialize' ? { 'mcp-session-id': `bare-${last}` } : {} })
      message.id = last
    }
    child.stdin.write(`${JSON.stringify(message)}\n`)
    if (!isRequest) response.writeHead(202).end()
  })
}).listen(0, '127.0.0.1', function () {
  process.stdout.write(`http://127.0.0.1:${this.address().port}/mcp\n`)
})
