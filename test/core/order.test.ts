import t from 'tap'
import { answer, call, result, Script, weather } from './script.js'

const methods = (script: Script) =>
  script.raw.filter(({ to }) => to === 'server').map(({ bytes }) => {
    const { id, method } = JSON.parse(bytes) as { id?: string | number; method: string }
    return id === undefined ? method : `${method} ${id}`
  })

const ping = (id: number) => ({ jsonrpc: '2.0', id, method: 'ping' })

t.test('stdio frames after a call are queued during a check that could stop the call', t => {
  const script = new Script({ actions: { 'call/arguments': 'block' } }).begin()
  script.holdChecks = true
  script.client(call(1, 'weather'))
  script.client(call(2, 'weather'))
  script.client(ping(3))
  script.client({ jsonrpc: '2.0', method: 'notifications/progress' })
  t.same(methods(script), ['ping 3'], 'a ping does not wait')
  t.ok(script.relay.hasQueuedFrames)
  script.release()
  t.same(methods(script), ['ping 3', 'tools/call 1', 'tools/call 2', 'notifications/progress'])
  t.notOk(script.relay.hasQueuedFrames)
  t.end()
})

t.test('a check that cannot stop a call does not delay it', t => {
  const script = new Script().begin()
  script.holdChecks = true
  script.client(call(1, 'weather'))
  script.client(ping(2))
  t.same(methods(script), ['tools/call 1', 'ping 2'])
  script.server(answer(1, {}))
  t.equal(
    script.raw.filter(({ to }) => to === 'client').length, 0,
    'its answer waits for what is still being judged',
  )
  script.release()
  t.match(script.entries.filter(({ event }) => event === 'tools/call'), [{ id: 1, verdict: 'pass' }])
  t.match(script.raw.at(-1), { to: 'client', bytes: /"id":1/ })
  t.end()
})

t.test('stdio frames after a call are queued while the relay asks for the list', t => {
  const script = new Script()
  script.client(call(1, 'weather'))
  script.client(ping(2))
  t.match(methods(script), [/^tools\/list/])
  script.server(result(script.ownId, { tools: [weather] }))
  t.match(methods(script), [/^tools\/list/, 'ping 2', 'tools/call 1'])
  t.end()
})

t.test('responses to the server and cancellations skip the queue', t => {
  const script = new Script({ actions: { 'call/arguments': 'block' } }).begin()
  script.server({ jsonrpc: '2.0', id: 's', method: 'ping' })
  script.holdChecks = true
  script.client(call(1, 'weather'))
  script.client(call(2, 'weather'))
  script.client(result('s', {}))
  t.match(script.raw.at(-1), { to: 'server', bytes: /"id":"s"/ })
  script.client({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 2 } })
  script.client({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } })
  script.release()
  t.same(methods(script).filter(method => method.startsWith('tools')), [], 'neither call reaches the server')
  t.match(
    script.entries.filter(({ event }) => event === 'tools/call'), [{ id: 2 }, { id: 1 }],
    'both are on record, when they are taken back',
  )
  t.end()
})

t.test('requests by HTTP do not wait for each other', t => {
  const script = new Script({ actions: { 'call/arguments': 'block' } }).begin()
  script.holdChecks = true
  script.client(call(1, 'weather'), 'post-1')
  script.client(ping(2), 'post-2')
  t.same(methods(script), ['ping 2'])
  t.end()
})

t.test('above the high-water mark of the queue the client is paused', t => {
  const script = new Script({ actions: { 'call/arguments': 'block' } }).begin()
  script.holdChecks = true
  script.client(call(1, 'weather'))
  for (let id = 2; id < 5; id++) {
    t.notOk(script.relay.isAboveHighWater)
    script.client(call(id, 'weather', { text: 'x'.repeat(400_000) }))
  }
  t.ok(script.relay.isAboveHighWater)
  script.release()
  t.notOk(script.relay.isAboveHighWater)
  t.end()
})

