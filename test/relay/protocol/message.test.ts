import fc from 'fast-check'
import t from 'tap'
import {
  idOf, keyAt, keysAtEnds, keysIn, meaningOf, misspelt, numberOf, readKey, responseBytes, written,
} from '#relay/protocol/message.js'
import { parseFrame } from '#relay/protocol/parse.js'

const limits = { messageBytes: 200_000, depth: 20 }

/** Not ids by JSON's grammar, or without a value that all readers agree on. */
const malformed = [
  '01', '00', '-00', '-01', '01.5', '-', '+1', '.5', '1.', '1.e1', '1e', '1e+', '0x10', '1_0', 'NaN',
  'Infinity', '-Infinity', '1e400', '-1e400', 'a"', '\'a\'',
  '"\\x"', '"\\u12"', '"a\nb"', '"a\tb"', 'null', 'true', '{}', '[]', '[1]', '', ' ', '٣', '１',
]
const wellFormed = [
  '0', '-0', '7', '-7', '1.0', '1.5', '1e0', '1E+2', '10E-1', '9007199254740993', '12345678901234567890',
  '1e-400', '""', '"a"', '"1"', '"01"', '"\\u0061"', '"\\ud83d\\ude00"', '"😀"', '"\\/"', '"\\\\"',
]

t.test('all readers of ids follow the grammar of JSON', async t => {
  for (const text of malformed) {
    t.equal(readKey(text), undefined, text)
    t.doesNotThrow(() => [idOf(text), meaningOf(text), numberOf(text)], text)
    for (const message of [
      `{"jsonrpc":"2.0","id":${text},"method":"ping"}`, `{"method":"ping","jsonrpc":"2.0","id":${text}}`,
      `{"id":${text}`, `[{"id":${text}}]`,
    ]) {
      t.strictSame(keysIn(Buffer.from(message)), [], message)
      t.strictSame(keysAtEnds(Buffer.alloc(0), Buffer.from(message)), [], message)
      const { message: { kind } } = parseFrame(Buffer.from(message), limits)
      if (text !== '') t.equal(kind === 'batch' ? 'unusable' : kind, 'unusable', message)
    }
  }
  for (const text of wellFormed) {
    const key = readKey(text)
    const value: unknown = JSON.parse(text)
    t.equal(key, typeof value === 'string' ? JSON.stringify(value) : text)
    t.equal(idOf(key ?? ''), value)
    t.equal(idOf(misspelt(key ?? '')), value)
    t.not(misspelt(key ?? ''), key)
    t.equal(meaningOf(misspelt(key ?? '')), meaningOf(key ?? ''))
    t.strictSame(keysIn(Buffer.from(`{"jsonrpc":"2.0","id":${text},}`)), [key], text)
    t.strictSame(
      keysAtEnds(Buffer.alloc(0), Buffer.from(`…,"id" : ${text} , "jsonrpc":"2.0"}\n`)), [key], text,
    )
  }
})

t.test('ids that a lenient reader takes for equal have one meaning', async t => {
  for (const same of [
    ['1', '1.0', '1e0', '10E-1', '"1"', '" 1 "', '"1.0"', '"0x1"', '"01"'], ['0', '-0', '"0"', '"-0"'],
    ['"a"', '"\\u0061"'], ['""'], ['" "'],
  ]) {
    t.equal(new Set(same.map(meaningOf)).size, 1, same.join(' '))
  }
  t.equal(new Set(['1', '2', '"a"', '""', '" "', '"NaNa"'].map(meaningOf)).size, 6)
})

t.test('the key of a token is its spelling', async t => {
  for (const text of wellFormed) {
    const frame = parseFrame(
      Buffer.from(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId": ${text} }}`),
      limits,
    )
    t.equal(keyAt(frame, ['params', 'requestId']), readKey(text))
  }
  for (const text of ['null', 'true', '{}', '[1]']) {
    const frame = parseFrame(
      Buffer.from(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${text}}}`),
      limits,
    )
    t.equal(keyAt(frame, ['params', 'requestId']), undefined)
  }
})

t.test('whatever the bytes are, each id that is read from them is one, and is written as itself', async t => {
  const token = fc.oneof(fc.constantFrom(
    ...malformed, ...wellFormed, '"id"', '"ID"', '"İd"', ':', ',', '{', '}', '[', ']', '\\', ' ', '\0',
  ), fc.string())
  fc.assert(fc.property(fc.array(token, { maxLength: 30 }), tokens => {
    const bytes = Buffer.from(tokens.join(''))
    for (const key of [...keysIn(bytes), ...keysAtEnds(bytes.subarray(0, 9), bytes)]) {
      t.equal(readKey(key), key)
      t.equal(typeof idOf(key) === 'string' ? written(idOf(key)) : key, key)
    }
  }), { numRuns: 5000 })
})

t.test('a relay-made response has the id as the request spelt it', t => {
  for (const text of wellFormed.filter(text => text.startsWith('"') || Number.isInteger(Number(text)))) {
    const { message } = parseFrame(Buffer.from(`{"jsonrpc":"2.0","id":${text},"method":"ping"}`), limits)
    if (message.kind !== 'request') throw new Error(`${text} is no id`)
    const answer = parseFrame(responseBytes(message.key, 'result', { a: '\u2028"' }), limits)
    t.match(answer, {
      message: { kind: 'result', key: message.key, id: message.id, result: { a: '\u2028"' } }, faults: [],
    }, text)
  }
  t.end()
})
