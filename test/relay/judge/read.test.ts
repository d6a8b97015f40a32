import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { ByteValidator, maxBytes } from '#relay/judge/index.js'
import { hiddenCharacters } from '#relay/protocol/text/characters.js'
import { findHidden } from '#relay/protocol/text/hidden.js'
import { parseFrame } from '#relay/protocol/parse.js'
import { Budget } from '#relay/schema/budget.js'
import { isBase64 } from '#relay/rules/content.js'
import type { DataObject } from '#relay/protocol/unmetered.js'
import { read as readSchema } from '#relay/schema/read/read.js'
import { tableOf } from '#relay/schema/table/table.js'
import { model, picks, write } from '../protocol/json-text.js'

const validator = new ByteValidator(hiddenCharacters)
const read = (text: string | Buffer, depth = 20) => validator.readResult(Buffer.from(text), depth)

/** What the clear code says of a text as the value of a member, four levels deep. */
const faultsOf = (text: Buffer): readonly string[] => {
  const bytes =
    Buffer.concat([Buffer.from('{"jsonrpc":"2.0","id":1,"result":{"x":{"x":['), text, Buffer.from(']}}}')])
  return parseFrame(bytes, { messageBytes: 1 << 24, depth: 24, judgedBytes: 0 }).faults.map(({ kind }) =>
    kind)
}

const stringsIn = (value: unknown): readonly string[] => {
  if (typeof value === 'string') return [value]
  return typeof value === 'object'
    && value !== null ? Object.entries(value).flatMap(([key, inner]) => [key, ...stringsIn(inner)]) : []
}

const insert = fc.oneof(
  fc.constantFrom(
    '"', '\\', '{', '}', '[', ']', ',', ':', '\\ud800', '\\udc00', '\\uD83D\\uDE00', '\\u00e', '\\u200b',
    '\\b', '1e999', '"a":', '"a":0,', '\0', '\x1f', '\x7f',
    '\u200b', '\u00ad', 'é', '😀', 'e', 'E', '.', '-', '+', '0', 'true', 'null', ' ', '\n', '\f', '{}', '[]',
    '\ufeff',
  ),
  fc.string({ maxLength: 3 }),
)
const change = fc.record({ at: fc.nat(), cut: fc.nat(3), insert })

t.test('a text is surely fine only where the clear code finds nothing, and plain only where nothing is hidden', async t => {
  let fine = 0
  fc.assert(
    fc.property(model, picks, fc.array(change, { maxLength: 3 }), (value, from, changes) => {
      let text = write(value, from())
      for (const { at, cut, insert } of changes) {
        const where = at % (text.length + 1)
        text = text.slice(0, where) + insert + text.slice(where + cut)
      }
      const bytes = Buffer.from(text)
      const reading = read(bytes)
      if (reading === undefined) return
      fine++
      assert.deepEqual(faultsOf(bytes), [], text)
      const hidden = stringsIn([JSON.parse(text)]).some(one => findHidden(one) !== undefined)
      assert.ok(!reading.plain || !hidden, text)
    }),
    { numRuns: Number(process.env['RUNS'] ?? 4000) },
  )
  t.ok(fine > 400, `${fine} were surely fine`)
})

t.test('data and blobs are found to be base64 exactly where the rule finds so', t => {
  const base = Buffer.alloc(12_288, 'mcp').toString('base64')
  const insert = fc.constantFrom(
    '', '=', '==', '-', '_', '+', '/', '\\n', '\\/', ' ', 'é', 'A', 'AB', '\u007f', '@', '[', '`', '{',
  )
  const cuts = fc.record({
    extra: fc.base64String({ maxLength: 40 }), at: fc.oneof(fc.nat(20), fc.nat(base.length + 60)), insert,
    cut: fc.nat(2), fromEnd: fc.boolean(),
  })
  let right = 0
  fc.assert(fc.property(cuts, ({ extra, at, insert, cut, fromEnd }) => {
    const whole = base + extra
    const place = fromEnd ? Math.max(0, whole.length - at) : at
    const data = whole.slice(0, place) + insert + whole.slice(place + cut)
    for (const block of [`{"type":"image","data":"${data}"}`, `{"resource":{"blob":"${data}"}}`]) {
      const found = read(`{"result":{"content":[${block}]}}`)?.strings.at(0)?.isBase64
      assert.equal(found, isBase64(data), data.slice(-60))
      right += Number(found)
    }
  }), { numRuns: 1500 })
  t.ok(right > 200, `${right} were base64`)
  const [text] = read(`{"result":{"content":[{"type":"text","text":"${base}"}]}}`)?.strings ?? []
  t.match(text, { isBase64: false }, 'a text is not asked')
  t.end()
})

