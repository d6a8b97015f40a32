import t from 'tap'
import { noted, revived } from '#capture/noted-frame.js'
import { redacted, whole } from '#capture/payload.js'
import type { Frame } from '#protocol/frame.js'
import { parseFrame } from '#protocol/parse.js'

const limits = { messageBytes: 1024 * 1024, depth: 64 }
const frameOf = (text: string | Buffer) => parseFrame(Buffer.from(text), limits)

t.test('a frame without a secret is kept byte for byte', t => {
  for (const text of [
    ' { "jsonrpc" : "2.0", "id": 1.0, "method":"tools/call","params":{"name":"a","arguments":{"city":"Par\\u0069s"},"_meta":{"progressToken":"a1"}}}',
    '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"login","inputSchema":{"type":"object","properties":{"password":{"type":"string"}}}}],"nextCursor":"token=abcdefgh"}}',
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
    payload.headers({ headers }), { 'mcp-method': 'tools/call' },
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
    const line: unknown = JSON.parse(JSON.stringify(noted(frame, frame.bytes, {})))
    const { facts: again, ...back } = revived(line as ReturnType<typeof noted>, limits)
    t.strictSame(back, rest, frame.bytes.toString().slice(0, 60))
    t.equal(again?.plain ?? false, facts?.plain ?? false)
  }
  t.end()
})
