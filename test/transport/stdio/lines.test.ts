import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { LineSplitter, type Line } from '../../../dist/transport/stdio/reader.js'

const limit = 20_000

const split = (chunks: readonly (string | Buffer)[], maxBytes = limit): readonly Line[] => {
  const lines = new LineSplitter(maxBytes)
  return [...chunks.flatMap(chunk => lines.push(Buffer.from(chunk))), ...lines.end()]
}

const texts = (lines: readonly Line[]): readonly string[] =>
  lines.map(line => (line.kind === 'whole' ? line.bytes.toString() : `${line.size} bytes`))

t.test('a stream is split at its line feeds', async t => {
  const cases = [
    ['lines', ['a\nb\n'], ['a', 'b']],
    ['a line over chunks', ['a', 'b', 'c\nd', '\n'], ['abc', 'd']],
    ['a last line without its end', ['a\nb'], ['a', 'b']],
    ['carriage returns, which stay', ['a\r\nb\r', '\n'], ['a\r', 'b\r']],
    ['empty lines and blank ones', ['\n\r\n \t\r\n', '\n', 'a\n  \n'], ['a']],
    ['a blank last line', ['a\n', ' '], ['a']],
    ['nothing', [], []],
    ['an empty chunk', ['a', '', '\n'], ['a']],
    ['a character over chunks', [Buffer.from('é').subarray(0, 1), Buffer.from('é').subarray(1), '😀\n'], ['é😀']],
    ['other line ends of Unicode', ['a\u2028b\u0085c\n'], ['a\u2028b\u0085c']],
  ] as const
  for (const [what, chunks, expected] of cases) t.same(texts(split(chunks)), expected, what)
})

t.test('a line within a chunk is a part of it, not a copy', async t => {
  const chunk = Buffer.from('one\ntwo\n')
  const [one] = new LineSplitter(limit).push(chunk)
  t.ok(one?.kind === 'whole' && one.bytes.buffer === chunk.buffer)
})

t.test('a line over the limit is told once, at its end, with its ends and its size', async t => {
  const long = `head${'x'.repeat(limit)}tail`
  for (const size of [1, 7, 4096, 65_536]) {
    const chunks = Buffer.from(`a\n${long}\nb\n`)
    const pieces = Array.from({ length: Math.ceil(chunks.length / size) }, (_, i) => chunks.subarray(i * size, (i + 1) * size))
    const lines = split(pieces)
    t.same(texts(lines), ['a', `${long.length} bytes`, 'b'], `chunks of ${size}`)
    t.match(lines[1], { head: Buffer.from(long.slice(0, 4096)), tail: Buffer.from(long.slice(-4096)) })
  }
  t.same(texts(split(['x'.repeat(limit), '\n'])), ['x'.repeat(limit)], 'a line of exactly the limit')
  t.same(texts(split(['x'.repeat(limit + 1)])), [`${limit + 1} bytes`], 'one byte more, at the end of the stream')
  t.match(split(['abc\n'], 2), [{ kind: 'oversized', head: Buffer.from('abc'), tail: Buffer.from('abc'), size: 3 }])
})

t.test('an endless line is not kept', async t => {
  const lines = new LineSplitter(1_000_000)
  const chunk = Buffer.alloc(65_536, 'x')
  const before = process.memoryUsage()
  let heard = 0
  for (let i = 0; i < 4000; i++) heard += lines.push(chunk).length
  t.equal(heard, 0)
  const after = process.memoryUsage()
  t.ok(after.external + after.arrayBuffers - before.external - before.arrayBuffers < 64_000_000)
  t.match(lines.end(), [{ kind: 'oversized', size: 4000 * 65_536 }])
})

t.test('single bytes make a long line in time', async t => {
  const lines = new LineSplitter(2_000_000)
  const one = Buffer.from('x')
  for (let i = 0; i < 1_000_000; i++) lines.push(one)
  t.match(lines.push(Buffer.from('\n')), [{ kind: 'whole', bytes: Buffer.alloc(1_000_000, 'x') }])
})

t.test('however the bytes are cut into chunks, the lines are the same', async () => {
  const part = fc.oneof(fc.constantFrom('\n', '\r\n', ' ', 'é😀', '{}'), fc.string({ maxLength: 20 }), fc.nat(60).map(length => 'x'.repeat(length)))
  fc.assert(
    fc.property(fc.array(part, { maxLength: 20 }), fc.array(fc.nat(30), { minLength: 1, maxLength: 20 }), (parts, sizes) => {
      const bytes = Buffer.from(parts.join(''))
      const chunks: Buffer[] = []
      for (let at = 0, i = 0; at < bytes.length; i++) {
        const size = i > 200 ? bytes.length : (sizes[i % sizes.length] ?? 1)
        chunks.push(bytes.subarray(at, at + size))
        at += size
      }
      const whole = split([bytes], 50)
      assert.deepEqual(split(chunks, 50), whole)
      const expected = bytes.toString().split('\n').filter(line => /[^ \t\r]/.test(line))
      assert.deepEqual(texts(whole), expected.map(line => (Buffer.byteLength(line) > 50 ? `${Buffer.byteLength(line)} bytes` : line)))
    }),
    { numRuns: 500 },
  )
})
