import type { Exchange, HttpEvent } from '#relay/core/vocabulary.js'
import t from 'tap'
import { exchangeNamed } from '#relay/core/event.js'
import type { EraAction } from '#relay/eras/translator.js'
import { discovered, frameOf, initialize, Play, refused } from './play.js'

const given = new Map([
  ['authorization', 'Bearer a'], ['mcp-session-id', 'its'], ['mcp-protocol-version', '2025-11-25'], ['last-event-id', '7'],
])

/** Plays a client whose requests have exchanges of their own, in front of an HTTP server. */
class HttpPlay extends Play {
  #last = 0

  post(message: object, headers: ReadonlyMap<string, string> = given): Exchange {
    const exchange = { ...exchangeNamed(`http-${++this.#last}`), context: 'who' }
    const frame = { ...frameOf(message), envelope: { headers } }
    this.event({ from: 'client', event: { type: 'frame', exchange, frame } })
    return exchange
  }

  bare(method: 'GET' | 'DELETE'): Exchange {
    const exchange = exchangeNamed(`http-${++this.#last}`)
    this.event({ from: 'client', event: { type: 'bare-request', exchange, method, headers: given } })
    return exchange
  }

  hand(event: HttpEvent): void {
    this.event({ from: 'relay', type: 'hand', event })
  }

  /** The exchange of the newest frame for the relay. */
  get newest(): Exchange {
    const sent = this.toServer.at(-1)
    if (sent === undefined) throw new Error('nothing was sent')
    return sent.exchange
  }

  of<Type extends EraAction['type']>(type: Type): readonly Extract<EraAction, { readonly type: Type }>[] {
    return this.actions.filter((one): one is Extract<EraAction, { readonly type: Type }> => one.type === type)
  }

  /** The exchanges of ours that ended. */
  get over(): readonly Exchange[] {
    return this.of('report').flatMap(({ event }) => (event.type === 'exchange-ended' ? [event.exchange] : []))
  }
}

const head = (exchange: Exchange, status: number): HttpEvent => ({ type: 'head', exchange, status, headers: new Map() })

const begin = (): HttpPlay => {
  const play = new HttpPlay({ newSessionId: () => 'session-of-ours' })
  const exchange = play.post(initialize)
  play.hand(head(exchange, 400))
  play.server(refused(), exchange)
  play.hand({ type: 'stream-ended', exchange, resumable: false })
  play.server(discovered(play.toServer.at(-1)?.message.id), play.newest)
  return play
}

t.test('the relay issues the session id; the server\'s refusal and its status go nowhere', t => {
  const play = begin()
  const [sent, ...more] = play.of('send')
  t.same(more, [])
  t.same(sent?.frame.envelope?.response?.headers, new Map([['mcp-session-id', ['session-of-ours']]]))
  t.same(play.of('hand'), [])
  const discover = play.of('report').find(({ event }) => event.type === 'frame' && event.exchange.name !== 'http-1')
  if (discover?.event.type !== 'frame') throw new Error('no discover')
  t.same(discover.event.frame.envelope?.headers, new Map([
    ['authorization', 'Bearer a'], ['mcp-protocol-version', '2026-07-28'],
  ]))
  t.equal(discover.event.frame.envelope?.translatedFrom, '2025-11-25')
  t.equal(discover.event.exchange.context, 'who', 'of the same authorization context')
  t.equal(play.over.length, 1)
  t.end()
})

t.test('a refusal with an HTTP status passes whole where no translation begins', t => {
  const play = new HttpPlay({ newSessionId: () => 'x' })
  const exchange = play.post(initialize)
  play.hand(head(exchange, 400))
  t.same(play.of('hand'), [], 'until it is known what it means')
  play.server({ id: 0, error: { code: -32600, message: 'no' } }, exchange)
  t.same(play.actions.slice(-2).map(({ type }) => type), ['hand', 'send'])
  const response = play.post({ id: 7, result: {} })
  play.hand(head(response, 502))
  play.event({ from: 'relay', type: 'complete', exchange: response })
  t.same(play.actions.slice(-2).map(({ type }) => type), ['hand', 'complete'])
  const empty = play.post({ id: 1, method: 'tools/list' })
  play.hand(head(empty, 401))
  play.hand({ type: 'stream-ended', exchange: empty, resumable: false })
  t.same(play.actions.slice(-2).map(one => (one.type === 'hand' ? one.event.type : one.type)), ['head', 'stream-ended'])
  t.end()
})

