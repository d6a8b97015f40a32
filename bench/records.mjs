// Makes audit logs to measure their readers by: a week of valid records of six servers, the same on every run. A folder gets a
// file for each server. After `npm run build`: node bench/records.mjs FOLDER [COUNT (1000000)]
import { mkdirSync, openSync, closeSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { numbersFrom } from './random.mjs'

const load = path => import(new URL(`../dist/${path}`, import.meta.url).href)
const { recordBeginning: beginning, nextLine } = await load('relay/audit/record.js')

const [folder, count = '1000000'] = process.argv.slice(2)
if (folder === undefined || folder.startsWith('-')) throw new Error('usage: records.mjs FOLDER [COUNT]')

const random = numbersFrom(2026)
const pick = list => list[Math.floor(random() * list.length)]
/** Most are near the median, a few are far above it. */
const spread = median => median * Math.exp(1.1 * (random() + random() + random() - 1.5))

const faults = [
  ['block', 'result/schema', '/result/structuredContent/temperature', 'must be number (type)'],
  ['block', 'content/base64', '/result/content/0/data', 'is not base64'],
  ['demote', 'result/missing', '/result', 'outputSchema, but no structuredContent'],
  ['log', 'result/text', '/result/content/0', 'disagrees with structuredContent'],
  ['log', 'call/arguments', '/params/arguments/limit', 'must be integer (type)'],
  ['log', 'content/hidden-text', '/result/content/0/text', 'U+200B, zero width space'],
]
const drift = tool => ({ verdict: 'log', findings: [{ rule: 'tool/drift', path: '/description', message: 'differs from what was accepted: text', tool }] })

const servers = ['files', 'memory', 'weather', 'tickets', 'search', 'browser'].map((name, index) => ({
  name,
  tools: Array.from({ length: 4 + 5 * index }, (_, tool) => ({ name: `${['read', 'list', 'find', 'write', 'update'][tool % 5]}_${name}_${tool}`, median: spread(8 * (index + 1)), faulty: tool % 7 === 3 ? 0.05 : 0.002 })),
  session: undefined,
  sessions: 0,
}))

mkdirSync(folder, { recursive: true })
const start = Date.UTC(2026, 10, 15)
const step = (7 * 86_400_000) / Number(count)
const now = { time: start }
for (const server of servers) {
  server.descriptor = openSync(join(folder, `${server.name}.2026-11-15T00-00-00.000Z-4711.ndjson`), 'w')
  server.position = beginning
  server.pending = []
}

const flush = server => {
  writeSync(server.descriptor, server.pending.join(''))
  server.pending = []
}
const write = (server, entry) => {
  const client = { name: 'desktop', version: '1.4.2' }
  const { text, position } = nextLine({ server: server.name, session: server.session, client, revision: '2025-11-25', verdict: 'pass', findings: [], ...entry }, server.position, 'digest', new Date(now.time))
  server.position = position
  if (server.pending.push(text) >= 1000) flush(server)
}
const finding = ([verdict, rule, path, message]) => ({ verdict, findings: [{ rule, path, message }] })

for (let made = 0; made < Number(count); made += 1) {
  now.time = start + made * step
  const server = servers[Math.floor(random() ** 2 * servers.length)]
  if (server.session === undefined) {
    server.session = `${server.name}-${++server.sessions}`
    server.left = 20 + Math.floor(random() * 2000)
    write(server, { event: 'session/start', from: 'relay' })
    continue
  }
  server.left -= 1
  if (server.left === 0) {
    write(server, { event: 'session/end', from: 'relay', reason: 'the client closed its input' })
    server.session = undefined
    continue
  }
  const serverMs = spread(20)
  if (random() < 0.02) {
    write(server, { event: 'tools/list', from: 'client', id: made, ms: serverMs + 1, serverMs, bytes: { request: 60, response: 24_000 }, ...(random() < 0.02 && drift(server.tools[3].name)) })
    continue
  }
  const tool = pick(server.tools)
  const took = spread(tool.median)
  const wrong = random() < tool.faulty ? finding(pick(faults)) : {}
  const bytes = { request: Math.round(spread(180)), response: Math.round(spread(2500)) }
  write(server, { event: 'tools/call', from: 'client', tool: tool.name, id: made, ms: took + spread(0.25), serverMs: took, bytes, arguments: Buffer.from(`{"n":${made}}`), result: Buffer.from(`[${made}]`), ...wrong })
}
for (const server of servers) {
  flush(server)
  closeSync(server.descriptor)
}
