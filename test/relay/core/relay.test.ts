import t from 'tap'
import { parseFrame } from '#relay/protocol/parse.js'
import { answer, call, initialize, result, Script, weather } from './script.js'

t.test('a frame without findings passes with its own bytes', t => {
  const script = new Script()
  const odd =
    '{ "jsonrpc" : "2.0", "id":1 , "method":"x/unknown", "params":{"big":12345678901234567890,"f":1.0} }'
  script.client(odd)
  const reply = '{"id":1,"jsonrpc":"2.0","result":{"vendor":{"x":1e2},"null":null}}\r'
  script.server(reply)
  t.strictSame(script.raw.map(({ to, bytes }) => [to, bytes]), [['server', odd], ['client', reply]])
  t.end()
})

t.test('a result that breaks its schema is blocked, and the client gets an error result', t => {
  const script = new Script().begin()
  script.client(call(1, 'weather'))
  t.match(script.server(answer(1, 'hot')), [
    ['to client', { id: 1, result: { isError: true, content: [{ type: 'text', text: /result\/schema/ }] } }],
  ])
  t.match(script.entries, [
    {
      event: 'tools/call', tool: 'weather', verdict: 'block',
      findings: [{ rule: 'result/shape' }, { rule: 'result/schema' }],
    },
  ])
  t.end()
})

t.test('a result without the structured content that was declared keeps its text, as an error', t => {
  const script = new Script().begin()
  script.client(call(1, 'weather'))
  const [[, sent]] = script.server(
    result(1, { content: [{ type: 'text', text: '20 degrees' }], _meta: { a: 1 } }),
  ) as [[string, unknown]]
  t.match(sent, {
    id: 1,
    result: {
      isError: true, content: [{ text: '20 degrees' }, { text: /result\/missing/ }],
      _meta: { a: 1, 'mcp-customs/findings': [{ rule: 'result/missing' }] },
    },
  })
  t.match(script.entries, [{ verdict: 'demote' }])
  t.end()
})

t.test('a call of an unknown tool waits while all pages are listed, and the list never reaches the client', t => {
  const script = new Script()
  script.client(initialize('2025-11-25'))
  script.server(result(0, { protocolVersion: '2025-11-25' }))
  t.match(script.client(call(1, 'weather')), [
    ['start timer', 'list 1'],
    ['to server', { method: 'tools/list', params: {} }],
  ])
  t.match(script.server(result(script.ownId, { tools: [{ ...weather, name: 'other' }], nextCursor: 'p2' })), [
    ['to server', { method: 'tools/list', params: { cursor: 'p2' } }],
  ])
  t.match(script.server(result(script.ownId, { tools: [weather] })), [
    ['stop timer', 'list 1'],
    ['to server', { id: 1, method: 'tools/call' }],
  ])
  t.match(script.server(answer(1, {})), [['to client', { id: 1, result: { structuredContent: {} } }]])
  t.end()
})

t.test('a list that has a huge cursor, fails, or does not come in time lets the call go on unchecked, and blocks its result', t => {
  const ends = {
    'a huge cursor': (script: Script) =>
      script.server(result(script.ownId, { tools: [], nextCursor: 'x'.repeat(20_000) })),
    'an error': (script: Script) =>
      script.server({ jsonrpc: '2.0', id: script.ownId, error: { code: -32601, message: 'no' } }),
    'no list': (script: Script) => script.server(result(script.ownId, {})),
    'time over': (script: Script) => script.happens({ type: 'timer-fired', timer: 'list 1' } as never),
  }
  for (const [name, end] of Object.entries(ends)) {
    const script = new Script()
    script.client(call(1, 'weather'))
    t.match(end(script).at(-1), ['to server', { id: 1, method: 'tools/call' }], name)
    t.match(script.server(answer(1, {})), [['to client', { id: 1, result: { isError: true } }]], name)
    t.match(
      script.entries.at(-1),
      { verdict: 'block', findings: [{ rule: 'call/unchecked' }, { rule: 'result/unchecked' }] }, name,
    )
  }
  t.end()
})

