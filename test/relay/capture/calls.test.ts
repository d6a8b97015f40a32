import t from 'tap'
import { CapturedCalls, heardIn } from '#relay/capture/calls.js'
import type { CaptureLine } from '#relay/capture/line.js'
import { parseFrame } from '#relay/protocol/parse.js'

const frame = (message: object) =>
  parseFrame(Buffer.from(JSON.stringify(message)), { messageBytes: 9999, depth: 32 })
const call = (id: number, name: string) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name } })
const result = (id: number, result: object) => ({ jsonrpc: '2.0', id, result })

t.test('results belong to the calls that they answer', t => {
  const calls = new CapturedCalls(false)
  t.strictSame(calls.onFrame('client', 'stdio', frame(call(1, 'a'))), [])
  t.strictSame(calls.onFrame('client', 'stdio', frame([call(2, 'b'), call(3, 'c')])), [])
  t.strictSame(
    calls.onFrame('server', 'stdio', frame(call(1, 'x'))), [], 'a request of the server has ids of its own',
  )
  t.strictSame(calls.onFrame(
    'server', 'stdio', frame([result(3, { content: [] }), result(1, { content: [] })]),
  ), [
    { kind: 'answered', tool: 'c', result: { content: [] } },
    { kind: 'answered', tool: 'a', result: { content: [] } },
  ])
  t.strictSame(
    calls.onFrame('server', 'stdio', frame(result(2, { task: {} }))), [], 'a task that has only begun',
  )
  t.strictSame(calls.onFrame(
    'server', 'stdio', frame(result(9, { tools: [{ name: 'a', outputSchema: {} }, { name: 'b' }, 7] })),
  ), [
    { kind: 'declared', tool: 'a', hasOutputSchema: true },
    { kind: 'declared', tool: 'b', hasOutputSchema: false },
  ])
  t.end()
})

t.test('without a session each exchange has ids of its own', t => {
  const calls = new CapturedCalls(true)
  calls.onFrame('client', 'one', frame(call(1, 'a')))
  calls.onFrame('client', 'two', frame(call(1, 'b')))
  t.match(calls.onFrame('server', 'two', frame(result(1, {}))), [{ tool: 'b' }])
  t.match(calls.onFrame('server', 'one', frame(result(1, {}))), [{ tool: 'a' }])
  t.end()
})

t.test('a redacted capture has no texts to learn from', t => {
  const opening = (payloads: string) => [{ capture: 1, session: 's', server: 'a', stateless: false, payloads } as CaptureLine]
  t.throws(() => [...heardIn(opening('redacted'))], { code: 'BAD_USAGE', message: /payloads: full/ })
  t.strictSame([...heardIn(opening('full'))], [])
  t.end()
})
