import t from 'tap'
import type { Exchange } from '#relay/core/vocabulary.js'
import { stdioExchange } from '#relay/core/event.js'
import { asks, Bench, frameOf, initialized, type Message, terms } from './modern.js'

const prefix = 'io.modelcontextprotocol/'
const form = (id: number, message = 'Who?'): Message => ({
  id, method: 'elicitation/create', params: { message, requestedSchema: { type: 'object', properties: {} } },
})
const call = (id: string | number, more: Record<string, unknown> = {}, meta: Record<string, unknown> = {}) =>
  asks(id, 'tools/call', { name: 'a', arguments: { x: 1 }, ...more }, meta)
const http = (name: string, context = 'c'): Exchange => ({ name, context })
const methods = (messages: readonly Message[]) => messages.map(({ method }) => method)
const codes = (messages: readonly Message[]) => messages.map(({ error }) => error?.code)
const serverInfo = { [`${prefix}serverInfo`]: { name: 'old', version: '2' } }

/** The handle of the last `input_required`, with its questions. */
const parked = (bench: Bench) => {
  const [message] = bench.atClient().slice(-1)
  const { resultType, requestState, inputRequests = {} } = message?.result ?? {}
  t.equal(resultType, 'input_required')
  return { requestState: String(requestState), keys: Object.keys(inputRequests as object) }
}

t.test('a server that refuses server/discover gets initialize, and the client its answer to discover', async t => {
  const bench = new Bench()
  bench.client(asks(0, 'server/discover')).client(asks(1, 'tools/list'))
  t.strictSame(methods(bench.atServer()), ['server/discover'])
  bench.server({ id: 0, error: { code: -32601, message: 'no' } })
  const [opening, ...more] = bench.atServer()
  t.strictSame([opening?.params, more], [{
    protocolVersion: '2025-11-25', capabilities: { roots: {}, sampling: {}, elicitation: { form: {}, url: {} } },
    clientInfo: { name: 'new', version: '1' },
  }, []])
  t.strictSame(bench.atClient(), [])
  bench.server({ id: opening?.id ?? '', result: initialized })
  t.strictSame(methods(bench.atServer()), ['notifications/initialized', 'tools/list'])
  t.strictSame(bench.atClient(), [{
    jsonrpc: '2.0', id: 0, result: {
      resultType: 'complete', supportedVersions: ['2026-07-28'], instructions: 'Ask.', ttlMs: 0,
      cacheScope: 'private',
      capabilities: {
        tools: { listChanged: true }, prompts: {}, logging: {},
        resources: { subscribe: true, listChanged: true },
      },
      _meta: serverInfo,
    },
  }])
  t.equal(bench.timers, 0)
})

t.test('a server of this era, or a legacy client, gets what it would get without a translator', async t => {
  const modern = new Bench()
  modern.client(asks(0, 'tools/list'))
  const [probe] = modern.atServer()
  t.equal(probe?.method, 'server/discover')
  modern.server({ id: probe?.id ?? '', result: { supportedVersions: ['2026-07-28'] } })
  t.strictSame([methods(modern.atServer()), modern.atClient()], [['tools/list'], []])
  t.equal(modern.isSameEra, true)
  const refuses = new Bench().client(asks(0, 'server/discover'))
  refuses.server({ id: 0, error: { code: -32022, message: 'no', data: {} } })
  t.strictSame([codes(refuses.atClient()), refuses.isSameEra], [[-32022], true])
  const legacy = new Bench().client({ id: 0, method: 'initialize', params: {} })
  t.strictSame([methods(legacy.atServer()), legacy.isSameEra], [['initialize'], true])
})

t.test('an answer that proves nothing is passed on and not remembered; silence is followed by initialize', async t => {
  const bench = new Bench().client(asks(0, 'server/discover'))
  bench.atServer()
  bench.server({ id: 0, result: { tools: [] } })
  t.strictSame([bench.atClient().length, bench.isSameEra], [1, false])
  bench.client(asks(1, 'server/discover')).pass(5000)
  t.strictSame(methods(bench.atServer()), ['server/discover', 'initialize'])
})

