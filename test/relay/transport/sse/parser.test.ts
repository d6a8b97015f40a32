import assert from 'node:assert/strict'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { createParser } from 'eventsource-parser'
import fc from 'fast-check'
import t from 'tap'
import type { Frame } from '#relay/protocol/frame.js'
import { decoded } from '#relay/transport/http/content-coding.js'
import { encodeBetween, encodeEvent, fieldLines, type SseEvent } from '#relay/transport/sse/event.js'
import { SseParser } from '#relay/transport/sse/parser.js'

const read = (chunks: readonly (string | Buffer)[], maxBytes = 100_000): readonly SseEvent[] => {
  const parser = new SseParser(maxBytes)
  return chunks.flatMap(chunk => parser.push(Buffer.from(chunk)))
}

const frame = (bytes: Buffer, event?: string): Frame => ({
  bytes,
  message: { kind: 'unusable', keys: [] },
  faults: [],
  ...(event !== undefined && { envelope: { event } }),
})

/** What an event says, with the data as text. */
const plain = (event: SseEvent): object => {
  if (event.kind === 'message') return { ...event, data: event.data.toString() }
  return event.kind === 'oversized'
    ? { ...event, head: event.head.toString(), tail: event.tail.toString() }
    : event
}

/** The event as it leaves again. */
const encoded = (event: SseEvent): Buffer => {
  if (event.kind === 'message') return encodeEvent(frame(event.data, fieldLines(event)))
  return Buffer.from(event.kind === 'oversized' ? '' : encodeBetween(event))
}

interface Read {
  readonly events: {
    readonly data: string; readonly id: string | undefined; readonly name: string | undefined
  }[]
  retry: number | undefined
}

/**
 * What the clients of both official SDKs read: one byte order mark is the decoder's, the rest is their
 * parser's.
 */
const readByOthers = (bytes: Buffer): Read => {
  const read: Read = { events: [], retry: undefined }
  const parser = createParser({
    onEvent: ({ id, event, data }) => void read.events.push({ data, id, name: event }),
    onRetry: retry => void (read.retry = retry),
  })
  parser.feed(new TextDecoder().decode(bytes))
  return read
}

/** The same of ours. */
const readByUs = (all: readonly SseEvent[]): Read => {
  const read: Read = { events: [], retry: undefined }
  for (const event of all) {
    if (event.kind === 'comment' || event.kind === 'oversized') continue
    const { id, name, retry = read.retry } = event
    read.retry = retry
    if (event.kind === 'message' || event.dispatched) {
      read.events.push({ data: event.kind === 'message' ? event.data.toString() : '', id, name })
    }
  }
  return read
}

const message = (data: string, rest: object = {}): object => ({ kind: 'message', data, ...rest })
const fields = (dispatched: boolean, rest: object): object => ({ kind: 'fields', dispatched, ...rest })
const comment = { kind: 'comment' }

