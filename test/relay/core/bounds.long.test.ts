import { stdioExchange } from '#relay/core/event.js'
import t from 'tap'
import { answer, call, result, Script, weather } from './script.js'

const list = (id: number | string) => ({ jsonrpc: '2.0', id, method: 'tools/list' })
const tool = (name: string, more: object = {}) => ({ name, inputSchema: { type: 'object' }, ...more })

/** About the size of a record in the audit log. */
const sizeOf = (value: unknown) =>
  Buffer.byteLength(JSON.stringify(value, (_, held: unknown) => (Buffer.isBuffer(held) ? undefined : held)))

t.test('a hundred findings about a frame are kept, and the number of the others', t => {
  const script = new Script()
  script.client(list('l'))
  script.server(result('l', { tools: Array.from({ length: 1000 }, () => ({})) }))
  const entry = script.entries.at(-1)
  t.match(entry, { event: 'tools/list', verdict: 'block' })
  t.equal(entry?.findings.length, 100)
  t.ok((entry?.more ?? 0) > 900)
  t.ok(sizeOf(entry) < 64 * 1024)
  t.end()
})

t.test('findings that are not kept still count for the verdict', t => {
  const script = new Script({ trusted: false })
  script.client(list('l'))
  const icons = Array.from({ length: 25 }, () => ({ src: 'javascript:alert(1)' }))
  const tools = Array.from({ length: 300 }, (_, index) =>
    tool(`t${index}`, {
      icons, annotations: { readOnlyHint: true }, ...(index % 2 === 0 && { description: '\u202e' }),
    }),
  )
  const [[, sent] = []] = script.server(result('l', { tools }))
  const left = (
    sent as { result: { tools: { icons: unknown[]; annotations?: unknown; description?: string }[] } }
  ).result.tools
  t.equal(left.length, 150, 'every tool with hidden text is gone')
  t.same(
    left.filter(({ icons, annotations }) => icons.length > 0 || annotations !== undefined), [],
    'and every icon, and every claim',
  )
  t.end()
})

t.test('the decisive finding is kept, however many were found before it', t => {
  const script = new Script({
    actions: { 'result/text': 'log', 'content/uri': 'log', 'content/mime': 'log' },
  }).begin()
  script.client(call(1, 'weather'))
  const content = Array.from({ length: 500 }, () => ({
    type: 'resource_link', name: 'x', uri: 'javascript:1', mimeType: '?',
  }))
  const text = '{"a":1}'
  const [[, sent] = []] = script.server(
    result(1, {
      content: [
        ...content, ...Array.from({ length: 500 }, () => ({ type: 'text', text })),
        { type: 'image', data: '!', mimeType: 'a/b' },
      ],
      structuredContent: {},
    }),
  )
  t.match(sent, { result: { isError: true, content: [{ text: /content\/base64/ }] } })
  t.end()
})

t.test('tools beyond the limit of a catalogue are left out, over all pages, and cannot be called', t => {
  const script = new Script({ maxTools: 3 })
  script.client(list('a'))
  script.server(result('a', { tools: [tool('a'), tool('b')], nextCursor: 'n' }))
  script.client({ ...list('b'), params: { cursor: 'n' } })
  t.match(script.server(result('b', { tools: [tool('c'), tool('d'), tool('e')] })), [
    ['to client', { result: { tools: [{ name: 'c' }] } }],
  ])
  t.match(script.entries.at(-1), {
    verdict: 'block', findings: [{ rule: 'tool/schema-cost', message: /3 tools.*2 are/ }],
  })
  t.match(script.client(call(1, 'c')), [['to server', { id: 1 }]])
  t.match(script.client(call(2, 'd')), [['to client', { error: { code: -32602 } }]])
  const lenient = new Script({ maxTools: 1, actions: { 'tool/schema-cost': 'log' } })
  lenient.client(list('a'))
  t.match(lenient.server(result('a', { tools: [tool('a'), tool('b')] })), [
    ['to client', { result: { tools: [{}, { name: 'b' }] } }],
  ])
  t.match(
    lenient.client(call(1, 'b')).at(-1), ['to server', { method: 'tools/list' }],
    'what was not kept is not said to be nowhere',
  )
  t.end()
})