t.test('whatever the bytes, they are fine only where the clear code finds nothing', async () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), array => {
      const bytes = Buffer.from(array)
      if (read(bytes) !== undefined) assert.deepEqual(faultsOf(bytes), [])
    }),
    { numRuns: 1000 },
  )
})

const names = (count: number) =>
  `{${Array.from({ length: count }, (_, index) => `"name ${index}":${index}`).join()}}`
const digits = '9'.repeat(200)

const cases: readonly (readonly [string, string | Buffer, 'plain' | 'fine' | 'unknown'])[] = [
  ['an object', '{"a":[1,-0.5e3,true,false,null,"x"],"b":{}}', 'plain'],
  ['white space everywhere', ' {\t"a" :\r\n[ 1 , 2 ] } \n', 'plain'],
  ['a scalar', '-0', 'plain'],
  ['letters beyond ASCII, and emoji', '"é 漢字 😀"', 'plain'],
  ['the same in escapes', '"\\u00e9 \\u6f22 \\ud83d\\ude00"', 'plain'],
  ['line feeds, tabs and quotation marks in escapes', '"\\n\\t\\"\\\\\\/"', 'plain'],
  ['an escaped carriage return', '"\\r"', 'fine'],
  ['a zero width space', '"a\u200bb"', 'fine'],
  ['the same in an escape', '"a\\u200bb"', 'fine'],
  ['a tag character', '"\u{e0041}"', 'fine'],
  ['the same in escapes', '"\\udb40\\udc41"', 'fine'],
  ['a delete character', '"\x7f"', 'fine'],
  ['an escaped backspace', '"\\b"', 'fine'],
  ['nothing', '', 'unknown'],
  ['two values', '1 2', 'unknown'],
  ['what is cut off', '{"a":[1', 'unknown'],
  ['a byte order mark', '\ufeff{}', 'unknown'],
  ['a byte that is no UTF-8', Buffer.from([0x22, 0xff, 0x22]), 'unknown'],
  ['a NUL behind it', '{}\0', 'unknown'],
  ['a NUL in a string', '"\0"', 'unknown'],
  ['a line end in a string', '"\n"', 'unknown'],
  ['a comma too many', '[1,]', 'unknown'],
  ['a wrong bracket', '[1}', 'unknown'],
  ['a leading zero', '01', 'unknown'],
  ['a number beyond a double', '1e400', 'unknown'],
  ['a number of very many digits', digits + digits, 'unknown'],
  ['half of a surrogate pair', '"\\ud800"', 'unknown'],
  ['the halves of a pair in the wrong order', '"\\udc00\\ud800"', 'unknown'],
  ['a member twice', '{"a":1,"b":2,"a":3}', 'unknown'],
  ['a long name twice', `{"${digits}":1,"${digits}":2}`, 'unknown'],
  ['rows with the same names', '[{"a":1,"bc":{"d":[]}},{"a":2,"bc":{"d":[{}]}},{"a":3,"bc":{}}]', 'plain'],
  ['rows with names in another order', '[{"a":1,"b":2},{"b":1,"a":2},{"a":1,"b":2}]', 'plain'],
  ['rows with fewer names and with more', '[{"a":1,"b":2},{"a":1},{"a":1,"b":2,"c":3},{"c":1},{}]', 'plain'],
  ['a row with a name twice, behind names of the row before', '[{"a":1,"b":2},{"a":1,"b":2,"a":3}]', 'unknown'],
  ['a row with a name twice in place of another', '[{"a":1,"b":2},{"a":1,"a":2}]', 'unknown'],
  ['a row with a name twice below another row', '[{"a":{"b":1}},{"a":{"b":1,"b":2}}]', 'unknown'],
  ['a row whose name goes on', '[{"a":1},{"ab":1,"a":2}]', 'plain'],
  ['a row whose name is cut off', '[{"abcdefgh":1},{"abcdefgh', 'unknown'],
  ['a row without a colon', '[{"a":1},{"a"}]', 'unknown'],
  ['a name in an escape', '{"\\u0061":1}', 'unknown'],
  ['many members', names(5000), 'plain'],
  ['one of many members twice', names(5000).replace('"name 4000"', '"name 17"'), 'unknown'],
  ['a text of a block very often', `{"result":{"content":[{"text":""${',"text":""'.repeat(6000)}}]}}`, 'unknown'],
  ['a member twice deep inside', `{"x":[{"y":{"a":1,"a":1}}]}`, 'unknown'],
  ['as deep as is allowed', '['.repeat(20) + ']'.repeat(20), 'plain'],
  ['deeper', '['.repeat(21) + ']'.repeat(21), 'unknown'],
]