t.test('after list_changed and after its time a list is asked for again; a list that says "do not cache" stays', t => {
  const script = new Script().begin()
  script.server({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })
  t.match(
    script.client(call(1, 'weather')), [['start timer', 'list 1'], ['to server', { method: 'tools/list' }]],
  )
  const timed = (ttlMs: number) => {
    const other = new Script()
    other.client({ jsonrpc: '2.0', id: 'l', method: 'tools/list' })
    other.server(result('l', { tools: [weather], ttlMs }))
    other.at = 2000
    return other.client(call(1, 'weather')).at(-1)
  }
  t.match(timed(1000), ['to server', { method: 'tools/list' }])
  t.match(timed(3000), ['to server', { method: 'tools/call' }])
  t.match(timed(0), ['to server', { method: 'tools/call' }])
  t.end()
})

t.test('a call of a tool that is in no list is answered as an unknown tool', t => {
  const script = new Script().begin()
  t.strictSame(script.client(call(1, 'wether')), [
    ['to client', { jsonrpc: '2.0', id: 1, error: { code: -32602, message: 'Unknown tool: wether' } }],
  ])
  t.end()
})

t.test('a tool that the operator denies is in no list and cannot be called', t => {
  const denied = { denied: true, outputSchema: undefined, annotations: undefined }
  const script = new Script({ tools: new Map([['weather', denied]]) })
  script.client({ jsonrpc: '2.0', id: 'l', method: 'tools/list' })
  t.strictSame(
    script.server(
      '{"jsonrpc":"2.0","id":"l","result":{"tools":[{"name":"weather","inputSchema":{"type":"object"}}]}}',
    ),
    [['to client', { jsonrpc: '2.0', id: 'l', result: { tools: [] } }]],
  )
  t.match(script.client(call(1, 'weather')), [['to client', { id: 1, result: { isError: true } }]])
  t.match(script.entries.at(-1), { verdict: 'block', findings: [{ rule: 'call/denied' }] })
  t.end()
})

t.test('annotations of a server that is not trusted are cut out of the page, and nothing else is', t => {
  const script = new Script({ trusted: false })
  script.client({ jsonrpc: '2.0', id: 'l', method: 'tools/list' })
  script.server(
    '{"jsonrpc":"2.0","id":"l","result":{"tools":[ {"name":"a","x":1.0, "annotations":{"readOnlyHint":true},"inputSchema":{"type":"object"}} ]}}',
  )
  t.equal(
    script.raw.at(-1)?.bytes,
    '{"jsonrpc":"2.0","id":"l","result":{"tools":[ {"name":"a","x":1.0,"inputSchema":{"type":"object"}} ]}}',
  )
  t.end()
})

t.test('of two tools with one name the first stays', t => {
  const script = new Script()
  script.client({ jsonrpc: '2.0', id: 'l', method: 'tools/list' })
  script.server(result('l', { tools: [weather], nextCursor: 'n' }))
  script.client({ jsonrpc: '2.0', id: 'm', method: 'tools/list', params: { cursor: 'n' } })
  t.match(script.server(result('m', { tools: [{ ...weather, outputSchema: { type: 'string' } }] })), [
    ['to client', { result: { tools: [] } }],
  ])
  script.client(call(1, 'weather'))
  t.match(script.server(answer(1, {})), [['to client', { result: { structuredContent: {} } }]])
  t.end()
})

t.test('a response with another type or spelling of its id is blocked, and the right one passes', t => {
  for (const id of ['"1"', '1.0', '1e0']) {
    const script = new Script()
    script.client({ jsonrpc: '2.0', id: 1, method: 'ping' })
    t.match(script.server(`{"jsonrpc":"2.0","id":${id},"result":{}}`), [['start timer', 'request 1']], id)
    t.match(script.entries.at(-1), { event: 'wire', verdict: 'block', findings: [{ rule: 'wire/id' }] })
    t.match(script.server(result(1, {})), [['stop timer', 'request 1'], ['to client', { id: 1, result: {} }]])
  }
  t.end()
})

