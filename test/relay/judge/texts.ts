import { isRecord, type DataObject } from '#relay/protocol/unmetered.js'
import type { Random } from './random.js'

/** What a byte or a few of them may become: what matters to JSON, to UTF-8, and to who reads either. */
export const bits = [
  '"', '\\', '{', '}', '[', ']', ',', ':', ' ', '\n', '\t', '\r', '\f', '\v', '\0', '\x1f', '\x7f', '\u00a0',
  '\u2028', '\ufeff', '\u200b', '\u00ad', 'é', '😀',
  'e', 'E', '.', '-', '+', '0', '00', '1e400', '-1e400', '1e308', 'true', 'null', 'nul', 'NaN', 'Infinity',
  '//', '\\b', '\\u', '\\u00', '\\u0061', '\\ud800', '\\udc00',
  '\\uD83D\\uDE00', '"a":', '"a":0,', '"k1":0,', '"\\u0061":0,', '{}', '[]', '"Result":0,', '"id":2,',
  '"structuredContent":{},',
].map(text => Buffer.from(text)).concat([
  [0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe2, 0x80], [0x80],
].map(bytes => Buffer.from(bytes)))

/** A byte changed, some left out, put in, or doubled. */
export const mutated = (bytes: Buffer, random: Random): Buffer => {
  const at = random.below(bytes.length + 1)
  const [before, after] = [bytes.subarray(0, at), bytes.subarray(at)]
  switch (random.below(5)) {
    case 0:
      return Buffer.concat([before, random.in(bits), after])
    case 1:
      return Buffer.concat([before, after.subarray(1 + random.below(4))])
    case 2:
      return Buffer.concat([before, Buffer.from([random.below(256)]), after.subarray(1)])
    case 3: {
      const from = random.below(bytes.length + 1)
      return Buffer.concat([before, bytes.subarray(from, from + random.below(40)), after])
    }
    default:
      return Buffer.concat([before, Buffer.from(random.of(' ', '\n', '\t', '\r')), after])
  }
}

const rareCharacters = [
  '\\ud800', '\\udc00\\ud800', '\\uDBFF', '\u200b', '\\u200b', '\u{e0041}', '\\udb40\\udc41', '\\b', '\\f',
  '\x7f', '\\u0000', '\\u001b', '\ufeff',
] as const
const characters = [
  'a', 'b', ' ', '  ', 'é', '漢', '😀', '\\n', '\\"', '\\\\', '\\/', '\\t', '\\u0041', '\\ud83d\\ude00',
  '\\uD83D\\uDE00', '\\u00e9', '{', '[', ',', ':', '1 2',
  'abcdefghijklmnop', '0123456789abcdefghij',
] as const
const rareNumbers = [
  '1e400', '-1e999', '1.7976931348623159e308', '9'.repeat(310), '01', '1.', '.5', '+1', '1e', '--1',
] as const
const numbers = [
  '0', '-0', '1', '-1', '0.1', '1.50', '-0.0', '1e5', '1E-7', '1e+2', '1e99', '1e100', '1e308',
  '1.7976931348623157e308', '5e-324', '1e-400', '12345678901234567890', '9'.repeat(199),
  '0.30000000000000004',
] as const
const names = [
  'a', 'b', 'c', 'd', 'id', 'ID', 'result', 'Result', 'structuredContent', 'structuredcontent', 'content',
  'text', 'type', '__proto__', 'constructor', 'toString', 'length', '',
  '0', '1', '17', 'é', '\\n', '\\u0061', 'abcdefgh', 'abcdefgh1', 'abcdefgh2', 'abcdefghijklmnop',
  'abcdefghijklmnoq',
] as const

/** The names of an object of many members. */
const manyNames = Array.from({ length: 90 }, (_, index) => `k${index}`)

/** White space as it may stand between tokens; mostly none. */
const space = (random: Random): string =>
  (random.once(8) ? random.of(' ', '\n', '\t', '\r\n', '  ', '\n    ') : '')

