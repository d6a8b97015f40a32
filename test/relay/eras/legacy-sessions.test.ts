import type { Exchange } from '#relay/core/vocabulary.js'
import t from 'tap'
import { stdioExchange } from '#relay/core/event.js'
import { LegacySessions } from '#relay/eras/legacy-sessions.js'
import type { Frame } from '#relay/protocol/frame.js'
import type { Transport, TransportEvent } from '#relay/transport/transport.js'
import { asks, frameOf, type Message } from './modern.js'

const prefix = 'io.modelcontextprotocol/'

/** A session at a server, as far as the test plays it. */
interface Played {
  readonly client: Transport
  readonly kind: 'alone' | 'shared'
  readonly got: string[]
  /** The request that asks for the era. */
  asked: unknown
  /** The exchange of the request that asks for the era. */
  probe: Exchange
}

/** HTTP requests of clients, and the sessions that they are given to. */
const play = () => {
  let report: (event: TransportEvent) => void = () => undefined
  const sent: Frame[] = []
  const sessions: Played[] = []
  let closed = 0
  let completed = 0
  const statuses: number[] = []
  const client: Transport = {
    start: onEvent => void (report = onEvent),
    send: (_, frame) => sent.push(frame) > 0,
    complete: () => {
      completed++
    },
    hand: event => event.type === 'head' && statuses.push(event.status) > 0,
    pause: () => undefined,
    resume: () => undefined,
    close: () => Promise.resolve(),
  }
  const open = (kind: Played['kind']) => (port: Transport) => {
    const session: Played = { client: port, kind, got: [], asked: undefined, probe: stdioExchange }
    sessions.push(session)
    port.start(event => {
      if (event.type !== 'frame') return void session.got.push(event.type)
      const { message } = event.frame
      if (message.kind === 'request' && message.method === 'server/discover') {
        session.probe = event.exchange
        session.asked = message
      }
      session.got.push(message.kind === 'request' ? message.method : message.kind)
    })
  }
  new LegacySessions({
    client, openAlone: open('alone'), openShared: open('shared'), closed: () => {
      closed++
    },
  }).start()
  let names = 0
  return {
    sessions, sent, statuses,
    get closed() { return closed },
    get completed() { return completed },
    tell: (event: TransportEvent) => report(event),
    ask: (message: Message): Exchange => {
      const exchange = { name: `http-${++names}`, context: 'c' }
      report({ type: 'frame', exchange, frame: frameOf(message) })
      return exchange
    },
    /** The session answers the request that asks for the era. */
    answers: (session: Played | undefined, message: Message, relayMade = false) =>
      session?.client.send(session.probe, { ...frameOf({ id: 'era', ...message }), ...(relayMade && { relayMade }) }),
  }
}

const able = (capabilities: object) => ({ [`${prefix}clientCapabilities`]: capabilities })
const translated = { result: { resultType: 'complete', supportedVersions: ['2026-07-28'] } }

t.test('a legacy server gets one session for each set of capabilities, and no more than four', async t => {
  const world = play()
  const sets = [{}, { roots: {} }, { sampling: {} }, { elicitation: {} }]
  for (const [index, capabilities] of sets.entries()) {
    world.ask(asks(1, 'tools/list', {}, able(capabilities)))
    world.ask(asks(1, 'prompts/list', {}, able(capabilities)))
    t.strictSame(world.sessions[index]?.got, ['server/discover'], 'the others wait')
    world.answers(world.sessions[index], translated, true)
    t.strictSame(world.sessions[index]?.got, ['server/discover', 'exchange-ended', 'tools/list', 'prompts/list'])
  }
  world.ask(asks(1, 'tools/list', {}, able({ roots: {}, sampling: {} })))
  t.match(world.sent.map(({ message }) => message), [{ kind: 'error', error: { code: -31000 } }])
  const unknown = { ...able({ roots: {} }), ...able({ roots: { a: 1 }, other: {} }) }
  world.ask(asks(2, 'tools/call', {}, unknown))
  t.equal(world.sessions[1]?.got.at(-1), 'tools/call', 'what cannot be carried makes no difference')
  t.strictSame(world.sessions.map(({ kind }) => kind), ['alone', 'alone', 'alone', 'alone'])
})