t.test('a response without a request, or a second one, is blocked', t => {
  const script = new Script()
  script.client({ jsonrpc: '2.0', id: 1, method: 'ping' })
  t.match(script.server(result(7, {})), [['start timer', 'request 1']])
  t.match(script.server(result(1, {})), [['stop timer', 'request 1'], ['to client', { id: 1, result: {} }]])
  t.strictSame(script.server(result(1, {})), [])
  t.match(script.entries.slice(1), [
    { event: 'wire', findings: [{ rule: 'wire/id' }] }, { event: 'wire', findings: [{ rule: 'wire/id' }] },
  ])
  t.end()
})

t.test('of two requests in flight with one id the second is refused, and the first lives', t => {
  const script = new Script()
  script.client({ jsonrpc: '2.0', id: 1, method: 'ping' })
  t.match(script.client({ jsonrpc: '2.0', id: 1, method: 'ping' }), [
    ['to client', { id: 1, error: { code: -31000 } }],
  ])
  t.match(script.server(result(1, { first: true })), [['to client', { id: 1, result: { first: true } }]])
  t.end()
})

t.test('without a session two exchanges may use one id', t => {
  const script = new Script({ stateless: true })
  script.client({ jsonrpc: '2.0', id: 1, method: 'ping' }, 'a')
  script.client({ jsonrpc: '2.0', id: 1, method: 'ping' }, 'b')
  script.server(result(1, { for: 'b' }), 'b')
  script.server(result(1, { for: 'a' }), 'a')
  t.strictSame(
    script.raw.filter(({ to }) => to === 'client').map(({ exchange, bytes }) => [exchange, bytes]),
    [
      ['b', '{"jsonrpc":"2.0","id":1,"result":{"for":"b"}}'],
      ['a', '{"jsonrpc":"2.0","id":1,"result":{"for":"a"}}'],
    ],
  )
  t.end()
})

t.test('when the server is gone, waiting and later requests get an error', t => {
  const script = new Script().begin()
  script.client(call(1, 'weather'))
  script.client({ jsonrpc: '2.0', id: 2, method: 'ping' })
  script.server({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })
  script.client(call(3, 'weather'))
  t.match(script.happens({ type: 'server-gone', reason: 'the server exited with code 1' } as never), [
    ['to client', { id: 1, error: { code: -31001, message: /exited with code 1/ } }],
    ['to client', { id: 2, error: { code: -31001 } }],
    ['to client', { id: 3, error: { code: -31001 } }],
    ['stop timer', 'list 1'],
  ])
  t.match(
    script.client({ jsonrpc: '2.0', id: 4, method: 'ping' }),
    [['to client', { id: 4, error: { code: -31001 } }]],
  )
  t.end()
})

t.test('after requestMs the request gets an error, the server a cancellation, and a late response is blocked', t => {
  const script = new Script({ requestMs: 50 })
  t.match(
    script.client({ jsonrpc: '2.0', id: 1, method: 'ping' }),
    [['start timer', 'request 1'], ['to server', { id: 1 }]],
  )
  t.match(script.happens({ type: 'timer-fired', timer: 'request 1' } as never), [
    ['stop timer', 'request 1'],
    ['to client', { id: 1, error: { code: -31002 } }],
    ['abandon', '1'],
    ['to server', { method: 'notifications/cancelled', params: { requestId: 1 } }],
  ])
  t.strictSame(script.server(result(1, {})), [])
  t.end()
})