t.test('requests that are queued when the session ends are recorded', t => {
  const script = new Script({ actions: { 'call/arguments': 'block' } }).begin()
  script.holdChecks = true
  script.client(call(1, 'weather'))
  script.client(call(2, 'weather'))
  script.happens({ type: 'session-ended', reason: 'over' })
  t.match(script.entries, [
    { event: 'tools/call', id: 1 }, { event: 'tools/call', id: 2 }, { event: 'session/end' },
  ])
  t.end()
})

t.test('each send names the side that caused it, for backpressure', t => {
  const script = new Script({ actions: { 'call/arguments': 'block' } }).begin()
  script.holdChecks = true
  script.client(call(1, 'weather'))
  script.release()
  t.match(script.raw.at(-1), { to: 'server', cause: 'client' }, 'a call that was held for a check')
  script.server(answer(1, {}))
  t.match(script.raw.at(-1), { to: 'client', cause: 'server' })
  script.client(call(2, 'nowhere'))
  t.match(script.raw.at(-1), { to: 'client', cause: 'client' }, 'a refusal of ours')
  script.server({ jsonrpc: '2.0', id: 's', method: 'roots/list' })
  t.match(script.raw.at(-1), { to: 'server', cause: 'server' }, 'an answer of ours to the server')
  const cold = new Script()
  cold.client(call(1, 'weather'))
  cold.server(result(cold.ownId, { tools: [weather] }))
  t.match(
    cold.raw.map(({ to, cause }) => [to, cause]), [['server', 'client'], ['server', 'client']],
    'a call that was held for the list',
  )
  t.end()
})

t.test('in a queued batch, responses and cancellations skip the queue; the rest is sent together', t => {
  const script = new Script().begin([weather], '2025-03-26')
  script.server({ jsonrpc: '2.0', id: 's', method: 'ping' })
  script.server({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })
  script.client(call(1, 'weather'))
  const own = script.ownId
  script.raw.length = 0
  const cancels = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 3 } }
  script.client([ping(2), ping(3), result('s', {}), cancels, ping(4)])
  t.match(script.raw, [{ to: 'server', bytes: /"id":"s"/ }], 'the answer alone')
  script.server(result(own, { tools: [weather] }))
  script.server(result(2, {}))
  t.match(script.server(result(4, {})), [['to client', [{ id: 2 }, { id: 4 }]]])
  t.notOk(script.raw.some(({ bytes }) => bytes.includes('"id":3')), 'what was taken back went nowhere')
  t.end()
})

t.test('the members of a batch count as sent when they are sent, not when they are judged', t => {
  const script = new Script({ requestMs: 1000, intent: true }).begin([weather], '2025-03-26')
  script.server({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })
  const did = script.client([ping(1), call(2, 'weather')])
  t.same(
    did.filter(([what, message]) => what === 'to server' && Array.isArray(message)), [],
    'the ping waits for the call',
  )
  t.match(
    script.client({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }), [],
    'it can be taken back unsent',
  )
  script.server(result(script.ownId, { tools: [weather] }))
  t.match(script.raw.at(-1), { to: 'server', bytes: /"id":2/ })
  t.end()
})

t.test('the client waits for its requests, except for cancelled and long-lasting ones', t => {
  const script = new Script().begin()
  const { relay } = script
  const ask = (id: number, method: string) => script.client({ jsonrpc: '2.0', id, method, params: {} })
  t.notOk(relay.hasAwaitedRequest)
  ask(1, 'subscriptions/listen')
  t.notOk(relay.hasAwaitedRequest)
  ask(2, 'resources/list')
  ask(3, 'resources/list')
  t.ok(relay.hasAwaitedRequest)
  script.server(result(2, { resources: [] }))
  t.ok(relay.hasAwaitedRequest)
  script.client({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 3 } })
  t.notOk(relay.hasAwaitedRequest)
  t.end()
})