t.test('a server that refuses initialize too answers all that waited', async t => {
  const bench = new Bench().client(asks(0, 'server/discover')).client(asks('b', 'tools/list'))
  bench.server({ id: 0, error: { code: -32601, message: 'no' } })
  const [, opening] = bench.atServer()
  bench.server({ id: opening?.id ?? '', error: { code: -32000, message: 'never', data: { a: 1 } } })
  const error = { code: -32000, message: 'never', data: { a: 1 } }
  t.strictSame(bench.atClient(), [{ jsonrpc: '2.0', id: 0, error }, { jsonrpc: '2.0', id: 'b', error }])
})

t.test('a request loses the reserved keys of _meta, and a result gains what its revision requires', async t => {
  const bench = new Bench().open()
  bench.client(asks(1, 'resources/read', { uri: 'a:b' }, { mine: 12 }))
  t.strictSame(bench.atServer(), [
    { jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri: 'a:b', _meta: { mine: 12 } } },
  ])
  bench.server({ id: 1, result: { contents: [], resultType: 'input_required', _meta: { theirs: 1 } } })
  t.strictSame(bench.atClient(), [{
    jsonrpc: '2.0', id: 1, result: {
      contents: [], resultType: 'complete', _meta: { theirs: 1, ...serverInfo }, ttlMs: 0, cacheScope: 'private',
    },
  }])
  bench.client(call(2)).server({ id: 2, error: { code: -32602, message: 'x', data: { uri: 'a' } } })
  t.strictSame(bench.atClient(), [{ jsonrpc: '2.0', id: 2, error: { code: -32602, message: 'x', data: { uri: 'a' } } }])
})

t.test('the headers of a request are kept to be compared with the call, and do not reach the server', async t => {
  const bench = new Bench().open()
  const headers = new Map([['mcp-param-region', 'eu']])
  const frame = { ...frameOf(call(1)), envelope: { headers } }
  const actions = bench.translator.handle({ from: 'client', event: { type: 'frame', exchange: http('a'), frame } })
  const [sent] = (actions ?? []).flatMap(one => (one.type === 'report' && one.event.type === 'frame' ? [one.event.frame] : []))
  t.strictSame([sent?.envelope?.modernHeaders, sent?.envelope?.headers], [headers, undefined])
})

t.test('tools lose execution, and those that only run as tasks are left out', async t => {
  const bench = new Bench().open().client(asks(1, 'tools/list'))
  const tool = (
    name: string, taskSupport: string,
  ) => ({ name, inputSchema: { type: 'object' }, execution: { taskSupport } })
  bench.server({ id: 1, result: { tools: [tool('a', 'required'), tool('b', 'optional'), tool('c', 'required')] } })
  const [list] = bench.atClient()
  t.strictSame(list?.result?.['tools'], [{ name: 'b', inputSchema: { type: 'object' } }])
  t.equal(bench.others.filter(one => one === 'left-out').length, 2)
})

t.test('methods that the revision does not have, and requests without their terms, are refused', async t => {
  const bench = new Bench().open()
  bench.client(asks(1, 'ping')).client(asks(2, 'logging/setLevel')).client(asks(3, 'resources/subscribe'))
    .client(asks(4, 'initialize')).client(asks(5, 'tasks/get')).client({ id: 6, method: 'tools/list', params: {} })
    .client(asks(7, 'tools/list', {}, { [`${prefix}protocolVersion`]: '2027-01-01' }))
  t.strictSame(codes(bench.atClient()), [-32601, -32601, -32601, -32601, -32601, -32602, -32022])
  t.strictSame(bench.atServer(), [])
  bench.client(asks(8, 'own/method'))
  t.strictSame(methods(bench.atServer()), ['own/method'])
})