t.test('a client must not cancel its initialize request, and neither does the relay after requestMs', t => {
  const script = new Script({ requestMs: 50 })
  const [[, timer] = []] = script.client(initialize('2025-11-25'))
  t.match(script.happens({ type: 'timer-fired', timer } as never), [
    ['stop timer', timer], ['to client', { id: 0, error: { code: -31002 } }], ['abandon', '0'],
  ])
  t.notOk(script.raw.some(({ bytes }) => bytes.includes('notifications/cancelled')))
  t.end()
})

t.test('an unreadable response still ends the wait of the request that it was meant for', t => {
  const cases: readonly [string, string][] = [
    ['{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"te', 'truncated'],
    ['{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"x"}}', 'both result and error'],
    [
      '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}',
      'no id, and only one waits',
    ],
    ['{"jsonrpc":"2.0","id":1,"id":2,"result":{}}', 'two ids'],
    ['{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}', 'a duplicate key'],
  ]
  for (const [bytes, name] of cases) {
    const script = new Script()
    script.client({ jsonrpc: '2.0', id: 1, method: 'ping' })
    const did = script.server(bytes)
    const [[first, timer] = []] = did
    const ended = first === 'start timer'
      ? script.happens({ type: 'timer-fired', timer } as never).filter(([what]) => what === 'to client')
      : did
    t.match(ended, [['to client', { id: 1, error: { code: -31000 } }]], name)
  }
  const script = new Script()
  script.client({ jsonrpc: '2.0', id: 1, method: 'ping' })
  t.strictSame(script.server('WARN {"id":9} starting'), [], 'noise answers nobody')
  t.match(script.entries.at(-1), { event: 'wire', verdict: 'block', findings: [{ rule: 'wire/json' }] })
  t.end()
})

t.test('a cancelled call that waits for the list never reaches the server', t => {
  const script = new Script()
  script.client(call(1, 'weather'))
  t.strictSame(
    script.client({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }), [],
  )
  t.strictSame(script.server(result(script.ownId, { tools: [weather] })), [['stop timer', 'list 1']])
  t.match(script.entries.find(({ event }) => event === 'tools/call'), { verdict: 'pass', tool: 'weather' })
  t.end()
})

const ourNames = [
  'session/start', 'session/end', 'wire', 'http/refused', 'audit/checkpoint', 'audit/lost', 'server/health',
  'Session/End', 'session/end\u200b', 'tools/call', 'tools/list',
]

t.test('a method name of a peer cannot forge an event of the log, nor can a server record a tools/call', t => {
  const script = new Script().begin()
  for (const method of [...ourNames, 'roots/list']) {
    script.entries.length = 0
    script.server({ jsonrpc: '2.0', id: 's', method })
    t.match(
      script.entries, [{ from: 'server', event: method === 'roots/list' ? method : `method:${method}` }],
    )
  }
  for (const from of ['client', 'server'] as const) {
    for (const method of ourNames.slice(0, 7)) {
      script.entries.length = 0
      // Each has a finding: an invisible character in a place that a model reads, or an id that was used
      // before.
      script[from]({ jsonrpc: '2.0', id: 'again', method })
      script[from]({ jsonrpc: '2.0', method: 'notifications/message', params: { data: 'a\u202eb' } })
      script[from]({ jsonrpc: '2.0', id: 'again', method })
      t.ok(script.entries.length > 0)
      for (const { event, from: asker } of script.entries) {
        t.ok(asker === from && (event === 'wire' || !ourNames.includes(event)), `${event} ${asker}`)
      }
    }
  }
  t.end()
})

t.test('a request of the server passes only when the client declared the capability', t => {
  const asked = {
    jsonrpc: '2.0', id: 's', method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 },
  }
  const without = new Script().begin()
  t.match(without.server(asked), [['to server', { id: 's', error: { code: -32601 } }]])
  t.match(without.entries, [
    { event: 'sampling/createMessage', verdict: 'block', findings: [{ rule: 'server/request' }] },
  ])
  const script = new Script()
  script.client(initialize('2025-11-25', { sampling: {} }))
  script.server(result(0, { protocolVersion: '2025-11-25' }))
  t.match(script.server(asked), [['to client', { id: 's' }]])
  t.match(script.client(result('s', { role: 'assistant' })), [['to server', { id: 's' }]])
  t.strictSame(script.client(result('s', { role: 'assistant' })), [], 'a second answer does not pass')
  t.end()
})

