import t from 'tap'
import { begun, discovered, initialize, type Message, Play, refused } from './play.js'

const prefix = 'io.modelcontextprotocol/'
const last = <One>(all: readonly One[]): One | undefined => all.at(-1)

t.test('within one era everything passes, and nothing is sent', t => {
  const play = new Play()
  play.client(initialize).server({ id: 0, result: { protocolVersion: '2025-11-25', capabilities: {} } })
  play.client({ id: 1, method: 'tools/list' }).server({ id: 1, result: { tools: [] } })
  play.client({ id: 2, method: 'nope' }).server({ id: 2, error: { code: -32601, message: 'no' } })
  t.equal(play.taken().length, 3)
  t.equal(play.got().length, 3)
  t.ok(play.actions.every(({ type }) => type === 'report' || type === 'send'))
  t.end()
})

t.test('a refusal that names 2026-07-28 begins the translation', t => {
  const play = new Play()
  play.client(initialize)
  t.same(play.taken(), [initialize], 'the handshake goes to the server as it is')
  play.server(refused())
  const [discover] = play.taken()
  t.match(discover, {
    method: 'server/discover', params: {
      _meta: {
        [`${prefix}protocolVersion`]: '2026-07-28', [`${prefix}clientInfo`]: initialize.params.clientInfo,
        [`${prefix}clientCapabilities`]: initialize.params.capabilities,
      },
    },
  })
  t.same(play.got(), [], 'the client hears nothing of the refusal')
  play.server(discovered(discover?.id, { instructions: 'Do "this"' }))
  t.same(play.got(), [{
    id: 0, result: {
      protocolVersion: '2025-11-25', capabilities: { tools: { listChanged: true }, resources: { subscribe: true }, logging: {} },
      serverInfo: { name: 'new', version: '2' }, instructions: 'Do "this"',
    },
  }])
  t.match(play.actions.find(({ type }) => type === 'began'), { client: '2025-11-25', server: '2026-07-28' })
  t.end()
})

t.test('another refusal is asked about only where it may come from a modern server', t => {
  const cases: readonly [error: object, isAsked: boolean][] = [
    [{ code: -32601, message: 'Method not found' }, true],
    [{ code: -32602, message: 'Invalid params' }, true],
    [{ code: -32022, message: 'no', data: { supported: ['2027-01-01'] } }, false],
    [{ code: -32600, message: 'Invalid request' }, false],
  ]
  for (const [error, isAsked] of cases) {
    const play = new Play().client(initialize).server({ id: 0, error })
    const discover = play.taken().find(({ method }) => method === 'server/discover')
    t.equal(discover !== undefined, isAsked, JSON.stringify(error))
    if (discover === undefined) t.match(play.got(), [{ error }])
    else {
      play.server({ id: discover.id, error: { code: -32601, message: 'Method not found' } })
      t.match(play.got(), [{ id: 0, error }], 'a legacy server\'s own refusal goes to the client')
      play.client({ id: 1, method: 'ping' })
      t.match(play.taken(), [{ id: 1, method: 'ping' }], 'and nothing is translated')
    }
  }
  t.end()
})

t.test('a server that does not answer server/discover leaves the client its refusal', t => {
  const play = new Play().client(initialize).server({ id: 0, error: { code: -32601, message: 'no' } })
  t.same(play.got(), [])
  play.fire('discover')
  t.match(play.got(), [{ id: 0, error: { code: -32601 } }])
  const [, discover, cancelled] = play.taken()
  t.match(cancelled, { method: 'notifications/cancelled' })
  play.server(discovered(discover?.id))
  t.same(play.got(), [], 'and an answer that comes later goes nowhere')
  t.end()
})

t.test('an initialize that waited for the era of the server begins a translation like any other', t => {
  const play = new Play().client(initialize).server({ id: 0, error: { code: -32601, message: 'no' } })
  const first = play.taken().find(({ method }) => method === 'server/discover')
  play.client({ ...initialize, id: 5 })
  t.same(play.taken(), [], 'it is held')
  play.server({ id: first?.id, error: { code: -32601, message: 'no' } })
  t.match(play.taken(), [{ id: 5, method: 'initialize' }])
  t.match(play.got(), [{ id: 0, error: { code: -32601 } }])
  play.server(refused(5))
  const second = play.taken().find(({ method }) => method === 'server/discover')
  play.server(discovered(second?.id))
  t.match(play.got(), [{ id: 5, result: { protocolVersion: '2025-11-25' } }])
  t.end()
})

