// What the strict parse costs over bare JSON.parse, in nanoseconds per byte. Run after `npm run build`: node bench/parse.mjs
import { parseFrame } from '../dist/relay/protocol/parse.js'

const limits = { messageBytes: 16 * 1024 * 1024, depth: 128 }

const row = i => ({
  id: i, name: ['Ada', 'Grace', 'Edsger'][i % 3] + ' Example', role: ['admin', 'editor', 'viewer'][i % 3], email: `u${i}@example.org`,
  createdAt: new Date(1.7e12 + i * 61_000).toISOString(), score: ((i * 7919) % 10_000) / 100,
})
const rows = count => Array.from({ length: count }, (_, i) => row(i))
const structured = value => ({ content: [{ type: 'text', text: 'ok' }], structuredContent: value })
const base64 = Buffer.from(Uint8Array.from({ length: 786_432 }, (_, i) => (i * 2_654_435_761) >>> 24)).toString('base64')

const results = {
  small: structured({ ...row(7), tags: ['compiler', 'navy'], address: { street: '1 Harbour Road', city: 'Arlington' } }),
  medium: structured({ rows: rows(200) }),
  large: structured({ rows: rows(8400) }),
  blob: { content: [{ type: 'image', data: base64, mimeType: 'image/png' }] },
  // The same data as text, as the specification advises: every quotation mark is escaped.
  text: { content: [{ type: 'text', text: JSON.stringify(rows(8400)) }] },
  prose: { content: [{ type: 'text', text: 'A line of prose, as long as lines of prose tend to be.\n'.repeat(18_000) }] },
  emoji: { content: [{ type: 'text', text: 'Grüße an 世界 🌍. '.repeat(20_000) }] },
  numbers: structured(Array.from({ length: 200_000 }, (_, i) => i)),
}

/** The least of many runs, in nanoseconds: noise only ever adds. */
const least = (run, bytes) => {
  const times = bytes.length > 1e5 ? 1 : 2000
  let best = Infinity
  for (let round = 0; round < 60; round++) {
    const start = process.hrtime.bigint()
    for (let i = 0; i < times; i++) run(bytes)
    best = Math.min(best, Number(process.hrtime.bigint() - start) / times)
  }
  return best
}

console.log('payload       bytes  JSON.parse  parseFrame  (ns/byte)   added')
for (const [name, result] of Object.entries(results)) {
  const bytes = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, result }))
  if (parseFrame(bytes, limits).faults.length > 0) throw new Error(`${name} has faults`)
  const bare = least(one => JSON.parse(one.toString()), bytes)
  const strict = least(one => parseFrame(one, limits), bytes)
  const [a, b] = [bare, strict].map(ns => (ns / bytes.length).toFixed(3).padStart(11))
  const added = `${(((strict - bare) / bare) * 100).toFixed(0)} %, ${((strict - bare) / 1000).toFixed(1)} µs`
  console.log(`${name.padEnd(8)}${String(bytes.length).padStart(10)}${a} ${b}    ${added.padStart(18)}`)
}
