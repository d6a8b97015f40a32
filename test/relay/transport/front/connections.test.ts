import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { quotaClientOf, Quota } from '#relay/transport/front/quota.js'
import { ask, dial, echo, handshake, initialize, post, start } from './harness.js'

const head = (method: string, more = ''): string =>
  `${method} /mcp HTTP/1.1\r\nhost: localhost\r\naccept: application/json, text/event-stream\r\n${more}`
const call = (session: string, body: string): string =>
  `${head('POST', `content-type: application/json\r\nmcp-session-id: ${session}\r\ncontent-length: ${body.length}\r\n`)}\r\n${body}`
const pings = (session: string, from: number, to: number): string => {
  let text = ''
  for (let id = from; id < to; id++) text += call(session, `{"jsonrpc":"2.0","id":${id},"method":"ping"}`)
  return text
}

t.test('pipelined requests wait for the open response, and are answered in order', async t => {
  const { port } = await start(t, { act: echo })
  const session = await handshake(port)
  const { socket, reader } = await dial(t, port)
  socket.write(pings(session, 100, 140))
  for (let id = 100; id < 140; id++) t.match(await reader.to('null}}'), new RegExp(`"id":${id}`))
})

t.test('a connection with too many pipelined requests is cut off, and none of them begins', async t => {
  const { port, session } = await start(t, { act: echo })
  const id = await handshake(port)
  const { socket, reader } = await dial(t, port)
  socket.write(`${head('GET', `mcp-session-id: ${id}\r\n`)}\r\n`)
  await reader.to('\r\n\r\n')
  socket.write(pings(id, 100, 300))
  await reader.rest()
  t.ok(reader.ended)
  const { told } = await session(0)
  t.notOk(told.some(event => event.type === 'frame' && event.frame.bytes.includes('ping')))
})

t.test('a socket is not read while many pipelined requests wait', async t => {
  const { port } = await start(t, { act: echo })
  const id = await handshake(port)
  const { socket, reader } = await dial(t, port)
  socket.write(`${head('GET', `mcp-session-id: ${id}\r\n`)}\r\n`)
  await reader.to('\r\n\r\n')
  socket.write(pings(id, 100, 110))
  const ping = {
    headers: { ...post, 'mcp-session-id': id }, body: '{"jsonrpc":"2.0","id":7,"method":"ping"}',
  }
  t.equal((await ask(port, ping)).status, 200)
  // Were it read, it would be cut for what comes now.
  const rest = Buffer.from(pings(id, 110, 40_000))
  let written = 0
  while (written < rest.length && socket.write(rest.subarray(written, written + 65_536))) written += 65_536
  t.equal((await ask(port, ping)).status, 200, 'and others are served')
  t.notOk(reader.ended)
})

t.test('a refused connection is closed even when its client leaves its half open', async t => {
  const { port } = await start(t)
  const { socket, reader } = await dial(t, port)
  socket.allowHalfOpen = true
  socket.write('this is no HTTP\r\n\r\n')
  t.match(await reader.rest(), /^HTTP\/1\.1 400 /)
  socket.on('error', () => undefined)
  // The second write meets a socket that is gone.
  const closed = new Promise(resolve => socket.on('close', resolve))
  const timer = setInterval(() => socket.write('x'), 50)
  t.teardown(() => clearInterval(timer))
  await closed
  t.pass('it is gone')
})

t.test('each client has a quota of connections; its newest connection replaces an idle one', async t => {
  const { port } = await start(t, { act: echo, maxConnections: 10 })
  const silent = Array.from({ length: 30 }, () => connect({ port, host: '127.0.0.1' }))
  for (const socket of silent) socket.on('error', () => undefined)
  t.teardown(() => silent.forEach(socket => void socket.destroy()))
  await Promise.all(silent.map(socket => once(socket, 'connect')))
  t.equal((await ask(port, { body: initialize() })).status, 200)
  for (const socket of silent.slice(0, 20)) if (!socket.closed) await once(socket.resume(), 'close')
  t.ok(silent.slice(0, 20).every(({ destroyed }) => destroyed), 'the oldest are gone')
})

t.test('connections in use are not closed for new ones', async t => {
  const { port } = await start(t, { act: echo, maxConnections: 4 })
  const id = await handshake(port)
  const streams = await Promise.all([1, 2, 3, 4].map(() => dial(t, port)))
  for (const { socket, reader } of streams) {
    socket.write(`${head('GET', `mcp-session-id: ${id}\r\n`)}\r\n`)
    t.match(await reader.to('\r\n\r\n'), /^HTTP\/1\.1 200 /)
  }
  await t.rejects(ask(port, { body: initialize() }), 'there is no room for another')
  t.notOk(streams.some(({ reader }) => reader.ended))
})

t.test('IPv6 addresses of one network count as one client', t => {
  const cases = [
    ['2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff', true],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::', true],
    ['2001:db8::1', '2001:db8:0:0:1::', true],
    ['2001:db8:1:2::1', '2001:db8:1:3::1', false],
    ['::1', '1::', false],
    ['fe80::1%eth0', 'fe80::2%eth0', false],
    ['192.0.2.1', '192.0.2.2', false],
    ['192.0.2.1', '192.0.2.1', true],
    ['', '', true],
  ] as const
  for (const [one, other, same] of cases) {
    const [first, second] = [one, other]
      .map(address => quotaClientOf({ address, token: undefined, subject: undefined }))
    t.equal(first === second, same, `${one} and ${other}`)
  }
  t.notSame(
    quotaClientOf({ address: '::1', token: 0, subject: undefined }),
    quotaClientOf({ address: '::1', token: 1, subject: undefined }),
  )
  t.end()
})

/** How many places a client gets when it asks for as many as there are. */
const taken = (quota: Quota, client: string): number => {
  let count = 0
  while (quota.reserve(client)) count++
  return count
}

t.test('one client cannot take the last place of a quota', t => {
  const cases = [
    [1, [1, 0]], [2, [2, 0]], [10, [9, 1, 0]], [64, [58, 6, 0]], [70, [63, 7, 0]], [1000, [900, 90, 9, 1, 0]],
  ] as const
  for (const [max, shares] of cases) {
    const quota = new Quota(() => max)
    t.same(shares.map((_, client) => taken(quota, String(client))), shares, String(max))
  }
  t.end()
})

t.test('a place that is given back can be taken by any client', t => {
  const quota = new Quota(() => 2)
  t.equal(taken(quota, 'one'), 2)
  t.equal(quota.reserve('two'), false)
  quota.release('one')
  quota.release('three')
  t.equal(quota.reserve('two'), true)
  t.equal(taken(quota, 'one'), 0)
  t.end()
})

t.test('a lowered maximum refuses new places, and ends no old ones', t => {
  let max = 10
  const quota = new Quota(() => max)
  t.equal(taken(quota, 'one'), 9)
  max = 5
  t.equal(quota.reserve('two'), false)
  for (let i = 0; i < 6; i++) quota.release('one')
  t.equal(quota.reserve('two'), true)
  t.end()
})
