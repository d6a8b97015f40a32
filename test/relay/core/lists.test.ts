import t from 'tap'
import { checkAtOnce } from './engine.js'
import { answer, call, modern, result, Script, weather } from './script.js'

const changed = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' }
const strict = { name: 'weather', inputSchema: { type: 'object' }, outputSchema: { type: 'object' } }
const lax = { name: 'weather', inputSchema: { type: 'object' } }

t.test('a list of ours looks like a request of the client\'s: its form of id, its members, its _meta', t => {
  const cases = [
    [7, /^\d+$/],
    ['7', /^\d{13}$/],
    [
      'a3f0c1d2-0b1c-4d2e-8f3a-123456789abc',
      /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/,
    ],
    ['req_12', /^r[a-f]q_\d\d\d{12}$/],
  ] as const
  for (const [id, form] of cases) {
    const script = new Script()
    const params = {
      name: 'weather',
      _meta: {
        progressToken: 1, traceparent: 'x', 'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/logLevel': 'info',
      },
      arguments: {},
    }
    script.client(
      `{ "method": "tools/call", "params": ${JSON.stringify(params)}, "jsonrpc": "2.0", "id": ${JSON.stringify(id)} }`,
    )
    t.match(String(script.ownId), form)
    t.equal(typeof script.ownId, typeof id)
    t.not(script.ownId, id)
    t.equal(
      script.raw.at(-1)?.bytes,
      `{ "method": "tools/list", "params": {"_meta":{"traceparent":"x","io.modelcontextprotocol/protocolVersion":"2026-07-28"}}, "jsonrpc": "2.0", "id": ${JSON.stringify(script.ownId)} }`,
    )
  }
  t.end()
})

t.test('ids of ours never reach the client, whatever the server says with them', t => {
  const script = new Script({ actions: { 'wire/id': 'log' } })
  script.client(call(1, 'weather'))
  const first = script.ownId
  t.same(
    script.server({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: first } }), [],
  )
  script.server(result(first, { tools: [weather] }))
  t.same(script.server(result(first, { tools: [] })), [], 'a second answer')
  t.same(
    script.server({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: first } }), [],
    'later',
  )
  t.end()
})

const listChanges = (script: Script) =>
  script.raw.filter(({ to, bytes }) => to === 'client' && bytes.includes('list_changed')).map(({ exchange }) => exchange)
const lists = (script: Script) =>
  script.raw.filter(({ to, bytes }) => to === 'server' && bytes.includes('"tools/list"')).length
const listing = (type: string) => ({ ...weather, outputSchema: { type: 'object', properties: { t: { type } } } })
const integers = listing('integer')
const strings = listing('string')

t.test('a list of the relay that the server made before a change is out of date: the relay lists again', t => {
  const script = new Script({ checkNow: checkAtOnce }).begin([strings])
  script.server(changed)
  script.client(call(1, 'weather'))
  // The server's answer is ready, then the list changes, then the answer leaves.
  t.match(script.server(changed), [['to client', changed]], 'the client hears of it at once')
  t.match(script.server(result(script.ownId, { tools: [strings] })).at(-1), ['to server', { method: 'tools/list' }])
  t.match(script.server(result(script.ownId, { tools: [integers] })).at(-1), ['to server', { method: 'tools/call' }])
  t.match(script.server(answer(1, { t: 5 })), [['to client', { result: { structuredContent: { t: 5 } } }]])
  script.client(call(2, 'weather'))
  t.match(script.server(answer(2, { t: 'hot' })), [['to client', { result: { isError: true } }]])
  t.same(listChanges(script), ['stdio', 'stdio'])
  t.end()
})

t.test('a list of the client that it asked for before a change is out of date when it comes', t => {
  const script = new Script({ checkNow: checkAtOnce }).begin([strings])
  script.client({ jsonrpc: '2.0', id: 'm', method: 'tools/list' })
  script.server(changed)
  script.server(result('m', { tools: [strings] }))
  t.match(script.client(call(1, 'weather')).at(-1), ['to server', { method: 'tools/list' }])
  script.server(result(script.ownId, { tools: [integers] }))
  t.match(script.server(answer(1, { t: 5 })), [['to client', { result: { structuredContent: { t: 5 } } }]])
  t.end()
})

