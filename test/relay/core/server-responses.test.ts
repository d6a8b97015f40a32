import t from 'tap'
import { answer, call, initialize, result, Script, weather } from './script.js'

const modern = (capabilities: object = {}) => ({
  _meta: {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'm', version: '2' },
    'io.modelcontextprotocol/clientCapabilities': capabilities,
  },
})
const tasks = { extensions: { 'io.modelcontextprotocol/tasks': {} } }
const rulesOf = (script: Script) => script.entries.flatMap(({ findings }) => findings.map(({ rule }) => rule))

/** A modern session in which the weather runs as the task `t`. */
const withTask = (setting: ConstructorParameters<typeof Script>[0] = {}) => {
  const script = new Script(setting)
  script.client({ jsonrpc: '2.0', id: 'l', method: 'tools/list', params: modern(tasks) })
  script.server(result('l', { tools: [weather], resultType: 'complete' }))
  script.client({
    jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'weather', ...modern(tasks) },
  })
  script.server(result(1, { resultType: 'task', taskId: 't', status: 'working' }))
  script.entries.length = 0
  return script
}

t.test('the outcome of a task that a notification brings is judged by the terms of the call', t => {
  const says = (params: object) => {
    const script = withTask()
    return {
      sent: script.server({
        jsonrpc: '2.0', method: 'notifications/tasks', params: { taskId: 't', ...params },
      }),
      rules: rulesOf(script),
    }
  }
  const fine = { content: [{ type: 'text', text: 'x' }], structuredContent: {} }
  t.match(says({ status: 'completed', result: fine }).sent, [
    ['to client', { method: 'notifications/tasks' }],
  ])
  t.same(
    says({ status: 'completed', result: { ...fine, structuredContent: [1] } }),
    { sent: [], rules: ['result/schema'] }, 'an array is allowed by the revision, but not by the schema',
  )
  t.same(
    says({ status: 'completed', structuredContent: [1], content: fine.content }),
    { sent: [], rules: ['result/schema'] }, 'a result in the place of the state',
  )
  t.same(
    says({ status: 'input_required', inputRequests: { a: { method: 'sampling/createMessage', params: {} } } })
      .rules,
    ['server/request'],
  )
  t.same(says({ status: 'working', statusMessage: 'a\u202e' }).rules, ['content/hidden-text'])
  t.match(says({ taskId: 'u', result: fine }).rules, ['result/unchecked'], 'of a task that nobody knows')
  t.end()
})

t.test('the outcome of a task is judged at every place where a client may read it', t => {
  const asks = (members: object) => {
    const script = withTask()
    script.client({ jsonrpc: '2.0', id: 2, method: 'tasks/get', params: { taskId: 't', ...modern(tasks) } })
    return { sent: script.server(result(2, { taskId: 't', ...members })), rules: rulesOf(script) }
  }
  const bad = { content: [{ type: 'text', text: 'x' }], structuredContent: 'hot' }
  const good = { content: [{ type: 'text', text: 'x' }], structuredContent: {} }
  t.match(asks({ status: 'completed', result: good }).sent, [
    ['to client', { result: { status: 'completed' } }],
  ])
  t.match(asks({ status: 'completed', result: bad }).sent, [['to client', { error: { code: -31000 } }]])
  t.match(
    asks({ status: 'completed', result: good, ...bad }).sent, [['to client', { error: { code: -31000 } }]],
    'beside an inner one',
  )
  t.match(
    asks({ resultType: 'input_required', status: 'completed', result: bad }).sent,
    [['to client', { error: { code: -31000 } }]], 'within an interim one',
  )
  t.match(asks({ status: 'working', statusMessage: 'a\u202e' }).rules, ['content/hidden-text'])
  const handle = (members: object) => {
    const script = withTask()
    script.client({
      jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'weather', ...modern(tasks) },
    })
    return script.server(result(2, { resultType: 'task', taskId: 'v', status: 'completed', ...members }))
  }
  t.match(handle({ result: bad }), [['to client', { result: { isError: true } }]], 'in a handle')
  t.match(handle({ toolResult: 1 }), [['to client', { result: { isError: true } }]])
  t.end()
})

t.test('an interim result with members of a final one is judged as final', t => {
  for (const [method, member] of [
    ['resources/list', 'resources'], ['prompts/list', 'prompts'], ['completion/complete', 'completion'],
  ] as const) {
    const script = new Script()
    script.client({ jsonrpc: '2.0', id: 1, method, params: modern() })
    script.server(result(1, { resultType: 'input_required', [member]: [{ name: 'a\u202e', uri: 'x:' }] }))
    t.ok(rulesOf(script).includes('content/hidden-text'), method)
  }
  t.end()
})

t.test('where a denied call is only logged, its result is checked like any other', t => {
  const denied = { denied: true, outputSchema: undefined, annotations: undefined }
  const script = new Script({
    tools: new Map([['weather', denied]]), actions: { 'call/denied': 'log' },
  }).begin()
  script.client(call(1, 'weather'))
  t.match(script.server(answer(1, 'hot')), [['to client', { result: { isError: true } }]])
  t.same(new Set(rulesOf(script)), new Set(['call/denied', 'result/shape', 'result/schema']))
  t.end()
})

