import t from 'tap'
import { stdioExchange } from '../../dist/core/event.js'
import { Held } from '../../dist/gateway/leaving.js'
import type { Transport } from '../../dist/transport/transport.js'
import { exchange } from '../exchange.js'

/** Both ends of a session, and who of them was told to wait, or to go on. @param isHttp the server speaks HTTP */
const ends = (isHttp: boolean) => {
  const log: string[] = []
  const end = (side: string): Transport => ({
    start: () => {},
    send: () => true,
    pause: ({ name }) => void log.push(`${side} waits ${name}`),
    resume: ({ name }) => void log.push(`${side} goes on ${name}`),
    close: () => Promise.resolve(),
    ...(isHttp && side === 'server' && { open: () => {} }),
  })
  return { held: new Held({ client: end('client'), server: end('server') }), take: () => log.splice(0) }
}

t.test('of a server that speaks HTTP the response alone is left unread whose reader is full', t => {
  const { held, take } = ends(true)
  held.hold('server', 'client', exchange('x'))
  held.hold('server', 'client', exchange('x'))
  t.same(take(), ['server waits x'])
  held.hold('server', 'client', exchange('y'))
  held.release('client', exchange('x'))
  t.same(take(), ['server waits y', 'server goes on x'])
  held.release('client', exchange('x'))
  t.same(take(), [])
  t.end()
})

t.test('a process has one pipe: it is read again when no reader is full any more', t => {
  const { held, take } = ends(false)
  held.hold('server', 'client', exchange('x'))
  held.hold('server', 'client', exchange('y'))
  held.release('client', exchange('x'))
  t.same(take(), ['server waits stdio', 'server waits stdio'])
  held.release('client', exchange('y'))
  t.same(take(), ['server goes on stdio'])
  t.end()
})

t.test('a client waits for the server and for the queue, and goes on when neither is full', t => {
  const { held, take } = ends(false)
  held.hold('client', 'server', exchange('http-3'))
  held.hold('client', 'queue', stdioExchange)
  held.release('server', stdioExchange)
  t.same(take(), ['client waits stdio', 'client waits stdio'])
  held.release('queue', stdioExchange)
  t.same(take(), ['client goes on stdio'])
  t.end()
})

t.test('who is full of what it asked for itself by HTTP holds nobody back', t => {
  const { held, take } = ends(true)
  held.hold('client', 'client', exchange('x'))
  held.release('client', exchange('x'))
  t.same(take(), [])
  t.end()
})
