import t from 'tap'
import type { Operation } from '#relay/core/vocabulary.js'
import type { Frame } from '#relay/protocol/frame.js'
import { parseFrame } from '#relay/protocol/parse.js'
import type { Attributes } from '#relay/telemetry/attributes.js'
import { noMetrics } from '#relay/telemetry/metrics.js'
import { observing, type Tracing } from '#relay/telemetry/observing.js'
import { connectionTo, httpPlace, pipe } from '#relay/telemetry/place.js'
import { signalsWanted } from '#relay/telemetry/signals.js'
import { entry } from '../audit/entries.js'

const frame = (text: string): Frame => parseFrame(Buffer.from(text), { messageBytes: 1 << 20, depth: 64 })
const fine = frame('{"jsonrpc":"2.0","id":1,"result":{"content":[]}}')
const failed = (code: number) => frame(`{"jsonrpc":"2.0","id":1,"error":{"code":${code},"message":"no"}}`)
const toolError = frame('{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":true}}')

const operation = (more: Partial<Operation> = {}, tool = 'search'): Operation => ({
  entry: { ...entry({ tool }), ms: 30 }, isListed: true, atServer: { afterMs: 5, ms: 20 }, response: fine,
  sent: fine, ...more,
})

const place = { server: 'files', toClient: httpPlace, toServer: connectionTo('https://mcp.example.com/mcp') }
const session = { id: 's', peer: undefined, stateless: false }

/** Who counts what is told, and looks on. */
const watched = (tracing?: Tracing) => {
  const told: [string, Attributes, number][] = []
  const sessions: [string, Attributes][] = []
  const failures: string[] = []
  const metrics = {
    ...noMetrics,
    operation: (role: string, attributes: Attributes, seconds: number) =>
      void told.push([role, attributes, seconds]),
    session: (role: string, attributes: Attributes) => void sessions.push([role, attributes]),
  }
  const observe = observing({ metrics, tracing, failed: reason => void failures.push(reason) })
  return { told, sessions, failures, observe }
}

t.test('a request is measured as its server and as its client', async t => {
  const { told, observe } = watched()
  observe(place)(session).done(operation())
  const common = {
    'mcp.method.name': 'tools/call', 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'search',
    'mcp_customs.server': 'files', 'network.transport': 'tcp', 'network.protocol.name': 'http',
    'mcp.protocol.version': '2025-11-25',
  }
  t.strictSame(told, [
    ['server', common, 0.03],
    ['client', { ...common, 'server.address': 'mcp.example.com', 'server.port': 443 }, 0.02],
  ])
})

const outcomes: readonly (readonly [string, Partial<Operation>, string | undefined, string | undefined])[] = [
  ['an answer', {}, undefined, undefined],
  ['a tool that fails', { response: toolError, sent: toolError }, 'tool_error', 'tool_error'],
  ['a result that is blocked', { sent: toolError }, 'tool_error', undefined],
  ['an answer that is blocked', { sent: failed(-31000) }, '-31000', undefined],
  ['an error that is the asker\'s', { response: failed(-32602), sent: failed(-32602) }, undefined, '-32602'],
  ['an error that is the server\'s', { response: failed(-32603), sent: failed(-32603) }, '-32603', '-32603'],
  ['no answer in time', { response: undefined, sent: failed(-31002) }, '-31002', 'timeout'],
  ['a server that is gone', { response: undefined, sent: failed(-31001) }, '-31001', 'no_answer'],
  ['a client that waits no more', { response: undefined, sent: undefined }, 'cancelled', 'cancelled'],
  [
    'no JSON-RPC', { response: frame('{"jsonrpc":"2.0","id":1}'), sent: failed(-31000) }, '-31000',
    'unusable',
  ],
]
for (const [what, how, toClient, ofServer] of outcomes) {
  t.test(`error.type of ${what}`, async t => {
    const { told, observe } = watched()
    observe(place)(session).done(operation(how))
    t.strictSame(told.map(([, attributes]) => attributes['error.type']), [toClient, ofServer])
  })
}