t.test('a response that passes by a lenient policy is the only response, and is judged as a result', t => {
  const script = new Script({ actions: { 'wire/id': 'log' } }).begin()
  script.client(call(1, 'weather'))
  t.match(script.server(answer('1', 'hot')), [['to client', { id: 1, result: { isError: true } }]])
  t.same(script.happens({ type: 'server-gone', reason: 'gone' }), [], 'nobody waits any more')
  const both = new Script({ actions: { 'wire/json-rpc': 'log' } }).begin()
  both.client(call(1, 'weather'))
  t.match(both.server({ ...answer(1, 'hot'), error: { code: 1, message: 'm' } }), [
    ['to client', { id: 1, result: { isError: true } }],
  ])
  t.same(both.happens({ type: 'server-gone', reason: 'gone' }), [])
  const fine = new Script({ actions: { 'wire/json-rpc': 'log' } }).begin()
  fine.client(call(1, 'weather'))
  const odd = { ...answer(1, {}), error: { code: 1, message: 'm' } }
  fine.server(odd)
  t.equal(fine.raw.at(-1)?.bytes, JSON.stringify(odd), 'what is fine passes as it came')
  t.end()
})

t.test('a cancellation names a request by its exact id, or none', t => {
  for (const requestId of [undefined, null, [], false, '', '0', 0.5, [0]]) {
    const script = new Script()
    script.client(call(0, 'weather'))
    script.client({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } })
    script.server(result(script.ownId, { tools: [weather] }))
    t.match(
      script.raw.findLast(({ bytes }) => bytes.includes('tools/call')), { to: 'server' },
      `${JSON.stringify(requestId)} is not 0`,
    )
  }
  const script = new Script().begin()
  script.client('{"jsonrpc":"2.0","id":12345678901234567891,"method":"ping"}')
  script.client(
    '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":12345678901234567891}}',
  )
  t.same(script.happens({ type: 'server-gone', reason: 'gone' }), [], 'digits count, however many')
  t.end()
})

t.test('requestMs does not apply to long-lasting requests', t => {
  const script = new Script({ requestMs: 50 })
  const timers = (method: string) =>
    script.client({ jsonrpc: '2.0', id: method, method }).filter(([what]) => what === 'start timer').length
  t.equal(timers('ping'), 1)
  t.equal(timers('subscriptions/listen'), 0)
  t.equal(timers('tasks/result'), 0)
  t.end()
})

t.test('hidden text is found in every text that a model reads', t => {
  const hidden = 'a\u202e'
  const declared = { sampling: {}, elicitation: {} }
  const cases: readonly (readonly [string, (script: Script) => void])[] = [
    [
      'an error',
      script => {
        script.client(call(1, 'weather'))
        script.server({ jsonrpc: '2.0', id: 1, error: { code: 1, message: hidden } })
      },
    ],
    [
      'a request for sampling',
      script =>
        script.server({
          jsonrpc: '2.0', id: 's', method: 'sampling/createMessage',
          params: { messages: [{ role: 'user', content: { type: 'text', text: hidden } }], maxTokens: 1 },
        }),
    ],
    [
      'a request for elicitation',
      script =>
        script.server({
          jsonrpc: '2.0', id: 's', method: 'elicitation/create',
          params: { message: hidden, requestedSchema: {} },
        }),
    ],
    [
      'progress',
      script =>
        script.server({
          jsonrpc: '2.0', method: 'notifications/progress',
          params: { progressToken: 1, progress: 1, message: hidden },
        }),
    ],
    [
      'a log message',
      script =>
        script.server({
          jsonrpc: '2.0', method: 'notifications/message',
          params: { level: 'info', data: { deep: [hidden] } },
        }),
    ],
  ]
  for (const action of ['log', 'block'] as const) {
    for (const [what, happens] of cases) {
      const script = new Script({ actions: { 'content/hidden-text': action } })
      script.client(initialize('2025-11-25', declared))
      script.server(result(0, { protocolVersion: '2025-11-25' }))
      script.client({ jsonrpc: '2.0', id: 'l', method: 'tools/list' })
      script.server(result('l', { tools: [weather] }))
      script.raw.length = 0
      happens(script)
      t.ok(rulesOf(script).includes('content/hidden-text'), what)
      t.equal(
        script.raw.some(({ to, bytes }) => to === 'client' && bytes.includes(hidden)), action === 'log',
        `${what}: ${action}`,
      )
    }
  }
  const plain = new Script().begin()
  plain.server({
    jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'plain', extra: hidden },
  })
  t.same(rulesOf(plain), [], 'what no model reads is not looked at')
  t.end()
})