t.test('what only a legacy server knows is answered by the relay', t => {
  const play = begun()
  play.client({ id: 1, method: 'ping' }).client({ id: 2, method: 'logging/setLevel', params: { level: 'info' } })
    .client({ id: 3, method: 'logging/setLevel', params: { level: 'loud' } })
    .client({ method: 'notifications/roots/list_changed' })
  t.match(play.got(), [{ id: 1, result: {} }, { id: 2, result: {} }, { id: 3, error: { code: -32602 } }])
  t.same(play.taken(), [])
  play.client({ id: 4, method: 'tools/call', params: { name: 'a', task: {}, _meta: { progressToken: 7, [`${prefix}protocolVersion`]: 'x' } } })
  t.same(play.taken().map(({ params }) => params), [{
    name: 'a', _meta: {
      progressToken: 7, [`${prefix}protocolVersion`]: '2026-07-28', [`${prefix}clientInfo`]: initialize.params.clientInfo,
      [`${prefix}clientCapabilities`]: initialize.params.capabilities, [`${prefix}logLevel`]: 'info',
    },
  }])
  t.end()
})

t.test('results lose what only 2026-07-28 knows', t => {
  const play = begun()
  const schema = { $ref: '#/$defs/a', $defs: { a: { type: 'array', items: { $ref: '#' }, default: { $ref: '#' } } } }
  play.client({ id: 1, method: 'tools/list' }).server({
    id: 1, result: {
      resultType: 'complete', ttlMs: 5, cacheScope: 'public', tools: [{ name: 'a', outputSchema: schema }, { name: 'b', outputSchema: { type: 'object' } }],
      _meta: { [`${prefix}serverInfo`]: { name: 'n', version: '1' }, mine: 1 },
    },
  })
  t.same(play.got(), [{
    id: 1, result: {
      tools: [{
        name: 'a', outputSchema: {
          type: 'object', required: ['result'], properties: {
            result: {
              $ref: '#/properties/result/$defs/a',
              $defs: { a: { type: 'array', items: { $ref: '#/properties/result' }, default: { $ref: '#' } } },
            },
          },
        },
      }, { name: 'b', outputSchema: { type: 'object' } }],
      _meta: { mine: 1 },
    },
  }])
  play.client({ id: 2, method: 'tools/call', params: { name: 'a' } })
    .server({ id: 2, result: { resultType: 'complete', content: [], structuredContent: [1], _meta: { [`${prefix}serverInfo`]: {} } } })
  t.same(play.got(), [{ id: 2, result: { content: [], structuredContent: { result: [1] } } }])
  const known = begun({ outputSchemaOf: () => ({ anyOf: [{ type: 'object' }, { type: 'array' }] }) })
  known.client({ id: 2, method: 'tools/call', params: { name: 'a' } }).server({ id: 2, result: { structuredContent: { b: 1 } } })
  t.same(known.got(), [{ id: 2, result: { structuredContent: { result: { b: 1 } } } }], 'an object too, where its schema is wrapped')
  t.end()
})

t.test('a question becomes a request, and its answer goes back with the same state', t => {
  const play = begun()
  play.client({ id: 1, method: 'tools/call', params: { name: 'a', arguments: { n: 1 } } })
  play.taken()
  const elicit = { method: 'elicitation/create', params: { message: 'Who?', requestedSchema: { type: 'object', properties: {} } } }
  const url = { method: 'elicitation/create', params: { mode: 'url', message: 'Go', url: 'https://e.com' } }
  const inputRequests = { form: elicit, url, roots: { method: 'roots/list' } }
  play.server({ id: 1, result: { resultType: 'input_required', inputRequests, requestState: 'st\u00e4te "1"' } })
  const questions = play.got()
  t.match(questions, [
    { method: 'elicitation/create', params: { message: 'Who?', mode: 'form' } },
    { method: 'elicitation/create', params: { mode: 'url', elicitationId: /^ours-/ } }, { method: 'roots/list' },
  ])
  t.equal(new Set(questions.map(({ id }) => id)).size, 3)
  play.client({ id: questions[2]?.id, result: { roots: [] } }).client({ id: questions[0]?.id, result: { action: 'decline' } })
  t.same(play.taken(), [], 'only when all answers are there')
  play.client({ id: questions[1]?.id, result: { action: 'accept' } })
  const [again, ...more] = play.taken()
  t.same(more, [])
  t.match(again, {
    id: /^ours-/, method: 'tools/call', params: {
      name: 'a', arguments: { n: 1 }, requestState: 'st\u00e4te "1"',
      inputResponses: { form: { action: 'decline' }, url: { action: 'accept' }, roots: { roots: [] } },
    },
  })
  const report = play.actions.findLast(one => one.type === 'report')
  const envelope = report?.event.type === 'frame' ? report.event.frame.envelope : undefined
  t.match(envelope, { clientId: 1, translatedFrom: '2025-11-25' }, 'for the record')
  play.server({ id: again?.id, result: { resultType: 'complete', content: [] } })
  t.same(play.got(), [{ id: 1, result: { content: [] } }])
  t.equal(play.timers.size, 0)
  t.end()
})