t.test('answers to a list of the relay never reach the client, not even late and under observe', t => {
  const script = new Script({ actions: { 'wire/id': 'log' } })
  script.client(call(1, 'weather'))
  script.happens({ type: 'timer-fired', timer: 'list 1' } as never)
  t.strictSame(script.server(result(script.ownId, { tools: [] })), [])
  t.end()
})

t.test('a batch of 2025-03-26 leaves whole, and its answers come back as one', t => {
  const script = new Script().begin([weather], '2025-03-26')
  const batch = '[{"jsonrpc":"2.0","id":1,"method":"ping"}, {"jsonrpc":"2.0","id":2,"method":"ping"}]'
  script.client(batch)
  t.equal(script.raw.at(-1)?.bytes, batch)
  const whole = '[{"jsonrpc":"2.0","id":2,"result":{}} ,{"jsonrpc":"2.0","id":1,"result":{}}]'
  script.server(whole)
  t.equal(script.raw.at(-1)?.bytes, whole)

  script.client([call(3, 'weather'), call(4, 'nowhere'), { jsonrpc: '2.0', method: 'notifications/x' }])
  t.match(
    script.raw.at(-1), { to: 'server', bytes: /^\[.*"id":3.*notifications\/x.*\]$/ },
    'members that pass go on together',
  )
  t.match(script.server(answer(3, 'hot')), [
    ['to client', [{ id: 4, error: { code: -32602 } }, { id: 3, result: { isError: true } }]],
  ])
  t.end()
})

t.test('a batch in any other revision is refused, each of its requests', t => {
  const script = new Script().begin()
  t.match(
    script.client([{ jsonrpc: '2.0', id: 1, method: 'ping' }, { jsonrpc: '2.0', id: 2, method: 'ping' }]),
    [['to client', { id: 1, error: { code: -31000 } }], ['to client', { id: 2, error: { code: -31000 } }]],
  )
  t.end()
})

t.test('the result of a task is judged like that of a call, and an unknown task is unchecked', t => {
  const script = new Script().begin()
  script.client({
    jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'weather', arguments: {}, task: {} },
  })
  t.match(script.server(result(1, { task: { taskId: 't', status: 'working' } })), [
    ['to client', { result: { task: { taskId: 't' } } }],
  ])
  script.client({ jsonrpc: '2.0', id: 2, method: 'tasks/result', params: { taskId: 't' } })
  t.match(script.server(answer(2, 'hot')), [['to client', { id: 2, result: { isError: true } }]])
  script.client({ jsonrpc: '2.0', id: 3, method: 'tasks/result', params: { taskId: 'u' } })
  t.match(script.server(answer(3, {})), [['to client', { id: 3, result: { isError: true } }]])
  t.match(script.entries.at(-1), { findings: [{ rule: 'result/unchecked' }] })
  t.end()
})

t.test('a result that only claims to be a task is judged as a result', t => {
  const script = new Script().begin()
  script.client(call(1, 'weather'))
  t.match(script.server(result(1, { task: { taskId: 't' } })), [['to client', { result: { isError: true } }]])
  script.client(call(2, 'weather'))
  t.match(script.server(result(2, { resultType: 'input_required', inputRequests: {} })), [
    ['to client', { result: { isError: true } }],
  ])
  t.end()
})

const modern = (capabilities: object = {}) => ({
  _meta: {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'm', version: '2' },
    'io.modelcontextprotocol/clientCapabilities': capabilities,
    progressToken: 'p',
  },
})

