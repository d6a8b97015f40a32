import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { Writable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import t from 'tap'
import { LineWriter } from '../../../dist/transport/stdio/writer.js'

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