t.test('a page whose first page was asked for before a change is out of date', t => {
  const script = new Script({ checkNow: checkAtOnce })
  script.client({ jsonrpc: '2.0', id: 'm', method: 'tools/list' })
  script.server(result('m', { tools: [strings], nextCursor: 'two' }))
  script.server(changed)
  script.client({ jsonrpc: '2.0', id: 'n', method: 'tools/list', params: { cursor: 'two' } })
  script.server(result('n', { tools: [{ ...integers, name: 'other' }] }))
  t.match(script.client(call(1, 'weather')).at(-1), ['to server', { method: 'tools/list' }])
  t.end()
})

t.test('an older list that comes after a newer one replaces nothing', t => {
  const script = new Script({ checkNow: checkAtOnce }).begin([strings])
  script.client({ jsonrpc: '2.0', id: 'm', method: 'tools/list' })
  script.server(changed)
  script.client(call(1, 'weather'))
  script.server(result(script.ownId, { tools: [integers] }))
  script.server(answer(1, { t: 5 }))
  script.server(result('m', { tools: [strings] }))
  script.client(call(2, 'weather'))
  t.match(script.server(answer(2, { t: 5 })), [['to client', { result: { structuredContent: { t: 5 } } }]])
  t.equal(lists(script), 2, 'the client\'s and one of the relay\'s')
  t.end()
})

t.test('a result that breaks its list is judged by a new one where the list has changed since the call', t => {
  for (const [now, isError] of [[integers, undefined], [strings, true]] as const) {
    const script = new Script({ checkNow: checkAtOnce }).begin([strings])
    script.client(call(1, 'weather'))
    script.server(changed)
    t.match(script.server(answer(1, { t: 5 })).at(-1), ['to server', { method: 'tools/list' }])
    const did = script.server(result(script.ownId, { tools: [now] }))
    t.match(did.filter(([what]) => what === 'to client'), [['to client', { id: 1, result: { isError } }]])
  }
  t.end()
})

t.test('where another process or session of the server answers, its list is asked for anew', t => {
  const script = new Script({ checkNow: checkAtOnce }).begin([strings])
  script.client(call(1, 'weather'))
  script.happens({ type: 'server-renewed' })
  t.match(script.server(answer(1, { t: 5 })).at(-1), ['to server', { method: 'tools/list' }])
  const did = script.server(result(script.ownId, { tools: [integers] }))
  t.match(did.at(-1), ['to client', { result: { structuredContent: { t: 5 } } }])
  t.end()
})

t.test('each list_changed reaches each client that it was sent to', t => {
  const script = new Script({ stateless: true })
  const listen = (id: number) => ({ jsonrpc: '2.0', id, method: 'subscriptions/listen', params: modern() })
  const told = (id: number) =>
    ({ ...changed, params: { _meta: { 'io.modelcontextprotocol/subscriptionId': id } } })
  script.client(listen(1), 'a')
  script.client(listen(1), 'b')
  script.client({ ...call(2, 'weather'), params: { name: 'weather', ...modern() } }, 'c')
  script.server(told(1), 'a')
  script.server(told(1), 'b')
  t.same(listChanges(script), ['a', 'b'])
  t.end()
})

t.test('of a list that changes all the time the relay asks for two, and the last one counts', t => {
  const script = new Script({ checkNow: checkAtOnce })
  for (const id of [1, 2]) script.client(call(id, 'weather'), `post ${id}`)
  for (const tool of [strings, integers]) {
    script.server(changed)
    script.server(result(script.ownId, { tools: [tool] }))
  }
  t.equal(lists(script), 2, 'for all calls that wait')
  t.match(script.server(answer(1, { t: 5 })), [['to client', { result: { structuredContent: { t: 5 } } }]])
  t.match(script.server(answer(2, { t: 'hot' })).at(-1), ['to server', { method: 'tools/list' }])
  const did = script.server(result(script.ownId, { tools: [integers] }))
  t.match(did.at(-1), ['to client', { result: { isError: true } }], 'that list may be old: no result is refused by it')
  t.equal(lists(script), 3)
  t.end()
})