t.test('requests of two clients with the same ids and tokens keep apart', async t => {
  const bench = new Bench().open()
  const [a, b] = [http('a'), http('b')]
  bench.client(call(1, {}, { progressToken: 't' }), a).client(call(1, {}, { progressToken: 't' }), b)
  const [first, second] = bench.toServer.splice(0)
  t.not(first?.message.id, second?.message.id)
  const tokenOf = (
    params?: Record<string, unknown>,
  ) => (params?.['_meta'] as { progressToken?: unknown }).progressToken
  t.not(tokenOf(first?.message.params), tokenOf(second?.message.params))
  bench.server({ method: 'notifications/progress', params: { progressToken: tokenOf(second?.message.params), progress: 1 } })
  bench.server({ id: second?.message.id ?? '', result: { content: ['b'] } })
  t.strictSame(bench.atClientOn(a), [])
  t.match(bench.atClientOn(b), [{ params: { progressToken: 't' } }, { id: 1, result: { content: ['b'] } }])
  bench.server({ id: first?.message.id ?? '', result: { content: ['a'] } })
  t.match(bench.atClientOn(a), [{ id: 1, result: { content: ['a'] } }])
  t.equal(bench.others.filter(one => one === 'exchange-ended').length, 2)
})

t.test('a cancellation reaches the server under its own id, and a late answer nobody', async t => {
  const bench = new Bench().open().client(call(1)).client(call('1'))
  const [, second] = bench.atServer()
  bench.client({ method: 'notifications/cancelled', params: { requestId: '1' } })
  t.match(bench.atServer(), [{ method: 'notifications/cancelled', params: { requestId: second?.id } }])
  bench.server({ id: second?.id ?? '', result: {} })
  t.strictSame(bench.atClient(), [])
  const b = http('b')
  bench.client(call(2), b).leaves(b)
  t.match(bench.atServer(), [{ method: 'tools/call' }, { method: 'notifications/cancelled', params: { requestId: 2 } }])
})

t.test('a level is told to the server first, and messages go to the client that asked only', async t => {
  const bench = new Bench().open()
  const [a, b] = [http('a'), http('b')]
  const said = (level: string): Message => ({ method: 'notifications/message', params: { level, data: 1 } })
  bench.client(call(1, {}, { [`${prefix}logLevel`]: 'warning' }), a).client(call(2), b)
  const [level, other] = bench.atServer()
  t.match([level, other], [{ method: 'logging/setLevel', params: { level: 'warning' } }, { id: 2 }])
  bench.server({ id: level?.id ?? '', result: {} })
  t.match(bench.atServer(), [{ id: 1, method: 'tools/call' }])
  bench.server(said('info')).server(said('error'))
  t.match(bench.atClientOn(a), [{ params: { level: 'error' } }])
  t.strictSame(bench.atClientOn(b), [])
  bench.atClient()
  bench.client(call(3, {}, { [`${prefix}logLevel`]: 'error' }), b)
  bench.server(said('error'))
  t.strictSame(bench.atClient(), [])
})

