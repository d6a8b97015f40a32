import t from 'tap'
import { capturedFrame, restoredFrame } from '#capture/captured-frame.js'
import { headersOf, redacted, whole } from '#capture/redaction.js'
import { Recorder } from '#capture/recorder.js'
import type { Effect, Event } from '#core/event.js'
import { entry } from '../audit/entries.js'
import { leaks, s, texts, values } from '../audit/forms.js'
import type { Frame } from '#protocol/frame.js'
import { parseFrame } from '#protocol/parse.js'

const limits = { messageBytes: 1024 * 1024, depth: 64 }
const frameOf = (text: string | Buffer) => parseFrame(Buffer.from(text), limits)

t.test('a frame without a secret is kept byte for byte', t => {
  for (const text of [
    ' { "jsonrpc" : "2.0", "id": 1.0, "method":"tools/call","params":{"name":"a","arguments":{"city":"Par\\u0069s"},"_meta":{"progressToken":"a1"}}}',
    '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"login","inputSchema":{"type":"object","properties":{"password":{"type":"string"}}}}],"nextCursor":"b2Zmc2V0OjEw"}}',
    '[{"jsonrpc":"2.0","id":1,"result":{"content":[]}},{"jsonrpc":"2.0","method":"x"}]',
    '{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"no secret"}],"isError":false}}',
  ]) t.equal(redacted.bytes(frameOf(text)).toString(), text)
  t.end()
})

t.test('secrets go, wherever a payload holds them; everything else of the frame stays', t => {
  const cases = [
    [
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"login","arguments":{"password":"hunter2"}}}',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"login","arguments":{"password":"[redacted]"}}}',
    ],
    [
      '{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"password: hunter2"}]}}',
      '{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"password: [redacted]"}]}}',
    ],
    [
      '[{"jsonrpc":"2.0","id":1,"result":{"structuredContent":{"token":"hunter2"}}}]',
      '[{"jsonrpc":"2.0","id":1,"result":{"structuredContent":{"token":"[redacted]"}}}]',
    ],
    [
      '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"token=hunter2"}}',
      '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"token=[redacted]"}}',
    ],
    [
      '{"jsonrpc":"2.0","method":"x","params":{"_meta":{"progressToken":7,"authorization":"hunter2"}}}',
      '{"jsonrpc":"2.0","method":"x","params":{"_meta":{"progressToken":7,"authorization":"[redacted]"}}}',
    ],
  ] as const
  for (const [text, kept] of cases) t.equal(redacted.bytes(frameOf(text)).toString(), kept)
  for (const text of [
    '{"jsonrpc":"2.0","id":1,"result":{"password":"hunter2","a":1,"a":2}}', 'noise password=hunter2',
    '{"token": "hunter2',
  ])
    t.notMatch(redacted.bytes(frameOf(text)).toString(), 'hunter2', text)
  t.end()
})

const secret = 'zq7Hk2vN9xWp4LtR8sYb'

/** Texts in which it stands, at all places of a frame that are kept for a replay. */
const places = [
  ['a resource', {
    resources: [
      { uri: `https://bob:${secret}@a.example/`, name: 'a', description: `the password: ${secret}` },
    ],
  }],
  ['a template', {
    resourceTemplates: [{ uriTemplate: `https://a.example/?token=${secret}&x={x}`, name: 'a' }],
  }],
  ['a tool', {
    tools: [{
      name: 'a', description: `<password>${secret}</password>`,
      inputSchema: { properties: { password: { type: 'string', default: secret, examples: [secret] } } },
    }],
  }],
  ['a prompt', {
    prompts: [{
      name: 'a', description: `api key: ${secret}`, arguments: [{ name: 'x', description: `ghp_${secret}` }],
    }],
  }],
  ['a task', {
    task: { taskId: 't', status: 'working', statusMessage: `logged in with password=${secret}` },
  }],
  ['what is asked for', {
    requestedSchema: { type: 'object', properties: { apiKey: { type: 'string', default: secret } } },
  }],
  ['who it is', { serverInfo: { name: 'a', version: '1', websiteUrl: `https://bob:${secret}@a.example/` } }],
  ['a very long list', {
    tools: Array.from(
      { length: 3000 }, (_, at) => ({ name: `t${at}`, description: `${'x'.repeat(150)} ${secret}` }),
    ),
  }],
] as const