const string = (random: Random): string =>
  `"${random.many(6, () => random.in(random.once(300) ? rareCharacters : characters)).join('')}"`

const list = (random: Random, open: string, elements: readonly string[], close: string): string =>
  `${open}${space(random)}${elements.map(element => element + space(random)).join(`,${space(random)}`)}${close}`

/** The text of an object of members that nearly all have names of their own. */
const object = (random: Random, depth: number): string => {
  const many = random.once(12)
  const given = random.many(many ? (random.once(6) ? 85 : 40) : 5, index => (many ? manyNames[index] ?? '' : random.in(names)))
  const distinct = [...new Set(given)].filter(name => !name.startsWith('\\') || random.once(20))
  const chosen = distinct.length > 0
    && random.once(many ? 8 : 60) ? [...distinct, random.of(random.in(distinct), '\\u0061')] : distinct
  return list(
    random, '{',
    chosen.map(name => `"${name}"${space(random)}:${space(random)}${value(random, many ? 9 : depth + 1)}`),
    '}',
  )
}

/** Objects with the same names in the same order, as rows have; some differ, and a few have a name twice. */
const rows = (random: Random, depth: number): string => {
  const shape = [...new Set(random.many(random.once(4) ? 14 : 4, () => random.in(names)))]
    .filter(name => !name.startsWith('\\') || random.once(20))
  return list(random, '[', random.many(6, () => {
    const own = [...shape]
    for (let change = random.below(6); change > 3; change--) {
      own.splice(random.below(own.length + 1), random.below(2), ...random.many(1, () => random.in(names)))
    }
    const distinct = random.once(90) ? own : [...new Set(own)]
    return list(
      random, '{',
      distinct.map(name => `"${name}"${space(random)}:${space(random)}${value(random, depth + 2)}`), '}',
    )
  }), ']')
}

/**
 * The text of a JSON value; of hardly one in fifty it is ill-formed, or says what readers could read
 * differently.
 */
export const value = (random: Random, depth = 0): string => {
  switch (random.below(depth > 4 ? 4 : depth > 2 ? 7 : 8)) {
    case 7:
      return rows(random, depth)
    case 0:
      return random.of('true', 'false', 'null')
    case 1:
      return random.in(random.once(150) ? rareNumbers : numbers)
    case 2:
    case 3:
      return string(random)
    case 4:
      return list(random, '[', random.many(5, () => value(random, depth + 1)), ']')
    default:
      return object(random, depth)
  }
}

/** The same tokens with other white space, in some places where it matters. */
const spaced = (text: string, random: Random): string =>
  text.replace(/"(?:[^"\\]|\\.)*"|[[\]{},:]|\s+/g, token =>
    (token.trim() === '' ? space(
      random,
    ) : `${token.startsWith('"') ? '' : space(random)}${token}${space(random)}`))

/** A text beside structured content: that one, spaced or changed, or another. */
const beside = (structured: string, random: Random): string => {
  const text = random.once(3) ? spaced(structured, random) : structured
  const other = random.once(3) ? mutated(Buffer.from(text), random).toString() : text
  return random.once(5) ? value(random) : other
}

/** The answer to a call, with long strings in several blocks, as files and pictures have them. */
export const longAnswer = (random: Random): string => {
  const usual = random.once(2)
  const long = (): string => {
    const kinds = random.many(4, () => random.in(random.once(9) ? rareCharacters : characters))
    const piece = `${'x'.repeat(random.below(40))}${usual ? random.of('\\n', '\\"', 'line') : kinds.join('')}`
    const shifted = 'y'.repeat(random.below(16))
    return `"${shifted}${(piece === '' ? 'z' : piece).repeat(Math.ceil(18_000 / Math.max(1, piece.length)))}"`
  }
  const structured = object(random, 1)
  const blocks = random.many(4, () => random.of(
    `{"type":"text","text":${long()}}`, `{"type":"image","mimeType":"image/png","data":${long()}}`,
    `{"type":"resource","resource":{"uri":"a:b","text":${long()}}}`,
    `{"type":"text","text":${JSON.stringify(`${structured}${' '.repeat(20_000)}`)}}`,
  ))
  const members = [`"content":${list(random, '[', blocks, ']')}`]
  if (!random.once(5)) members.push(`"structuredContent":${structured}`)
  return `{"jsonrpc":"2.0","id":1,"result":{${members.join()}}}`
}