t.test('streams are acknowledged first, and get what they asked for under their own id', async t => {
  const bench = new Bench().open()
  const wish = { toolsListChanged: true, promptsListChanged: true, resourceSubscriptions: ['a:1'] }
  bench.client(asks('l', 'subscriptions/listen', { notifications: wish }))
  const [subscribe] = bench.atServer()
  t.match(subscribe, { method: 'resources/subscribe', params: { uri: 'a:1' } })
  bench.server({ method: 'notifications/tools/list_changed' })
  t.strictSame(bench.atClient(), [])
  bench.server({ id: subscribe?.id ?? '', result: {} })
  const _meta = { [`${prefix}subscriptionId`]: 'l' }
  t.strictSame(bench.atClient(), [{
    jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged',
    params: { notifications: { toolsListChanged: true, resourceSubscriptions: ['a:1'] }, _meta },
  }])
  bench.client(asks('m', 'subscriptions/listen', { notifications: { resourceSubscriptions: ['a:1'] } }))
  t.strictSame([bench.atServer(), bench.atClient().length], [[], 1])
  bench.server({ method: 'notifications/resources/updated', params: { uri: 'a:1/part' } })
  bench.server({ method: 'notifications/tools/list_changed' })
    .server({ method: 'notifications/prompts/list_changed' })
  t.match(bench.atClient(), [
    { params: { uri: 'a:1/part', _meta } }, { params: { uri: 'a:1/part', _meta: { [`${prefix}subscriptionId`]: 'm' } } },
    { method: 'notifications/tools/list_changed', params: { _meta } },
  ])
  bench.client({ method: 'notifications/cancelled', params: { requestId: 'l' } })
  t.strictSame(bench.atServer(), [])
  bench.client({ method: 'notifications/cancelled', params: { requestId: 'm' } })
  t.match(bench.atServer(), [{ method: 'resources/unsubscribe', params: { uri: 'a:1' } }])
})

t.test('the questions of a call reach the client together, and its answers the server; nothing runs twice', async t => {
  const bench = new Bench().open().client(call(1))
  bench.server(form(7)).server({ id: '7', method: 'roots/list' })
  bench.atServer()
  t.strictSame(bench.atClient(), [])
  bench.pass(10)
  const { requestState, keys } = parked(bench)
  t.strictSame(keys, ['q7', 'q"7"'])
  t.ok(Buffer.byteLength(requestState) >= 3)
  bench.client(call(2, { requestState, inputResponses: { q7: { action: 'accept', content: { n: 1 } }, 'q"7"': { roots: [] } } }))
  t.strictSame(bench.atServer(), [
    { jsonrpc: '2.0', id: 7, result: { action: 'accept', content: { n: 1 } } }, { jsonrpc: '2.0', id: '7', result: { roots: [] } },
  ])
  bench.server({ id: 1, result: { content: [] } })
  t.match(bench.atClient(), [{ id: 2, result: { content: [], resultType: 'complete' } }])
  t.strictSame([bench.atServer(), bench.timers], [[], 0])
})

t.test('a handle belongs to one client, one call and its arguments, once', async t => {
  const bench = new Bench().open()
  bench.client(call(1), http('a', 'mine')).server(form(7), bench.toServer[0]?.exchange).pass(10)
  const { requestState } = parked(bench)
  const inputResponses = { q7: { action: 'decline' } }
  bench.atServer()
  const wrong: readonly (readonly [Message, Exchange])[] = [
    [call(2, { requestState, inputResponses }), http('b', 'other')],
    [call(2, { requestState, inputResponses, arguments: { x: 2 } }), http('b', 'mine')],
    [call(2, { requestState, inputResponses, name: 'b' }), http('b', 'mine')],
    [call(2, { requestState: `${requestState}x`, inputResponses }), http('b', 'mine')],
    [asks(2, 'prompts/get', { name: 'a', arguments: { x: 1 }, requestState, inputResponses }), http('b', 'mine')],
  ]
  for (const [message, exchange] of wrong) {
    bench.client(message, exchange)
    t.strictSame([codes(bench.atClient()), bench.atServer()], [[-32602], []])
  }
  bench.client(call(2, { requestState, inputResponses }), http('b', 'mine'))
  t.match(bench.atServer(), [{ id: 7, result: { action: 'decline' } }])
  bench.client(call(3, { requestState, inputResponses }), http('c', 'mine'))
  t.strictSame([codes(bench.atClient()), bench.atServer()], [[-32602], []])
})

