import t from 'tap'
import { stdioExchange } from '#relay/core/event.js'
import { ask, begin, echo, frameOf, Reader, result, start, post, textOf } from '../harness.js'
import { ManualTimers } from '../../timers.js'

const envelope =
  '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'
const request = (method: string) => `{"jsonrpc":"2.0","id":1,"method":"${method}","params":{${envelope}}}`
const headersOf =
  (method: string) => ({ ...post, 'mcp-protocol-version': '2026-07-28', 'mcp-method': method })
const ping = { headers: headersOf('ping'), body: request('ping') }
const listen = { headers: headersOf('subscriptions/listen'), body: request('subscriptions/listen') }
const note = (method: string) => `{"jsonrpc":"2.0","method":"${method}"}`
const event = (text: string) => `data: ${text}\n\n`
const answer = '{"jsonrpc":"2.0","id":1,"result":{}}'

t.test('modern clients of a stdio server share one session, whatever their request ids', async t => {
  const { port, session, sessions } = await start(t)
  const first = begin(port, ping)
  const opened = await session(0)
  t.match(opened.opening, { kind: 'stateless' })
  const { exchange: one } = await opened.until('frame')
  const second = begin(port, ping)
  const { exchange: two } = await opened.until('frame')
  t.not(one, two)
  opened.transport.send(stdioExchange, frameOf(note('to-nobody')))
  opened.transport.send(two, frameOf(note('to-the-second')))
  opened.transport.send(one, result('1'))
  opened.transport.send(two, result('1'))
  t.equal(await textOf(await first), answer)
  t.equal(await textOf(await second), event(note('to-the-second')) + event(answer))
  t.equal((await first).headers['mcp-session-id'], undefined)
  t.equal(sessions.length, 1)
})

t.test('modern clients of a stdio server are divided only by the relay\'s own tokens', async t => {
  for (const [tokens, expected] of [[[], 1], [[{ token: 'a' }, { token: 'b' }], 2]] as const) {
    const { port, sessions } = await start(t, { act: echo, tokens })
    for (const [token, cookie] of [['a', '1'], ['b', '1'], ['a', '2']] as const) {
      t.equal((await ask(
        port, { ...ping, headers: { ...ping.headers, authorization: `Bearer ${token}`, cookie } },
      )).status, 200)
    }
    t.equal(sessions.length, expected)
  }
})

t.test('requests after a replacement go to the new server; the old session ends with its last response', async t => {
  const { port, session, sessions, front } = await start(t)
  const waiting = begin(port, ping)
  const old = await session(0)
  const { exchange } = await old.until('frame')
  front.offer(new Map([['/mcp', { server: 'stdio', open: ({ transport }) => {
    transport.start(event => {
      if (event.type === 'frame') {
        transport.send(event.exchange, frameOf('{"jsonrpc":"2.0","id":1,"result":{"new":true}}'))
      }
    })
  } }]]))
  t.match(await ask(port, ping), { body: /"new":true/ })
  old.transport.send(exchange, result('1'))
  t.equal(await textOf(await waiting), answer)
  t.match(await old.until('ended'), { reason: 'the server was replaced' })
  t.equal(sessions.length, 1)
})

t.test('a session that is idle when its server is replaced ends at once', async t => {
  const { port, session, front } = await start(t, { act: echo })
  await ask(port, ping)
  const old = await session(0)
  await old.until('exchange-ended')
  front.offer(new Map([['/mcp', { server: 'stdio', open: () => undefined }]]))
  t.match(await old.until('ended'), { reason: 'the server was replaced' })
})

t.test('a session that has only a subscription when its server is replaced ends with it', async t => {
  const { port, session, front } = await start(t)
  const subscribed = begin(port, listen)
  const old = await session(0)
  await old.until('frame')
  front.offer(new Map([['/mcp', { server: 'stdio', open: () => undefined }]]))
  t.match(await old.until('ended'), { reason: 'the server was replaced' })
  await textOf(await subscribed)
})

t.test('a subscription does not keep the relay from stopping', async t => {
  const { port, session, front } = await start(t, { timers: new ManualTimers() })
  const subscribed = begin(port, listen)
  const opened = await session(0)
  const { exchange } = await opened.until('frame')
  opened.transport.send(exchange, frameOf(note('notifications/subscriptions/acknowledged')))
  const stream = new Reader(await subscribed)
  const stopped = front.close(5000)
  t.equal(await stream.rest(), event(note('notifications/subscriptions/acknowledged')))
  t.match(await opened.until('exchange-ended'), { exchange })
  await stopped
})

t.test('while the stdio server does not read, bodies are not read', async t => {
  const { port, session } = await start(t, { act: echo })
  await ask(port, ping)
  const { transport, told } = await session(0)
  const frames = () => told.filter(({ type }) => type === 'frame').length
  transport.pause(stdioExchange)
  const waiting = ask(port, ping)
  t.equal(
    (await ask(port, { body: '{"jsonrpc":"2.0","id":2,"method":"ping"}' })).status, 400, 'others are heard',
  )
  t.equal(frames(), 1)
  transport.resume(stdioExchange)
  t.equal((await waiting).status, 200)
  t.equal(frames(), 2)
})

t.test('a slow client of a shared session is cut off, and the others go on', async t => {
  const { port, session } = await start(t, { timers: new ManualTimers() })
  const slow = begin(port, listen)
  const opened = await session(0)
  const { exchange } = await opened.until('frame')
  const quick = begin(port, ping)
  const other = await opened.until('frame')
  const large = { ...frameOf(note('x')), bytes: Buffer.alloc(1 << 20, 32) }
  opened.transport.send(exchange, large)
  ;(await slow).pause()
  let sent = 0
  while (!opened.told.some(({ type }) => type === 'exchange-ended')) {
    opened.transport.send(exchange, large)
    sent++
    await new Promise<void>(resolve => setImmediate(resolve))
  }
  t.ok(sent >= 16, `${sent} megabytes were kept for it`)
  t.ok(sent < 64, `${sent} megabytes`)
  opened.transport.send(other.exchange, result('1'))
  t.equal(await textOf(await quick), answer)
})
