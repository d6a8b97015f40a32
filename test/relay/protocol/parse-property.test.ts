import assert from 'node:assert/strict'
import { isUtf8 } from 'node:buffer'
import fc from 'fast-check'
import t from 'tap'
import { parseFrame } from '#relay/protocol/parse.js'
import { model, picks, text, valueOf, write, writeString, type Model, type Pick } from './json-text.js'

const limits = { messageBytes: 1_000_000, depth: 128 }

const messageOf = (value: Model): Model => ({
  kind: 'object',
  members: [
    ['jsonrpc', { kind: 'string', value: '2.0' }],
    ['id', { kind: 'string', value: 'one' }],
    ['result', { kind: 'object', members: [['structuredContent', value]] }],
  ],
})

/** Writes a model in which the chosen object has one of its keys twice. */
const writeWithTwin = (value: Model, chosen: number, pick: Pick): string | undefined => {
  let seen = 0
  const done: string[] = []
  const twin = (one: Model): Model => {
    if (one.kind === 'array') return { kind: 'array', elements: one.elements.map(twin) }
    if (one.kind !== 'object') return one
    const here = one.members.length > 0 && seen++ === chosen
    const members = one.members.map(([key, inner]) => [key, twin(inner)] as const)
    if (!here) return { kind: 'object', members }
    const [key] = members[pick(members.length)] ?? ['']
    done.push(key)
    const extra = [key, { kind: 'scalar', value: 1 }] as const
    const at = pick(members.length + 1)
    return { kind: 'object', members: [...members.slice(0, at), extra, ...members.slice(at)] }
  }
  const text = write(twin(value), pick)
  return done.length > 0 ? text : undefined
}

/** A reader of its own, slow and plain: what is ambiguous in a JSON text. */
const isAmbiguous = (text: string): boolean => {
  let found = false
  const wrong = (value: string) => /\p{Surrogate}/u.test(value)
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|[{}[\]:,]|\w+/gs) ?? []
  const open: (Set<string> | undefined)[] = []
  tokens.forEach((token, index) => {
    if (token === '{') open.push(new Set())
    else if (token === '[') open.push(undefined)
    else if (token === '}' || token === ']') open.pop()
    else if (token.startsWith('"')) {
      const value = JSON.parse(token) as string
      if (wrong(value)) found = true
      if (tokens[index + 1] !== ':') return
      const keys = open.at(-1)
      if (keys?.has(value) === true) found = true
      keys?.add(value)
    } else if (/^[-\d]/.test(token) && !Number.isFinite(Number(token))) found = true
  })
  return found
}

t.test('any value in any spelling is read without a fault, and equals the value of JSON.parse', async () => {
  fc.assert(
    fc.property(model, picks, (value, from) => {
      const text = write(messageOf(value), from())
      const { message, faults } = parseFrame(Buffer.from(text), limits)
      assert.deepEqual(faults, [])
      const expected = valueOf(value)
      const got: unknown = message.kind === 'result' ? message.result['structuredContent'] : undefined
      assert.equal(JSON.stringify(got), JSON.stringify(expected))
    }),
    { numRuns: 400 },
  )
})

t.test('a duplicated key is found anywhere', async () => {
  fc.assert(
    fc.property(model, fc.nat(8), picks, (value, chosen, from) => {
      const text = writeWithTwin(messageOf(value), chosen, from())
      fc.pre(text !== undefined)
      assert.ok(parseFrame(Buffer.from(text), limits).faults.some(({ kind }) => kind === 'ambiguous'), text)
    }),
    { numRuns: 400 },
  )
})

t.test('half of a surrogate pair is found anywhere', async () => {
  fc.assert(
    fc.property(text, fc.nat(12), fc.integer({ min: 0xd800, max: 0xdfff }), picks, (
      around, at, half, from,
    ) => {
      const pick = from()
      const escape = `\\u${half.toString(16)}`
      // Next to its other half it would be a pair.
      const string =
        `"${writeString(Array.from(around).slice(0, at).join(''), pick).slice(1, -1)}-${escape}-${writeString(Array.from(around).slice(at).join(''), pick).slice(1, -1)}"`
      assert.ok(parseFrame(
        Buffer.from(`{"jsonrpc":"2.0","id":1,"result":{"a":[${string}]}}`), limits,
      ).faults.some(({ kind }) => kind === 'ambiguous'), string)
    }),
    { numRuns: 300 },
  )
})

t.test('long strings with escapes anywhere hide nothing from the count', async () => {
  const part = fc.oneof(
    fc.constantFrom('\\"', '\\\\', '\\n', '\\u0041', '[{', 'é', '😀'),
    fc.nat(3000).map(length => 'x'.repeat(length)),
  )
  fc.assert(
    fc.property(fc.array(part, { maxLength: 12 }), fc.boolean(), (parts, twice) => {
      const text =
        `{"jsonrpc":"2.0","id":1,"result":{"a":"${parts.join('')}","b":"${parts.join('')}"${twice ? ',"a":0' : ''}}}`
      assert.equal(parseFrame(Buffer.from(text), limits).faults.length, twice ? 1 : 0)
    }),
    { numRuns: 300 },
  )
})

t.test('whatever the bytes, nothing is thrown, and the reading agrees with plain ones', async () => {
  const change = fc.record({ at: fc.nat(), cut: fc.nat(3), insert: fc.oneof(
    fc.constantFrom('"', '\\', '{', '}', '[', ']', ',', ':', '\\ud800', '1e999', '"a":', '\0'),
    fc.string({ maxLength: 3 }),
  ) })
  fc.assert(
    fc.property(model, picks, fc.array(change, { maxLength: 4 }), (value, from, changes) => {
      let text = write(messageOf(value), from())
      for (const { at, cut, insert } of changes) {
        const where = at % (text.length + 1)
        text = text.slice(0, where) + insert + text.slice(where + cut)
      }
      agree(Buffer.from(text))
    }),
    { numRuns: 1500 },
  )
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), bytes => agree(Buffer.from(bytes))), { numRuns: 1000 },
  )
})

const agree = (bytes: Buffer): void => {
  const { faults, message } = parseFrame(bytes, limits)
  const kinds = new Set(faults.map(({ kind }) => kind))
  let value: unknown
  try {
    value = JSON.parse(isUtf8(bytes) ? bytes.toString() : '')
  } catch {
    assert.deepEqual([...kinds], ['json'])
    return
  }
  assert.ok(!kinds.has('json'))
  if (Array.isArray(value)) return
  assert.equal(kinds.has('json-rpc'), message.kind === 'unusable')
  // Keys that differ in case are another matter: none of the protocol's stands here in another case.
  if (!faults.some(({ message: why }) => why.includes('in case'))) {
    assert.equal(kinds.has('ambiguous'), isAmbiguous(bytes.toString()), bytes.toString())
  }
}