t.test('an event stream is read as the standard says', async t => {
  const cases = [
    ['one line of data', 'data: {"a":1}\n\n', [message('{"a":1}')]],
    ['no space', 'data:x\n\n', [message('x')]],
    ['one space of two', 'data:  x\n\n', [message(' x')]],
    ['several lines of data', 'data: a\ndata: b\ndata\ndata:c\n\n', [message('a\nb\n\nc')]],
    ['CRLF', 'data: a\r\nid: 1\r\n\r\n', [message('a', { id: '1' })]],
    ['CR', 'data: a\rid: 1\r\rdata: b\r\r', [message('a', { id: '1' }), message('b')]],
    ['a mixture', 'data: a\rdata: b\r\ndata: c\n\r\n', [message('a\nb\nc')]],
    [
      'every field', 'event: message\nid: 7\nretry: 1500\n: note\nunknown: x\ndata: a\nnonsense\n\n',
      [message('a', { id: '7', retry: 1500, name: 'message' })],
    ],
    ['fields behind the data', 'data: a\nid: 7\n\n', [message('a', { id: '7' })]],
    ['an empty id', 'id\ndata: a\n\n', [message('a', { id: '' })]],
    ['an id with a NUL', 'id: a\0b\ndata: a\n\n', [message('a')]],
    ['an empty name', 'event: a\nevent\ndata: a\n\n', [message('a')]],
    ['a retry that is no number', 'retry: 1s\ndata: a\n\n', [message('a')]],
    ['names in capitals are others', 'EVENT: a\nDatax: b\ndata: c\n\n', [message('c')]],
    ['a colon in the data', 'data: a: b\n\n', [message('a: b')]],
    ['an id in UTF-8', 'id: é\ndata: a\n\n', [message('a', { id: 'é' })]],
    ['a byte order mark', '\ufeffdata: a\n\n', [message('a')]],
    ['two byte order marks', '\ufeff\ufeffdata: a\n\n', []],
    [
      'a part of a byte order mark', Buffer.from([0xef, 0xbb, 0x0a, ...Buffer.from('data: a\n\n')]),
      [message('a')],
    ],
    ['a byte order mark later', 'data: a\n\n\ufeffdata: b\n\n', [message('a')]],
    ['comments between events', ': a\n:\r\ndata: x\n\n', [comment, message('x')]],
    ['a comment with its blank line', ': ping\n\n', [comment]],
    ['an event without data', 'id: 5\nretry: 10\n\n', [fields(false, { id: '5', retry: 10 })]],
    ['an event with empty data', 'id: 5\ndata: \n\n', [fields(true, { id: '5' })]],
    ['an event of nothing that is known', 'a: 1\nevent: b\n\n', []],
    ['an event that is cut off', 'data: a\n\ndata: b\n', [message('a')]],
    ['nothing', '', []],
  ] as const
  for (const [what, text, expected] of cases) {
    t.same(read([text]).map(plain), expected, what)
    const bytes = [...Buffer.from(text)].map(one => Buffer.from([one]))
    const told = (events: readonly object[]) =>
      events.filter(event => !('kind' in event) || event.kind !== 'comment')
    t.same(told(read(bytes).map(plain)), told(expected), `${what}, byte by byte`)
  }
})

t.test('a mark inside a packed body is read as one that is not', async t => {
  const body = Buffer.from('\ufeff\ufeffdata: a\n\ndata: b\n\n')
  for (const [encoding, packed] of [['gzip', gzipSync(body)], ['br', brotliCompressSync(body)]] as const) {
    const parser = new SseParser(1000)
    const events: SseEvent[] = []
    const pieces = (async function* () {
      for (const one of packed) yield Buffer.from([one])
    })()
    for await (const piece of decoded(pieces, new Map([['content-encoding', [encoding]]]))) {
      events.push(...parser.push(piece))
    }
    t.same(events.map(plain), [message('b')], encoding)
  }
})

t.test('a frame becomes an event: its bytes, behind the fields that it came with', async t => {
  const cases = [
    ['{"a":1}', undefined, 'data: {"a":1}\n\n'],
    ['{"a":1}\r', undefined, 'data: {"a":1}\n\n'],
    ['{\n"a":\r\n1\r}', undefined, 'data: {\ndata: "a":\ndata: 1\ndata: }\n\n'],
    ['{"é":1}', 'id: é\n', 'id: é\ndata: {"é":1}\n\n'],
  ] as const
  for (const [bytes, event, expected] of cases) {
    t.equal(encodeEvent(frame(Buffer.from(bytes), event)).toString(), expected)
  }
  const long = encodeEvent(frame(Buffer.from(`[${'\n'.repeat(100_000)}]`)))
  t.equal(long.length, 100_010, 'line ends beyond measure become spaces')
})

t.test('an event over the limit is told once, with the ends of its data', async t => {
  const json = `{"jsonrpc":"2.0","id":5,"result":"${'x'.repeat(20_000)}"}`
  for (const text of [`id: 7\ndata: ${json}\n\n`, `id: 7\r\ndata: ${json}\r\nevent: message\r\n\r\n`]) {
    for (const size of [1, 1000, 65_536]) {
      const bytes = Buffer.from(`data: a\n\n${text}data: b\n\n`)
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
        bytes.subarray(i * size, (i + 1) * size))
      const events = read(chunks, 10_000)
      t.match(events.map(plain), [message('a'), { kind: 'oversized', id: '7' }, message('b')])
      const [, long] = events
      if (long?.kind !== 'oversized') throw new Error('not told')
      t.equal(long.head.toString(), json.slice(0, long.head.length))
      t.equal(long.tail.toString(), json.slice(-long.tail.length))
      t.ok(long.head.length > 4000 && long.tail.length > 4000 && long.size > json.length)
    }
  }
  const [whole] = read([`data: ${json.slice(0, 9992)}\n\n`], 10_000)
  t.equal(whole?.kind, 'message', 'an event of exactly the limit')
})

