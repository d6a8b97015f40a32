import { deepEqual, equal, ok } from 'node:assert/strict'
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import fc from 'fast-check'
import t from 'tap'
import { FrontEnd } from '#relay/transport/channel/front-end.js'
import { RelayEnd } from '#relay/transport/channel/relay-end.js'
import { kinds, windowBytes, Wire, type WireKind } from '#relay/transport/channel/wire.js'
import { RequestArrival } from '#relay/transport/front/arrival.js'
import { Quota } from '#relay/transport/front/quota.js'
import type { FrontResponse } from '#relay/transport/front/request.js'

/** One end of a channel: collects what is written to it. */
class End extends Duplex {
  readonly written: Buffer[] = []

  override _read(): void {}

  override _write(chunk: Buffer, _: string, done: () => void): void {
    this.written.push(Buffer.from(chunk))
    done()
  }

  /** The bytes written since it was last asked, when the turn is over. */
  async taken(): Promise<Buffer> {
    await new Promise(setImmediate)
    await new Promise(setImmediate)
    return Buffer.concat(this.written.splice(0))
  }

  /** Has it read something. */
  async feed(bytes: Buffer): Promise<void> {
    this.push(bytes)
    await new Promise(setImmediate)
  }
}

/** The end of a channel whose other end reads only when it is told. */
class Stalled extends Duplex {
  #waiting: (() => void)[] = []
  #written: Buffer[] = []

  override _read(): void {}

  override _write(chunk: Buffer, _: string, done: () => void): void {
    this.#written.push(chunk)
    this.#waiting.push(done)
  }

  pending(): readonly Buffer[] {
    const written = this.#written
    this.#written = []
    for (const done of this.#waiting.splice(0)) done()
    return written
  }
}

interface Heard {
  readonly kind: WireKind
  readonly exchange: number
  readonly payload: Buffer
}

/** A wire, and the frames that it has read. */
const listening = (end = new End()) => {
  const heard: Heard[] = []
  const state = { isClosed: false }
  const frame = (kind: WireKind, exchange: number, payload: Buffer) => {
    heard.push({ kind, exchange, payload: Buffer.from(payload) })
  }
  return { end, heard, state, wire: new Wire(end, { frame, closed: () => (state.isClosed = true) }) }
}

/** The frames of a body that follow one another are one. */
const joined = (frames: readonly Heard[]): readonly Heard[] => {
  const all: Heard[] = []
  for (const frame of frames) {
    const before = all.at(-1)
    const isOf = before?.exchange === frame.exchange ? before.kind : undefined
    const goesOn =
      isOf === 'piece' ? /^(?:piece|last)$/.test(frame.kind) : isOf === 'body' && frame.kind === isOf
    if (!before || !goesOn) all.push(frame)
    else all[all.length - 1] = { ...frame, payload: Buffer.concat([before.payload, frame.payload]) }
  }
  return all
}
const payload = fc.oneof(
  { weight: 8, arbitrary: fc.uint8Array({ maxLength: 40 }) },
  // Longer than what is joined, and than what a socket gives at once.
  {
    weight: 2,
    arbitrary: fc.constantFrom(8192, 65_527, 70_000)
      .map(length => new Uint8Array(length).fill(length % 251)),
  },
)
const sent = fc.record({
  kind: fc.constantFrom(...kinds), exchange: fc.oneof(fc.nat(2), fc.nat(0xffffffff)), payload,
  urgent: fc.boolean(),
})
const shortSize = fc.integer({ min: 1, max: 30 })
const size = fc.oneof({ weight: 5, arbitrary: shortSize }, fc.integer({ min: 1, max: 100_000 }))
const sizes = fc.array(size, { minLength: 1 })

/** Cuts bytes into pieces of these sizes, again and again. */
function* cut(bytes: Buffer, into: readonly number[]): Generator<Buffer> {
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const size = into[turn % into.length] ?? 1
    yield bytes.subarray(at, at + size)
    at += size
  }
}

t.test('any split of the bytes gives the frames that were sent', async t => {
  await fc.assert(fc.asyncProperty(fc.array(sent, { maxLength: 30 }), sizes, async (frames, into) => {
    const [near, far] = [listening(), listening()]
    const wanted = frames.map(({ kind, exchange, payload }) =>
      ({ kind, exchange, payload: Buffer.from(payload) }))
    for (const [index, { kind, exchange, payload }] of wanted.entries()) {
      near.wire.send(kind, exchange, payload, frames[index]?.urgent)
    }
    near.wire.flush()
    for (const piece of cut(await near.end.taken(), into)) far.end.push(piece)
    await new Promise(setImmediate)
    deepEqual(joined(far.heard), joined(wanted))
    near.wire.close()
    far.wire.close()
  }), { numRuns: 200 })
  t.end()
})

t.test('JSON of any value arrives as it was sent, whatever its length', async t => {
  const words = fc.constantFrom('', 'x', 'é', '€', '😀')
  const counts = fc.constantFrom(1, 2000, 3000, 9000)
  await fc.assert(fc.asyncProperty(fc.jsonValue(), words, counts, sizes, async (value, word, times, into) => {
    const [near, far] = [listening(), listening()]
    const told = [value, word.repeat(times)]
    near.wire.sendJson('note', 0, told)
    near.wire.send('gone', 0)
    for (const piece of cut(await near.end.taken(), into)) far.end.push(piece)
    await new Promise(setImmediate)
    deepEqual(far.heard.map(({ kind }) => kind), ['note', 'gone'])
    deepEqual(JSON.parse(far.heard[0]?.payload.toString() ?? ''), JSON.parse(JSON.stringify(told)))
  }), { numRuns: 100 })
  t.end()
})

