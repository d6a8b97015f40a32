import t from 'tap'
import { stdioExchange } from '#relay/core/event.js'
import { Backpressure } from '#relay/session/backpressure.js'
import type { Transport } from '#relay/transport/transport.js'
import { exchange } from '../../exchange.js'

/** Both ends of a session, and a log of their pauses. @param isHttp the server speaks HTTP */
const ends = (isHttp: boolean) => {
  const log: string[] = []
  const end = (side: string): Transport => ({
    start: () => {},
    send: () => true,
    pause: ({ name }) => void log.push(`${side} paused ${name}`),
    resume: ({ name }) => void log.push(`${side} resumed ${name}`),
    close: () => Promise.resolve(),
    ...(isHttp && side === 'server' && { open: () => {} }),
  })
  return {
    backpressure: new Backpressure({ client: end('client'), server: end('server') }),
    take: () => log.splice(0),
  }
}

t.test('of an HTTP server, only the response to a full reader is paused', t => {
  const { backpressure, take } = ends(true)
  backpressure.pause('server', 'client', exchange('x'))
  backpressure.pause('server', 'client', exchange('x'))
  t.same(take(), ['server paused x'])
  backpressure.pause('server', 'client', exchange('y'))
  backpressure.resume('client', exchange('x'))
  t.same(take(), ['server paused y', 'server resumed x'])
  backpressure.resume('client', exchange('x'))
  t.same(take(), [])
  t.end()
})

t.test('a process is resumed when no reader is full any more', t => {
  const { backpressure, take } = ends(false)
  backpressure.pause('server', 'client', exchange('x'))
  backpressure.pause('server', 'client', exchange('y'))
  backpressure.resume('client', exchange('x'))
  t.same(take(), ['server paused stdio', 'server paused stdio'])
  backpressure.resume('client', exchange('y'))
  t.same(take(), ['server resumed stdio'])
  t.end()
})

t.test('a client is paused for the server and for the queue, and goes on when neither is full', t => {
  const { backpressure, take } = ends(false)
  backpressure.pause('client', 'server', exchange('http-3'))
  backpressure.pause('client', 'queue', stdioExchange)
  backpressure.resume('server', stdioExchange)
  t.same(take(), ['client paused stdio', 'client paused stdio'])
  backpressure.resume('queue', stdioExchange)
  t.same(take(), ['client resumed stdio'])
  t.end()
})

t.test('a client that does not read the refusal of its HTTP request pauses no other client', t => {
  const { backpressure, take } = ends(true)
  backpressure.pause('client', 'client', exchange('x'))
  backpressure.resume('client', exchange('x'))
  t.same(take(), [])
  t.end()
})
