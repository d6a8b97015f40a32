// What the dearest frames cost that fit the limit of 16 MiB: how long one turn of the event loop lasts, what memory grows by, and how
// long the record is. In the process, through the stdio transport, the relay and the audit. After `npm run build`: node bench/frames.mjs [NAME…]
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { openAudit } from '../dist/relay/audit/sink.js'
import { openSession } from '../dist/relay/session/open.js'
import { presetPolicy, rules } from '../dist/relay/rules/index.js'
import { createSchemaChecker } from '../dist/relay/schema/index.js'
import { stdioClient } from '../dist/relay/transport/stdio/client.js'

const size = 16 * 1024 * 1024 - 200
const limits = { messageBytes: 16 << 20, depth: 128, schemaBytes: 262144, schemaDepth: 64, subschemas: 5000, validationMs: 100, tools: 5000, listMs: 10000, requestMs: 0 }

/** So many of a piece as fit. */
const many = (piece, left = size) => {
  const texts = []
  for (let index = 0, length = 0; length < left; index++) {
    const text = typeof piece === 'string' ? piece : piece(index)
    texts.push(text)
    length += Buffer.byteLength(text) + 1
  }
  return texts.slice(0, -1).join(',')
}
const list = inner => `{"tools":[${inner}]}`
const content = inner => `{"content":[${inner}]}`
const structured = inner => `{"content":[{"type":"text","text":"x"}],"structuredContent":${inner}}`
const text = json => JSON.stringify(json)
const block = said => `{"type":"text","text":${text(said)}}`

const frames = {
  'rows (an ordinary result)': ['call', () => structured(`{"rows":[${many(index => text({ id: index, name: `name ${index}`, email: `u${index}@ex.org`, score: index % 100 }), size - 100)}]}`)],
  'prose (an ordinary result)': ['call', () => content(`{"type":"text","text":"${'The quick brown fox jumps over the lazy dog. '.repeat(size / 45 - 2)}"}`)],
  'empty tools': ['list', () => list(many('{}'))],
  'tools that are numbers': ['list', () => list(many('0'))],
  'small tools': ['list', () => list(many(index => `{"name":"t${index}","inputSchema":{"type":"object"}}`))],
  'tools of one name': ['list', () => list(many('{"name":"t","inputSchema":{"type":"object"}}'))],
  'one tool with a long description': ['list', () => list(`{"name":"t","inputSchema":{"type":"object"},"description":"${'x'.repeat(size - 200)}"}`)],
  'one tool with many keys': ['list', () => list(`{"name":"t","inputSchema":{"type":"object"},${many(index => `"k${index}":1`, size - 200)}}`)],
  'one tool with many icons': ['list', () => list(`{"name":"t","inputSchema":{"type":"object"},"icons":[${many('{"src":"x"}', size - 200)}]}`)],
  'one tool with many annotations': ['list', () => list(`{"name":"t","inputSchema":{"type":"object"},"annotations":{${many(index => `"k${index}":1`, size - 200)}}}`)],
  'empty blocks': ['call', () => content(many('{}'))],
  'blocks that are numbers': ['call', () => content(many('0'))],
  'small blocks': ['call', () => content(many('{"type":"text","text":""}'))],
  'links to scripts': ['call', () => content(many('{"type":"resource_link","name":"x","uri":"javascript:1"}'))],
  'text blocks that are JSON': ['call', () => `{"content":[${many(block('{"a":1}'), size - 100)}],"structuredContent":{}}`],
  'text blocks that are other JSON': ['call', () => `{"content":[${many(index => block(`{"a":[${index}]}`), size - 100)}],"structuredContent":{"a":1}}`],
  'keys in another case': ['call', () => `{${many(index => `"Content${index % 2 ? '' : 's'}":1`)}}`],
  'the same key': ['call', () => `{${many('"a":1')}}`],
  'the same key, once, in many': ['call', () => structured(`{${many(index => `"k${index}":1`, size - 100)},"k1":1}`)],
  'a million keys': ['call', () => structured(`{${many(index => `"k${index}":1`, size - 100)}}`)],
  'a key for each object': ['call', () => structured(`{"a":[${many(index => `{"k${index}":1}`, size - 100)}]}`)],
  'numbers': ['call', () => structured(`{"a":[${many('1', size - 100)}]}`)],
  'short strings': ['call', () => structured(`{"a":[${many(index => `"k${index}"`, size - 100)}]}`)],
  'empty arrays': ['call', () => structured(`{"a":[${many('[]', size - 100)}]}`)],
  'deep opens': ['call', () => '['.repeat(size)],
  'deep opens, closed': ['call', () => `{"a":${'['.repeat(size / 2 - 10)}${']'.repeat(size / 2 - 10)}}`],
  'many branches at the limit of depth': ['call', () => structured(`{"a":[${many('['.repeat(100) + ']'.repeat(100), size - 100)}]}`)],
  'escapes': ['call', () => content(`{"type":"text","text":"${'\\u0041'.repeat(size / 6 - 20)}"}`)],
  'quotation marks': ['call', () => content(`{"type":"text","text":"${'\\"'.repeat(size / 2 - 40)}"}`)],
  'hidden text': ['call', () => content(`{"type":"text","text":"${'\u202e'.repeat(size / 3 - 40)}"}`)],
  'innocent joiners': ['call', () => content(`{"type":"text","text":"${'می\u200cخواهم '.repeat(size / 18 - 40)}"}`)],
  'bidi marks at numbers': ['call', () => content(`{"type":"text","text":"${'1\u200f2'.repeat(size / 5 - 40)}"}`)],
  'input requests': ['modern', () => `{"resultType":"input_required","inputRequests":{${many(index => `"k${index}":{}`, size - 100)}}}`],
  'prompts': ['prompts', () => `{"prompts":[${many('{}')}]}`],
  'a batch of pings': ['batch', () => many(index => `{"jsonrpc":"2.0","id":${index},"method":"ping"}`, 500_000)],
  'a batch of notifications': ['batch', () => many('{"jsonrpc":"2.0","method":"x"}')],
  'a batch of numbers': ['batch', () => many('1')],
  'a notification': ['notification', () => `{"level":"info","data":[${many(index => `"k${index}"`, size - 100)}]}`],
  'no JSON': ['raw', () => 'x'.repeat(size)],
  'quotation marks alone': ['raw', () => '"'.repeat(size)],
  'ids': ['raw', () => `{${many('"id":1')}`],
}