t.test('a server that lists tools without end makes a bounded number of series, which a new configuration does not begin anew', async t => {
  const { told, observe } = watched()
  for (let count = 0; count < 5000; count += 1) {
    const shown = { ...entry({ tool: `tool${count}`, shown: `a__tool${count}` }), ms: 1 }
    observe(place)(session).done(operation({ response: failed(-40_000 - count), entry: shown }, `tool${count}`))
  }
  const series = new Set(told.map(([role, attributes]) => role + JSON.stringify(attributes)))
  t.ok(series.size < 1010, String(series.size))
  t.match(
    told.at(-1)?.[1],
    { 'gen_ai.tool.name': '_OTHER', 'mcp_customs.shown_tool': '_OTHER', 'error.type': '_OTHER', 'rpc.response.status_code': '_OTHER' },
  )
  observe({ ...place, server: 'others' })(session).done(operation())
  t.match(told.at(-1)?.[1], { 'gen_ai.tool.name': 'search' }, 'another server has its own')
})

t.test('a tool has the name of the merged endpoint beside its own', async t => {
  const { told, observe } = watched()
  for (const isListed of [true, false])
    observe(place)(session).done(operation({ isListed, entry: { ...entry({ shown: 'a__search' }), ms: 1 } }))
  t.strictSame(
    told.map(([, attributes]) => attributes['mcp_customs.shown_tool']), ['a__search', 'a__search', '_OTHER', '_OTHER'],
  )
})

t.test('methods that a client invents have no label', async t => {
  const { told, observe } = watched()
  observe(place)(session).done(operation({ isListed: false }))
  observe(place)(session).done(operation({ entry: { ...entry({ event: 'x/anything' }), ms: 1 } }))
  t.strictSame(told.map(([, attributes]) => [
    attributes['mcp.method.name'], attributes['gen_ai.tool.name'],
  ]), [
    ['tools/call', '_OTHER'], ['tools/call', '_OTHER'], ['_OTHER', undefined], ['_OTHER', undefined],
  ])
})

t.test('a failure of telemetry stops no traffic, and is reported once', async t => {
  const fail = () => {
    throw new Error('no')
  }
  const { told, failures, observe } = watched({ begun: fail, done: fail })
  const observer = observe(place)(session)
  t.equal(
    observer.begun?.({ kind: 'request', id: 1, key: '1', method: 'ping', params: undefined }, undefined),
    undefined,
  )
  observer.done(operation())
  t.equal(told.length, 2)
  t.strictSame(failures, ['no'])
})

t.test('a session is measured once it is over, where the client has one', async t => {
  const { sessions, observe } = watched()
  const observer = observe({ ...place, toClient: pipe })(session)
  observer.done(operation())
  observer.ended?.(true)
  observe(place)({ ...session, stateless: true }).ended?.(false)
  t.match(sessions, [
    [
      'server',
      { 'network.transport': 'pipe', 'mcp.protocol.version': '2025-11-25', 'error.type': 'relay_failed' },
    ],
    ['client', { 'network.transport': 'tcp', 'server.address': 'mcp.example.com' }],
  ])
  t.equal(sessions.length, 2)
})

const asked: readonly (readonly [string, Record<string, string>, string | undefined, readonly string[]])[] = [
  ['nothing', {}, undefined, []],
  ['an empty endpoint', { OTEL_EXPORTER_OTLP_ENDPOINT: ' ' }, undefined, []],
  ['an endpoint', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://a' }, undefined, ['traces', 'metrics', 'logs']],
  ['an endpoint of the file\'s', {}, 'http://a', ['traces', 'metrics', 'logs']],
  ['one signal\'s', { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://a' }, undefined, ['traces']],
  [
    'a signal that is turned off', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://a', OTEL_LOGS_EXPORTER: 'none' },
    undefined, ['traces', 'metrics'],
  ],
  ['all turned off', { OTEL_SDK_DISABLED: 'TRUE' }, 'http://a', []],
]
for (const [what, environment, endpoint, expected] of asked) {
  t.test(`signals for ${what}`, async t =>
    t.strictSame(signalsWanted({ endpoint, headers: new Map(), payloads: 'none' }, environment), expected))
}
