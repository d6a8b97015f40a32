// The least that can stand in between: node:http in front, undici behind. `node http-pass.mjs URL`; its own URL is the first line that it writes.
import { createServer } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { Pool } from 'undici'

const upstream = new URL(process.argv[2])
const pool = new Pool(upstream.origin)

createServer((request, response) => {
  const chunks = []
  request.on('data', chunk => chunks.push(chunk)).on('end', async () => {
    const { host, connection, ...headers } = request.headers
    const reply = await pool.request({ path: upstream.pathname, method: request.method, headers, body: Buffer.concat(chunks) })
    const { 'transfer-encoding': _, connection: __, 'keep-alive': ___, ...theirs } = reply.headers
    response.writeHead(reply.statusCode, theirs)
    await pipeline(reply.body, response).catch(() => {})
  })
}).listen(0, '127.0.0.1', function () {
  process.stdout.write(`http://127.0.0.1:${this.address().port}/mcp\n`)
})