t.test('what is surely fine, and what is not known', async t => {
  for (const [title, text, expected] of cases) {
    const reading = read(text)
    t.equal(reading === undefined ? 'unknown' : reading.plain ? 'plain' : 'fine', expected, title)
  }
})

t.test('a long text takes memory that the next one does not find fault with', async t => {
  const long = `[${'"abcdefgh",'.repeat(200_000)}1]`
  t.ok(read(long))
  t.notOk(read(`"${'x'.repeat(maxBytes)}"`), 'longer ones are left to others')
  t.ok(read('{"a":1}'))
  t.notOk(read('{"a":1,"a":1}'))
})

t.test('structured content is found by the names that lead to it', async t => {
  const structured = (text: string) => read(text)?.structured?.toString()
  t.equal(structured(' {"b":[0,{"c":1}],"result":{"x":"}","structuredContent" : {"é":[ ]} }}'), '{"é":[ ]}')
  t.equal(
    structured('{"structuredContent":{},"x":{"structuredContent":{}},"result":[{"structuredContent":{}}]}'),
    undefined,
  )
  t.equal(
    structured('{"result":{"structuredConteñt":1,"StructuredContent":2,"structuredContents":3}}'), undefined,
  )
  t.equal(structured('[]'), undefined)
})

t.test('values of texts that were read in turns are each judged as their own, by whichever schema', async t => {
  const tables = ['string', 'array'].map(type => {
    const root = readSchema({ properties: { a: { type } } }, 100, new Budget(1e6), 20).schema?.root
    return (root && tableOf(root, new Budget(1e6))) ?? Buffer.alloc(0)
  })
  const texts = ['{"a":"x"}', '{"a":[]}', '{"a":"]"},"more":{"a":1}'].map(text =>
    read(`{"result":{"structuredContent":${text}}}`)?.structured ?? raise())
  const told = () => texts.map(text => tables.map(table => validator.isSurelyValid(text, table)))
  const expected = [[true, false], [false, true], [true, false]]
  t.strictSame(told(), expected)
  read('{"s":1}')
  t.strictSame(told(), expected)
  t.notOk(read(Buffer.from([0xff])))
  t.strictSame(told(), expected)
})

const raise = (): never => {
  throw new Error('not fine')
}

const isWellFormed = (text: string): boolean => !/\p{Surrogate}/u.test(text)

t.test('a value that is read once more by each schema of a choice is paid for each time', async t => {
  const schema = { $defs: { x: { minItems: 1e6 } }, anyOf: Array.from({ length: 50 }, () => ({ $ref: '#/$defs/x' })) }
  const { root } = readSchema(schema, 5000, new Budget(1e6), 300).schema ?? raise()
  const table = tableOf(root, new Budget(1e6)) ?? Buffer.alloc(0)
  let spent = 0
  const text = `[[${Array.from({ length: 1000 }, () => 1).join()}]]`
  t.notOk(validator.isSurelyValid(Buffer.from(text), table, steps => (spent += steps)))
  t.ok(spent >= 50 * 1000, `${spent} steps`)
})

const manyNames = Array.from({ length: 70 }, (_, index) => `name${index}`)

