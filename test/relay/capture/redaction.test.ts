import t from 'tap'
import { capturedFrame, restoredFrame } from '#relay/capture/captured-frame.js'
import { capturedHeaders, redaction, wholeCapture } from '#relay/capture/redaction.js'
import { CaptureRecorder } from '#relay/capture/recorder.js'
import type { Effect, Event } from '#relay/core/vocabulary.js'
import { entry } from '../audit/entries.js'
import { leaks, s, secretTexts, secretValues } from '../audit/forms.js'
import type { Frame } from '#relay/protocol/frame.js'
import { parseFrame } from '#relay/protocol/parse.js'
import { judgementOf } from '../../judgement.js'

const limits = { messageBytes: 1024 * 1024, depth: 64 }
const frameOf = (text: string | Buffer) => parseFrame(Buffer.from(text), limits)
const kept = (message: unknown): unknown =>
  JSON.parse(redaction().bytes(frameOf(JSON.stringify(message))).toString())

t.test('what a replay needs of a frame stays', t => {
  const inputSchema = {
    type: 'object', required: ['user_id'], additionalProperties: false,
    properties: { user_id: { type: 'string', pattern: '^[a-z]{2} $', format: 'date-time' }, unit: { enum: ['°C'] } },
  }
  for (const message of [
    { jsonrpc: '2.0', id: 'a 1', method: 'tools/call', params: {
      name: 'k8s get', arguments: { city: 'Bern', n: 1, on: true, none: null }, _meta: { progressToken: 'p 1' },
    } },
    { jsonrpc: '2.0', id: 1, result: { tools: [{ name: 'k8s get', inputSchema, outputSchema: inputSchema }], nextCursor: 'b2Zm==' } },
    { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', clientInfo: { name: 'a b', version: '1.2' } } },
    { jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri: 'file:///a b' } },
    { jsonrpc: '2.0', id: 1, result: { content: [{ type: 'resource_link' }], resultType: 'input_required', isError: false } },
    [{ jsonrpc: '2.0', method: 'x/y z' }],
  ]) t.strictSame(kept(message), message)
  t.end()
})

t.test('texts become lengths, those of definitions too; what a listed tool declares stays', t => {
  const listed = { jsonrpc: '2.0', id: 1, result: { tools: [{
    name: 'a', title: 'A b', description: 'c d', annotations: { title: 'e f' },
    inputSchema: { properties: { unit: { enum: ['°C'], default: 'x y', description: 'z z' } } },
  }] } }
  const three = '[text, 3 characters]'
  t.strictSame(kept(listed), { jsonrpc: '2.0', id: 1, result: { tools: [{
    name: 'a', title: three, description: three, annotations: { title: three },
    inputSchema: { properties: { unit: { enum: ['°C'], default: three, description: three } } },
  }] } })
  const one = redaction()
  one.seen(frameOf(JSON.stringify(listed)))
  const call = frameOf('{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a","arguments":{"unit":"°C","at":"x y"}}}')
  t.match(one.bytes(call).toString(), `"arguments":{"unit":"°C","at":"${three}"}`)
  t.equal(redaction().bytes(frameOf('noise, no JSON')).toString(), '"[text, 14 characters]"')
  t.end()
})

t.test('credentials in headers go to no file, not even where payloads are kept whole', t => {
  const headers = new Map([
    ['authorization', 'Bearer abcdefgh'], ['cookie', 'a=b'], ['mcp-session-id', 's'],
    ['mcp-method', 'tools/call'], ['mcp-param-token', 'x'], ['host', 'a'], ['mcp-param-city', 'a b'],
  ])
  t.strictSame(capturedHeaders({ headers }, wholeCapture), { 'mcp-method': 'tools/call', 'mcp-param-city': 'a b' })
  t.strictSame(capturedHeaders({ headers }, redaction()), { 'mcp-method': 'tools/call', 'mcp-param-city': '[text, 3 characters]' })
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
    {
      ...frameOf('{"jsonrpc":"2.0","id":8,"method":"ping"}'), envelope: {
        translatedFrom: '2026-07-28', isRepeated: true, modernHeaders: new Map([['mcp-param-a', 'b']]),
      },
    },
  ]
  for (const frame of frames) {
    const { facts, ...rest } = frame
    const line: unknown = JSON.parse(JSON.stringify(capturedFrame(frame, wholeCapture)))
    const { facts: again, ...back } = restoredFrame(line as ReturnType<typeof capturedFrame>, limits)
    t.strictSame(back, rest, frame.bytes.toString().slice(0, 60))
    t.equal(again?.plain ?? false, facts?.plain ?? false)
  }
  t.end()
})

