import t from 'tap'
import { Held } from '../../dist/gateway/held.js'
import type { Transport } from '../../dist/transport/transport.js'

/** Both ends of a session, and who of them was told to wait, or to go on. @param isHttp the server speaks HTTP */
const ends = (isHttp: boolean) => {
  const log: string[] = []
  const end = (side: string): Transport => ({
    start: () => {},
    send: () => true,
    pause: exchange => void log.push(`${side} waits ${exchange}`),
    resume: exchange => void log.push(`${side} goes on ${exchange}`),
    close: () => Promise.resolve(),
    ...(isHttp && side === 'server' && { open: () => {} }),
  })
  return { held: new Held({ client: end('client'), server: end('server') }), take: () => log.splice(0) }
}

t.test('of a server that speaks HTTP the response alone is left unread whose reader is full', t => {
  const { held, take } = ends(true)
  held.hold('server', 'client', 'x')
  held.hold('server', 'client', 'x')
  t.same(take(), ['server waits x'])
  held.hold('server', 'client', 'y')
  held.release('client', 'x')
  t.same(take(), ['server waits y', 'server goes on x'])
  held.release('client', 'x')
  t.same(take(), [])
  t.end()
})

t.test('a process has one pipe: it is read again when no reader is full any more', t => {
  const { held, take } = ends(false)
  held.hold('server', 'client', 'x')
  held.hold('server', 'client', 'y')
  held.release('client', 'x')
  t.same(take(), ['server waits stdio', 'server waits stdio'])
  held.release('client', 'y')
  t.same(take(), ['server goes on stdio'])
  t.end()
})

t.test('a client waits for the server and for the queue, and goes on when neither is full', t => {
  const { held, take } = ends(false)
  held.hold('client', 'server', 'http-3')
  held.hold('client', 'queue', 'stdio')
  held.release('server', 'stdio')
  t.same(take(), ['client waits stdio', 'client waits stdio'])
  held.release('queue', 'stdio')
  t.same(take(), ['client goes on stdio'])
  t.end()
})

t.test('who is full of what it asked for itself by HTTP holds nobody back', t => {
  const { held, take } = ends(true)
  held.hold('client', 'client', 'x')
  held.release('client', 'x')
  t.same(take(), [])
  t.end()
})