t.test('a tool that was listed in two ways is validated by both until list_changed', t => {
  for (const [first, second] of [[strict, lax], [lax, strict]]) {
    const script = new Script().begin([first ?? {}])
    script.client({ jsonrpc: '2.0', id: 'm', method: 'tools/list' })
    script.server(result('m', { tools: [second] }))
    script.client(call(1, 'weather'))
    t.match(script.server(answer(1, 'hot')), [['to client', { result: { isError: true } }]])
  }
  const script = new Script().begin([strict])
  script.server(changed)
  script.client({ jsonrpc: '2.0', id: 'm', method: 'tools/list' })
  script.server(result('m', { tools: [lax] }))
  script.client(call(1, 'weather'))
  t.match(script.server(answer(1, { any: 1 })), [
    ['to client', { result: { structuredContent: { any: 1 } } }],
  ])
  const expired = new Script()
  for (const [id, tool] of [['a', strict], ['b', lax]] as const) {
    expired.client({ jsonrpc: '2.0', id, method: 'tools/list' })
    expired.server(result(id, { tools: [tool], ttlMs: 10 }))
    expired.at += 20
  }
  expired.client({ jsonrpc: '2.0', id: 'c', method: 'tools/list' })
  expired.server(result('c', { tools: [lax], ttlMs: 10_000 }))
  expired.client(call(1, 'weather'))
  t.match(
    expired.server(result(1, { content: [] })), [['to client', { result: { content: [] } }]],
    'nor when the time of the first was over',
  )
  t.end()
})

t.test('an empty cursor ends a list before 2026-07-28, but is asked for before a call is refused', t => {
  const first = { tools: [weather], nextCursor: '' }
  const known = new Script()
  known.client(call(1, 'weather'))
  t.match(known.server(result(known.ownId, first)), [['stop timer', 'list'], ['to server', { id: 1 }]])
  const asksAgain = ['to server', { method: 'tools/list', params: { cursor: '' } }]
  const absent = new Script()
  absent.client(call(1, 'nowhere'))
  t.match(absent.server(result(absent.ownId, first)), [asksAgain])
  t.match(absent.server(result(absent.ownId, first)), [
    ['stop timer', 'list'], ['to client', { error: { code: -32602 } }],
  ])
  const behind = new Script()
  behind.client(call(1, 'behind'))
  t.match(behind.server(result(behind.ownId, first)), [asksAgain])
  t.match(behind.server(result(behind.ownId, { tools: [{ ...weather, name: 'behind' }] })), [
    ['stop timer', 'list'], ['to server', { id: 1 }],
  ])
  const refused = new Script()
  refused.client(call(1, 'nowhere'))
  refused.server(result(refused.ownId, first))
  const error = { code: -32602, message: 'no cursor' }
  t.match(refused.server({ jsonrpc: '2.0', id: refused.ownId, error }), [
    ['stop timer', 'list'], ['to client', { error: { message: 'Unknown tool: nowhere' } }],
  ])
  t.end()
})

t.test('a cursor that came before ends a list: what was listed so far is the list', t => {
  for (const cursors of [['again', 'again'], ['a', 'b', 'a'], ['a', 'b', 'c', 'b']]) {
    for (const [name, to] of [['weather', 'to server'], ['nowhere', 'to client']] as const) {
      const script = new Script()
      script.client(call(1, name))
      for (const [index, nextCursor] of cursors.entries())
        script.server(result(script.ownId, { tools: index === 0 ? [weather] : [], nextCursor }))
      t.equal(script.raw.filter(({ bytes }) => bytes.includes('tools/list')).length, cursors.length)
      const last = script.raw.at(-1)
      t.match([`to ${last?.to}`, last?.bytes], [to, /"id":1/], `${name} ${String(cursors)}`)
      t.match(script.entries.find(({ findings }) => findings.length > 0)?.findings, [
        { rule: 'list/shape', path: '/result/nextCursor' },
      ])
    }
  }
  t.end()
})