t.test('what is not urgent leaves with what is urgent, or when it is told to, or else soon', async t => {
  const { wire, end } = listening()
  wire.send('pending', 1, Buffer.from('1'), false)
  wire.send('last', 1)
  await new Promise(setImmediate)
  t.equal(end.written.length, 1, 'one write for both')
  wire.send('pending', 2, Buffer.from('2'), false)
  wire.flushLate()
  t.equal(end.written.length, 2)
  wire.send('gone', 1, undefined, false)
  while (end.written.length < 3) await new Promise(setImmediate)
  const far = listening()
  await far.end.feed(await end.taken())
  t.same(
    far.heard.map(({ kind, exchange }) => [kind, exchange]),
    [['pending', 1], ['last', 1], ['pending', 2], ['gone', 1]],
  )
})

t.test('a frame of no known kind, or too long to be kept, ends the channel', async t => {
  const heads = [['unknown', 0, kinds.length], ['too long', 0xffffffff, kinds.indexOf('note')]] as const
  for (const [what, length, code] of heads) {
    const { end, state, heard } = listening()
    const head = Buffer.alloc(9)
    head.writeUInt32LE(length, 0)
    head[4] = code
    await end.feed(head)
    t.equal(state.isClosed, true, what)
    t.same(heard, [])
  }
})

const head = {
  path: '/mcp', method: 'POST', httpVersion: '1.1', headers: {},
  address: '::1', token: null, isSecure: false, agreed: null, place: null,
}
const payloadsOf = (heard: readonly Heard[], wanted: readonly WireKind[]) =>
  heard.filter(({ kind }) => wanted.includes(kind)).map(({ payload }) => payload)
const sumOf = (parts: readonly Buffer[]) => parts.reduce((sum, { length }) => sum + length, 0)

t.test('of a response, at most a window is sent and not taken, and all of it arrives in order', async t => {
  const write = fc.record({ write: fc.integer({ min: 1, max: 400_000 }) })
  const step = fc.oneof(write, fc.record({ take: fc.double({ min: 0, max: 1, noNaN: true }) }))
  const steps = fc.array(step, { maxLength: 25 })
  await fc.assert(fc.asyncProperty(steps, async all => {
    const [near, far] = [listening(), new End()]
    let response: FrontResponse | undefined
    const serve = (_: unknown, one: FrontResponse) => void (response = one)
    const relay = new RelayEnd(far, { serve, calls: {}, closed: () => undefined })
    const pass = async () => {
      await far.feed(await near.end.taken())
      await near.end.feed(await far.taken())
    }
    near.wire.sendJson('open', 1, head)
    await pass()
    const written: Buffer[] = []
    let [taken, full, drains] = [0, 0, 0]
    const sum = () => sumOf(payloadsOf(near.heard, ['piece', 'last']))
    const take = async (share: number) => {
      const bytes = Math.ceil((sum() - taken) * share)
      taken += bytes
      near.wire.taken(1, bytes)
      near.wire.flush()
      await pass()
      ok(sum() - taken <= windowBytes, `${sum() - taken} bytes are not taken`)
    }
    for (const step of all) {
      if ('take' in step) await take(step.take)
      else {
        const chunk = Buffer.alloc(step.write, written.length + 1)
        written.push(chunk)
        const isFree = response?.write(chunk)
        if (isFree === false) {
          full += 1
          response?.once('drain', () => (drains += 1))
        }
        await pass()
        ok(sum() - taken <= windowBytes, `${sum() - taken} bytes are not taken`)
        ok((response?.writableLength ?? 0) >= sumOf(written) - sum(), 'the writer is told of what waits')
      }
    }
    while (response?.writableLength !== 0) await take(1)
    await pass()
    response.end()
    await pass()
    while (near.heard.at(-1)?.kind !== 'last') await take(1)
    await take(1)
    equal(response.writableLength, 0)
    equal(response.writableNeedDrain, false)
    equal(drains, full, 'whoever was told to wait is told to go on')
    deepEqual(Buffer.concat(payloadsOf(near.heard, ['piece', 'last'])), Buffer.concat(written))
    ok(relay)
  }), { numRuns: 40 })
  t.end()
})

t.test('a process that does not read gets no more of the bodies than a mebibyte, and all of them when it reads', async () => {
  const near = new Stalled()
  const far = listening()
  const nothing = () => undefined
  const front = new FrontEnd(near, {
    calls: {}, bodies: new Quota(() => 1e9), named: nothing,
  })
  const requests = Array.from({ length: 40 }, () => {
    const request = new IncomingMessage(new Socket())
    const response = new ServerResponse(request)
    front.handOver({ request, response, arrival: new RequestArrival(request), place: undefined })
    return request
  })
  const parts = 10
  const part = Buffer.alloc(60_000, 'x')
  for (let count = 0; count < parts; count += 1) {
    for (const request of requests) request.push(part)
    await new Promise(setImmediate)
  }
  for (const request of requests) request.push(null)
  const most = 1024 * 1024 + requests.length * part.length
  ok(near.writableLength < most, `${near.writableLength} bytes are kept`)
  while (far.heard.filter(({ kind }) => kind === 'bodyEnd').length < requests.length) {
    for (const chunk of near.pending()) await far.end.feed(chunk)
    await new Promise(setImmediate)
  }
  const all = sumOf(payloadsOf(far.heard, ['body']))
  equal(all, requests.length * parts * part.length)
  front.lose()
})