t.test('a catalogue has a limit in bytes', t => {
  const script = new Script()
  const long = 'x'.repeat(2_000_000)
  for (let page = 0; page < 36; page++) {
    script.client({ ...list(page), params: page === 0 ? {} : { cursor: `p${page}` } })
    script.server(
      result(page, {
        tools: [tool(`t${page}`, { description: long + String(page) })], nextCursor: `p${page + 1}`,
      }),
    )
  }
  t.match(script.entries.at(-1), {
    verdict: 'block', findings: [{ rule: 'tool/schema-cost', message: /room/ }],
  })
  t.equal(script.entries.filter(({ verdict }) => verdict === 'pass').length > 3, true)
  t.end()
})

t.test('judging a page yields to the event loop', t => {
  const script = new Script()
  script.client(list('l'))
  script.holdChecks = true
  script.server(result('l', { tools: Array.from({ length: 600 }, (_, index) => tool(`t${index}`)) }))
  let turns = 0
  while (script.held.length > 0) {
    turns++
    const [{ check, subjects } = { check: 0, subjects: [] }] = script.held.splice(0)
    script.happens({ type: 'checked', check, results: subjects.map(() => []) })
  }
  t.ok(turns > 2, `${turns} turns`)
  t.match(script.raw.at(-1), { to: 'client', bytes: /t599/ })
  t.end()
})

t.test('requests in flight are bounded in bytes; more are refused', t => {
  const script = new Script().begin()
  const large = { text: 'x'.repeat(15_000_000) }
  for (let id = 1; id <= 4; id++)
    t.match(script.client(call(id, 'weather', large)).at(-1), ['to server', { id }])
  t.match(script.client(call(5, 'weather', large)), [
    ['to client', { id: 5, error: { code: -31000, message: /wire\/size/ } }],
  ])
  script.server(answer(1, {}))
  t.match(script.client(call(6, 'weather', large)).at(-1), ['to server', { id: 6 }])
  t.end()
})

t.test('cancelled requests keep only the data for their record, and the oldest are forgotten', t => {
  const script = new Script().begin()
  for (let id = 1; id <= 1100; id++) {
    script.client({ jsonrpc: '2.0', id, method: 'x/y', params: { text: 'x'.repeat(1000) } })
    script.client({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } })
  }
  t.match(script.server(result(1, {})), [], 'the late answer to one that was forgotten goes nowhere')
  t.match(script.server(result(1100, {})), [['to client', { id: 1100 }]])
  t.end()
})

t.test('the oldest unanswered server request is forgotten, and further ones still pass', t => {
  const script = new Script().begin()
  for (let id = 1; id <= 1500; id++)
    t.match(script.server({ jsonrpc: '2.0', id, method: 'ping' }), [['to client', { id }]])
  t.match(script.client(result(1500, {})), [['to server', { id: 1500 }]])
  t.same(script.client(result(1, {})), [])
  t.end()
})

t.test('an exception in a flow gives its request an error, and affects no other', t => {
  const bomb = { name: 'wire/id' as const, onId: () => [] }
  const script = new Script({ rules: [bomb], checkNow: () => { throw new RangeError('too large') } })
  script.client({ jsonrpc: '2.0', id: 1, method: 'ping' })
  script.client(list('l'))
  t.match(script.server(result('l', { tools: [weather] })), [
    ['failed', 'too large'],
    ['to client', { id: 'l', error: { code: -31000, message: /the relay failed/ } }],
  ])
  t.match(script.entries.at(-1), { event: 'tools/list', verdict: 'block', error: -31000 })
  t.match(script.server(result(1, {})), [['to client', { id: 1, result: {} }]])
  t.end()
})

t.test('an exception outside of flows ends the session, and every waiting request gets an error', t => {
  const script = new Script({ rules: [] })
  script.client({ jsonrpc: '2.0', id: 1, method: 'ping' })
  const message = {
    kind: 'notification' as const,
    get method(): never {
      throw new RangeError('too large')
    },
    params: undefined,
  }
  t.match(
    script.perform({
      type: 'frame-received', from: 'client', exchange: stdioExchange,
      frame: { bytes: Buffer.alloc(0), faults: [], message },
    }),
    [
      ['failed', 'too large'], ['to client', { id: 1, error: { code: -31000, message: /the relay failed/ } }],
      ['close', /the relay failed/],
    ],
  )
  // The session ends as it does after every failure.
  const reason = 'the relay failed'
  script.perform({ type: 'server-gone', reason, isFailure: true })
  script.perform({ type: 'session-ended', reason })
  t.match(script.entries.at(-1), { event: 'session/end', verdict: 'block', reason: /the relay failed/ })
  t.match(
    script.client({ jsonrpc: '2.0', id: 2, method: 'ping' }),
    [['to client', { id: 2, error: { code: -31000 } }]], 'until the session has ended',
  )
  t.end()
})