t.test('a client that lists itself sees the pages as they are, and its list is whole', t => {
  const script = new Script()
  script.client({ jsonrpc: '2.0', id: 'l', method: 'tools/list' })
  t.match(script.server(result('l', { tools: [weather], nextCursor: 'a' })), [
    ['to client', { result: { tools: [{ name: 'weather' }], nextCursor: 'a' } }],
  ])
  script.client({ jsonrpc: '2.0', id: 'm', method: 'tools/list', params: { cursor: 'a' } })
  t.match(script.server(result('m', { tools: [], nextCursor: 'a' })), [
    ['to client', { result: { tools: [], nextCursor: 'a' } }],
  ])
  t.match(script.entries.at(-1), { verdict: 'log', findings: [{ rule: 'list/shape' }] })
  t.match(script.client(call(1, 'weather')), [['to server', { id: 1 }]])
  t.match(script.client(call(2, 'nowhere')), [['to client', { id: 2, error: { code: -32602 } }]])
  t.end()
})

t.test('a tools/list of the relay without a response is recorded', t => {
  const late = new Script()
  late.client(call(1, 'weather'))
  late.happens({ type: 'timer-fired', timer: 'list 1' })
  t.match(late.entries, [
    { event: 'session/start' }, { event: 'tools/list', reason: 'no response came' },
  ])
  t.end()
})

t.test('a denied tool that is removed from a list is recorded', t => {
  const denied = { denied: true, outputSchema: undefined, annotations: undefined }
  const script = new Script({ tools: new Map([['weather', denied]]) })
  script.client({ jsonrpc: '2.0', id: 'l', method: 'tools/list' })
  t.match(script.server(result('l', { tools: [weather, { ...lax, name: 'other' }] })), [
    ['to client', { result: { tools: [{ name: 'other' }] } }],
  ])
  t.match(script.entries.at(-1), {
    verdict: 'block', findings: [{ rule: 'call/denied', path: '/result/tools/0' }],
  })
  t.end()
})

t.test('the error for a nearly right tool name suggests the listed one', t => {
  const script = new Script().begin([{ ...lax, name: 'get_weather' }])
  t.match(script.client(call(1, 'getWeather')), [
    [
      'to client',
      { error: { code: -32602, message: 'Unknown tool: getWeather', data: { didYouMean: 'get_weather' } } },
    ],
  ])
  t.match(script.client({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: {} }), [
    ['to client', { error: { message: /names none/ } }],
  ])
  t.end()
})

t.test(
  'after list_changed the new list counts for every call, also where the client does not list again',
  t => {
    const script = new Script().begin([strict])
    script.server(changed)
    script.client(call(1, 'weather'))
    script.server(result(script.ownId, { tools: [lax] }))
    t.match(script.server(result(1, { content: [] })), [['to client', { result: { content: [] } }]])
    script.server(changed)
    script.client(call(2, 'weather'))
    script.server(result(script.ownId, { tools: [strict] }))
    t.match(script.server(result(2, { content: [] })), [['to client', { result: { isError: true } }]])
    t.end()
  },
)

t.test('after a failed tools/list, waiting calls do not each ask again', t => {
  const script = new Script()
  for (let id = 1; id <= 6; id++) script.client(call(id, 'weather'))
  t.match(
    script.client({ jsonrpc: '2.0', id: 7, method: 'ping' }), [['to server', { method: 'ping' }]],
    'a ping waits for nothing',
  )
  const asked = () =>
    script.raw.filter(({ to, bytes }) => to === 'server' && bytes.includes('"tools/list"')).length
  t.equal(asked(), 1)
  script.happens({ type: 'timer-fired', timer: 'list 1' })
  t.equal(asked(), 1, 'the others do not wait as long again')
  t.same(script.raw.filter(({ to, bytes }) => to === 'server' && bytes.includes('tools/call')).length, 6)
  script.at += 2000
  script.client(call(8, 'weather'))
  t.equal(asked(), 2, 'later calls try again')
  t.end()
})

t.test('a failed tools/list for one client does not stop those of other clients', t => {
  const script = new Script({ stateless: true })
  const asks = (id: number, exchange: string) =>
    script.client({ ...call(id, 'weather'), params: { name: 'weather', ...modern() } }, exchange)
  asks(1, 'a')
  asks(2, 'b')
  const failed = { jsonrpc: '2.0', id: script.ownId, error: { code: -32602, message: 'not for you' } }
  script.server(failed, 'a')
  t.equal(script.raw.at(-1)?.exchange, 'b')
  script.server(result(script.ownId, { tools: [weather] }), 'b')
  t.match(script.server(answer(2, {}), 'b'), [['to client', { result: { isError: undefined } }]])
  t.match(script.server(answer(1, {}), 'a'), [['to client', { result: { isError: true } }]])
  t.end()
})