t.test('what is kept for a replay holds no secret either', t => {
  for (const [name, held] of places) {
    for (const frame of [
      { id: 1, result: held }, { id: 1, method: 'x', params: held }, { method: 'x', params: held },
    ]) {
      const kept = redacted.bytes(frameOf(JSON.stringify({ jsonrpc: '2.0', ...frame }))).toString()
      if (name === 'a very long list') {
        t.ok(kept.length < 400_000 + 3000 * 60, 'what is not searched is not kept')
      }
      else t.notMatch(kept, secret, name)
      t.match(JSON.parse(kept), { jsonrpc: '2.0' })
    }
  }
  t.end()
})

t.test('credentials in headers go to no file, not even where payloads are kept whole', t => {
  const headers = new Map([
    ['authorization', 'Bearer abcdefgh'], ['cookie', 'a=b'], ['mcp-session-id', 's'],
    ['mcp-method', 'tools/call'], ['mcp-param-token', 'x'], ['host', 'a'],
  ])
  for (const payload of [whole, redacted]) t.strictSame(
    headersOf({ headers }, payload), { 'mcp-method': 'tools/call' },
  )
  t.end()
})

t.test('a frame that was kept is what it was', t => {
  const frames: readonly Frame[] = [
    frameOf('{"jsonrpc":"2.0","id":"a","method":"tools/list"}'),
    frameOf('{"jsonrpc":"2.0","id":1,"id":2,"method":"x"}'),
    frameOf('noise'),
    frameOf(Buffer.from([0x7b, 0xff])),
    frameOf('[{"jsonrpc":"2.0","method":"x"}]'),
    frameOf(`{"jsonrpc":"2.0","id":3,"result":{"x":"${'x'.repeat(limits.messageBytes)}"}}`),
    {
      ...frameOf('{"jsonrpc":"2.0","id":7,"result":{}}'),
      message: { kind: 'result', id: 'b', key: '"b"', result: {} } as const,
    },
    {
      bytes: Buffer.from('<html>'), message: { kind: 'page', key: '1', text: '<html>' } as const, faults: [],
      envelope: { response: { status: 404, headers: new Map() } },
    },
    {
      ...frameOf('{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}'),
      message: { kind: 'error', id: 5, key: '5', error: { code: 1, message: 'm' } } as const, faults: [],
    },
  ]
  for (const frame of frames) {
    const { facts, ...rest } = frame
    const line: unknown = JSON.parse(JSON.stringify(capturedFrame(frame, whole)))
    const { facts: again, ...back } = restoredFrame(line as ReturnType<typeof capturedFrame>, limits)
    t.strictSame(back, rest, frame.bytes.toString().slice(0, 60))
    t.equal(again?.plain ?? false, facts?.plain ?? false)
  }
  t.end()
})

const request = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params })
const response = (result: unknown) => ({ jsonrpc: '2.0', id: 1, result })

/** The places of a frame that hold a text or value of a client or server. */
const messages: readonly ((held: unknown) => unknown)[] = [
  held => ({ jsonrpc: '2.0', id: held, method: held, more: held }),
  held => request('tools/call', { name: held, arguments: { x: held }, more: [held] }),
  held => request('tools/call', {
    name: 'a', arguments: held,
    _meta: { progressToken: held, x: held, 'io.modelcontextprotocol/clientInfo': { name: held } },
  }),
  held => request('initialize', {
    protocolVersion: held, capabilities: { experimental: { x: held } },
    clientInfo: { name: held, title: held },
  }),
  held => response({
    content: [
      { type: 'text', text: held }, { type: 'resource', resource: { uri: held, text: held } },
      { type: 'resource_link', uri: held, name: held },
    ],
    structuredContent: held, _meta: { x: held },
  }),
  held => ({ jsonrpc: '2.0', id: 1, error: { code: 1, message: held, data: { x: held } } }),
  held => response({
    tools: [{
      name: held, title: held, description: held, annotations: { title: held }, icons: [{ src: held }],
      inputSchema: { properties: { p: { default: held, examples: [held], enum: [held], title: held } } },
      _meta: { x: held },
    }],
    nextCursor: held,
  }),
  held => response({ prompts: [{ name: held, arguments: [{ name: held, title: held }] }] }),
  held => response({ resources: [{ uri: held, name: held, description: held }] }),
  held => response({ resourceTemplates: [{ uriTemplate: held, name: held }] }),
  held => response({ contents: [{ uri: held, text: held }], messages: [{ content: { text: held } }] }),
  held => response({ task: { taskId: held, status: 'failed', statusMessage: held } }),
  held => response({
    serverInfo: { name: held, version: held, websiteUrl: held }, instructions: held,
    supportedVersions: [held],
  }),
  held => response({
    resultType: 'input_required', requestState: held,
    inputRequests: {
      a: { params: { message: held, requestedSchema: { properties: { p: { default: held } } } } },
    },
  }),
  held => request('elicitation/create', { message: held, url: held, requestedSchema: { title: held } }),
  held => request('notifications/message', { logger: held, data: held, reason: held, uri: held }),
  held => [response({ structuredContent: { x: held } }), request('x', { x: held })],
  held => ({ ...response({}), method: 'x', params: { x: held } }),
]

