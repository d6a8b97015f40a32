import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { Writable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import fc from 'fast-check'
import t from 'tap'
import { parseFrame } from '#relay/protocol/parse.js'
import { owning } from '#relay/transport/frames.js'
import { LineSplitter, type Line } from '#relay/transport/stdio/reader.js'
import { LineWriter } from '#relay/transport/stdio/writer.js'

const limit = 20_000

const split = (chunks: readonly (string | Buffer)[], maxBytes = limit): readonly Line[] => {
  const splitter = new LineSplitter(maxBytes)
  const lines: Line[] = []
  for (const chunk of chunks) splitter.push(Buffer.from(chunk), lines)
  splitter.complete(lines)
  return lines
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
    [
      'a character over chunks', [Buffer.from('é').subarray(0, 1), Buffer.from('é').subarray(1), '😀\n'],
      ['é😀'],
    ],
    ['other line ends of Unicode', ['a\u2028b\u0085c\n'], ['a\u2028b\u0085c']],
  ] as const
  for (const [what, chunks, expected] of cases) t.same(texts(split(chunks)), expected, what)
})

t.test('a line within a chunk is a part of it, not a copy', async t => {
  const chunk = Buffer.from('one\ntwo\n')
  const lines: Line[] = []
  new LineSplitter(limit).push(chunk, lines)
  const [one] = lines
  t.ok(one?.kind === 'whole' && one.bytes.buffer === chunk.buffer)
})

t.test('a line over the limit is told once, at its end, with its ends and its size', async t => {
  const long = `head${'x'.repeat(limit)}tail`
  for (const size of [1, 7, 4096, 65_536]) {
    const chunks = Buffer.from(`a\n${long}\nb\n`)
    const pieces = Array.from({ length: Math.ceil(chunks.length / size) }, (_, i) =>
      chunks.subarray(i * size, (i + 1) * size))
    const lines = split(pieces)
    t.same(texts(lines), ['a', `${long.length} bytes`, 'b'], `chunks of ${size}`)
    t.match(lines[1], { head: Buffer.from(long.slice(0, 4096)), tail: Buffer.from(long.slice(-4096)) })
  }
  t.same(texts(split(['x'.repeat(limit), '\n'])), ['x'.repeat(limit)], 'a line of exactly the limit')
  t.same(
    texts(split(['x'.repeat(limit + 1)])), [`${limit + 1} bytes`], 'one byte more, at the end of the stream',
  )
  t.match(
    split(['abc\n'], 2), [{ kind: 'oversized', head: Buffer.from('abc'), tail: Buffer.from('abc'), size: 3 }],
  )
})

t.test('an endless line is not kept', async t => {
  const splitter = new LineSplitter(1_000_000)
  const lines: Line[] = []
  const chunk = Buffer.alloc(65_536, 'x')
  const before = process.memoryUsage()
  for (let i = 0; i < 4000; i++) splitter.push(chunk, lines)
  t.strictSame(lines, [])
  const after = process.memoryUsage()
  t.ok(after.external + after.arrayBuffers - before.external - before.arrayBuffers < 64_000_000)
  splitter.complete(lines)
  t.match(lines, [{ kind: 'oversized', size: 4000 * 65_536 }])
})

t.test('single bytes make a long line in time', async t => {
  const splitter = new LineSplitter(2_000_000)
  const lines: Line[] = []
  const one = Buffer.from('x')
  for (let i = 0; i < 1_000_000; i++) splitter.push(one, lines)
  splitter.push(Buffer.from('\n'), lines)
  t.match(lines, [{ kind: 'whole', bytes: Buffer.alloc(1_000_000, 'x') }])
})

t.test('however the bytes are cut into chunks, the lines are the same', async () => {
  const part = fc.oneof(
    fc.constantFrom('\n', '\r\n', ' ', 'é😀', '{}'), fc.string({ maxLength: 20 }),
    fc.nat(60).map(length => 'x'.repeat(length)),
  )
  fc.assert(
    fc.property(fc.array(
      part, { maxLength: 20 },
    ), fc.array(fc.nat(30), { minLength: 1, maxLength: 20 }), (parts, sizes) => {
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
      assert.deepEqual(
        texts(whole),
        expected.map(line => (Buffer.byteLength(line) > 50 ? `${Buffer.byteLength(line)} bytes` : line)),
      )
    }),
    { numRuns: 500 },
  )
})

