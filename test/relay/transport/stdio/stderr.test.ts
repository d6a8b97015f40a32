import t from 'tap'
import { LastLines } from '#relay/transport/stdio/stderr.js'

t.test('of what a server writes to stderr, the last lines are kept, split anywhere', t => {
  const tail = new LastLines()
  const written = Buffer.from(Array.from({ length: 50 }, (_, line) => `línea ${line}\r\n\n`).join(''))
  for (const byte of written) tail.add(Buffer.from([byte]))
  t.strictSame(tail.lines, Array.from({ length: 20 }, (_, line) => `línea ${line + 30}`))
  tail.add(Buffer.alloc(1_000_000, 'x'))
  t.equal(tail.lines.length, 1)
  t.equal(tail.lines[0]?.length, 16_384)
  tail.clear()
  t.strictSame(tail.lines, [])
  t.end()
})