t.test('the end of the time of one listing does not end the next one, which it lets begin', t => {
  const script = new Script({ stateless: true })
  const asks = (id: number, exchange: string) =>
    script.client({ ...call(id, 'weather'), params: { name: 'weather', ...modern() } }, exchange)
  asks(1, 'a')
  asks(2, 'b')
  asks(3, 'c')
  script.happens({ type: 'timer-fired', timer: 'list 1' })
  t.match(script.raw.at(-1), { exchange: 'b', bytes: /"tools\/list"/ }, 'b lists, and its call waits')
  script.server(result(script.ownId, { tools: [weather] }), 'b')
  t.match(script.server(answer(3, {}), 'c'), [['to client', { result: { isError: undefined } }]])
  t.end()
})

t.test('where no list can be had after a change, the list from before it judges neither calls nor results', t => {
  const script = new Script({ stateless: true, checkNow: checkAtOnce })
  const asks = (id: number, name: string, exchange: string) =>
    script.client({ ...call(id, name), params: { name, ...modern() } }, exchange)
  asks(1, 'weather', 'a')
  script.server(result(script.ownId, { tools: [integers] }), 'a')
  for (const [id, exchange] of [[2, 'b'], [3, 'c']] as const) asks(id, 'weather', exchange)
  script.server(changed, 'b')
  for (const [id, exchange] of [[1, 'a'], [2, 'b'], [3, 'c']] as const)
    script.server(answer(id, { t: 'hot' }), exchange)
  asks(4, 'new', 'd')
  for (const timer of ['list 2', 'list 3']) script.happens({ type: 'timer-fired', timer })
  const said = script.raw.filter(({ to, bytes }) => to === 'client' && bytes.includes('"result"'))
  t.equal(said.length, 3)
  for (const { bytes } of said) t.match(bytes, 'result/unchecked')
  t.match(script.raw.findLast(({ exchange }) => exchange === 'd'), { to: 'server', bytes: /"new"/ })
  t.end()
})

t.test('a tools/list of the relay ends at a huge cursor', t => {
  const script = new Script()
  script.client(call(1, 'nowhere'))
  script.server(result(script.ownId, { tools: [weather], nextCursor: 'x'.repeat(20_000) }))
  t.match(
    script.raw.at(-1), { to: 'server', bytes: /"nowhere"/ },
    'no list could be had, so that nothing is known of the tool',
  )
  t.end()
})

t.test('a late response to a list of the relay is dropped without a finding', t => {
  const script = new Script()
  script.client(call(1, 'weather'))
  const own = script.ownId
  script.happens({ type: 'timer-fired', timer: 'list 1' })
  const before = script.entries.length
  t.same(script.server(result(own, { tools: [weather] })), [])
  t.equal(script.entries.length, before)
  t.end()
})

t.test('a finding about an element of a list names the element', t => {
  const hidden = '\u202ehidden'
  const cases = [
    ['tools/list', { tools: [weather, { ...weather, name: 'bad', description: hidden }] }, { tool: 'bad' }],
    ['prompts/list', { prompts: [{ name: 'greet', description: hidden }] }, { prompt: 'greet' }],
    ['resources/list', { resources: [{ uri: 'x://a', name: hidden }] }, { resource: 'x://a' }],
    [
      'resources/templates/list', { resourceTemplates: [{ uriTemplate: 'x://{a}', name: hidden }] },
      { resource: 'x://{a}' },
    ],
    ['tools/list', { tools: [{ name: 7 }] }, { tool: undefined }],
  ] as const
  for (const [method, value, about] of cases) {
    const script = new Script().begin()
    script.client({ jsonrpc: '2.0', id: 'm', method })
    script.server(result('m', value))
    t.match(script.entries.at(-1)?.findings[0], about, method)
  }
  const own = new Script()
  own.client(call(1, 'weather'))
  own.server(result(own.ownId, { tools: [{ ...weather, name: 'bad', description: hidden }] }))
  t.match(own.entries.find(({ event }) => event === 'tools/list')?.findings[0], { tool: 'bad' })
  t.end()
})
