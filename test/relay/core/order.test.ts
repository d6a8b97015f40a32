import fc from 'fast-check'
import t from 'tap'
import { Ledger } from '#relay/core/memory.js'
import { answer, call, type Did, initialize, result, Script, type Setting, weather } from './script.js'

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

t.test('a batch that is refused before its revision is known is not judged again when that is known', t => {
  const script = new Script()
  script.client(initialize('2025-11-25'))
  script.client(call(1, 'weather'))
  script.client([call(2, 'delete'), ping(3)])
  script.server(result(0, { protocolVersion: '2025-03-26' }))
  t.match(script.server(result(script.ownId, { tools: [weather] })).filter(([to]) => to === 'to client'), [
    ['to client', { id: 2, error: { code: -31000 } }], ['to client', { id: 3, error: { code: -31000 } }],
  ])
  t.match(script.raw.filter(({ to }) => to === 'server').map(({ bytes }) => bytes), [
    /initialize/, /tools\/list/, /weather/,
  ], 'the server gets nothing of it')
  t.equal(script.raw.filter(({ to }) => to === 'server').length, 3)
  t.end()
})

t.test('a batch of the server that is refused keeps its place behind a frame that waits', t => {
  const script = new Script().begin()
  script.client(call(1, 'weather'))
  script.client(ping(2))
  script.holdChecks = true
  script.server(answer(1, 'hot'))
  script.server({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'x' } })
  t.strictSame(script.server([result(2, {})]), [])
  t.match(script.release(), [
    ['to client', { id: 1, result: { isError: true } }], ['to client', { method: 'notifications/message' }],
    ['to client', { id: 2, error: { code: -31000 } }],
  ])
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

const notice = (data: unknown) =>
  ({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data } })

/** A relay in front of an HTTP server, with calls 1 and 2 on the exchanges x and y. */
const called = (setting: Setting = {}, tool = weather) => {
  const script = new Script(setting).begin([tool])
  script.client(call(1, 'weather'), 'x')
  script.client(call(2, 'weather'), 'y')
  return script
}

t.test('what the server sends on an exchange keeps its order while a message of it is checked; others do not wait', t => {
  const ledger = new Ledger(Infinity)
  const script = called({ ledger })
  const atRest = ledger.kept
  script.holdChecks = true
  t.same(script.server(answer(1, {}), 'x'), [])
  t.same(script.happens({ type: 'between', exchange: 'x', lines: ': a' }), [])
  t.same(script.server(notice('later'), 'x'), [])
  t.same(script.happens({ type: 'request-lost', exchange: 'x', key: '2', reason: 'cut' }), [])
  t.same(script.happens({ type: 'stream-ended', exchange: 'x', resumable: false }), [])
  t.match(script.server(notice('now'), 'y'), [['to client', notice('now')]])
  t.match(script.happens({ type: 'stream-ended', exchange: 'y', resumable: false }), [['hand', 'stream-ended']])
  t.ok(ledger.kept > atRest, 'what waits is in the ledger')
  t.match(script.release(), [
    ['to client', { id: 1, result: {} }], ['hand', 'between'], ['to client', notice('later')],
    ['to client', { id: 2, error: { code: -31001 } }], ['hand', 'stream-ended'],
  ])
  t.match(script.server(notice('after'), 'x'), [['to client', notice('after')]])
  script.happens({ type: 'session-ended', reason: 'over' })
  t.equal(ledger.kept, 0)
  t.end()
})

t.test('a response that is whole completes its exchange, after its check', t => {
  const script = called()
  script.holdChecks = true
  script.server(answer(1, {}), 'x')
  t.same(script.happens({ type: 'whole', exchange: 'x' }), [])
  t.match(script.release(), [['to client', { id: 1 }], ['complete', 'x']])
  t.end()
})