t.test('a retry that never comes ends the call at the server, and its questions get an error', async t => {
  const bench = new Bench().open().client(call(1)).server(form(7)).pass(10)
  const { requestState } = parked(bench)
  bench.atServer()
  bench.pass(600_000)
  t.match(bench.atServer(), [
    { method: 'notifications/cancelled', params: { requestId: 1 } }, { id: 7, error: { code: -32601 } },
  ])
  bench.client(call(2, { requestState, inputResponses: {} })).server({ id: 1, result: {} })
  t.strictSame([codes(bench.atClient()), bench.timers], [[-32602], 0])
})

t.test('a client that ends leaves no call behind', async t => {
  const bench = new Bench().open().client(call(1)).server(form(7)).pass(10)
  bench.atServer()
  bench.ends()
  t.match(methods(bench.atServer()), ['notifications/cancelled', undefined])
  t.equal(bench.timers, 0)
})

t.test('an answer that comes while the call is parked waits for the retry; a second one is dropped', async t => {
  const bench = new Bench().open().client(call(1)).server(form(7)).pass(10)
  const { requestState } = parked(bench)
  bench.atServer()
  bench.server({ id: 1, result: { content: [1] } }).server({ id: 1, result: { content: [2] } })
  t.match([bench.atClient(), bench.atServer()], [[], [{ id: 7, error: { code: -32601 } }]])
  bench.client(call(2, { requestState, inputResponses: { q7: { action: 'accept' } } }))
  t.match([bench.atClient(), bench.atServer()], [[{ id: 2, result: { content: [1] } }], []])
  bench.server({ id: 1, result: { content: [3] } })
  t.strictSame(bench.atClient(), [])
})

t.test('a capability that the client did not declare: -32601 for the server, -32021 for the client', async t => {
  const none = { [`${prefix}clientCapabilities`]: {} }
  const cases: readonly (readonly [Message, object])[] = [
    [form(7), { elicitation: { form: {} } }],
    [{ id: 7, method: 'elicitation/create', params: { mode: 'url', message: 'x', url: 'x:', elicitationId: 'e' } },
      { elicitation: { url: {} } }],
    [{ id: 7, method: 'sampling/createMessage', params: { messages: [], tools: [] } }, { sampling: { tools: {} } }],
    [{ id: 7, method: 'roots/list' }, { roots: {} }],
  ]
  for (const [question, requiredCapabilities] of cases) {
    const bench = new Bench().open().client(call(1, {}, none))
    bench.atServer()
    bench.server(question)
    t.match(bench.atServer(), [{ id: 7, error: { code: -32601 } }, { method: 'notifications/cancelled' }])
    t.match(bench.atClient(), [{ id: 1, error: { code: -32021, data: { requiredCapabilities } } }])
    const refused = new Bench().open().client(call(1, {}, none))
    refused.atServer()
    refused.refused(question)
    t.match(refused.atServer(), [{ method: 'notifications/cancelled' }])
    t.match(refused.atClient(), [{ id: 1, error: { code: -32021, data: { requiredCapabilities } } }])
  }
})

t.test('an error that asks for URLs becomes input_required, and the retry a new call', async t => {
  const bench = new Bench().open().client(call(1))
  const elicitations = [{ mode: 'url', message: 'Visit', url: 'https://a/', elicitationId: 'e' }]
  bench.atServer()
  bench.server({ id: 1, error: { code: -32042, message: 'visit', data: { elicitations } } })
  const [asked] = bench.atClient()
  t.strictSame(asked?.result?.['inputRequests'], {
    url0: { method: 'elicitation/create', params: { mode: 'url', url: 'https://a/', message: 'Visit' } },
  })
  bench.client(call(2, { requestState: asked?.result?.['requestState'], inputResponses: { url0: { action: 'accept' } } }))
  t.match(bench.atServer(), [{ id: 2, method: 'tools/call', params: { name: 'a', arguments: { x: 1 } } }])
  bench.server({ id: 2, result: { content: [] } })
  t.match(bench.atClient(), [{ id: 2, result: { resultType: 'complete' } }])
})

