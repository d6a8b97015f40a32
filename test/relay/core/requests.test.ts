import type { Exchange } from '#relay/core/vocabulary.js'
import { Ledger } from '#relay/core/memory.js'
import t from 'tap'
import { exchangeNamed } from '#relay/core/event.js'
import { Findings } from '#relay/core/findings.js'
import type { Frame } from '#relay/protocol/frame.js'
import { Meter } from '#relay/protocol/json.js'
import { parseFrame } from '#relay/protocol/parse.js'
import { answer, call, initialize, result, Script, weather } from './script.js'

// The one answer of each request, where something comes between.

const parsed = (text: string): Frame => parseFrame(Buffer.from(text), { messageBytes: 1 << 20, depth: 64 })

const frameOf = (message: object, event?: string): Frame => ({
  ...parsed(JSON.stringify(message)),
  ...(event !== undefined && { envelope: { event } }),
})

const ping = (id: number) => ({ jsonrpc: '2.0', id, method: 'ping' })

const on = (name: string, more: Partial<Exchange> = {}): Exchange => ({
  ...exchangeNamed(name), context: 'alice', ...more,
})

const hear = (script: Script, from: 'client' | 'server', exchange: Exchange, frame: Frame) =>
  script.perform({ type: 'frame-received', from, exchange, frame })

t.test('a response that is replayed on a resumed stream is judged again by its request, and passes', t => {
  for (const [structured, passes] of [[{ a: 1 }, true], ['text', false]] as const) {
    const script = new Script().begin()
    hear(script, 'client', on('post'), frameOf(call(7, 'weather')))
    hear(script, 'server', on('post'), frameOf(answer(7, structured), 'id: 1'))
    const replayed = hear(
      script, 'server', on('get', { resumed: true }), frameOf(answer(7, structured), 'id: 1'),
    )
    t.match(replayed, [
      [
        'to client',
        passes ? { id: 7, result: { structuredContent: structured } } : { id: 7, result: { isError: true } },
      ],
    ])
    t.match(script.entries.at(-1), {
      event: 'tools/call', tool: 'weather', verdict: passes ? 'pass' : 'block',
    })
  }
  t.end()
})

t.test('a replay passes only on a stream that the same authorization context resumed', t => {
  const unknown = [['to client', { jsonrpc: '2.0', id: 7, error: {
    code: -31001, message: 'mcp-customs: the request of this response is not known here',
  } }]]
  const cases: readonly (readonly [title: string, exchange: Exchange, got: readonly unknown[]])[] = [
    ['a stream that was not resumed', on('get'), [['hand', 'between']]],
    ['another context', on('get', { resumed: true, context: 'mallory' }), [...unknown, ['hand', 'between']]],
  ]
  for (const [title, exchange, got] of cases) {
    const script = new Script().begin()
    hear(script, 'client', on('post'), frameOf(call(7, 'weather')))
    hear(script, 'server', on('post'), frameOf(answer(7, {}), 'id: 1'))
    t.same(hear(script, 'server', exchange, frameOf(answer(7, {}), 'id: 1')), got, title)
    t.match(script.entries.at(-1)?.findings, [{ rule: 'wire/id' }], title)
  }
  t.end()
})

t.test('of a question that the relay answers itself the client gets the event id: the server need not repeat it', t => {
  const script = new Script().begin()
  const effects = script.relay.handle({
    type: 'frame-received', from: 'server', exchange: on('post'),
    frame: frameOf({ jsonrpc: '2.0', id: 's', method: 'roots/list' }, 'id: 3\n'),
  }, 0)
  t.match(effects, [
    { type: 'audit' }, { type: 'send', to: 'server' },
    { type: 'hand', exchange: { name: 'post' }, event: { type: 'between', lines: 'id: 3\ndata: \n\n' } },
  ])
  t.end()
})