t.test('a modern call carries its own terms, and so does the list that the relay asks for', t => {
  const script = new Script()
  t.match(
    script
      .client({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'weather', ...modern() } })
      .at(-1),
    [
      'to server',
      {
        method: 'tools/list',
        params: {
          _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', progressToken: undefined },
        },
      },
    ],
  )
  script.server(
    result(script.ownId, { tools: [weather], resultType: 'complete', ttlMs: 0, cacheScope: 'private' }),
  )
  t.match(script.server(result(1, { resultType: 'complete', content: [], structuredContent: 1 })), [
    ['to client', { result: { isError: true, resultType: 'complete' } }],
  ])
  t.match(script.entries.at(-1), { client: { name: 'm', version: '2' }, revision: '2026-07-28' })
  t.end()
})

t.test('requests inside an input_required result need the capability that the call declared', t => {
  const ask = (capabilities: object) => {
    const script = new Script()
    script.client({ jsonrpc: '2.0', id: 'l', method: 'tools/list', params: modern() })
    script.server(result('l', { tools: [weather], resultType: 'complete' }))
    script.client({
      jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'weather', ...modern(capabilities) },
    })
    return script.server(
      result(1, {
        resultType: 'input_required',
        inputRequests: { a: { method: 'elicitation/create', params: { message: 'x', requestedSchema: {} } } },
      }),
    )
  }
  t.match(ask({}), [['to client', { id: 1, error: { code: -31000 } }]])
  t.match(ask({ elicitation: {} }), [['to client', { id: 1, result: { resultType: 'input_required' } }]])
  t.end()
})

t.test('a result that is both a final one and a request for input is judged as both', t => {
  const ask = (members: object) => {
    const script = new Script()
    script.client({ jsonrpc: '2.0', id: 'l', method: 'tools/list', params: modern() })
    script.server(result('l', { tools: [weather], resultType: 'complete' }))
    script.client({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'weather', ...modern() } })
    return script.server(result(1, members))
  }
  const inputRequests = { a: { method: 'sampling/createMessage', params: {} } }
  const content = [{ type: 'text', text: 'x' }]
  t.match(ask({ resultType: 'input_required', content, structuredContent: 'hot' }), [
    ['to client', { result: { isError: true } }],
  ])
  t.match(ask({ resultType: 'complete', content, structuredContent: {}, inputRequests }), [
    ['to client', { result: { isError: true } }],
  ])
  const script = new Script()
  script.client({ jsonrpc: '2.0', id: 'l', method: 'tools/list', params: modern() })
  t.match(script.server(result('l', { tools: [], resultType: 'input_required', inputRequests })), [
    ['to client', { error: { code: -31000 } }],
  ])
  t.end()
})

t.test('a session is on record from its start to its end, and so is a call that was never answered', t => {
  const script = new Script()
  script.client(initialize('2025-11-25'))
  script.server(result(0, { protocolVersion: '2025-06-18' }))
  script.client({ jsonrpc: '2.0', id: 'l', method: 'tools/list' })
  script.server(result('l', { tools: [weather] }))
  script.client(call(1, 'weather'))
  script.happens({ type: 'session-ended', reason: 'the client left' } as never)
  t.match(script.entries, [
    { event: 'session/start', client: { name: 'test' } },
    { event: 'tools/list', verdict: 'pass', revision: '2025-06-18' },
    { event: 'tools/call', verdict: 'pass' },
    { event: 'session/end', reason: 'the client left' },
  ])
  t.end()
})

t.test('a definition that changes within a session is drift each time, compared with the first list', t => {
  const script = new Script().begin()
  for (const id of [1, 2]) {
    script.client({ jsonrpc: '2.0', id, method: 'tools/list' })
    script.server(result(id, { tools: [{ ...weather, title: 'new' }] }))
    t.match(script.entries.at(-1), { verdict: 'log', findings: [{ rule: 'tool/drift' }] })
  }
  t.end()
})