t.test('a round without questions pauses, and repeats the request', t => {
  const play = begun()
  play.client({ id: 1, method: 'prompts/get', params: { name: 'a' } })
  play.taken()
  play.server({ id: 1, result: { resultType: 'input_required', requestState: 's' } })
  const [timer = ''] = play.timers
  t.same(play.taken(), [])
  play.fire(timer)
  t.match(play.taken(), [{ method: 'prompts/get', params: { requestState: 's' } }])
  t.end()
})

t.test('a call ends with one answer whatever happens to its questions', t => {
  const asked = (params: object = {}) => {
    const play = begun()
    play.client({ id: 1, method: 'tools/call', params: { name: 'a' } })
    const inputRequests = {
      one: { method: 'roots/list' },
      two: { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } }, ...params,
    }
    play.server({ id: 1, result: { resultType: 'input_required', inputRequests } })
    play.taken()
    return play
  }
  const refusing = asked()
  const [one, two] = refusing.got()
  refusing.client({ id: one?.id, error: { code: -1, message: 'no' } })
  t.match(refusing.got(), [
    { method: 'notifications/cancelled', params: { requestId: two?.id } }, { id: 1, result: { isError: true } },
  ])
  refusing.client({ id: two?.id, result: {} })
  t.same([refusing.got(), refusing.taken()], [[], []], 'an answer that comes too late goes nowhere')

  const cancelling = asked()
  cancelling.got()
  cancelling.client({ method: 'notifications/cancelled', params: { requestId: 1 } })
  t.equal(cancelling.got().filter(({ method }) => method === 'notifications/cancelled').length, 2)
  t.same(cancelling.taken(), [], 'the server is not asked anything')

  const silent = asked()
  silent.got()
  silent.fire([...silent.timers][0] ?? '')
  t.match(last(silent.got()), { id: 1, result: { isError: true } })

  const leaving = asked()
  leaving.got()
  leaving.event({ from: 'client', event: { type: 'ended', reason: 'gone', graceMs: 1 } })
  t.match(last(leaving.got()), { id: 1, result: { isError: true } })

  const strange = asked({ three: { method: 'x/y' } })
  t.match(strange.got(), [{ id: 1, result: { isError: true } }], 'no question of a round that cannot be asked whole')
  t.end()
})

t.test('subscriptions: the new one is acknowledged before the old one ends', t => {
  const play = begun()
  const acknowledge = (listen: Message | undefined) => play.server({
    method: 'notifications/subscriptions/acknowledged', params: { notifications: {}, _meta: { [`${prefix}subscriptionId`]: listen?.id } },
  })
  play.client({ id: 1, method: 'resources/subscribe', params: { uri: 'a:1' } })
  const [first, ...none] = play.taken()
  t.match(first, { method: 'subscriptions/listen', params: { notifications: { toolsListChanged: true, resourceSubscriptions: ['a:1'] } } })
  t.same(none, [], 'the old one goes on')
  t.same(play.got(), [])
  play.client({ id: 2, method: 'resources/subscribe', params: { uri: 'a:2' } })
  acknowledge(first)
  const [cancelled, second] = play.taken()
  t.match(cancelled, { method: 'notifications/cancelled' })
  t.match(second, { params: { notifications: { resourceSubscriptions: ['a:1', 'a:2'] } } })
  t.match(play.got(), [{ id: 1, result: {} }])
  play.server({ method: 'notifications/resources/updated', params: { uri: 'a:1', _meta: { [`${prefix}subscriptionId`]: first?.id } } })
  t.same(play.got(), [{ method: 'notifications/resources/updated', params: { uri: 'a:1' } }])
  acknowledge(second)
  t.match(play.got(), [{ id: 2, result: {} }])
  play.client({ id: 3, method: 'resources/unsubscribe', params: { uri: 'a:1' } })
  play.taken()
  play.server({ id: last(play.taken())?.id ?? 'x', error: { code: -32603, message: 'limit' } })
  t.end()
})

