import fc from 'fast-check'
import type { Dispatcher } from 'undici'
import t from 'tap'
import { ResponseBody } from '#relay/transport/upstream/body.js'

/** A connection in the hands of the test. */
class Connection {
  paused = false
  aborted = false
  reason: Error | null = null

  pause(): void {
    this.paused = true
  }

  resume(): void {
    this.paused = false
  }

  abort(reason: Error): void {
    this.aborted = true
    this.reason = reason
  }
}

const body = () => {
  const connection: Connection & Dispatcher.DispatchController = new Connection()
  return { connection, body: new ResponseBody(connection) }
}

t.test('all bytes are read in their order, whenever they come', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(fc.uint8Array({ maxLength: 50 }), fc.boolean())), async chunks => {
      const { body: read } = body()
      const writing = (async () => {
        for (const [chunk, waits] of chunks) {
          read.push(Buffer.from(chunk))
          if (waits) await new Promise(setImmediate)
        }
        read.end()
      })()
      const got: Buffer[] = []
      for await (const chunk of read) got.push(chunk)
      await writing
      return Buffer.concat(got).equals(Buffer.concat(chunks.map(([chunk]) => chunk)))
    }),
    { numRuns: 50 },
  )
})

t.test('a connection is read no faster than its body', async t => {
  const { connection, body: read } = body()
  read.push(Buffer.alloc(60_000))
  t.equal(connection.paused, false)
  read.push(Buffer.alloc(60_000))
  t.equal(connection.paused, true)
  await read.next()
  t.equal(connection.paused, false)
})

t.test('a cut is an error after what came before it, and who stops reading lets go', async t => {
  const { connection, body: read } = body()
  read.push(Buffer.from('x'))
  read.end(new Error('cut'))
  t.match(await read.next(), { done: false })
  await t.rejects(read.next(), { message: 'cut' })
  const left = body()
  left.body.push(Buffer.from('x'))
  for await (const chunk of left.body) if (chunk.length > 0) break
  t.equal(left.connection.aborted, true)
  await read.return()
  t.equal(connection.aborted, false, 'what is over is not cut')
})

t.test('what is here already need not be waited for', t => {
  const { connection, body: read } = body()
  t.equal(read.poll(), undefined)
  read.push(Buffer.alloc(100_000))
  t.equal(connection.paused, true)
  t.match(read.poll(), { done: false })
  t.equal(connection.paused, false)
  t.equal(read.poll(), undefined)
  read.end()
  t.match(read.poll(), { done: true })
  const cut = body()
  cut.body.end(new Error('cut'))
  t.throws(() => cut.body.poll(), { message: 'cut' })
  t.end()
})

t.test('of a body that nobody reads so much may come, and no more', t => {
  const { connection, body: read } = body()
  read.dump(10, 60_000)
  read.push(Buffer.alloc(10))
  t.equal(connection.aborted, false)
  read.push(Buffer.alloc(1))
  t.equal(connection.aborted, true)
  read.end()
  t.end()
})
