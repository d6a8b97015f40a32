import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import type { Frame } from '../../../dist/protocol/frame.js'
import { encodeDressing, encodeEvent, SseParser, type SseEvent } from '../../../dist/transport/sse/parser.js'

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
const plain = (event: SseEvent): object =>
  event.kind === 'message' ? { ...event, data: event.data.toString() } : event.kind === 'dressing' ? event : { ...event, head: event.head.toString(), tail: event.tail.toString() }

/** The event as it leaves again. */
const encoded = (event: SseEvent): Buffer => {
  if (event.kind === 'message') return encodeEvent(frame(event.data, event.dressing))
  return event.kind === 'dressing' ? encodeDressing(event.lines) : Buffer.alloc(0)
}

const message = (data: string, rest: object = {}): object => ({ kind: 'message', data, dressing: '', ...rest })
const dressing = (lines: string, rest: object = {}): object => ({ kind: 'dressing', lines, ...rest })

t.test('an event stream is read as the standard says', async t => {
  const cases = [
    ['one line of data', 'data: {"a":1}\n\n', [message('{"a":1}')]],
    ['no space', 'data:x\n\n', [message('x')]],
    ['one space of two', 'data:  x\n\n', [message(' x')]],
    ['several lines of data', 'data: a\ndata: b\ndata\ndata:c\n\n', [message('a\nb\n\nc')]],
    ['CRLF', 'data: a\r\nid: 1\r\n\r\n', [message('a', { dressing: 'id: 1\r\n', id: '1' })]],
    ['CR', 'data: a\rid: 1\r\rdata: b\r\r', [message('a', { dressing: 'id: 1\r', id: '1' }), message('b')]],
    ['a mixture', 'data: a\rdata: b\r\ndata: c\n\r\n', [message('a\nb\nc')]],
    [
      'every field', 'event: message\nid: 7\nretry: 1500\n: note\nunknown: x\ndata: a\nnonsense\n\n',
      [message('a', { dressing: 'event: message\nid: 7\nretry: 1500\n: note\nunknown: x\nnonsense\n', id: '7', retry: 1500, name: 'message' })],
    ],
    ['fields behind the data', 'data: a\nid: 7\n\n', [message('a', { dressing: 'id: 7\n', id: '7' })]],
    ['an empty id', 'id\ndata: a\n\n', [message('a', { dressing: 'id\n', id: '' })]],
    ['an id with a NUL', 'id: a\0b\ndata: a\n\n', [message('a', { dressing: 'id: a\0b\n' })]],
    ['a retry that is no number', 'retry: 1s\ndata: a\n\n', [message('a', { dressing: 'retry: 1s\n' })]],
    ['names in capitals are others', 'EVENT: a\nDatax: b\ndata: c\n\n', [message('c', { dressing: 'EVENT: a\nDatax: b\n' })]],
    ['a colon in the data', 'data: a: b\n\n', [message('a: b')]],
    ['an id in UTF-8', 'id: é\ndata: a\n\n', [message('a', { dressing: 'id: \u00c3\u00a9\n', id: 'é' })]],
    ['a byte order mark', '\ufeffdata: a\n\n', [message('a')]],
    ['a byte order mark later', 'data: a\n\n\ufeffdata: b\n\n', [message('a'), dressing('\u00ef\u00bb\u00bfdata: b\n\n')]],
    ['comments between events', ': a\n:\r\ndata: x\n\n', [dressing(': a\n'), dressing(':\r\n'), message('x')]],
    ['a comment with its blank line', ': ping\n\n', [dressing(': ping\n'), dressing('\n')]],
    ['an event without data', 'id: 5\nretry: 10\n\n', [dressing('id: 5\nretry: 10\n\n', { id: '5', retry: 10 })]],
    ['an event with empty data', 'id: 5\ndata: \n\n', [dressing('id: 5\ndata: \n\n', { id: '5' })]],
    ['an event that is cut off', 'data: a\n\ndata: b\n', [message('a')]],
    ['nothing', '', []],
  ] as const
  for (const [what, text, expected] of cases) {
    t.same(read([text]).map(plain), expected, what)
    const bytes = [...Buffer.from(text)].map(one => Buffer.from([one]))
    t.same(read(bytes).filter(({ kind }) => kind === 'message').map(plain), expected.filter(one => 'data' in one), `${what}, byte by byte`)
  }
})