/** Takes what is written when the test says so. */
class Peer extends Writable {
  readonly got: string[] = []
  taken: ((error?: Error) => void) | undefined

  constructor(readonly isSlow = false) {
    super({ highWaterMark: 16 * 1024 })
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#take([chunk], done)
  }

  override _writev(chunks: { chunk: Buffer }[], done: (error?: Error | null) => void): void {
    this.#take(chunks.map(({ chunk }) => chunk), done)
  }

  #take(chunks: readonly Buffer[], done: (error?: Error) => void): void {
    this.got.push(Buffer.concat(chunks).toString())
    if (this.isSlow) this.taken = done
    else done()
  }
}

const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

t.test('lines of one turn leave in one write, whatever their size, and in order', async t => {
  const peer = new Peer()
  const writer = new LineWriter(peer, () => undefined)
  for (const line of ['one', 'two']) t.ok(writer.write(Buffer.from(line)))
  t.strictSame(peer.got, [])
  await turn()
  const large = 'x'.repeat(100_000)
  writer.write(Buffer.from('three'))
  writer.write(Buffer.from(large))
  writer.write(Buffer.from('four'))
  await turn()
  t.strictSame(peer.got, ['one\ntwo\n', `three\n${large}\nfour\n`])
})

t.test('what waits for a slow peer is not written over by what comes after it', async t => {
  const server = createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [peer] = (await once(server, 'connection')) as [Socket]
  const writer = new LineWriter(socket, () => undefined)
  let sent = ''
  for (let line = 0; line < 20_000; line++) {
    const text = `line ${line} ${'x'.repeat(line % 500)}`
    sent += `${text}\n`
    writer.write(Buffer.from(text))
    if (line % 100 === 0) await turn()
  }
  t.ok(socket.writableLength > 0, 'the peer has not taken all of it')
  writer.handOver()
  socket.end()
  t.ok((await buffer(peer)).toString() === sent, 'and gets all of it, in order')
  server.close()
})

/** Of 100,000 bytes. */
const longResult = (letter: string) => {
  const [begin, end] = ['{"jsonrpc":"2.0","id":1,"result":{"content":["', '"]}}']
  const text = begin + letter.repeat(100_000 - begin.length - end.length) + end
  return parseFrame(Buffer.from(text), { messageBytes: 1 << 20, depth: 64 })
}

t.test('lines that own their bytes are freed when a socket has taken them', async t => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [peer] = (await once(server, 'connection')) as [Socket]
  const writers = [new LineWriter(socket, () => undefined), new LineWriter(new Peer(), () => undefined)]
  const lengths: number[][] = []
  for (const writer of writers) {
    const frames = ['a', 'b', 'c'].map(letter => owning(longResult(letter)))
    for (const frame of frames) {
      writer.write(frame.bytes, undefined, frame === frames[1] ? { ...frame } : frame)
    }
    await writer.flush(60_000)
    lengths.push(frames.map(({ bytes }) => bytes.length))
  }
  t.strictSame(lengths, [[0, 100_000, 0], [100_000, 100_000, 100_000]])
  socket.end()
  const text = (await buffer(peer)).toString()
  t.ok(text === ['a', 'b', 'c'].map(letter => `${longResult(letter).bytes.toString()}\n`).join(''))
  server.close()
})

t.test('what is written in the turn in which the stream is ended arrives', async t => {
  const peer = new Peer()
  const writer = new LineWriter(peer, () => undefined)
  writer.write(Buffer.from('last'))
  writer.handOver()
  peer.end()
  await turn()
  t.strictSame(peer.got, ['last\n'])
  t.ok(writer.write(Buffer.from('too late'), () => t.pass('and what comes later is told to be lost')))
  await turn()
})