t.test('a batch with a call that passes whole reaches the server with its own bytes', t => {
  const script = new Script({ actions: { 'call/arguments': 'block' } }).begin([weather], '2025-03-26')
  const batch =
    `[ ${JSON.stringify(call(1, 'weather'))} , ${JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'ping' })}]`
  script.holdChecks = true
  script.client(batch)
  t.same(script.raw, [])
  script.release()
  t.equal(script.raw.at(-1)?.bytes, batch)
  t.equal(script.raw.length, 1)
  script.server(result(2, {}))
  t.match(script.server(answer(1, {})), [['to client', [{ id: 2 }, { id: 1 }]]])
  t.end()
})

t.test(
  'refused and lost members of a batch are answered with the rest, which does not wait for cancelled ones',
  t => {
    const script = new Script().begin([weather], '2025-03-26')
    script.client([
      call(1, 'nowhere'), { jsonrpc: '2.0', id: 2, method: 'ping' },
      { jsonrpc: '2.0', id: 3, method: 'ping' },
    ])
    t.match(script.raw.map(({ to, bytes }) => [to, bytes]), [['server', /^\[.*"id":2.*"id":3.*\]$/]])
    script.client({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 3 } })
    t.match(script.server(result(2, {})), [['to client', [{ id: 1, error: { code: -32602 } }, { id: 2 }]]])
    t.match(script.server(result(3, {})), [['to client', { id: 3 }]])
    script.client([{ jsonrpc: '2.0', id: 4, method: 'ping' }, { jsonrpc: '2.0', id: 5, method: 'ping' }])
    script.server(result(4, {}))
    t.match(script.happens({ type: 'server-gone', reason: 'gone' }), [
      ['to client', [{ id: 4 }, { id: 5, error: { code: -31001 } }]],
    ])
    t.end()
  },
)

t.test('without sessions a batch and the request of another client may use the same id', t => {
  const script = new Script({ stateless: true, actions: { 'wire/json-rpc': 'log' } })
  script.client([{ jsonrpc: '2.0', id: 1, method: 'ping' }, { jsonrpc: '2.0', id: 2, method: 'ping' }], 'a')
  script.client({ jsonrpc: '2.0', id: 1, method: 'ping' }, 'b')
  script.server(result(1, { for: 'b' }), 'b')
  t.match(script.raw.at(-1), { exchange: 'b', bytes: /"for":"b"/ })
  script.server(result(1, { for: 'a' }), 'a')
  script.server(result(2, {}), 'a')
  t.match(script.raw.at(-1), { exchange: 'a', bytes: /^\[.*"for":"a".*\]$/ })
  t.end()
})

t.test('with the option intent, a call is recorded before it is sent', t => {
  const script = new Script({ intent: true }).begin()
  script.client(call(1, 'weather', { a: 1 }))
  t.match(script.entries, [
    { event: 'tools/call', phase: 'sent', tool: 'weather', id: 1, arguments: Buffer.from('{"a":1}') },
  ])
  script.client({ jsonrpc: '2.0', id: 2, method: 'ping' })
  script.client(call(3, 'nowhere'))
  script.server(answer(1, {}))
  t.match(script.entries.slice(1), [
    { id: 3, phase: undefined, verdict: 'block' }, { id: 1, phase: undefined, verdict: 'pass' },
  ])
  t.end()
})

t.test('a dropped call with findings is recorded with its verdict', t => {
  const script = new Script().begin()
  script.client(call(1, 'weather', { toString: 1 }))
  script.client({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'weather', arguments: 1 } })
  script.happens({ type: 'session-ended', reason: 'over' })
  t.match(script.entries, [
    { id: 1, verdict: 'pass' }, { id: 2, verdict: 'log', findings: [{ rule: 'call/arguments' }] },
    { event: 'session/end' },
  ])
  t.end()
})

t.test('in a joined session, requests of the server pass both ways, and are recorded as unchecked', t => {
  const script = new Script({ joined: true })
  t.match(script.server({ jsonrpc: '2.0', id: 's', method: 'roots/list' }), [['to client', { id: 's' }]])
  t.match(script.client({ jsonrpc: '2.0', id: 's', result: { roots: [] } }), [['to server', { id: 's' }]])
  t.match(script.client({ jsonrpc: '2.0', id: 'asked by another replica', result: {} }), [
    ['to server', { id: 'asked by another replica' }],
  ])
  const found = script.entries.flatMap(({ findings }) => findings.map(({ rule }) => rule))
  t.strictSame(found, ['server/unchecked', 'server/unchecked'])
  const strict = new Script({ joined: true, actions: { 'server/unchecked': 'block' } })
  t.match(strict.server({ jsonrpc: '2.0', id: 's', method: 'roots/list' }), [
    ['to server', { id: 's', error: { code: -32601 } }],
  ])
  t.end()
})

t.test('capabilities declared to another relay do not count as missing', t => {
  const script = new Script({ stateless: true })
  t.match(script.server({ jsonrpc: '2.0', id: 's', method: 'roots/list' }, 'x'), [['to client', { id: 's' }]])
  const fresh = new Script()
  t.match(fresh.server({ jsonrpc: '2.0', id: 's', method: 'roots/list' }), [
    ['to server', { id: 's', error: { code: -32601 } }],
  ])
  t.end()
})