t.test('a client that resumes a stream in a session that was forgotten gets an error, and does not wait for ever', t => {
  const texts = [
    JSON.stringify(answer(7, {})), '{"jsonrpc":"2.0","id":7,"result":5}', '{"id":7,"result":{}}',
    '{"jsonrpc":"2.0","id":7,"result":{},"result":{}}', '[{"jsonrpc":"2.0","id":7,"result":{}}]',
  ]
  for (const text of texts) {
    const script = new Script().begin()
    const did = hear(script, 'server', on('get', { resumed: true }), parsed(text))
    t.match(did.filter(([to]) => to === 'to client'), [['to client', { id: 7, error: { code: -31001 } }]], text)
    t.match(script.entries.at(-1), { event: 'wire', verdict: 'block' }, text)
  }
  t.end()
})

t.test('a response that is repeated on a resumed stream while it is judged is answered there too', t => {
  const script = new Script().begin()
  hear(script, 'client', on('post'), frameOf(call(7, 'weather')))
  script.holdChecks = true
  hear(script, 'server', on('post'), frameOf(answer(7, { a: 1 }), 'id: 1\n'))
  const resumed = on('get', { resumed: true })
  t.same(hear(script, 'server', resumed, frameOf(answer(7, { a: 1 }), 'id: 1\n')), [], 'it waits')
  script.release()
  const got = script.raw.filter(({ to, bytes }) => to === 'client' && bytes.includes('"id":7'))
  t.strictSame(got.map(({ exchange }) => exchange), ['post', 'get'])
  t.end()
})

t.test('of each frame that a client does not get it gets the event id', t => {
  const blocked = {
    'a question': { jsonrpc: '2.0', id: 's', method: 'roots/list' },
    'a batch': [{ jsonrpc: '2.0', method: 'notifications/x' }],
    'an answer to nothing': answer(99, {}),
  }
  for (const [name, message] of Object.entries(blocked)) {
    const script = new Script().begin()
    t.match(hear(script, 'server', on('get'), frameOf(message, 'id: 3\n')).at(-1), ['hand', 'between'], name)
    t.same(script.raw.filter(({ to, exchange }) => to === 'client' && exchange === 'get'), [], name)
  }
  t.end()
})

t.test(
  'a batch works towards a server without sessions: its members have the terms of their HTTP request',
  t => {
    const script = new Script({ stateless: true })
    const headers = new Map([['mcp-protocol-version', '2025-03-26']])
    const batch = {
      ...frameOf([{ jsonrpc: '2.0', id: 1, method: 'ping' }, { jsonrpc: '2.0', id: 2, method: 'ping' }]),
      envelope: { headers },
    }
    const exchange = on('post')
    t.match(hear(script, 'client', exchange, batch), [['to server', [{ id: 1 }, { id: 2 }]]])
    t.match(hear(script, 'server', exchange, frameOf([result(1, {}), result(2, {})])), [
      ['to client', [{ id: 1, result: {} }, { id: 2, result: {} }]],
    ])
    t.end()
  },
)

t.test('without sessions the initialize of one client does not affect another', t => {
  const script = new Script({ stateless: true })
  script.client({ ...initialize('2025-11-25', { sampling: {} }), id: 1 }, 'a')
  script.server(
    result(1, { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 's', version: '1' } }),
    'a',
  )
  script.client({ ...initialize('2024-11-05'), id: 1 }, 'b')
  script.client({ jsonrpc: '2.0', id: 2, method: 'ping' }, 'a')
  t.match(
    script.server(
      { jsonrpc: '2.0', id: 'q', method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } },
      'a',
    ),
    [['to client', { id: 'q' }]],
  )
  t.end()
})

t.test('cancelling a queued request ends its HTTP request', t => {
  const script = new Script()
  script.client(call(1, 'weather'), 'post')
  t.match(
    script.client({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }, 'other'),
    [['complete', 'post']],
  )
  t.end()
})