/** The answer to a call, with structured content. */
export const answer = (random: Random): string => {
  const structured = random.once(4)
    ? value(random)
    : random.of(object(random, 1), object(random, 1), rows(random, 1), list(random, '[', random.many(4, () => value(random, 2)), ']'))
  const blocks = random.many(3, () =>
    `{"type":${random.of('"text"', '"text"', '"image"')},"text":${JSON.stringify(beside(structured, random))}}`)
  const members = [
    `"content"${space(random)}:${list(random, '[', blocks, ']')}`,
    `"structuredContent":${space(random)}${structured}`,
  ]
  if (random.once(3)) members.push(`"_meta":${value(random, 3)}`)
  if (random.once(2)) members.reverse()
  const parts = [
    '"jsonrpc":"2.0"', `"id":${random.of('1', '"a"', '1.0', '12345678901234567890')}`,
    `"result":${list(random, '{', members, '}')}`,
  ]
  return space(random) + list(random, '{', random.once(2) ? parts : parts.reverse(), '}') + space(random)
}

/** A schema that declares names at every depth. */
export const schemaOfNames = (random: Random): DataObject => {
  const pool = random.once(9) ? manyNames : names.map(name => JSON.parse(`"${name}"`) as string)
  const known = pool.slice(random.below(10)).slice(0, 1 + random.below(random.of(3, 6, 12, 90)))
  const member = (): DataObject => random.of<DataObject>(
    {}, { $ref: '#' }, { $ref: '#' }, { items: { $ref: '#' } }, { prefixItems: [{ $ref: '#' }] },
    { anyOf: [{ $ref: '#' }, { type: 'null' }] }, { oneOf: [{ type: 'object' }, { type: 'array' }] },
    { not: { type: 'null' } }, { allOf: [{ $ref: '#' }, { properties: { a: {} } }] },
    { type: ['string', 'integer', 'object'] }, { minimum: 0 }, { maxLength: 3 }, { pattern: '^[a-z0-9]*$' },
    { enum: [1, 'a', null, true] },
  )
  return {
    properties: Object.fromEntries(known.map(name => [name, member()])),
    ...(random.once(3) && { items: { $ref: '#' } }),
    ...(random.once(3) && { additionalProperties: random.of<DataObject>({ $ref: '#' }, { type: 'object' }) }),
    ...(random.once(6) && { required: random.many(2, () => random.in(known)) }),
  }
}

/** A result with an object of declared names, mostly in their order; some stand twice. */
export const answerOfNames = (random: Random, { properties }: DataObject): string => {
  const declared = isRecord(properties) ? Object.keys(properties) : []
  const inner = (depth: number): string => {
    if (depth > 2 || !random.once(3)) return value(random, 3)
    return random.once(3)
      ? list(random, '[', random.many(4, () => inner(depth + 1)), ']')
      : members(depth + 1)
  }
  const members = (depth: number): string => {
    const from = depth === 0 ? 0 : random.below(declared.length)
    const all = declared.slice(from, depth === 0 ? undefined : from + 6)
    const own = all.filter(() => !random.once(random.of(2, 3, 50)))
    const place = () => random.of(own.length, random.below(own.length + 1))
    if (random.once(4)) own.splice(place(), 0, random.in(names))
    if (all.length > 0 && random.once(4)) own.splice(place(), 0, random.in(all))
    if (random.once(4)) own.reverse()
    return list(random, '{', own.map(name => `${JSON.stringify(name)}:${inner(depth)}`), '}')
  }
  return `{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":${members(0)}}}`
}