t.test('a peer that takes nothing is full, also with what has not left yet, and says when it reads again', async t => {
  const peer = new Peer(true)
  let drained = 0
  const writer = new LineWriter(peer, () => drained++)
  const line = Buffer.alloc(100_000, 'x')
  t.strictSame([1, 2, 3].map(() => writer.write(line)), [true, true, false])
  const written = writer.flush(60_000)
  await turn()
  t.equal(drained, 0)
  peer.taken?.()
  await written
  t.equal(drained, 1)
  t.ok(writer.write(line))
})

t.test('a small line after it does not make a full peer forget to say that it reads again', async t => {
  const peer = new Peer(true)
  let drained = 0
  const writer = new LineWriter(peer, () => drained++)
  writer.write(Buffer.alloc(60_000, 'x'))
  await turn()
  t.notOk(writer.write(Buffer.alloc(220_000, 'x')))
  await turn()
  const [first] = [peer.taken]
  first?.()
  await turn()
  writer.write(Buffer.from('small'))
  for (let left = 0; left < 3; left++) {
    peer.taken?.()
    await turn()
  }
  t.equal(drained, 1)
})

t.test('lines of a turn that the stream does not take are each told to be lost', async t => {
  const peer = new Peer(true)
  let broken = 0
  const writer = new LineWriter(peer, () => undefined, () => broken++)
  const lost: number[] = []
  for (const one of [1, 2]) writer.write(Buffer.from('x'), () => lost.push(one))
  await turn()
  peer.taken?.(new Error('gone'))
  await turn()
  t.strictSame(lost, [1, 2])
  t.equal(broken, 1)
})

t.test('a stream that begins with Content-Length is framed by it, as long as it goes on so', t => {
  const framed = (...messages: readonly string[]) =>
    messages.map(text => `Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`).join('')
  const [long, odd] = [`"${'x'.repeat(limit)}"`, 'x'.repeat(2000)]
  const cases = [
    ['messages', framed('{"a":1}', '{}', '"é😀"'), ['{"a":1}', '{}', '"é😀"']],
    ['line ends in a message', framed('{\n"a":\n1}', '{}'), ['{\n"a":\n1}', '{}']],
    ['further fields', 'Content-Length: 2\r\nContent-Type: text\r\n\r\n{}', ['{}']],
    ['bare line feeds, other letters', 'content-length:2\n\n{}CONTENT-LENGTH: 3\n\n"a"', ['{}', '"a"']],
    ['an empty message', framed('', '{}'), ['{}']],
    ['a long message', framed(long, '{}'), [`${long.length} bytes`, '{}']],
    ['a message that is cut', 'Content-Length: 9\r\n\r\n{"a"', ['{"a"']],
    ['lines again', `${framed('{}')}{"b":2}\n{"c":3}\n`, ['{}', '{"b":2}', '{"c":3}']],
    ['a head without end', `Content-Length: 9\r\n${odd}\n{}\n`, [/^Content/, odd, '{}']],
  ] as const
  for (const [name, text, expected] of cases) for (const size of [30, 31, 64, 4096, 65_536]) {
    let told = 0
    const splitter = new LineSplitter(limit, () => (told += 1))
    const lines: Line[] = []
    const bytes = Buffer.from(text)
    for (let at = 0; at < bytes.length; at += size) splitter.push(bytes.subarray(at, at + size), lines)
    splitter.complete(lines)
    t.match(texts(lines), expected, `${name}, ${size}`)
    t.equal(lines.length, expected.length, name)
    t.equal(told, 1, name)
  }
  for (const text of ['{}\nContent-Length: 2\r\n\r\n{}\n', 'Content-Length: none\n{}\n', 'Length: 2\n\n{}']) {
    const lines: Line[] = []
    const splitter = new LineSplitter(limit, () => t.fail('it is not framed by Content-Length'))
    splitter.push(Buffer.from(text), lines)
    splitter.complete(lines)
    t.strictSame(texts(lines), texts(split([text])))
  }
  t.end()
})