t.test('a server of 2026-07-28 has one session for all; what proves nothing is asked again', async t => {
  const modern = play()
  modern.ask(asks(1, 'tools/list'))
  modern.answers(modern.sessions[0], translated)
  const left = modern.ask(asks(1, 'tools/list', {}, able({ roots: {} })))
  modern.tell({ type: 'exchange-ended', exchange: left })
  t.strictSame(modern.sessions.map(({ kind }) => kind), ['alone', 'shared'])
  t.strictSame(modern.sessions[0]?.got, ['server/discover', 'exchange-ended', 'ended'])
  t.strictSame(modern.sessions[1]?.got, ['tools/list', 'tools/list', 'exchange-ended'])
  const silent = play()
  const asked = silent.ask(asks(1, 'tools/list'))
  silent.answers(silent.sessions[0], { error: { code: -31001, message: 'mcp-customs: HTTP 503' } }, true)
  silent.tell({ type: 'exchange-ended', exchange: asked })
  silent.ask(asks(1, 'tools/list'))
  t.strictSame(silent.sessions.map(({ kind }) => kind), ['alone', 'shared', 'alone'])
  t.strictSame(silent.sessions[1]?.got, ['tools/list', 'exchange-ended', 'ended'])
})

t.test('a request that lacks its terms asks for the era with terms of the relay', async t => {
  const world = play()
  const { message, ...rest } = frameOf({ id: 1, method: 'tools/list', params: {} })
  const envelope = { headers: new Map([['mcp-protocol-version', '2026-07-28']]) }
  world.tell({ type: 'frame', exchange: { name: 'http-1', context: 'c' }, frame: { ...rest, message, envelope } })
  t.match(world.sessions[0]?.asked, { params: { _meta: {
    [`${prefix}protocolVersion`]: '2026-07-28', [`${prefix}clientCapabilities`]: {},
  } } })
})

t.test('a session that has ended is followed by another, and the end of the clients ends all', async t => {
  const world = play()
  world.ask(asks(1, 'tools/list'))
  world.answers(world.sessions[0], translated, true)
  await world.sessions[0]?.client.close()
  world.ask(asks(1, 'tools/list'))
  t.equal(world.sessions.length, 2)
  world.answers(world.sessions[1], translated, true)
  const headers = new Map([['mcp-protocol-version', '2026-07-28']])
  const frame = { ...frameOf({ method: 'notifications/cancelled' }), envelope: { headers } }
  world.tell({ type: 'frame', exchange: { name: 'http-n' }, frame })
  world.tell({ type: 'bare-request', exchange: { name: 'http-m' }, method: 'GET', headers })
  t.strictSame([world.completed, world.statuses], [2, [405]], 'neither belongs to a session')
  world.tell({ type: 'ended', reason: 'over' })
  t.strictSame([world.sessions[1]?.got.at(-1), world.closed], ['ended', 0])
  await world.sessions[1]?.client.close()
  t.equal(world.closed, 1)
})

t.test('legacy clients without a session share one, and nothing is asked for them', async t => {
  const world = play()
  const asked = world.ask({ id: 1, method: 'tools/list', params: {} })
  world.tell({ type: 'bare-request', exchange: { name: 'http-g' }, method: 'GET', headers: new Map() })
  t.strictSame(world.sessions.map(({ kind, got }) => [kind, got]), [['shared', ['tools/list', 'bare-request']]])
  world.tell({ type: 'exchange-ended', exchange: asked })
  world.ask({ method: 'notifications/initialized' })
  t.equal(world.sessions.length, 1)
})

t.test('when a session ends, each request that it has not answered gets an error, and only one answer', async t => {
  const world = play()
  const answered = world.ask(asks(1, 'tools/list'))
  world.answers(world.sessions[0], translated, true)
  world.sessions[0]?.client.send(answered, frameOf({ id: 1, result: {} }))
  world.ask(asks('L', 'subscriptions/listen', { notifications: {} }))
  const left = world.ask(asks(2, 'tools/call'))
  world.tell({ type: 'exchange-ended', exchange: left })
  await world.sessions[0]?.client.close()
  t.match(world.sent.map(({ message }) => message), [
    { kind: 'result', id: 1 }, { kind: 'error', id: 'L', error: { code: -31001 } },
  ])
  t.equal(world.sent.length, 2)
})

t.test('a session that ends before it shows the era of its server holds nothing up', async t => {
  const world = play()
  world.ask(asks(1, 'tools/list'))
  world.ask(asks(2, 'tools/list'))
  await world.sessions[0]?.client.close()
  t.match(world.sent.map(({ message }) => message), [
    { kind: 'error', id: 1, error: { code: -31001 } }, { kind: 'error', id: 2, error: { code: -31001 } },
  ])
  world.ask(asks(3, 'tools/list'))
  t.strictSame(world.sessions[1]?.got, ['server/discover'], 'the next request asks again')
  world.answers(world.sessions[0], translated, true)
  t.strictSame(world.sessions[1]?.got, ['server/discover'], 'a late answer is none')
})
