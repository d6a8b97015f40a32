import t from 'tap'
import {
  ask, begin, dial, echo, frameOf, handshake, initialize, rawPost, Reader, result, start, post, textOf,
} from './harness.js'
import { ManualTimers } from '../timers.js'

const graceMs = 7000

t.test('open requests are answered before the front stops', async t => {
  const { port, session, front } = await start(t, { timers: new ManualTimers() })
  const waiting = begin(port, { body: initialize() })
  const opened = await session(0)
  const { exchange } = await opened.until('frame')
  const stopped = front.close(graceMs)
  await t.rejects(ask(port, { body: initialize() }), 'no new connection is accepted')
  opened.transport.send(exchange, result('1'))
  t.equal(await textOf(await waiting), '{"jsonrpc":"2.0","id":1,"result":{}}')
  await stopped
  t.match(await opened.until('ended'), { reason: 'the relay is stopping' })
})

t.test('stopping ends the streams that never end by themselves', async t => {
  const { port, session, front } = await start(t, { act: echo, timers: new ManualTimers() })
  const headers = { ...post, 'mcp-session-id': await handshake(port) }
  const stream = new Reader(await begin(port, { method: 'GET', headers }))
  const stopped = front.close(graceMs)
  t.equal(await stream.rest(), '')
  await stopped
  await (await session(0)).until('ended')
})

t.test('after the grace period every session ends, and then the connections are cut off', async t => {
  const timers = new ManualTimers()
  const { port, session, front } = await start(t, {
    timers,
    act: (event, { transport, told }) => {
      if (event.type !== 'ended') return
      const asked = told.find(one => one.type === 'frame')
      if (asked?.type === 'frame') {
        transport.send(
          asked.exchange, frameOf('{"jsonrpc":"2.0","id":1,"error":{"code":-31001,"message":"x"}}'),
        )
      }
    },
  })
  const waiting = begin(port, { body: initialize() })
  await (await session(0)).until('frame')
  const { socket, reader } = await dial(t, port)
  socket.write(
    'POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 10\r\ncontent-type: application/json\r\n\r\n{',
  )
  await ask(port, { method: 'PUT' })
  const stopped = front.close(graceMs)
  t.equal(timers.fire(graceMs), 1)
  t.match(JSON.parse(await textOf(await waiting)), { error: { code: -31001 } })
  await stopped
  await reader.rest()
  t.ok(reader.ended)
})

t.test('a keep-alive connection is told to close', async t => {
  let refused = (): void => {}
  const refusal = new Promise<void>(resolve => (refused = resolve))
  const { port, session, front } = await start(t, { timers: new ManualTimers(), refused: () => refused() })
  const body = initialize()
  const request = rawPost(body)
  const { socket, reader } = await dial(t, port)
  socket.write(request)
  const opened = await session(0)
  const { exchange } = await opened.until('frame')
  const stopped = front.close(graceMs)
  socket.write(request)
  await refusal
  opened.transport.send(exchange, result('1'))
  await reader.to('"id":1')
  t.match(await reader.rest(), /HTTP\/1\.1 503 [^]*\r\nconnection: close\r\n[^]*"code":-31000[^]*\}\}$/)
  await stopped
})

t.test('without open requests it stops at once, and close can be called twice', async t => {
  const { front } = await start(t, { timers: new ManualTimers() })
  await Promise.all([front.close(graceMs), front.close(graceMs)])
  await front.close(graceMs)
  t.pass('it did')
})