t.test('what was not changed leaves byte for byte as it came', async t => {
  const untouched = 'event:message\r\ndata:{"a":\r\ndata: 1}\r\nid:9\r\n\r\n'
  const [event] = read([untouched])
  t.ok(event?.kind === 'message')
  if (event?.kind !== 'message') return
  t.equal(encodeEvent(frame(event.data, event.dressing)).toString(), untouched)
  t.equal(encodeEvent(frame(Buffer.from('{"b":2}'), event.dressing)).toString(), 'event:message\r\nid:9\r\ndata: {"b":2}\n\n', 'an edited frame is another')
  t.equal(encodeEvent(frame(event.data)).toString(), 'data: {"a":\ndata: 1}\n\n', 'and so is one without its dressing')
})

t.test('a frame from elsewhere becomes an event', async t => {
  const cases = [
    ['{"a":1}', undefined, 'data: {"a":1}\n\n'],
    ['{"a":1}\r', undefined, 'data: {"a":1}\n\n'],
    ['{\n"a":\r\n1\r}', undefined, 'data: {\ndata: "a":\ndata: 1\ndata: }\n\n'],
    ['{"é":1}', 'id: \u00c3\u00a9\n', 'id: é\ndata: {"é":1}\n\n'],
  ] as const
  for (const [bytes, event, expected] of cases) t.equal(encodeEvent(frame(Buffer.from(bytes), event)).toString(), expected)
})

t.test('an event over the limit is told once, with the ends of its data', async t => {
  const json = `{"jsonrpc":"2.0","id":5,"result":"${'x'.repeat(20_000)}"}`
  for (const text of [`id: 7\ndata: ${json}\n\n`, `id: 7\r\ndata: ${json}\r\nevent: message\r\n\r\n`]) {
    for (const size of [1, 1000, 65_536]) {
      const bytes = Buffer.from(`data: a\n\n${text}data: b\n\n`)
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.subarray(i * size, (i + 1) * size))
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

t.test('comments without end are passed on and not kept', async t => {
  const parser = new SseParser(1000)
  for (let i = 0; i < 300; i++) t.same(parser.push(Buffer.from(': keep-alive\n')).map(plain), [dressing(': keep-alive\n')])
})

t.test('however the bytes are cut into chunks, the events are the same, and so are the bytes that leave', async () => {
  const end = fc.constantFrom('\n', '\r\n', '\r')
  const line = fc.oneof(
    fc.constantFrom('data: {"a":1}', 'data', 'data:', 'id: 1', 'id', 'retry: 5', 'event: x', ': note', ':', '', '', '', 'other: é', 'data: 😀'),
    fc.string({ unit: 'grapheme', maxLength: 8 }).map(text => `data: ${text.replace(/[\r\n]/g, '')}`),
  )
  const stream = fc.array(fc.tuple(line, end).map(([text, ending]) => text + ending), { maxLength: 25 }).map(parts => Buffer.from(parts.join('')))
  fc.assert(
    fc.property(stream, fc.array(fc.nat(12), { minLength: 1, maxLength: 20 }), (bytes, sizes) => {
      const chunks: Buffer[] = []
      for (let at = 0, i = 0; at < bytes.length; i++) {
        const size = i > 200 ? bytes.length : (sizes[i % sizes.length] ?? 1)
        chunks.push(bytes.subarray(at, at + size))
        at += size
      }
      const whole = read([bytes])
      const parts = read(chunks)
      const messages = (events: readonly SseEvent[]) => events.filter(({ kind }) => kind === 'message').map(plain)
      const marks = (events: readonly SseEvent[]) => events.flatMap(({ id, retry }) => [id, retry].filter(one => one !== undefined))
      assert.deepEqual(messages(parts), messages(whole))
      assert.deepEqual(marks(parts), marks(whole))
      const sent = Buffer.concat(parts.map(encoded))
      assert.ok(bytes.subarray(0, sent.length).equals(sent))
      // All that is left is what the end cut off, and a line feed that came after its carriage return.
      const all = Buffer.concat(whole.map(encoded))
      assert.ok(all.length - sent.length <= 1 && bytes.subarray(0, all.length).equals(all))
    }),
    { numRuns: 800 },
  )
})

t.test('lines that another reader may take for data do not travel on', t => {
  const evil = ['\u2028data: {}', '\u000bdata: {}', '\u0085data: {}'].map(text => `: ping${text}`)
  for (const line of [...evil, ' data: {}', 'DATA: {}', 'data : {}']) {
    const [event, ...more] = new SseParser(9999).push(Buffer.from(`id: 1\n${line}\ndata: {"good":1}\n\n`))
    t.strictSame(more, [], line)
    t.match(event, { kind: 'message', dressing: 'id: 1\n' }, line)
  }
  t.end()
})
