import t from 'tap'
import type { ToolSetting } from '#relay/core/options.js'
import type { SharedReply } from '#relay/core/vocabulary.js'
import { call, initialize, result, Script, weather } from './script.js'

const setting = (more: Partial<ToolSetting>): ToolSetting =>
  ({ denied: false, outputSchema: undefined, annotations: undefined, ...more })

const tools = (of: Record<string, Partial<ToolSetting>>) =>
  new Map(Object.entries(of).map(([name, more]) => [name, setting(more)]))

const plain = { name: 'plain', inputSchema: { type: 'object' } }

t.test('a tool has its own time limit, over that of every tool and of every request', t => {
  const cases = [
    [{ weather: { timeoutMs: 70 } }, 70], [{ '*': { timeoutMs: 60 } }, 60],
    [{ weather: { timeoutMs: 70 }, '*': { timeoutMs: 60 } }, 70], [{ weather: { resultBytes: 9 } }, 50],
  ] as const
  for (const [of, ms] of cases) {
    const script = new Script({ requestMs: 50, tools: tools(of) }).begin()
    const timer = String(script.client(call(1, 'weather')).find(([what]) => what === 'start timer')?.[1])
    t.match(script.happens({ type: 'timer-fired', timer }), [
      ['stop timer', timer],
      ['to client', { id: 1, error: { code: -31002, message: `mcp-customs: the server did not answer within ${ms} ms` } }],
      ['abandon', '1'],
      ['to server', { method: 'notifications/cancelled', params: { requestId: 1 } }],
    ])
  }
  t.end()
})

t.test('a call over the limit gets a tool error that says when to try again', t => {
  const script = new Script({ tools: tools({ '*': { callsPerMinute: 2 } }) }).begin()
  for (const id of [1, 2]) t.match(script.client(call(id, 'weather')), [['to server', { id }]])
  script.at = 18_500
  const text = 'The tool "weather" was not called: call/rate at /params/name: 2 calls a minute are allowed; ' +
    'the next one in 42 s. Wait until then, and call it again.'
  t.match(script.client(call(3, 'weather')), [
    ['to client', { id: 3, result: { isError: true, content: [{ text }] } }],
  ])
  t.match(script.entries.at(-1), { tool: 'weather', verdict: 'block', findings: [{ rule: 'call/rate' }] })
  script.at = 60_000
  t.match(script.client(call(4, 'weather')), [['to server', { id: 4 }]])
  t.end()
})

t.test('replicas count calls together, and each alone while they cannot, with what it let through before', t => {
  const script = new Script({ tools: tools({ '*': { callsPerMinute: 2 } }), sharedCounts: true }).begin()
  const asked: unknown[] = []
  const replies: SharedReply[] = []
  script.counts = ({ name, perMinute, isHeld }) => {
    asked.push([name, perMinute, isHeld])
    return replies.shift() ?? 'unreachable'
  }
  const isSent = (id: number) => script.client(call(id, 'weather')).some(([what]) => what === 'to server')
  replies.push({ waitMs: 0 }, { waitMs: 1500 })
  t.strictSame([isSent(1), isSent(2)], [true, false])
  t.same(asked, [['weather', 2, true], ['weather', 2, true]])
  t.match(script.entries.at(-1)?.findings, [{ rule: 'call/rate' }])
  t.strictSame([isSent(3), isSent(4)], [true, false], 'alone it has let one through, and lets another')
  replies.push({ waitMs: 0 })
  t.equal(isSent(5), true, 'the replicas know better')
  const alone = new Script({ tools: tools({ '*': { callsPerMinute: 2 } }) }).begin()
  alone.counts = () => {
    throw new Error('there is no state')
  }
  t.match(alone.client(call(1, 'weather')), [['to server', { id: 1 }]])
  const unlimited = new Script({ sharedCounts: true }).begin()
  unlimited.counts = () => {
    throw new Error('nothing is limited')
  }
  t.match(unlimited.client(call(1, 'weather')), [['to server', { id: 1 }]])
  t.end()
})

t.test('calls that are denied or unlisted do not count, and a limit that only logs holds nothing back', t => {
  const script = new Script({
    tools: tools({ '*': { callsPerMinute: 1 } }), names: { deny: ['plain'] }, actions: { 'call/rate': 'log' },
  }).begin([weather, plain])
  for (const name of ['plain', 'nope', 'plain', 'nope']) {
    script.client(call(name, name))
    t.notMatch(script.entries.at(-1)?.findings, [{ rule: 'call/rate' }])
  }
  t.match(script.client(call(1, 'weather')), [['to server', { id: 1 }]])
  t.match(script.client(call(2, 'weather')), [['to server', { id: 2 }]])
  script.server(result(2, { content: [], structuredContent: {} }))
  t.match(script.entries.at(-1), { id: 2, verdict: 'log', findings: [{ rule: 'call/rate' }] })
  t.end()
})