const request = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params })
const response = (result: unknown) => ({ jsonrpc: '2.0', id: 1, result })

/** The places of a frame that hold a text or value of a client or server, and no name. */
const messages: readonly ((held: unknown) => unknown)[] = [
  held => ({ jsonrpc: '2.0', id: 1, method: 'x', more: held }),
  held => request('tools/call', { name: 'a', arguments: { x: held }, more: [held] }),
  held => request('tools/call', { name: 'a', arguments: held, _meta: { name: held, x: held } }),
  held => request('initialize', { capabilities: { experimental: { x: held } }, clientInfo: { name: 'a', title: held } }),
  held => response({
    content: [
      { type: 'text', text: held }, { type: 'resource', resource: { uri: held, text: held } },
      { type: 'resource_link', uri: held, name: held },
    ],
    structuredContent: held, name: held, _meta: { x: held },
  }),
  held => ({ jsonrpc: '2.0', id: 1, error: { code: 1, message: held, data: { x: held } } }),
  held => response({
    tools: [{
      name: 'a', title: held, description: held, annotations: { title: held }, icons: [{ src: held }],
      inputSchema: { properties: { p: { default: held, examples: [held], title: held, x: held } } },
      _meta: { x: held },
    }],
  }),
  held => response({ prompts: [{ name: 'a', arguments: [{ name: 'a', title: held }] }] }),
  held => response({ resources: [{ uri: 'a', name: 'a', description: held }] }),
  held => response({ contents: [{ uri: held, text: held }], messages: [{ content: { text: held } }] }),
  held => response({ task: { taskId: 'a', status: 'failed', statusMessage: held } }),
  held => response({ serverInfo: { name: 'a', websiteUrl: held }, instructions: held, supportedVersions: [held] }),
  held => response({
    resultType: 'input_required', requestState: held,
    inputRequests: {
      a: { params: { message: held, requestedSchema: { properties: { p: { default: held } } } } },
    },
  }),
  held => request('elicitation/create', { message: held, url: held, requestedSchema: { title: held } }),
  held => request('notifications/message', { logger: held, data: held, reason: held }),
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
  const recorder = new CaptureRecorder({
    session: 's', nonce: 'n', stateless: false, checkNow: () => [],
    judgement: judgementOf({ server: 'a', policy: new Map(), trusted: false }),
  }, {
    payloads: 'redacted', now: () => new Date(0), write: line => lines.push(JSON.stringify(line)),
    limits: {} as ConstructorParameters<typeof CaptureRecorder>[1]['limits'],
  })
  recorder.handled(event, 0, effects)
  return lines.join('')
}

t.test('no form of a secret is in a capture, in any place', t => {
  const exchange = { name: 'e' } as Extract<Event, { readonly exchange: unknown }>['exchange']
  const received = (frame: Frame): Event => ({ type: 'frame-received', from: 'server', exchange, frame })
  const nothing: Event = { type: 'checked', check: 1, results: [] }
  const lines = (text: string): string => {
    const [frame, sent] = [frameOf(text), frameOf(text)]
    return capturedLines(received(frame), [{ type: 'send', to: 'client', exchange, frame: sent, cause: 'server' }])
  }
  for (const held of [...secretTexts, ...secretValues]) {
    for (const [index, message] of messages.entries()) {
      if (leaks(lines(JSON.stringify(message(held))))) t.fail(`message ${index}: ${JSON.stringify(held)}`)
    }
  }
  for (const text of secretTexts) {
    for (const [index, make] of malformed.entries()) {
      if (leaks(lines(make(text)))) t.fail(`malformed ${index}: ${text}`)
    }
    const envelope = { headers: new Map([['mcp-param-a', text], ['authorization', text]]) }
    if (leaks(capturedLines(received({ ...frameOf('{"jsonrpc":"2.0","id":1,"result":{}}'), envelope })))) t.fail(text)
  }
  for (const text of [`ghp_${s}`, `https://bob:${s}@a.example/`, `token=${s}`, `Bearer ${s}`]) {
    const envelope = { headers: new Map([['mcp-name', text]]), event: text }
    const id = JSON.stringify(text)
    t.notOk(leaks([
      lines(JSON.stringify({ jsonrpc: '2.0', id: text, method: text, params: { name: text, uri: text, cursor: text } })),
      lines(JSON.stringify(response({ nextCursor: text, tools: [{ name: text }] }))),
      lines(JSON.stringify(response({ resources: [{ uri: text }] }))),
      capturedLines(received({ ...frameOf('{"jsonrpc":"2.0","id":1,"result":{}}'), envelope })),
      capturedLines({ type: 'request-lost', exchange, key: id, reason: text }),
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