t.test('a cancelled request ends its HTTP request, unless others of its batch are awaited', t => {
  const cancel = (id: number) => ({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } })
  const script = new Script().begin([weather], '2025-03-26')
  script.client(ping(1), 'post')
  t.match(script.client(cancel(1), 'other'), [['complete', 'post'], ['to server', cancel(1)]])
  t.match(script.server(result(1, {})), [], 'the late response reaches nobody')
  script.client([ping(2), ping(3)], 'batch')
  t.match(script.client(cancel(2), 'other'), [['to server', cancel(2)]])
  t.match(script.client(cancel(3), 'other'), [['to server', cancel(3)], ['complete', 'batch']])
  script.client([ping(5), ping(6)], 'batch')
  script.server(result(5, {}), 'batch')
  t.match(script.client(cancel(6), 'other').slice(1), [['to client', [{ id: 5 }]], ['complete', 'batch']])
  script.client(ping(4))
  t.match(script.client(cancel(4)), [['to server', cancel(4)]], 'stdio has no response to end')
  t.end()
})

t.test('a request whose answer comes on another stream is answered there, and the log says so', t => {
  for (const action of ['block', 'log'] as const) {
    const script = new Script({ actions: { 'wire/http': action } }).begin()
    script.client(call(1, 'weather'), 'post')
    const lost = { type: 'request-lost', key: '1', reason: 'the server gave no answer (HTTP 202)' } as const
    t.same(script.happens({ ...lost, exchange: 'post', isElsewhere: true }), [])
    t.match(script.server(answer(1, {}), 'get'), [['to client', { result: { structuredContent: {} } }]])
    t.match(script.raw.at(-1), { exchange: 'get' })
    t.match(script.entries.at(-1), { verdict: 'log', findings: [{ rule: 'wire/http', message: /HTTP 202/ }] })
    script.client(call(2, 'weather'), 'post')
    script.happens({ ...lost, key: '2', exchange: 'post', isElsewhere: true })
    t.match(
      script.happens({ ...lost, key: '2', exchange: 'get' }), [['to client', { id: 2, error: { code: -31001 } }]],
    )
    t.match(script.raw.at(-1), { exchange: 'get' }, 'where it is still read')
  }
  t.end()
})

t.test('a cancellation means the first of two requests with one id', t => {
  const script = new Script({ actions: { 'call/arguments': 'block', 'wire/id': 'log' } }).begin()
  script.holdChecks = true
  script.client(call(1, 'weather'))
  script.client(call(1, 'weather', { second: true }))
  script.client({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } })
  script.release()
  t.match(script.raw.filter(({ to }) => to === 'server').map(({ bytes }) => bytes), [/second/])
  t.end()
})

t.test('requestMs does not apply to a cancelled request', t => {
  const script = new Script({ requestMs: 1000 }).begin()
  const did = script.client(call(1, 'weather'))
  const timer = did.find(([what]) => what === 'start timer')?.[1]
  t.match(script.client({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }), [
    ['stop timer', timer], ['to server', { params: { requestId: 1 } }],
  ])
  t.same(script.happens({ type: 'timer-fired', timer: String(timer) }), [])
  t.end()
})

t.test(
  'a policy that changes while a call is at the server still names the rule that stopped the result',
  t => {
    const before = new Findings(new Map([['result/schema', 'log']]), undefined, new Meter())
    const after = new Findings(new Map([['result/schema', 'block']]), undefined, new Meter())
    after.add('result/schema', [{ path: '/result', message: 'must be an object' }])
    before.include(after)
    t.match(before.decisive(), [{ rule: 'result/schema' }])
    t.equal(before.verdict, 'block')
    t.end()
  },
)