t.test('comments without end are told of and not kept', async t => {
  const parser = new SseParser(1000)
  for (let i = 0; i < 300; i++) t.same(parser.push(Buffer.from(': keep-alive\n: more\n\n:\n')), [comment])
  t.same(parser.push(Buffer.from('data: a\n\n')).map(plain), [message('a')])
})

const end = fc.constantFrom('\n', '\r\n', '\r')
const line = fc.oneof(
  fc.constantFrom(
    'data: {"a":1}', 'data', 'data:', 'id: 1', 'id', 'retry: 5', 'event: x', 'event', ': note', ':', '', '',
    '', 'other: é', 'data: 😀',
  ),
  fc.constantFrom(
    '\ufeffdata: a', '\ufeff', 'id: a\0', ' data: a', 'Data: a', 'data : a', 'data:\u2028data: b', 'retry:',
    'retry: -1', 'id:  b', 'event:\tx',
  ),
  fc.string({ unit: 'grapheme', maxLength: 8 }).map(text => `data: ${text.replace(/[\r\n]/g, '')}`),
)
const stream = fc.tuple(
  fc.constantFrom('', '', '\ufeff', '\ufeff\ufeff'),
  fc.array(fc.tuple(line, end).map(([text, ending]) => text + ending), { maxLength: 25 }),
)
  .map(([mark, lines]) => Buffer.from(mark + lines.join('')))
const cuts = fc.array(fc.nat(12), { minLength: 1, maxLength: 20 })

const cut = (bytes: Buffer, sizes: readonly number[]): readonly Buffer[] => {
  const chunks: Buffer[] = []
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = i > 200 ? bytes.length : (sizes[i % sizes.length] ?? 1)
    chunks.push(bytes.subarray(at, at + size))
    at += size
  }
  return chunks
}

t.test('however the bytes are cut, they are read as an independent reader reads them, and so is what leaves', async () => {
  fc.assert(
    fc.property(stream, cuts, (bytes, sizes) => {
      // That reader waits for what follows a carriage return at the end, and takes a `retry` before its event
      // has ended.
      const expected = readByOthers(Buffer.concat([bytes, Buffer.from('\n\n: end\n')]))
      const events = read([...cut(bytes, sizes), '\n\n: end\n'])
      assert.deepEqual(readByUs(events), expected)
      const sent = Buffer.concat(events.map(encoded))
      // Values in which another reader may see the end of a line stay behind.
      const safe = (value: string | undefined) => (value?.includes('\t') === true ? undefined : value)
      assert.deepEqual(readByOthers(sent), {
        ...expected, events: expected.events.map(({ data, id, name }) => ({ data, id, name: safe(name) })),
      })
    }),
    { numRuns: 2000 },
  )
})

t.test('nothing leaves that was not understood', async () => {
  const known = /^(?:(?:event|id|retry|data): .*|data: |: keep-alive|)$/
  fc.assert(
    fc.property(fc.oneof(
      stream, fc.uint8Array({ maxLength: 60 }).map(bytes => Buffer.from(bytes)),
    ), bytes => {
      for (const event of read([bytes, '\n\n'])) {
        // As Latin-1: data is not looked into here.
        for (const one of encoded(event).toString('latin1').split('\n')) {
          assert.match(one.startsWith('data: ') ? 'data: ' : one, known)
        }
      }
    }),
    { numRuns: 1000 },
  )
})

t.test('a field whose value ends a line for another reader does not travel on', t => {
  for (const end of ['\u2028', '\u2029', '\u000b', '\u000c', '\u0085', '\u001c']) {
    for (const field of ['id', 'event']) {
      const [event, ...more] =
        new SseParser(9999).push(Buffer.from(`${field}: 1${end}data: {}\ndata: {"good":1}\n\n`))
      t.strictSame(more, [])
      t.equal(event && encoded(event).toString(), 'data: {"good":1}\n\n', field)
    }
  }
  t.end()
})