t.test('questions that belong to no one call of one client are refused; those of an HTTP response are known', async t => {
  const bench = new Bench().open()
  bench.server(form(1))
  t.match(bench.atServer(), [{ id: 1, error: { code: -32601 } }])
  const [a, b] = [http('a'), http('b')]
  bench.client(call(1), a).client(call(1), b)
  const [, second] = bench.toServer.splice(0)
  bench.server(form(2)).pass(10)
  t.match([bench.atServer(), bench.atClient()], [[{ id: 2, error: { code: -32601 } }], []])
  bench.server(form(3), second?.exchange).pass(10)
  t.equal(bench.atClientOn(a).length, 0)
  t.match(bench.atClientOn(b), [{ id: 1, result: { resultType: 'input_required' } }])
})

t.test('10,000 questions are bounded, and each gets an answer', async t => {
  const bench = new Bench().open().client(call(1))
  bench.atServer()
  for (let id = 10; id < 10_010; id++) bench.server(form(id, 'x'.repeat(200)))
  bench.pass(10)
  const { requestState, keys } = parked(bench)
  t.equal(keys.length, 32)
  t.equal(bench.atServer().length, 10_000 - 32)
  bench.client(call(2, { requestState, inputResponses: Object.fromEntries(keys.map(key => [key, { action: 'cancel' }])) }))
  t.equal(bench.atServer().length, 32)
})

t.test('what is kept is bounded: ids, tokens, and the bytes of questions', async t => {
  const bench = new Bench().open()
  bench.client(call('x'.repeat(2000))).client(asks('y'.repeat(2000), 'subscriptions/listen', { notifications: {} }))
  t.strictSame([codes(bench.atClient()), bench.atServer()], [[-31000, -31000], []])
  bench.client(call(1, {}, { progressToken: 'z'.repeat(2000) }))
  bench.server({ method: 'notifications/progress', params: { progressToken: 'z'.repeat(2000), progress: 1 } })
  t.strictSame(bench.atClient(), [])
  bench.atServer()
  for (let id = 1; id <= 20; id++) bench.server(form(id, 'm'.repeat(1024 * 1024)))
  t.equal(bench.atServer().length, 5, 'the rest is refused')
})

t.test('a response of a client never answers a question, and a batch is no message', async t => {
  const bench = new Bench().open().client(call(1)).server(form(7)).pass(10)
  bench.atServer()
  bench.client({ id: 7, result: { action: 'accept' } }, http('x'))
  t.strictSame(bench.atServer(), [])
  bench.server({ id: 9, method: 'ping' })
  t.strictSame(bench.atServer(), [{ jsonrpc: '2.0', id: 9, result: {} }])
  t.match(terms(), {})
})

t.test('a stream that wishes for very many URIs is refused, and the session goes on', t => {
  const bench = new Bench().open()
  const resourceSubscriptions = Array.from({ length: 300_000 }, () => 0)
  bench.client(asks('l', 'subscriptions/listen', { notifications: { resourceSubscriptions } }))
  t.match(bench.atClient(), [{ id: 'l', error: { code: -31000 } }])
  bench.client(asks('m', 'subscriptions/listen', { notifications: { resourceSubscriptions: [] } }))
  t.match(bench.atClient(), [{ method: 'notifications/subscriptions/acknowledged' }])
  t.end()
})

t.test('a list of tools is answered before it is told that one was left out', t => {
  const bench = new Bench().open()
  bench.client(asks(1, 'tools/list'))
  const [asked] = bench.atServer()
  const actions = bench.translator.handle({
    from: 'relay', type: 'frame', exchange: stdioExchange, frame: frameOf({
      id: asked?.id ?? '', result: { tools: [{ name: 'a', inputSchema: {}, execution: { taskSupport: 'required' } }] },
    }),
  })
  t.strictSame(actions?.map(({ type }) => type), ['send', 'left-out'])
  t.end()
})