const twice: readonly (readonly [string, DataObject, string])[] = [
  ['behind all that are declared', { properties: { a: {}, b: {} } }, '{"a":1,"b":2,"a":3}'],
  ['out of order', { properties: { a: {}, b: {} } }, '{"b":1,"b":2}'],
  ['not declared', { properties: { a: {} } }, '{"x":1,"a":2,"x":3}'],
  ['one of very many', { properties: Object.fromEntries(manyNames.map(name => [name, {}])) },
    `{${manyNames.map(name => `"${name}":0`).join()},"name66":1}`],
  ['one of very many, out of order', { properties: Object.fromEntries(manyNames.map(name => [name, {}])) },
    `{${manyNames.toReversed().map(name => `"${name}":0`).join()},"name66":1}`],
  ['behind a value that another schema read in part',
    { items: { not: { additionalProperties: { additionalProperties: { type: 'string' } } } } },
    '[{"x":{"x":1},"q":2},{"x":1,"x":2}]'],
]

t.test('a member that stands twice is found, whatever the schema', async t => {
  for (const [where, schema, text] of twice) {
    const { root } = readSchema(schema, 5000, new Budget(1e6), 300).schema ?? raise()
    const table = tableOf(root, new Budget(1e6))
    const message = Buffer.from(`{"result":{"structuredContent":${text}}}`)
    t.equal(validator.readResult(message, 20, table), undefined, where)
  }
})

/** As it is written in a text that repeats it. */
const spaced = (text: string): string =>
  text.replace(/"(?:[^"\\]|\\.)*"|[[\]{},:]/g, token => (token.startsWith('"') ? token : ` ${token}\n  `))

t.test('a text repeats a value where it is the same text, white space between tokens apart', async t => {
  const repeats = (structured: string, ...texts: readonly string[]): readonly number[] => {
    const content = `[{"type":"x"},${texts.map(text => JSON.stringify({ type: 'text', text })).join()},7]`
    return read(`{"result":{"structuredContent":${structured},"content":${content}}}`, 31)?.repeats ?? []
  }
  let some = 0
  fc.assert(
    fc.property(model, picks, change, (value, from, { at, cut, insert }) => {
      const text = write(value, from())
      if (read(text) === undefined) return
      const where = at % (text.length + 1)
      const other = text.slice(0, where) + insert + text.slice(where + cut)
      // JSON.stringify writes control characters and the like with `\u`: those are left to others to compare.
      const isSimple = !JSON.stringify(text).includes('\\u')
      const found = repeats(text, text, spaced(text), other)
      if (isSimple && found.length > 0) some++
      if (isSimple && isWellFormed(other)) assert.deepEqual(found.slice(0, 2), [1, 2])
      if (found.includes(3)) assert.equal(stripped(other), stripped(text))
    }),
    { numRuns: Number(process.env['RUNS'] ?? 2000) },
  )
  t.ok(some > 300, `${some} repeat it`)
  t.strictSame(
    repeats('{"a":1}', ...Array.from({ length: 20 }, () => '{"a":1}')), [1, 2, 3, 4, 5, 6, 7],
    'those of the first eight blocks',
  )
  t.strictSame(repeats('{"a":"b c"}', '{"a":"bc"}', '{"a":"b  c"}', '{"a":"b c"} x', '{"a":"b c"'), [])
  t.strictSame(
    repeats('[12,true]', '[1 2,true]', '[12,tr ue]', '[ 12 , true ]', '[12,\ntrue\n]'), [3, 4],
    'what has white space in a number is another text',
  )
  t.strictSame(repeats(`[${' '.repeat(50)}1]`, '[1]', '[2]'), [1], 'white space of the value')
  t.strictSame(
    repeats(`[${' '.repeat(1000)}1]`, '[1]', '[2]'), [], 'very much of it would be skipped for each text',
  )
  t.strictSame(
    repeats('{"a":"\\"\\\\ "}', '{"a":"\\"\\\\ "}', '{"a":"\\"\\\\  "}', '{ "a": "\\"\\\\ " }'), [1, 3],
  )
})

/** Without white space between tokens. */
const stripped = (text: string): string =>
  text.replace(/("(?:[^"\\]|\\[^])*"?)|[ \n\r\t]+/g, (_, string: string | undefined) => string ?? '')