t.test(
  'HTTP headers that disagree with the arguments that they repeat are refused as a header mismatch',
  t => {
    const tool = {
      name: 'query',
      inputSchema: { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } },
    }
    const ask = (region: string) => {
      const script = new Script({ stateless: true })
      script.client({ jsonrpc: '2.0', id: 'l', method: 'tools/list', params: modern() }, 'x')
      script.server(result('l', { tools: [tool], resultType: 'complete' }), 'x')
      const request = {
        jsonrpc: '2.0', id: 1, method: 'tools/call',
        params: { name: 'query', arguments: { region: 'eu' }, ...modern() },
      }
      const frame = parseFrame(Buffer.from(JSON.stringify(request)), { messageBytes: 9999, depth: 9 })
      const headers = new Map([
        ['mcp-protocol-version', '2026-07-28'], ['mcp-method', 'tools/call'], ['mcp-name', 'query'],
        ['mcp-param-region', region],
      ])
      return script.happens({
        type: 'frame-received', from: 'client', exchange: 'x', frame: { ...frame, envelope: { headers } },
      } as never)
    }
    t.match(ask('eu'), [['to server', { id: 1 }]])
    t.match(ask('us'), [['to client', { id: 1, error: { code: -32020 } }]])
    t.end()
  },
)

t.test('a request without an id is no notification, and is blocked in both directions', t => {
  const script = new Script().begin()
  t.strictSame(script.client({ jsonrpc: '2.0', method: 'tools/call', params: { name: 'weather' } }), [])
  t.strictSame(script.server({ jsonrpc: '2.0', method: 'sampling/createMessage', params: {} }), [])
  t.match(script.entries, [
    { findings: [{ rule: 'wire/json-rpc' }] }, { findings: [{ rule: 'wire/json-rpc' }] },
  ])
  t.match(script.client({ jsonrpc: '2.0', method: 'vendor/event' }), [
    ['to server', { method: 'vendor/event' }],
  ])
  t.end()
})

t.test('a task cannot be given another tool', t => {
  const loose = { name: 'loose', inputSchema: { type: 'object' } }
  const script = new Script().begin([weather, loose])
  script.client({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'loose', task: {} } })
  script.server(result(1, { task: { taskId: 'x', status: 'working' } }))
  script.client({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'weather', task: {} } })
  t.match(script.server(result(2, { task: { taskId: 'x', status: 'working' } })), [
    ['to client', { id: 2, result: { isError: true } }],
  ])
  t.end()
})

t.test('an operator\'s schema stands even when no list can be had', t => {
  const setting = { denied: false, outputSchema: { type: 'object' }, annotations: undefined }
  const script = new Script({ tools: new Map([['weather', setting]]) })
  script.client(call(1, 'weather'))
  script.server({ jsonrpc: '2.0', id: script.ownId, error: { code: -32601, message: 'no' } })
  t.match(script.server(result(1, { content: [{ type: 'text', text: 'x' }] })), [
    ['to client', { result: { isError: true } }],
  ])
  t.match(script.entries.at(-1), {
    verdict: 'demote', findings: [{ rule: 'call/unchecked' }, { rule: 'result/missing' }],
  })
  t.end()
})

t.test('a page that is asked for twice is the same page twice', t => {
  const script = new Script()
  const ask = (id: string, cursor?: string) =>
    script.client({
      jsonrpc: '2.0', id, method: 'tools/list', params: cursor === undefined ? {} : { cursor },
    })
  ask('a')
  script.server(result('a', { tools: [{ ...weather, name: 'one' }], nextCursor: 'p2' }))
  for (const id of ['b', 'c']) {
    ask(id, 'p2')
    t.match(script.server(result(id, { tools: [weather] })), [
      ['to client', { result: { tools: [{ name: 'weather' }] } }],
    ])
  }
  t.end()
})