/** Frames that cannot be parsed, or that two parsers read differently. */
const malformed: readonly ((text: string) => string)[] = [
  text => `noise ${text}`,
  text => JSON.stringify(request('x', { text })).slice(0, -2),
  text => `{"jsonrpc":"2.0","id":1,"result":{${JSON.stringify(text)}:1,${JSON.stringify(text)}:2}}`,
  text => `{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2,"text":${JSON.stringify(text)}}}`,
  text => `{"jsonrpc":"2.0","id":1,"Result":${JSON.stringify(text)},"result":{"x":"\\ud800"}}`,
  text => JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: 1, message: text } }),
]

const capturedLines = (event: Event, effects: readonly Effect[] = []): string => {
  const lines: string[] = []
  const recorder = new Recorder({
    server: 'a', session: 's', nonce: 'n', stateless: false, policy: new Map(), trusted: false, tools: new Map(),
  } as unknown as ConstructorParameters<typeof Recorder>[0], {
    payloads: 'redacted', now: () => new Date(0), write: line => lines.push(JSON.stringify(line)),
    limits: {} as ConstructorParameters<typeof Recorder>[1]['limits'],
  })
  recorder.handled(event, 0, effects)
  return lines.join('')
}

t.test('no form of a secret is in a capture, in any place', t => {
  const exchange = { name: 'e' } as Extract<Event, { readonly exchange: unknown }>['exchange']
  const received = (frame: Frame): Event => ({ type: 'frame-received', from: 'server', exchange, frame })
  const nothing: Event = { type: 'checked', check: 1, results: [] }
  const lines = (text: string): string => {
    const frame = frameOf(text)
    return capturedLines(received(frame)) + capturedLines(nothing, [
      { type: 'send', to: 'client', exchange, frame, cause: 'server' },
    ])
  }
  for (const held of [...texts, ...values].map(([one]) => one)) {
    for (const [index, message] of messages.entries()) {
      t.notOk(leaks(lines(JSON.stringify(message(held)))), `message ${index}: ${JSON.stringify(held)}`)
    }
  }
  for (const [text] of texts) {
    for (const [index, make] of malformed.entries()) {
      // A path has the first letters of a name.
      t.notOk(lines(make(text)).includes(s), `malformed ${index}: ${text}`)
    }
    const envelope = { headers: new Map([['mcp-name', text], ['authorization', text]]), event: text }
    const id = JSON.stringify(text)
    t.notOk(leaks([
      capturedLines(received({ ...frameOf('{"jsonrpc":"2.0","id":1,"result":{}}'), envelope })),
      capturedLines({ type: 'request-lost', exchange, key: id, reason: text }),
      capturedLines({ type: 'undelivered', key: id }),
      capturedLines({ type: 'server-gone', reason: text }),
      capturedLines({ type: 'session-ended', reason: text }),
      capturedLines(nothing, [{
        type: 'audit', entry: entry({
          event: `method:${text}`, tool: text, id: text,
          findings: [{ rule: 'wire/json', path: text, message: text, mended: text, resource: text }],
        }),
      }]),
    ].join('')), text)
  }
  t.end()
})