t.test('each request has an exchange of its own, and only a cancellation ends it early', t => {
  const play = begin()
  const call = { id: 1, method: 'tools/call', params: { name: 'a' } }
  const exchange = play.post(call)
  const own = play.newest
  t.not(own, exchange)
  play.event({ from: 'client', event: { type: 'exchange-ended', exchange } })
  t.notOk(play.over.includes(own), 'a connection that is lost cancels nothing')
  play.post({ ...call, id: 2 })
  const second = play.newest
  const cancelling = play.post({ method: 'notifications/cancelled', params: { requestId: 2 } })
  t.ok(play.over.includes(second), 'the server\'s stream is closed')
  t.ok(play.of('complete').some(one => one.exchange === cancelling))
  play.server({ id: 2, result: {} }, second)
  t.notOk(play.of('send').some(({ frame }) => frame.message.kind === 'result' && frame.message.id === 2))
  t.end()
})

t.test('an error of the server has the status of legacy revisions; a challenge keeps its own', t => {
  const play = begin()
  play.post({ id: 1, method: 'no/such' })
  play.hand(head(play.newest, 404))
  play.server({ id: 1, error: { code: -32601, message: 'Method not found' } }, play.newest)
  t.same(play.of('hand'), [])
  const exchange = play.post({ id: 2, method: 'tools/list' })
  play.hand(head(play.newest, 401))
  const page = { kind: 'page' as const, key: '2', text: 'log in' }
  play.event({ from: 'relay', type: 'frame', exchange: play.newest, frame: {
    bytes: Buffer.from('"log in"'), message: page, faults: [],
  } })
  t.same(play.of('hand').map(({ event }) => event), [head(exchange, 401)])
  t.end()
})

t.test('a stream of the server is read to its end', t => {
  const play = begin()
  play.post({ id: 1, method: 'tools/list' })
  const own = play.newest
  play.hand(head(own, 200))
  play.server({ method: 'notifications/progress', params: { progressToken: 1, progress: 1 } }, own)
  play.server({ id: 1, result: { tools: [] } }, own)
  t.notOk(play.over.includes(own))
  play.hand({ type: 'stream-ended', exchange: own, resumable: false })
  t.ok(play.over.includes(own))
  t.match(play.got().slice(-2), [{ method: 'notifications/progress' }, { id: 1 }])
  t.end()
})

t.test('GET opens a stream for what answers no request; DELETE ends the session', t => {
  const play = begin()
  play.post({ method: 'notifications/initialized' })
  const [listen, own] = [play.toServer.at(-1)?.message, play.newest]
  const said = (method: string) => ({ method, params: { _meta: { 'io.modelcontextprotocol/subscriptionId': listen?.id } } })
  play.server(said('notifications/subscriptions/acknowledged'), own)
  play.got()
  play.server(said('notifications/tools/list_changed'), own).server(said('notifications/tools/list_changed'), own)
  t.same(play.got(), [], 'it waits for a stream')
  const stream = play.bare('GET')
  t.match(play.of('hand').at(-1)?.event, { type: 'head', status: 200, exchange: stream })
  t.same(play.toClient.splice(0), [
    { exchange: stream, message: { method: 'notifications/tools/list_changed', params: {} } },
  ], 'once')
  play.event({ from: 'client', event: { type: 'exchange-ended', exchange: stream } })
  play.server(said('notifications/tools/list_changed'), own)
  t.same(play.got(), [])
  const end = play.bare('DELETE')
  t.match(play.of('hand').at(-1)?.event, { status: 200, exchange: end })
  t.equal(play.of('complete').at(-1)?.exchange, end)
  t.same(play.taken().filter(({ method }) => method === undefined), [], 'the server hears nothing of it')
  t.end()
})

t.test('a session that this relay does not know is 404, so that its client begins anew', t => {
  const play = new HttpPlay({ newSessionId: () => 'x' })
  const exchange = play.post({ id: 5, method: 'tools/list' })
  play.hand(head(exchange, 400))
  play.server(refused(5), exchange)
  t.equal(play.of('send')[0]?.frame.envelope?.response?.status, 404)
  t.match(play.got(), [{ id: 5, error: { code: -32001 } }])
  t.same(play.of('hand'), [])
  t.end()
})

t.test('a batch of 2025-03-26 is taken apart', t => {
  const play = begin()
  play.taken()
  play.got()
  const batch = { bytes: Buffer.alloc(0), faults: [], message: {
    kind: 'batch' as const, members: [frameOf({ id: 1, method: 'ping' }), frameOf({ id: 2, method: 'tools/list' })],
  } }
  const exchange = exchangeNamed('batch')
  play.event({ from: 'client', event: { type: 'frame', exchange, frame: batch } })
  t.match(play.taken(), [{ id: 2, method: 'tools/list' }])
  play.server({ id: 2, result: { tools: [] } }, play.of('report').flatMap(({ event }) =>
    (event.type === 'frame' ? [event.exchange] : [])).at(-1))
  t.same(play.toClient.map(one => [one.exchange.name, one.message.id]), [['batch', 1], ['batch', 2]])
  t.end()
})