t.test('the end of the server and of the session come after everything that came before; a failure comes at once', t => {
  const script = called()
  script.holdChecks = true
  script.server(answer(1, {}), 'x')
  script.server(notice('before the end'), 'x')
  t.same(script.happens({ type: 'server-gone', reason: 'gone' }), [])
  t.same(script.happens({ type: 'session-ended', reason: 'over' }), [])
  t.match(script.release(), [
    ['to client', { id: 1, result: {} }], ['to client', notice('before the end')],
    ['to client', { id: 2, error: { code: -31001 } }],
  ])
  t.equal(script.entries.at(-1)?.event, 'session/end')

  const failing = called()
  failing.holdChecks = true
  failing.server(answer(1, {}), 'x')
  t.match(failing.happens({ type: 'server-gone', reason: 'broken', isFailure: true }), [
    ['to client', { id: 1, error: { code: -31000 } }], ['to client', { id: 2, error: { code: -31000 } }],
  ])
  t.same(failing.release(), [])
  t.end()
})

t.test('a list that changes behind a message that waits counts at once, and is announced in its place', t => {
  const script = called()
  script.holdChecks = true
  script.server(answer(1, {}), 'x')
  t.same(script.server({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' }, 'x'), [])
  t.equal(script.relay.inputSchemaOf('weather'), undefined, 'the next call needs a new list')
  t.match(script.release(), [
    ['to client', { id: 1 }], ['to client', { method: 'notifications/tools/list_changed' }],
  ])
  t.end()
})

const outdated = { ...weather, outputSchema: { type: 'object', title: 'old' } }

/** A replica whose list is outdated, with a call whose result breaks the old schema. */
const outdatedReplica = () => {
  const script = called({
    shared: { digestOf: definition => JSON.stringify(definition) },
    checkNow: ({ kind, schema, path }) =>
      kind === 'value' && JSON.stringify(schema).includes('old') ? [{ kind: 'mismatch', path, message: 'must be new' }] : [],
  }, outdated)
  script.shares = ({ kind, part }) => (kind === 'find' && part === 'list' ? { is: 'newer' } : 'none')
  return script
}

t.test('while the relay lists for a message that waits, the list and requests of the server do not wait for that message', t => {
  const script = outdatedReplica()
  t.match(
    script.server(answer(1, {}), 'x').filter(([what]) => what === 'to server'),
    [['to server', { method: 'tools/list' }]], 'the result breaks its schema, and another replica knows a newer list',
  )
  t.same(script.server(notice('later'), 'x'), [])
  t.match(
    script.server({ jsonrpc: '2.0', id: 's', method: 'roots/list' }, 'x').filter(([what]) => what.startsWith('to ')),
    [['to server', { id: 's', error: {} }]],
  )
  t.match(
    script.server(result(script.ownId, { tools: [weather] }), 'x').filter(([what]) => what.startsWith('to ')),
    [['to client', { id: 1, result: { structuredContent: {} } }], ['to client', notice('later')]],
  )
  t.end()
})

t.test('when the server ends while the relay lists for a message, that message is judged without the list', t => {
  const script = outdatedReplica()
  script.server(answer(1, {}), 'x')
  t.match(script.happens({ type: 'server-gone', reason: 'gone' }).filter(([what]) => what === 'to client'), [
    ['to client', { id: 1, result: { isError: true } }], ['to client', { id: 2, error: { code: -31001 } }],
  ])
  t.end()
})

const names = ['x', 'y', 'z'] as const
const parts = ['head', 'between', 'stream-ended', 'whole'] as const
const calls = 5

/** `check`: the server answers a call, and its answer is checked. `lost`: a call gets no answer. */
const sent = fc.constantFrom('check' as const, 'notice' as const, 'lost' as const, ...parts)

const step = fc.oneof(
  fc.record({ on: fc.constantFrom(...names), sent }),
  fc.record({ on: fc.constantFrom(...names), sent: fc.constant('is checked' as const) }),
)

/** Several exchanges of a relay, and the effects on the client that each of them waits for. */
class Exchanges {
  readonly script = withCalls()
  readonly #waiting = new Map<string, string[]>(names.map(name => [name, []]))
  readonly #next = new Map<string, number>(names.map(name => [name, 0]))
  #last = 0

  send(on: typeof names[number], what: 'check' | 'notice' | 'lost' | typeof parts[number]): void {
    const number = this.#next.get(on) ?? 0
    if (what === 'check' || what === 'lost') {
      if (number >= calls) return
      this.#next.set(on, number + 1)
    }
    const id = `${on}${number}`
    const label = what === 'check' ? `checked ${id}` : what === 'lost' ? `lost ${id}` : `${what} ${++this.#last}`
    this.#waiting.get(on)?.push(what === 'check' || what === 'lost' || what === 'notice' ? label : what)
    this.#took(on, this.#effectsOf(on, what, id, label))
  }

  /** The check that the exchange waits for is done. */
  check(on: typeof names[number]): void {
    const at = this.script.held.findIndex(({ subjects }) =>
      subjects.some(one => one.kind === 'value' && JSON.stringify(one.value).includes(`"${on}`)))
    const [held] = at < 0 ? [] : this.script.held.splice(at, 1)
    if (held === undefined) return
    this.#waiting.get(on)?.splice(0, 1, `answered ${this.#waiting.get(on)?.[0]?.slice('checked '.length) ?? ''}`)
    this.#took(on, this.script.happens({ type: 'checked', check: held.check, results: held.subjects.map(() => []) }))
  }

  /** Everything before the first answer that is being checked has its effect. */
  get faults(): readonly string[] {
    return names.flatMap(name => {
      const waiting = this.#waiting.get(name) ?? []
      return waiting.length === 0 || waiting[0]?.startsWith('checked ') === true ? [] : [`${name}: ${waiting.join()}`]
    })
  }

  #effectsOf(on: string, what: string, id: string, label: string): Did[] {
    const { script } = this
    if (what === 'check') return script.server(answer(id, { id }), on)
    if (what === 'notice') return script.server(notice(label), on)
    if (what === 'lost') return script.happens({ type: 'request-lost', exchange: on, key: JSON.stringify(id), reason: 'cut' })
    if (what === 'head') return script.happens({ type: 'head', exchange: on, status: 200, headers: new Map() })
    if (what === 'between') return script.happens({ type: 'between', exchange: on, lines: ': a' })
    if (what === 'whole') return script.happens({ type: 'whole', exchange: on })
    return script.happens({ type: 'stream-ended', exchange: on, resumable: false })
  }

  #took(on: string, did: readonly Did[]): void {
    for (const one of did) {
      const expected = this.#waiting.get(on)?.shift()
      const label = labelOf(one)
      if (label !== expected) throw new Error(`${on}: ${String(label)} in the place of ${String(expected)}`)
    }
  }
}

const labelOf = ([what, value]: Did): string | undefined => {
  if (what === 'hand') return String(value)
  if (what === 'complete') return 'whole'
  const { id, params, error } = value as { id?: string; params?: { data: string }; error?: unknown }
  return params !== undefined ? params.data : `${error === undefined ? 'answered' : 'lost'} ${String(id)}`
}

/** A relay in front of a server without sessions, with calls on each exchange. */
const withCalls = () => {
  const script = new Script({
    stateless: true,
    checkNow: ({ path }) => (path.includes('structuredContent') ? undefined : []),
  })
  for (const name of names) {
    script.client({ jsonrpc: '2.0', id: 'list', method: 'tools/list' }, name)
    script.server(result('list', { tools: [weather] }), name)
    for (let index = 0; index < calls; index++) script.client(call(`${name}${index}`, 'weather'), name)
  }
  script.holdChecks = true
  return script
}

t.test('whatever waits, each exchange keeps its order, and none waits for another', t => {
  fc.assert(fc.property(fc.array(step, { maxLength: 60 }), steps => {
    const exchanges = new Exchanges()
    for (const { on, sent } of steps) {
      if (sent === 'is checked') exchanges.check(on)
      else exchanges.send(on, sent)
      if (exchanges.faults.length > 0) throw new Error(exchanges.faults.join('; '))
    }
    for (const name of names) for (let left = 0; left < calls; left++) exchanges.check(name)
    const { script } = exchanges
    if (script.held.length > 0) throw new Error(`${script.held.length} checks are not done`)
    if (exchanges.faults.length > 0) throw new Error(exchanges.faults.join('; '))
  }), { numRuns: 300 })
  t.end()
})
