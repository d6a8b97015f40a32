import { equal } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { parseFrame } from '#relay/protocol/parse.js'
import { Gathering, owning, release } from '#relay/transport/frames.js'

const maxBytes = 1024 * 1024

t.test('what came in pieces is there as a whole, whatever was announced', t => {
  const sizes = fc.array(fc.oneof(fc.nat({ max: 200 }), fc.nat({ max: 120_000 })), { maxLength: 20 })
  const announced = fc.oneof(fc.constant('truly' as const), fc.nat({ max: 2 * maxBytes }))
  fc.assert(fc.property(sizes, announced, (sizes, announced) => {
    const pieces = sizes.map((size, index) => Buffer.alloc(size, index + 1))
    const whole = Buffer.concat(pieces)
    const gathering = new Gathering(maxBytes, announced === 'truly' ? whole.length : announced)
    for (const piece of pieces) gathering.add(piece)
    const gathered = gathering.take()
    if (whole.length === 0) return equal(gathered, undefined)
    if (whole.length > maxBytes) return equal(gathered?.kind === 'oversized' && gathered.size, whole.length)
    equal(gathered?.kind === 'whole' && gathered.bytes.equals(whole), true)
    gathering.add(whole)
    equal(gathering.take()?.kind, 'whole', 'and so is the next')
  }))
  t.end()
})

t.test('what was announced takes no memory before some of it is here, and then nothing of what came is kept twice', t => {
  const before = process.memoryUsage().arrayBuffers
  const gatherings = Array.from({ length: 50 }, () => new Gathering(maxBytes, maxBytes))
  for (const gathering of gatherings) gathering.add(Buffer.alloc(1000))
  t.ok(process.memoryUsage().arrayBuffers - before < maxBytes)
  const [gathering] = gatherings
  const pieces = Array.from({ length: 15 }, () => Buffer.alloc(65_536, 7))
  for (const piece of pieces) gathering?.add(piece)
  t.ok(pieces.every(({ length }) => length === 0), 'the pieces are freed')
  const gathered = gathering?.take()
  t.equal(gathered?.kind === 'whole' && gathered.bytes.subarray(1000).every(byte => byte === 7), true)
  t.end()
})

t.test('large pieces are freed when they were copied', t => {
  const sizes = [40_000, 1000, 50_000, 60_000]
  for (const announced of [0, 151_000]) {
    const pieces = sizes.map(size => Buffer.alloc(size, 7))
    const gathering = new Gathering(maxBytes, announced)
    for (const piece of pieces) gathering.add(piece)
    const gathered = gathering.take()
    t.equal(gathered?.kind === 'whole' && gathered.bytes.equals(Buffer.alloc(151_000, 7)), true)
    // Without an announced size, the last piece may be a part of a chunk that is still read.
    t.strictSame(pieces.map(({ length }) => length), [0, 1000, 0, announced === 0 ? 60_000 : 0])
  }
  t.end()
})

/** In a buffer of its own. */
const read = (text: string, from = 0) => {
  const whole = Buffer.from(new Uint8Array(Buffer.from(`${' '.repeat(from)}${text}`)).buffer)
  return parseFrame(whole.subarray(from), { messageBytes: maxBytes, depth: 64 })
}
const result = (members: object) => JSON.stringify({ jsonrpc: '2.0', id: 1, result: members })
const long = 'x'.repeat(40_000)

t.test('a long result of a tool that owns its bytes is freed, once', t => {
  const content = [{ type: 'text', text: long }]
  const whole = owning(read(result({ content })))
  release({ ...whole })
  t.ok(whole.bytes.length > 40_000, 'a frame that is made of it is no owner of the same bytes')
  release(whole)
  t.equal(whole.bytes.length, 0)
  t.doesNotThrow(() => release(whole), 'once more')
  const others = [
    read(result({ content: [{ type: 'text', text: 'short' }] })), read(result({ content }), 1),
    read(result({ tools: [{ name: long }] })), read(result({ contents: [{ text: long }] })),
    read(result({ messages: [{ content }] })), read(result({ content: { text: long } })),
    read(`[${result({ content })}]`), read(`${result({ content })}!`),
    read(JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code: 1, message: long, data: { content } } })),
    read(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'a', params: { content } })),
  ]
  const lengths = others.map(({ bytes }) => bytes.length)
  for (const frame of others) release(owning(frame))
  t.strictSame(others.map(({ bytes }) => bytes.length), lengths)
  t.end()
})