const long = {
  content: [
    { type: 'text', text: 'first', _meta: { big: 1 } },
    { type: 'text', text: 'é'.repeat(100) },
    { type: 'image', data: 'aGk=', mimeType: 'image/png' },
  ],
  structuredContent: { long: 'x'.repeat(100) }, more: 'y'.repeat(100), _meta: { z: 'z'.repeat(100) },
}

t.test('a result that is too long is logged, shortened or blocked', t => {
  for (const [limit, action, expected] of [
    [2000, 'block', undefined], [100, 'log', undefined],
    [100, 'block', { isError: true, content: [{ text: /was withheld by mcp-customs: result\/size at \/result: is 701 bytes long; 100 are allowed/ }] }],
    [100, 'demote', {
      isError: true,
      content: [
        { text: 'first', _meta: { big: 1 } }, { text: 'é'.repeat(26) },
        { text: /is too long: result\/size at \/result: is 701 bytes long; 100 are allowed. Above is its first part: 100 bytes in 2 of 3 blocks of content; the rest is missing. Ask for less at once\.$/ },
      ],
    }],
    [20, 'demote', { isError: true, content: [{ text: 'first' }, { text: /Above is its first part: 5 bytes in 1 of 3/ }] }],
  ] as const) {
    const script = new Script({
      tools: tools({ weather: { resultBytes: limit } }), actions: { 'result/size': action },
    }).begin()
    script.client(call(1, 'weather'))
    const [[, sent] = []] = script.server(result(1, long))
    t.match(sent, { id: 1, result: expected ?? long }, `${action} at ${limit}`)
    t.match(script.entries.at(-1)?.findings, limit === 2000 ? [] : [{ rule: 'result/size' }])
    if (action !== 'demote') continue
    t.strictSame(Object.keys((sent as { result: object }).result), ['content', 'isError', '_meta'])
    t.strictSame(Object.keys((sent as { result: { _meta: object } }).result._meta), ['mcp-customs/findings'])
  }
  t.end()
})

t.test('a result is shortened however the server writes it', t => {
  const space = ' '.repeat(5000)
  for (const [result, kept] of [
    [`{"content":[{"type":"text",${space}"text":"x"}]}`, 'x'],
    [`{"content":[${space}{"type":"text","text":"x"}],${space}"isError":false}`, 'x'],
    [`{"content":[{"type":"text","text":"${'\\u0061'.repeat(900)}"}]}`, 'a'.repeat(100)],
    [`{"content":[],"resultType":"${'z'.repeat(5000)}"}`, undefined],
  ] as const) {
    const script = new Script({
      tools: tools({ weather: { resultBytes: 100 } }), actions: { 'result/size': 'demote' },
    }).begin()
    script.client(call(1, 'weather'))
    script.server(`{"jsonrpc":"2.0","id":1,"result":${result}}`)
    const sent = script.raw.at(-1)?.bytes ?? ''
    t.ok(sent.length < 1000, result.slice(0, 40))
    const { result: shown } =
      JSON.parse(sent) as { result: { content: { text: string }[]; resultType?: string } }
    t.equal(shown.content.length, kept === undefined ? 1 : 2)
    if (kept !== undefined) t.equal(shown.content[0]?.text, kept)
    else t.equal(shown.resultType, 'complete')
  }
  t.end()
})

t.test('a client or server that speaks an older revision than allowed is refused', t => {
  const script = new Script({ minRevision: '2025-06-18' })
  t.match(script.client(initialize('2025-03-26')), [['to client', {
    id: 0, error: {
      code: -32602, message: /^Unsupported protocol version: wire\/revision at \/params\/protocolVersion: the client speaks revision 2025-03-26; the oldest that is allowed is 2025-06-18$/,
      data: { supported: ['2025-06-18', '2025-11-25', '2026-07-28'], requested: '2025-03-26' },
    },
  }]])
  t.match(script.client(call(1, 'weather')), [['to client', { id: 1, error: { code: -32602 } }]])
  t.match(script.client({ ...initialize('2025-11-25'), id: 2 }), [['to server', { id: 2 }]])
  t.match(script.server(result(2, { protocolVersion: '2024-11-05', capabilities: {}, serverInfo: { name: 's', version: '1' } })), [
    ['to client', { id: 2, error: { code: -31000, message: /the server speaks revision 2024-11-05; the oldest that is allowed is 2025-06-18/ } }],
  ])
  t.match(script.entries.filter(({ verdict }) => verdict === 'block').map(({ event, findings: [one] }) => [event, one?.rule]), [
    ['initialize', 'wire/revision'], ['tools/call', 'wire/revision'], ['initialize', 'wire/revision'],
  ])
  t.end()
})

