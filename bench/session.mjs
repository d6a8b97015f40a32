// What a session costs in the process: frames go in at one stub transport and come out at another; parsed, judged, recorded and
// digested, with no pipe and no socket. The least time of many batches. After `npm run build`: node bench/session.mjs [DIST]
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const dist = process.argv[2] ? pathToFileURL(`${process.argv[2]}/`) : new URL('../dist/', import.meta.url)
const load = path => import(new URL(path, dist).href)
const { openSession } = await load('relay/session/open.js')
const { stdioExchange } = await load('relay/core/event.js')
const { parseFrame } = await load('relay/protocol/parse.js')
const { createSchemaChecker } = await load('relay/schema/index.js')
const { openAudit } = await load('relay/audit/sink.js')
const { presetPolicy, rules } = await load('relay/rules/index.js')

const limits = { messageBytes: 16 << 20, depth: 128, schemaBytes: 262144, schemaDepth: 64, subschemas: 5000, validationMs: 100, tools: 5000, listMs: 10000, requestMs: 0 }

const row = id => ({ id, name: `name ${id}`, role: 'editor', email: `u${id}@ex.org`, createdAt: new Date(1.7e12 + id * 61_000).toISOString(), score: (id * 37) % 100 })
const rows = count => ({ rows: Array.from({ length: count }, (_, id) => row(id)), total: count })
const outputSchema = {
  type: 'object',
  properties: {
    rows: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          id: { type: 'integer' }, name: { type: 'string', minLength: 1 }, role: { type: 'string', enum: ['admin', 'editor'] },
          email: { type: 'string', format: 'email' }, createdAt: { type: 'string', format: 'date-time' }, score: { type: 'number' },
        },
        required: ['id', 'name', 'role'],
      },
    },
    total: { type: 'integer' },
  },
  required: ['rows', 'total'],
}
const text = (value, indent) => [{ type: 'text', text: JSON.stringify(value, null, indent) }]
const said = [{ type: 'text', text: 'Some rows.' }]
const results = {
  'small call': [{ content: said, structuredContent: rows(1) }, 2000],
  '20 KB of rows': [{ content: said, structuredContent: rows(160) }, 60],
  '20 KB, and the same as text': [{ content: text(rows(160)), structuredContent: rows(160) }, 60],
  '1 MB of rows': [{ content: said, structuredContent: rows(8000) }, 3],
  '1 MB, and the same as text': [{ content: text(rows(8000)), structuredContent: rows(8000) }, 3],
  '1 MB, and the same as indented text': [{ content: text(rows(8000), 2), structuredContent: rows(8000) }, 3],
  '1 MB of prose': [{ content: [{ type: 'text', text: 'The quick brown fox "jumps" over the lazy dog, and more.\n'.repeat(18_000) }] }, 3, 'blob'],
  '1 MB of base64': [{ content: [{ type: 'image', mimeType: 'image/x-own', data: Buffer.alloc(786_432, 'mcp').toString('base64') }] }, 3, 'blob'],
}

class End {
  received = 0
  start(hear, expected) { Object.assign(this, { hear, expected }) }
  send() { this.received++; this.took?.(); return true }
  pause() {}
  resume() {}
  close() { return Promise.resolve() }
}

const folder = mkdtempSync(join(tmpdir(), 'mcp-customs-bench-'))
const audit = await openAudit({ file: join(folder, 'audit.ndjson'), server: 'bench' })
const checker = createSchemaChecker(limits)
const [client, server] = [new End(), new End()]
const guard = {
  judgement: {
    server: 'bench', rules, trusted: false, limits, intent: false,
    ruling: { policy: presetPolicy('standard', { purpose: 'relay', locked: false }), tools: new Map() },
  },
  checker, audit: entry => audit.write(entry),
}
const session = openSession(guard, client, () => server)
session.start()

const expected = key => server.expected?.(stdioExchange, key)
const frame = bytes => ({ type: 'frame', exchange: stdioExchange, frame: parseFrame(bytes, { ...limits, expected }) })
const json = value => Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...value }))
client.hear(frame(json({ id: 0, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'bench', version: '1' } } })))
server.hear(frame(json({ id: 0, result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } } })))
client.hear(frame(json({ id: 1, method: 'tools/list' })))
server.hear(frame(json({ id: 1, result: { tools: [{ name: 'rows', inputSchema: { type: 'object' }, outputSchema }, { name: 'blob', inputSchema: { type: 'object' } }] } })))
await new Promise(resolve => setTimeout(resolve, 50))

let id = 1
const call = async (name, tail) => {
  id++
  const before = client.received
  client.hear(frame(Buffer.from(`{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${name}","arguments":{"limit":10}}}`)))
  server.hear(frame(Buffer.concat([Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":`), tail])))
  while (client.received === before) await new Promise(resolve => (client.took = resolve))
}

const seconds = Number(process.env.SECONDS ?? 2)
for (const [title, [result, count, name = 'rows']] of Object.entries(results)) {
  const tail = Buffer.from(`${JSON.stringify(result)}}`)
  let least = Infinity
  let parse = Infinity
  const whole = Buffer.concat([Buffer.from('{"jsonrpc":"2.0","id":1,"result":'), tail])
  const until = performance.now() + seconds * 1000
  for (let batch = 0; batch < 5 || performance.now() < until; batch++) {
    let from = performance.now()
    for (let turn = 0; turn < count; turn++) await call(name, tail)
    least = Math.min(least, (performance.now() - from) / count)
    from = performance.now()
    for (let turn = 0; turn < count; turn++) JSON.parse(whole.toString('latin1'))
    parse = Math.min(parse, (performance.now() - from) / count)
  }
  const show = ms => (ms < 1 ? `${(ms * 1000).toFixed(1)} µs` : `${ms.toFixed(2)} ms`)
  console.log(`${title.padEnd(38)} ${show(least).padStart(10)}   JSON.parse alone ${show(parse).padStart(10)}`)
}
await checker.close()
audit.close()
rmSync(folder, { recursive: true })
process.exit(0)
