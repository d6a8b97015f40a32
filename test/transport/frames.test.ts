import { equal } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { Gathering } from '#transport/frames.js'

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
  for (const piece of pieces) piece.fill(0)
  const gathered = gathering?.take()
  t.equal(gathered?.kind === 'whole' && gathered.bytes.subarray(1000).every(byte => byte === 7), true)
  t.end()
})