t.test('an HTTP request that names no revision is of 2025-03-26; a modern request is told the revisions', t => {
  const script = new Script({ minRevision: '2026-07-28', stateless: true })
  const meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} }
  t.match(script.client({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: meta } }, 'one'), [['to server', {}]])
  t.match(script.client({ jsonrpc: '2.0', id: 1, method: 'tools/list' }, 'two'), [['to client', { error: { code: -32602 } }]])
  t.match(script.client({
    jsonrpc: '2.0', id: 1, method: 'tools/list',
    params: { _meta: { ...meta, 'io.modelcontextprotocol/protocolVersion': '2025-01-01' } },
  }, 'three'), [['to client', { error: { code: -32022, data: { supported: ['2026-07-28'], requested: '2025-01-01' } } }]])
  t.end()
})

t.test('what clients get depends on who they are', t => {
  const identity = (name?: string, subject?: string) => ({
    address: '', token: undefined,
    subject: { name, scopes: [], ...(subject !== undefined && { issuer: 'https://id', subject }) },
  })
  const clients = [[
    { match: { name: 'test', token: 'ci' }, allow: ['plain'] },
    { match: { subject: { subject: 'alice' } }, deny: ['plain'] },
    { match: { subject: { issuer: 'https://other', subject: 'bob' } }, allow: ['*'] },
    { match: { name: 'te*' }, deny: ['weather'] },
    { match: {}, deny: ['*'] },
  ], [{ match: { token: 'nobody' }, deny: ['*'] }]]
  const cases = [
    [{ names: { clients }, peer: identity('ci') }, ['plain']],
    [{ names: { clients }, peer: identity(undefined, 'alice') }, ['weather']],
    [{ names: { clients }, peer: identity(undefined, 'bob') }, ['plain']],
    [{ names: { clients } }, ['plain']],
    [{ names: { clients: [[{ match: { name: 'other' }, deny: ['*'] }]] } }, ['weather', 'plain']],
    [{ names: { clients: [[{ match: { name: 'other' } }, { match: {}, deny: ['*'] }]] } }, []],
    [{ names: { deny: ['plain'], clients: [[{ match: {}, allow: ['*'] }]] } }, ['weather']],
    [{ names: { clients }, peer: identity('nobody') }, []],
  ] as const
  for (const [options, expected] of cases) {
    const script = new Script(options)
    script.begin([weather, plain])
    script.client({ jsonrpc: '2.0', id: 7, method: 'tools/list' })
    const [[, list] = []] = script.server(result(7, { tools: [weather, plain] }))
    const { result: { tools } } = list as { result: { tools: { name: string }[] } }
    t.strictSame(tools.map(({ name }) => name), expected, JSON.stringify(options))
    for (const { name } of [weather, plain]) {
      const [[to] = []] = script.client(call(name, name))
      t.equal(to, expected.some(one => one === name) ? 'to server' : 'to client', name)
    }
  }
  t.end()
})

t.test('a client sees the operator\'s words about arguments, and all else byte for byte', t => {
  const tool = '{"name":"plain","inputSchema":{"type":"object","properties":' +
    '{"limit": {"type":"integer","maximum":10000000000000000000001}, "any":true}},"_meta":{"n":1.0}}'
  const inputSchema = {
    properties: { limit: { default: 10, description: 'At most "50".' }, any: { default: 1 }, gone: { title: 'x' } },
  }
  const script = new Script({ tools: tools({ plain: { inputSchema } }) }).begin()
  script.client({ jsonrpc: '2.0', id: 7, method: 'tools/list' })
  script.server(`{"jsonrpc":"2.0","id":7,"result":{"tools":[${tool}]}}`)
  t.equal(script.raw.at(-1)?.bytes, `{"jsonrpc":"2.0","id":7,"result":{"tools":[${tool
    .replace('0001}', '0001,"default":10,"description":"At most \\"50\\"."}')
    .replace('"any":true', '"any":{"default":1}')}]}}`)
  t.end()
})
