// The least that node:http and undici can do between HTTP and HTTP: `node http-pass.mjs URL`; its own URL is the first line that it writes.
import { createServer } from 'node:http'
import { Pool } from 'undici'

const upstream = new URL(process.argv[2])
const pool = new Pool(upstream.origin, { connections: 64 })
const hops = new Set(['host', 'connection', 'keep-alive', 'transfer-encoding', 'content-length'])
const passed = (headers, besides) => Object.fromEntries(Object.entries(headers).filter(([name]) => !hops.has(name) || name === besides))

createServer((request, response) => {
  const chunks = []
  request.on('data', chunk => chunks.push(chunk)).on('end', () => {
    const body = chunks.length === 0 ? null : Buffer.concat(chunks)
    pool.dispatch({ path: upstream.pathname, method: request.method, headers: passed(request.headers), body }, {
      onRequestStart: () => {},
      onResponseStart: (_, status, headers) => response.writeHead(status, passed(headers, 'content-length')),
      onResponseData: (controller, chunk) => {
        if (response.write(chunk)) return
        controller.pause()
        response.once('drain', () => controller.resume())
      },
      onResponseEnd: () => response.end(),
      onResponseError: () => response.destroy(),
    })
  })
}).listen(0, '127.0.0.1', function () {
  process.stdout.write(`http://127.0.0.1:${this.address().port}/mcp\n`)
})