t.test('without a session, a client answers no request of the server that another client was asked', t => {
  for (const [context, passes] of [['alice', true], ['mallory', false]] as const) {
    const script = new Script({ stateless: true })
    hear(script, 'client', on('post'), frameOf({ jsonrpc: '2.0', id: 1, method: 'ping' }))
    hear(script, 'server', on('post'), frameOf({ jsonrpc: '2.0', id: 9, method: 'ping' }))
    const sent = hear(
      script, 'client', on('post-2', { context }), frameOf({ jsonrpc: '2.0', id: 9, result: {} }),
    )
    t.match(sent, [...(passes ? [['to server', { id: 9 }]] : []), ['complete', 'post-2']], context)
    t.equal(sent.length, passes ? 2 : 1, context)
  }
  t.end()
})

t.test('a batch that is open when its session ends is released in the ledger once', t => {
  for (const answered of [false, true]) {
    const process = new Ledger(Infinity)
    const script = new Script({ ledger: process, actions: { 'call/arguments': 'block' } }).begin(
      undefined, '2025-03-26',
    )
    script.holdChecks = true
    const told = {
      jsonrpc: '2.0', method: 'notifications/progress',
      params: { progressToken: 1, text: 'a'.repeat(10_000) },
    }
    script.client([
      answered ? { jsonrpc: '2.0', id: 1, method: 'ping' } : call(1, 'weather'),
      { jsonrpc: '2.0', id: 2, method: 'ping' }, told,
    ])
    if (answered) script.server(result(1, { text: 'a'.repeat(10_000) }))
    t.ok(process.kept > 10_000, 'the batch is in the ledger')
    script.happens({ type: 'session-ended', reason: 'over' })
    t.equal(process.kept, 0)
    script.client([{ jsonrpc: '2.0', id: 3, method: 'ping' }])
    t.equal(process.kept, 0, 'a session that is over counts no more')
  }
  t.end()
})

t.test(
  'responses that wait for the rest of their batch are bounded; one without room becomes an error',
  t => {
    const script = new Script({ ledger: new Ledger(100_000) }).begin(undefined, '2025-03-26')
    script.client([{ jsonrpc: '2.0', id: 1, method: 'ping' }, { jsonrpc: '2.0', id: 2, method: 'ping' }])
    script.server(result(1, { text: 'a'.repeat(200_000) }))
    t.match(script.server(result(2, {})), [
      ['to client', [{ id: 1, error: { code: -31000 } }, { id: 2, result: {} }]],
    ])
    t.end()
  },
)

t.test(
  'a blocked server batch does not fail the client request that has the id of a server request in it',
  t => {
    const script = new Script().begin()
    script.client(call(1, 'weather'))
    const did = script.server([{ jsonrpc: '2.0', id: 1, method: 'ping' }])
    t.match(did, [['to server', { id: 1, error: { code: -32601 } }]])
    t.match(script.server(answer(1, {})), [['to client', { id: 1, result: { structuredContent: {} } }]])
    t.end()
  },
)

t.test('a tool that is denied while its call waits for the list is not called', t => {
  const tools = new Map<string, { denied: boolean; outputSchema: undefined; annotations: undefined }>()
  const script = new Script({ tools })
  script.client(call(1, 'weather'))
  tools.set('weather', { denied: true, outputSchema: undefined, annotations: undefined })
  script.server(result(script.ownId, { tools: [weather] }))
  t.match(script.raw.at(-1), { to: 'client', bytes: /may not be called here/ })
  t.end()
})

t.test('a tool that is denied while the arguments of its call are checked is not called', t => {
  const tools = new Map<string, { denied: boolean; outputSchema: undefined; annotations: undefined }>()
  const script = new Script({ tools, actions: { 'call/arguments': 'block' } }).begin()
  script.holdChecks = true
  t.same(script.client(call(1, 'weather')), [])
  tools.set('weather', { denied: true, outputSchema: undefined, annotations: undefined })
  t.match(script.release(), [['to client', { id: 1, result: { isError: true } }]])
  t.match(script.entries.at(-1), { verdict: 'block', findings: [{ rule: 'call/denied' }] })
  t.end()
})

