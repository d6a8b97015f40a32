import t, { type Test } from 'tap'
import { exchangeNamed, stdioExchange } from '#relay/core/event.js'
import type { Exchange } from '#relay/core/vocabulary.js'
import { MergeSession } from '#relay/host/merge/session.js'
import { limitsFor } from '#relay/profiles/limits.js'
import { realTimers } from '#relay/transport/timers.js'
import type { Transport, TransportEvent } from '#relay/transport/transport.js'
import { ManualTimers } from '../../transport/timers.js'
import { frameOf, type Answers, type Message, type Params, serverWith, tool } from './harness.js'

const holdMs = 1000

/** One end of the session. */
class End implements Transport {
  isSlow = false
  isPaused = false
  readonly got: Message[] = []
  report: (event: TransportEvent) => void = () => undefined

  constructor(private readonly answers: Answers = {}) {}

  start(onEvent: (event: TransportEvent) => void): void {
    this.report = onEvent
  }

  send(exchange: Exchange, { bytes }: ReturnType<typeof frameOf>): boolean {
    const message = JSON.parse(bytes.toString()) as Message
    this.got.push(message)
    const result = this.answers[String(message['method'])]?.((message['params'] ?? {}) as Params, message)
    if (result !== undefined) this.say(exchange, { jsonrpc: '2.0', id: message['id'], result })
    return !this.isSlow
  }

  say(exchange: Exchange, message: Message): void {
    this.report({ type: 'frame', exchange, frame: frameOf(message) })
  }

  pause(): void {
    this.isPaused = true
  }

  resume(): void {
    this.isPaused = false
  }

  close(): Promise<void> {
    return Promise.resolve()
  }
}

/** A session with the servers a and b, whose client has called a tool of each. */
const begun = (t: Test, isStateless: boolean) => {
  const timers = new ManualTimers()
  const clock = { now: 0 }
  const real = { ...realTimers }
  Object.assign(realTimers, {
    now: () => clock.now, after: (ms: number, act: () => void) => timers.after(ms, act),
  })
  t.teardown(() => void Object.assign(realTimers, real))
  const client = new End()
  const legs = new Map(['a', 'b'].map(name => [name, new End({
    ...serverWith(name, { tools: [tool('x')], isModern: true }), 'tools/call': () => undefined,
  })]))
  const session = new MergeSession({
    servers: [...legs.keys()].map(name => ({ name, prefix: name })), separator: '__',
    limitsOf: limitsFor([], 'mcp-customs'), listMs: 30_000, maxItems: 1000, maxBytes: 1024 * 1024,
    serverInfo: { name: 'mcp-customs', version: '1' }, nonce: 'nonce', isStateless, hasExchanges: true,
    translates: true, client, connect: name => legs.get(name) ?? new End(),
    missing: () => undefined, found: () => undefined, failed: cause => t.fail(String(cause)),
  })
  session.start()
  const _meta = isStateless ? { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } : {}
  if (!isStateless) {
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } }
    client.say(exchangeNamed('begin'), { jsonrpc: '2.0', id: 0, method: 'initialize', params })
  }
  const exchanges = ['a', 'b'].map((name, id) => {
    const exchange = exchangeNamed(name)
    const params = { _meta: { ..._meta, progressToken: name }, name: `${name}__x` }
    client.say(exchange, { jsonrpc: '2.0', id: id + 1, method: 'tools/call', params })
    return exchange
  })
  const progress = (name: string) => {
    const leg = legs.get(name)
    const id = leg?.got.find(({ method }) => method === 'tools/call')?.['id']
    leg?.say(stdioExchange, {
      jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: id, progress: 1 },
    })
  }
  return {
    client, legs, timers, clock, exchanges, progress, session,
    paused: () => [...legs].flatMap(([name, { isPaused }]) => (isPaused ? [name] : [])),
  }
}

t.test('of several clients, one that does not read holds the others up for a while only', async t => {
  const { client, timers, clock, exchanges: [one, other], progress, paused, session } = begun(t, true)
  client.isSlow = true
  progress('a')
  t.strictSame(paused(), ['a', 'b'])
  clock.now += holdMs
  timers.fire(holdMs)
  t.strictSame(paused(), [])
  progress('a')
  t.strictSame(paused(), [], 'who does not read at all holds nobody up again')
  const count = client.got.length
  progress('b')
  t.equal(client.got.length, count + 1, 'what comes for the others is sent')
  if (one !== undefined) client.report({ type: 'exchange-ended', exchange: one })
  if (other !== undefined) client.report({ type: 'drained', exchange: other })
  clock.now += holdMs
  progress('b')
  t.strictSame(paused(), ['a', 'b'], 'from anew')
  session.stop()
  t.strictSame(paused(), [])
  await session.ended
})

t.test('a client alone in its session holds its servers up until it reads', t => {
  const { client, timers, exchanges: [one], progress, paused } = begun(t, false)
  client.isSlow = true
  progress('a')
  t.strictSame(paused(), ['a', 'b'])
  timers.fire(holdMs)
  t.strictSame(paused(), ['a', 'b'])
  if (one !== undefined) client.report({ type: 'drained', exchange: one })
  t.strictSame(paused(), [])
  t.end()
})
