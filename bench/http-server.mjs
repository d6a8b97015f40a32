// A server that costs next to nothing, by HTTP: `node http-server.mjs json|sse`; it names a session of the length that `x-bench-name` wants; its URL is the first line that it writes. It reads HTTP/1.1 off the
// socket itself, because node:http would be the slowest of all that stands in a row; bodies come with their length.
import { createServer } from 'node:net'
import { responseTo } from './answers.mjs'

process.title = 'bench-server'
const isStream = process.argv[2] === 'sse'
const before = Buffer.from(isStream ? 'event: message\ndata: ' : '')
const after = Buffer.from(isStream ? '\n\n' : '')
const type = isStream ? 'text/event-stream' : 'application/json'
let sessions = 0

const respond = (socket, status, headers = '', pieces = []) => {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
  socket.cork()
  socket.write(`HTTP/1.1 ${status}\r\n${headers}content-length: ${length}\r\n\r\n`, 'latin1')
  for (const piece of pieces) socket.write(piece)
  socket.uncork()
}

const handle = (socket, head, body) => {
  if (head.startsWith('DELETE')) return respond(socket, '200 OK')
  if (!head.startsWith('POST')) return respond(socket, '405 Method Not Allowed', 'allow: POST, DELETE\r\n')
  if (/\r\ntransfer-encoding:/i.test(head)) return socket.end('HTTP/1.1 411 Length Required\r\ncontent-length: 0\r\n\r\n')
  const answer = responseTo(body)
  if (answer === undefined) return respond(socket, '202 Accepted')
  const length = Number(/\r\nx-bench-name: *(\d+)/i.exec(head)?.[1] ?? 0)
  const isNamed = length > 0 || answer.method === 'initialize'
  const session = isNamed ? `mcp-session-id: ${`bench-${++sessions}-`.padEnd(length, 'x')}\r\n` : ''
  respond(socket, '200 OK', `content-type: ${type}\r\n${session}`, [before, ...answer.pieces, after])
}

createServer({ noDelay: true }, socket => {
  let received = Buffer.alloc(0)
  socket.on('error', () => {})
  socket.on('data', chunk => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
    for (let end = received.indexOf('\r\n\r\n'); end !== -1; end = received.indexOf('\r\n\r\n')) {
      const head = received.latin1Slice(0, end)
      const next = end + 4 + Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0)
      if (received.length < next) return
      handle(socket, head, received.subarray(end + 4, next))
      received = received.subarray(next)
    }
  })
}).listen(0, '127.0.0.1', 1024, function () {
  process.stdout.write(`http://127.0.0.1:${this.address().port}/mcp\n`)
})