t.test('a call whose client leaves while it waits for the list is not sent, whatever its exchange', t => {
  for (const stateless of [false, true]) {
    const script = new Script({ stateless, actions: { 'call/arguments': 'block' } })
    script.client(call(1, 'weather', { wrong: true }), 'post')
    script.happens({ type: 'exchange-ended', exchange: 'post' } as never)
    script.server(result(script.ownId, { tools: [weather] }), 'post')
    t.notOk(script.raw.some(({ to, bytes }) => to === 'server' && bytes.includes('tools/call')))
    t.match(script.entries.find(({ event }) => event === 'tools/call'), { reason: /^it was never sent/ })
  }
  t.end()
})

t.test('a call with the id of another one in flight is judged like that one', t => {
  const tools = new Map([['denied', { denied: true, outputSchema: undefined, annotations: undefined }]])
  const script = new Script({ tools, actions: { 'wire/id': 'log' } }).begin()
  script.client(call(1, 'weather'))
  t.match(script.client(call(1, 'denied')), [['to client', { id: 1, result: { isError: true } }]])
  t.match(script.client(call(1, 'weather')), [['to server', { id: 1, method: 'tools/call' }]])
  t.notOk(script.raw.some(({ to, bytes }) => to === 'server' && bytes.includes('denied')))
  const parked = new Script({ tools, actions: { 'wire/id': 'log' } })
  parked.client({ jsonrpc: '2.0', id: 1, method: 'ping' }, 'first')
  parked.client(call(1, 'weather'), 'second')
  parked.happens({ type: 'exchange-ended', exchange: 'second' } as never)
  parked.server(result(parked.ownId, { tools: [weather] }), 'second')
  t.notOk(parked.raw.some(({ to, bytes }) => to === 'server' && bytes.includes('tools/call')), 'its client has left')
  t.end()
})

t.test('a response that has come, and waits behind another one, is not late', t => {
  const script = new Script({ requestMs: 1000 }).begin()
  script.client(call(1, 'weather'))
  const did = script.client(call(2, 'weather'))
  const timer = String(did.find(([what]) => what === 'start timer')?.[1])
  script.holdChecks = true
  script.server(answer(1, {}))
  script.server(answer(2, {}))
  t.same(script.happens({ type: 'timer-fired', timer } as never), [])
  script.release()
  t.match(script.raw.filter(({ to }) => to === 'client').slice(-2).map(({ bytes }) => bytes), [
    /"id":1,"result":\{"content"/, /"id":2,"result":\{"content"/,
  ])
  t.notOk(script.raw.some(({ bytes }) => bytes.includes('did not answer')))
  t.end()
})

t.test('an id of a batch that another request has is answered by that request', t => {
  const script = new Script().begin([weather], '2025-03-26')
  script.client(call(1, 'weather'))
  t.match(script.client([ping(1), ping(2)]).filter(([to]) => to === 'to server'), [['to server', [{ id: 2 }]]])
  t.match(script.server(result(2, {})), [['to client', [{ id: 2 }]]])
  t.match(script.server(answer(1, {})), [['to client', { id: 1, result: { structuredContent: {} } }]])
  t.end()
})

t.test('the id of a task that has ended may be that of another tool', t => {
  const other = { ...weather, name: 'other' }
  const script = new Script().begin([weather, other])
  const ask = (id: number, name: string) =>
    script.client({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: {}, task: {} } })
  const task = {
    taskId: 't', status: 'working', createdAt: '2026-01-01T00:00:00Z', lastUpdatedAt: '2026-01-01T00:00:00Z',
    ttl: null,
  }
  ask(1, 'weather')
  script.server(result(1, { task }))
  script.client({ jsonrpc: '2.0', id: 2, method: 'tasks/result', params: { taskId: 't' } })
  script.server(answer(2, {}))
  ask(3, 'other')
  t.match(script.server(result(3, { task })), [['to client', { id: 3, result: { task } }]])
  t.end()
})
