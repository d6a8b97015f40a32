import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { parseFrame } from '#relay/protocol/parse.js'
import { parseInPieces } from '#relay/protocol/pieces.js'
import { strictScan } from '#relay/protocol/ambiguity.js'
import { model, picks, write } from './json-text.js'

const limits = { messageBytes: 1 << 24, depth: 30 }

const inPieces = (text: string, run: number) => {
  const reading = parseInPieces(Buffer.from(text), false, limits, run)
  let pieces = 0
  for (;;) {
    const { done, value } = reading.next()
    if (done === true) return { ...value, pieces }
    pieces++
  }
}

const parsed = (text: string): unknown => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

t.test('a text has the same value in pieces of any size', async () => {
  let pieces = 0
  fc.assert(
    fc.property(model.filter(({ kind }) => kind === 'object' || kind === 'array'), picks, fc.nat(40), (
      value, from, run,
    ) => {
      const text = write(value, from())
      const read = inPieces(text, run)
      pieces += read.pieces
      assert.equal(JSON.stringify(read.value), JSON.stringify(JSON.parse(text)))
      assert.equal(read.unescaped, !/\\[ubf]/.test(text))
      assert.equal(read.faults.length > 0, strictScan(Buffer.from(text), limits).length > 0)
    }),
    { numRuns: 2000 },
  )
  assert.ok(pieces > 1000, `${pieces} pieces`)
})

t.test('in pieces, a text that is no JSON is none', async () => {
  const soup = fc.array(fc.constantFrom(
    '{', '}', '[', ']', ',', ',', ':', '"a"', '"b"', '1', ' ', '"', '\\', 'true', '"a":1', '[1]', '{"a":1}',
    ',"c":2',
  ), { maxLength: 14 })
  const wrapped = fc.tuple(
    fc.constantFrom('[', '{"x":', '{', '[1,', '{"k":1,'), soup, fc.constantFrom(']', '}', ']}', ''),
  ).map(([open, inner, close]) => open + inner.join('') + close)
  let good = 0
  fc.assert(
    fc.property(wrapped, fc.nat(6), (text, run) => {
      const { value } = inPieces(text, run)
      const expected = parsed(text)
      if (expected !== undefined) good++
      assert.equal(JSON.stringify(value), JSON.stringify(expected), text)
    }),
    { numRuns: 20_000 },
  )
  assert.ok(good > 200, `${good} of them were JSON`)
})

t.test('half of a surrogate pair is found inside a piece and between two pieces', async t => {
  for (const run of [0, 5, 20, 1000]) {
    for (const text of [
      '{"\\ud800":[1,2,3,4,5,6,7]}', '{"a":{"b":1,"\\udc00":{"c":[1,2,3,4]},"d":2}}',
      '["\\ud800",1,2,3,4,5,6,7,8,9]',
    ]) {
      t.equal(inPieces(text, run).faults.length, 1, `${text} ${run}`)
    }
    t.equal(inPieces('{"\\ud83d\\ude00":[1,2,3,4,5,6,7]}', run).faults.length, 0)
  }
})

t.test('keys that are there twice are found within a piece and across pieces', async t => {
  for (const run of [0, 5, 20, 1000]) {
    t.equal(inPieces('{"a":1,"bbbbbbbbbb":2,"a":3}', run).faults.length, 1)
    t.equal(inPieces('{"a":[1,2,3,4,5,6],"b":2,"a":{"c":1}}', run).faults.length, 1)
    t.equal(inPieces('{"a":[1,2,3,4,5,6],"b":2,"\\u0061":{"c":1}}', run).faults.length, 1)
    t.equal(inPieces('{"a":{"a":1,"b":2},"b":{"a":1}}', run).faults.length, 0)
    t.equal(inPieces('{"__proto__":{"a":1,"b":2},"__proto__":1}', run).faults.length, 1)
    const { value } = inPieces('{"__proto__":{"a":1,"b":2},"x":[{"__proto__":7}]}', run)
    t.equal(JSON.stringify(value), '{"__proto__":{"a":1,"b":2},"x":[{"__proto__":7}]}')
  }
})

t.test('a text whose value needs too much memory is over the limit', async t => {
  const result = (inner: string) => `{"jsonrpc":"2.0","id":7,"result":{"structuredContent":${inner}}}`
  const cases = [
    ['objects', result(`[${'{},'.repeat(700_000)}1]`), ['size']],
    ['arrays', result(`[${'[],'.repeat(1_300_000)}1]`), ['size']],
    ['fewer arrays', result(`[${'[],'.repeat(700_000)}1]`), []],
    [
      'members of one object',
      result(`{${Array.from({ length: 300_000 }, (_, index) => `"k${index}":1`).join()}}`), ['size'],
    ],
    ['numbers', result(`[${'1,'.repeat(1_000_000)}1]`), []],
    ['nesting', result('['.repeat(1_000_000)), ['size']],
    [
      'members of an object',
      result(`{${Array.from({ length: 150_000 }, (_, index) => `"k${index}":1`).join()}}`), [],
    ],
    ['many blocks', `{"jsonrpc":"2.0","id":7,"result":{"content":[${'1,'.repeat(60_000)}1]}}`, []],
    [
      'many members of a result',
      `{"jsonrpc":"2.0","id":7,"result":{${Array.from({ length: 2000 }, (_, index) => `"k${index}":1`).join()}}}`,
      [],
    ],
  ] as const
  for (const [what, text, kinds] of cases) {
    const { faults, message } = parseFrame(Buffer.from(text), limits)
    t.same(faults.map(({ kind }) => kind), kinds, what)
    t.match(message, kinds.length > 0 ? { kind: 'unusable', keys: ['7'] } : { kind: 'result', key: '7' })
  }
})