const meta = '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'
const asks = {
  list: '"method":"tools/list"', call: '"method":"tools/call","params":{"name":"any","arguments":{}}', prompts: '"method":"prompts/list"',
  modern: `"method":"tools/call","params":{"name":"any",${meta}}`,
}

const folder = mkdtempSync(join(tmpdir(), 'mcp-customs-bench-'))
const results = []
const wanted = process.argv.slice(2)
for (const [name, [kind, make]] of Object.entries(frames)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue
  const inner = make()
  const bytes = Buffer.from(
    (kind === 'batch' ? `[${inner}]` : kind === 'notification' ? `{"jsonrpc":"2.0","method":"notifications/message","params":${inner}}`
    : kind === 'raw' ? inner : `{"jsonrpc":"2.0","id":7,"result":${inner}}`) + '\n',
  )
  results.push([name, bytes.length, await measure(kind, bytes)])
}

async function measure(kind, bytes) {
  const file = join(folder, `${results.length}.ndjson`)
  const audit = await openAudit({ file, server: 'bench' })
  const checker = createSchemaChecker(limits)
  const ends = { client: new PassThrough(), server: new PassThrough() }
  const out = { client: new PassThrough(), server: new PassThrough() }
  let received = 0
  out.client.on('data', chunk => (received += chunk.length))
  out.server.resume()
  const policy = presetPolicy('standard', { purpose: 'relay', locked: false })
  const guard = { judgement: { server: 'bench', rules, ruling: { policy, tools: new Map() }, trusted: false, limits, intent: false }, checker, audit: entry => audit.write(entry) }
  const client = stdioClient({ input: ends.client, output: out.client, limits })
  const server = stdioClient({ input: ends.server, output: out.server, limits })
  const session = openSession(guard, client, () => server)
  session.start()
  const revision = kind === 'batch' ? '2025-03-26' : '2025-11-25'
  ends.client.write(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"${revision}","capabilities":{},"clientInfo":{"name":"b","version":"1"}}}\n`)
  ends.server.write(`{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"${revision}","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}\n`)
  ends.client.write('{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n')
  ends.server.write('{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"any","inputSchema":{"type":"object"},"outputSchema":{"type":"object"}}]}}\n')
  await new Promise(resolve => setTimeout(resolve, 100))
  if (asks[kind]) ends.client.write(`{"jsonrpc":"2.0","id":7,${asks[kind]}}\n`)
  await new Promise(resolve => setTimeout(resolve, 50))
  globalThis.gc?.()
  const before = process.memoryUsage.rss()
  let peak = before
  let longest = 0
  let total = 0
  let quiet = 0
  received = 0
  let last = process.cpuUsage()
  const from = performance.now()
  let busy = true
  // CPU time from one turn to the next, without that of other threads as far as that can be had.
  const turn = () => {
    const now = process.cpuUsage()
    const ms = (now.user + now.system - last.user - last.system) / 1000
    last = now
    longest = Math.max(longest, ms)
    total += ms
    peak = Math.max(peak, process.memoryUsage.rss())
    quiet = ms < 2 ? quiet + 1 : 0
    if (quiet > 400 && performance.now() - from > 300) busy = false
    else setImmediate(turn)
  }
  setImmediate(turn)
  for (let at = 0; at < bytes.length; at += 65536) ends.server.write(bytes.subarray(at, at + 65536))
  while (busy) await new Promise(resolve => setTimeout(resolve, 20))
  const wall = performance.now() - from
  const records = readFileSync(file, 'utf8').split('\n')
  const record = Math.max(...records.map(line => Buffer.byteLength(line)))
  session.stop()
  ends.client.end()
  ends.server.end()
  await Promise.race([session.ended, new Promise(resolve => setTimeout(resolve, 1000))])
  await checker.close()
  audit.close()
  const rules = [...new Set(records.flatMap(line => (line.includes('"findings":[{') ? JSON.parse(line).findings.map(({ rule }) => rule) : [])))]
  return { longest, total, wall, memory: (peak - before) / 1e6, record: record / 1024, received: received > 0, rules: rules.slice(0, 3).join(' ') }
}

console.log(`${'16 MiB of'.padEnd(38)} longest turn   CPU in all   memory   record`)
for (const [name, , { longest, total, memory, record, received, rules }] of results) {
  console.log(`${name.padEnd(38)} ${`${longest.toFixed(0)} ms`.padStart(12)} ${`${total.toFixed(0)} ms`.padStart(12)} ${`${memory.toFixed(0)} MB`.padStart(8)} ${`${record.toFixed(1)} KB`.padStart(8)}   ${received ? '' : 'no answer '}${rules}`)
}
rmSync(folder, { recursive: true })
process.exit(0)