t.test('a subscription that ends is asked for again, and the client hears that something may have changed', t => {
  const play = begun()
  play.client({ id: 1, method: 'resources/subscribe', params: { uri: 'a:1' } })
  const listen = last(play.taken())
  const acknowledgement = (id: unknown) =>
    ({ method: 'notifications/subscriptions/acknowledged', params: { notifications: {}, _meta: { [`${prefix}subscriptionId`]: id } } })
  play.server(acknowledgement(listen?.id))
  play.taken()
  play.got()
  play.server({ id: listen?.id, error: { code: -31001, message: 'cut' } })
  t.same([play.taken(), play.got()], [[], []])
  play.fire('subscriptions')
  const again = last(play.taken())
  t.match(again, { method: 'subscriptions/listen', params: { notifications: { resourceSubscriptions: ['a:1'] } } })
  play.server(acknowledgement(again?.id))
  t.same(play.got(), [{ method: 'notifications/tools/list_changed' }])
  t.end()
})

t.test('a refused subscription is refused to the client', t => {
  const play = begun()
  play.client({ id: 1, method: 'resources/subscribe', params: { uri: 'a:1' } })
  play.server({ id: last(play.taken())?.id, error: { code: -32603, message: 'Subscription limit reached' } })
  t.match(play.got(), [{ id: 1, error: { code: -32603, message: 'Subscription limit reached' } }])
  play.client({ id: 2, method: 'resources/subscribe', params: { uri: 'a:2' } })
  t.match(play.taken(), [{ params: { notifications: { resourceSubscriptions: ['a:2'] } } }], 'and forgotten')
  play.client({ id: 3, method: 'resources/unsubscribe', params: { uri: 'a:2' } })
  play.fire('subscriptions')
  t.match(play.got(), [{ id: 2, error: { code: -31002 } }], 'as is one that the server never acknowledges')
  t.match(play.taken(), [
    { method: 'notifications/cancelled' }, { params: { notifications: { toolsListChanged: true } } },
  ])
  t.end()
})

t.test('a request of the server is refused: 2026-07-28 has none', t => {
  const play = begun()
  play.server({ id: 5, method: 'roots/list' })
  t.match(play.taken(), [{ id: 5, error: { code: -32601 } }])
  t.same(play.got(), [])
  t.end()
})

t.test('a call between two rounds gets its answer when the session ends', t => {
  const play = begun()
  play.client({ id: 1, method: 'tools/call', params: { name: 'x', arguments: {} } })
  play.server({ id: 1, result: { resultType: 'input_required', requestState: 's' } })
  play.taken()
  t.same(play.got(), [])
  play.event({ from: 'closing' })
  t.match(play.got(), [{ id: 1, result: { isError: true } }])
  play.event({ from: 'closing' })
  t.same(play.got(), [], 'once')
  t.end()
})

t.test('what a client sends while the era is not known waits for it', t => {
  const play = new Play()
  play.client(initialize).client({ id: 1, method: 'tools/list' }).server(refused())
  const discover = play.taken().at(-1)
  play.client({ id: 2, method: 'ping' })
  t.same(play.taken(), [], 'it is held')
  play.server(discovered(discover?.id))
  t.match(play.got().slice(1), [{ id: 2, result: {} }], 'and answered by the relay in the client\'s era')
  play.server({ id: 1, result: { resultType: 'complete', tools: [], ttlMs: 0, cacheScope: 'private' } })
  t.same(play.got(), [{ id: 1, result: { tools: [] } }], 'what had passed before gets its answer')
  t.end()
})

t.test('an initialize of 2026-07-28 asks for a removed method: its refusal passes, and nothing begins', t => {
  const play = new Play()
  const _meta = { [`${prefix}protocolVersion`]: '2026-07-28' }
  const removed = { ...initialize, params: { ...initialize.params, _meta } }
  play.client(removed).server({ id: 0, error: { code: -32601, message: 'Method not found' } })
  t.same(play.taken(), [removed])
  t.match(play.got(), [{ id: 0, error: { code: -32601 } }])
  t.end()
})

t.test('the end of the client keeps its place behind what it sent before', t => {
  const play = new Play()
  play.client(initialize).server(refused())
  const discover = play.taken().at(-1)
  play.client({ id: 1, method: 'tools/list' }).event({ from: 'client', event: { type: 'ended', reason: 'stdin' } })
  t.notOk(play.actions.some(action => action.type === 'report' && action.event.type === 'ended'))
  play.server(discovered(discover?.id))
  const reported = play.actions.flatMap(action => (action.type === 'report' ? [action.event] : []))
  t.equal(reported.at(-1)?.type, 'ended')
  t.match(play.taken().at(-1), { id: 1, method: 'tools/list' })
  t.end()
})
