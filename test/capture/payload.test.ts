import t from 'tap'
import { noted, revived } from '../../dist/capture/noted-frame.js'
import { redacted, whole } from '../../dist/capture/payload.js'
import type { Frame } from '../../dist/protocol/frame.js'
import { parseFrame } from '../../dist/protocol/parse.js'

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
    ['{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"login","arguments":{"password":"hunter2"}}}', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"login","arguments":{"password":"[redacted]"}}}'],
    ['{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"password: hunter2"}]}}', '{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"password: [redacted]"}]}}'],
    ['[{"jsonrpc":"2.0","id":1,"result":{"structuredContent":{"token":"hunter2"}}}]', '[{"jsonrpc":"2.0","id":1,"result":{"structuredContent":{"token":"[redacted]"}}}]'],
    ['{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"token=hunter2"}}', '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"token=[redacted]"}}'],
    ['{"jsonrpc":"2.0","method":"x","params":{"_meta":{"progressToken":7,"authorization":"hunter2"}}}', '{"jsonrpc":"2.0","method":"x","params":{"_meta":{"progressToken":7,"authorization":"[redacted]"}}}'],
  ] as const
  for (const [text, kept] of cases) t.equal(redacted.bytes(frameOf(text)).toString(), kept)
  for (const text of ['{"jsonrpc":"2.0","id":1,"result":{"password":"hunter2","a":1,"a":2}}', 'noise password=hunter2', '{"token": "hunter2'])
    t.notMatch(redacted.bytes(frameOf(text)).toString(), 'hunter2', text)
  t.end()
})

t.test('credentials in headers go to no file, not even where payloads are kept whole', t => {
  const headers = new Map([['authorization', 'Bearer abcdefgh'], ['cookie', 'a=b'], ['mcp-session-id', 's'], ['mcp-method', 'tools/call'], ['mcp-param-token', 'x'], ['host', 'a']])
  for (const payload of [whole, redacted]) t.strictSame(payload.headers({ headers }), { 'mcp-method': 'tools/call' })
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
    { ...frameOf('{"jsonrpc":"2.0","id":7,"result":{}}'), message: { kind: 'result', id: 'b', key: '"b"', result: {} } as const },
    { bytes: Buffer.from('<html>'), message: { kind: 'page', key: '1', text: '<html>' } as const, faults: [], envelope: { response: { status: 404, headers: new Map() } } },
    { ...frameOf('{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}'), message: { kind: 'error', id: 5, key: '5', error: { code: 1, message: 'm' } } as const, faults: [] },
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
