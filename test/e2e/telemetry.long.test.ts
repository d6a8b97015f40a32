import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { answerJson, postTo, serveBodies } from '#test/kit/http.js'
import { receiver, type ReceivedSpan } from '../relay/telemetry/receiver.js'
import { cli, scratch } from './bridge.js'
import { start, urlOf } from './harness.js'

// Each waits for processes most of the time.
t.jobs = 4

const demo = fileURLToPath(new URL('../../docker/demo/lying-server.mjs', import.meta.url))
const parent = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' }
const traceparent = `00-${parent.traceId}-${parent.spanId}-01`

const rpc = (id: number, method: string, params: object) =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params })
const initialize = rpc(
  0, 'initialize',
  { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
)
const weather = (id: number, city: string, meta?: object) =>
  rpc(id, 'tools/call', { name: 'get_weather', arguments: { city }, ...(meta && { _meta: meta }) })

/**
 * What the environment of the test says of OpenTelemetry is not meant for the relay. A busy machine may take
 * long to export.
 */
const quiet = {
  OTEL_EXPORTER_OTLP_TIMEOUT: '30000', OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
  OTEL_SERVICE_NAME: 'weather-desk', OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
}

/** A session of the demonstration's client, to its end. */
const session = async (
  t: Test, env: NodeJS.ProcessEnv, options: readonly string[] = [],
  messages: readonly string[] = [weather(2, 'Paris', { traceparent }), weather(3, 'Atlantis')],
  exported = () => Promise.resolve(),
) => {
  const file = join(scratch(t), 'audit.ndjson')
  const audit = options.includes('--audit') ? [] : ['--audit', file]
  const relay = start(t, process.execPath, [
    cli, 'wrap', '--server', 'weather', ...audit, ...options, '--', process.execPath, demo,
  ], { ...quiet, ...env })
  for (const [index, line] of [initialize, rpc(1, 'tools/list', {}), ...messages].entries()) {
    relay.send(line)
    await relay.responseTo(String(index))
  }
  await exported()
  relay.closeInput()
  return {
    exit: await relay.exit, stderr: relay.stderr(),
    records: audit.length === 0 ? [] : readFileSync(file, 'utf8').trim().split('\n'),
  }
}

const spanOf = (spans: readonly ReceivedSpan[], kind: string, id: number | string): ReceivedSpan => {
  const found =
    spans.filter(span => span.kind === kind && span.attributes['jsonrpc.request.id'] === String(id))
  if (found.length !== 1 || found[0] === undefined) {
    throw new Error(`${found.length} spans ${kind} of request ${id}`)
  }
  return found[0]
}

t.test('wrap: spans, metrics and records of a session, by the names of the conventions', async t => {
  const { url, spans, metrics, logs, resource } = await receiver(t)
  const { exit, stderr, records } = await session(t, { OTEL_EXPORTER_OTLP_ENDPOINT: url })
  t.equal(exit.code, 0)
  t.equal(stderr.replaceAll(/^\{.*\n/gm, ''), '')

  t.comment('a request is a span SERVER, and below it a span CLIENT')
  t.match(resource, {
    'service.name': 'weather-desk', 'deployment.environment.name': 'test', 'telemetry.sdk.language': 'nodejs',
  })
  t.strictSame(spans.map(({ kind, name }) => `${kind} ${name}`).sort(), [
    'CLIENT initialize', 'CLIENT tools/call get_weather', 'CLIENT tools/call get_weather',
    'CLIENT tools/list',
    'SERVER initialize', 'SERVER tools/call get_weather', 'SERVER tools/call get_weather',
    'SERVER tools/list',
  ])

  const [paris, below] = [spanOf(spans, 'SERVER', 2), spanOf(spans, 'CLIENT', 2)]
  t.match(paris, { traceId: parent.traceId, parentSpanId: parent.spanId, status: { code: 0 } })
  t.match(below, { traceId: parent.traceId, parentSpanId: paris.spanId, status: { code: 0 } })
  t.ok(
    paris.start <= below.start && below.end <= paris.end && below.start < below.end,
    'the one lasts within the other',
  )
  const common = {
    'mcp.method.name': 'tools/call', 'jsonrpc.request.id': '2', 'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'get_weather',
    'mcp.protocol.version': '2025-11-25', 'network.transport': 'pipe', 'mcp_customs.server': 'weather',
    'mcp_customs.verdict': 'pass',
    'mcp.session.id': paris.attributes['mcp.session.id'],
  }
  t.strictSame(paris.attributes, common)
  t.strictSame(below.attributes, common)

  const [atlantis, lied] = [spanOf(spans, 'SERVER', 3), spanOf(spans, 'CLIENT', 3)]
  t.not(atlantis.traceId, parent.traceId)
  t.equal(atlantis.parentSpanId, undefined)
  t.match(atlantis, { attributes: {
    'mcp_customs.verdict': 'block', 'mcp_customs.rule': ['result/schema'], 'error.type': 'tool_error',
  }, status: { code: 2 } })
  t.notMatch(lied.attributes, { 'error.type': /./ }, 'the server itself has not failed')

  t.comment('the four histograms, in seconds and with the bounds of the conventions')
  const names = [...new Set(metrics.map(({ name }) => name))].sort()
  t.strictSame(names, [
    'mcp.client.operation.duration', 'mcp.client.session.duration', 'mcp.server.operation.duration',
    'mcp.server.session.duration',
  ])
  for (const { unit, bounds } of metrics) {
    t.equal(unit, 's')
    t.strictSame(bounds, [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300])
  }
  const calls = metrics.filter(({ name, attributes }) =>
    name === 'mcp.server.operation.duration' && attributes['mcp.method.name'] === 'tools/call')
  t.strictSame(
    calls.map(({ attributes, count }) => [attributes['error.type'], count]),
    [[undefined, 1], ['tool_error', 1]],
  )
  t.strictSame(calls[0]?.attributes, {
    'mcp.method.name': 'tools/call', 'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'get_weather', 'network.transport': 'pipe',
    'mcp.protocol.version': '2025-11-25', 'mcp_customs.server': 'weather',
  })

  t.comment('the audit log goes out letter for letter, each record beside its span')
  t.strictSame(logs.map(({ body }) => body), records)
  const blocked = logs.find(({ body }) => body.includes('"result/schema"'))
  t.match(blocked, { eventName: 'mcp_customs.audit', severityText: 'WARN', traceId: atlantis.traceId })
  t.match(blocked?.attributes, {
    'mcp_customs.server': 'weather', 'mcp.method.name': 'tools/call', 'gen_ai.tool.name': 'get_weather',
    'mcp_customs.rule': ['result/schema'],
  })
})

t.test('there are records for the receiver even where there is no log', async t => {
  const { url, logs } = await receiver(t)
  await session(t, { OTEL_EXPORTER_OTLP_ENDPOINT: url }, ['--audit', 'none'])
  t.equal(logs.length, 5)
})

t.test('errors: which are the asker\'s own, and what a name from a stranger may be', async t => {
  const { url, spans, metrics } = await receiver(t)
  const hostile = `x\u202e\u001b[31m${'y'.repeat(10_000)} token=abcdefghijklmnop1234`
  await session(t, { OTEL_EXPORTER_OTLP_ENDPOINT: url }, ['--rule', 'call/unlisted=log'], [
    rpc(
      2, 'tools/call',
      { name: hostile, arguments: {}, _meta: { traceparent: '00-zz-1-01', tracestate: 'a=1' } },
    ),
    rpc(3, 'x/no-such-method', { _meta: { traceparent, tracestate: `a=${'x'.repeat(100_000)}` } }),
  ])
  const [asked, told] = [spanOf(spans, 'SERVER', 2), spanOf(spans, 'CLIENT', 2)]
  t.match(
    asked,
    { status: { code: 0 }, attributes: { 'rpc.response.status_code': '-32602', 'error.type': undefined } },
  )
  t.match(told, {
    status: { code: 2, message: /^Unknown tool/ },
    attributes: { 'rpc.response.status_code': '-32602', 'error.type': '-32602' },
  })
  t.ok(asked.name.length < 300 && !/[\u202e\u001b]|abcdefghijkl/.test(
    JSON.stringify(asked.attributes) + asked.name,
  ), 'cut, visible, without secrets')
  t.equal(asked.parentSpanId, undefined, 'what is no traceparent is none')
  t.equal(spanOf(spans, 'SERVER', 3).parentSpanId, parent.spanId)
  const named =
    metrics.map(({ attributes }) => [attributes['mcp.method.name'], attributes['gen_ai.tool.name']])
  t.match(named, [['initialize'], ['tools/list'], ['tools/call', '_OTHER'], ['_OTHER']])
})

t.test('payloads are in spans when they are asked for, without secrets', async t => {
  const { url, spans, headers } = await receiver(t)
  const config = join(scratch(t), 'customs.json')
  writeFileSync(config, JSON.stringify({
    version: 1, telemetry: { endpoint: url, headers: { 'X-Key': '${env:KEY}' }, payloads: 'redacted' },
  }))
  const { stderr } = await session(t, { KEY: 'sesame-open' }, ['--config', config, '--log-level', 'debug'])
  t.match(
    spanOf(spans, 'CLIENT', 2).attributes,
    { 'gen_ai.tool.call.arguments': '{"city":"Paris"}', 'gen_ai.tool.call.result': /sunny/ },
  )
  t.ok(headers.length > 0 && headers.every(sent => sent['x-key'] === 'sesame-open'))
  t.notMatch(stderr, /sesame/)
})

t.test('where OpenTelemetry is not installed, what configures it is told the command that installs it', async t => {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const folder = scratch(t)
  for (const name of ['dist', 'config', 'package.json']) {
    cpSync(join(root, name), join(folder, name), { recursive: true })
  }
  mkdirSync(join(folder, 'node_modules'))
  for (const name of readdirSync(join(root, 'node_modules'))) {
    if (name !== '@opentelemetry') {
      symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name))
    }
  }
  const config = join(folder, 'customs.json')
  const run = async (telemetry: object, env: NodeJS.ProcessEnv, refused = false) => {
    writeFileSync(config, JSON.stringify({ version: 1, telemetry }))
    const relay = start(t, process.execPath, [
      join(folder, 'dist/cli.js'), 'wrap', '--config', config, '--audit', 'none', '--grace', '60', '--',
      process.execPath, demo,
    ], env)
    // On a busy machine the server may start slowly, and SIGTERM would end it before it has read that its
    // input is closed.
    if (!refused) {
      relay.send(initialize)
      await relay.responseTo('0')
    }
    return { exit: (await relay.end()).code, stderr: relay.stderr() }
  }
  const command =
    /OpenTelemetry is not installed: npm install @opentelemetry\/api@\S+ (?:@opentelemetry\/\S+@\^\d\S* ?){9}/
  const configured = await run({ endpoint: 'http://127.0.0.1:4318' }, {}, true)
  t.equal(configured.exit, 2)
  t.match(configured.stderr.trimEnd(), command)
  t.equal(configured.stderr.trimEnd().split('\n').length, 1)
  // Its variables may be meant for other programs.
  const warned = await run({}, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' })
  t.equal(warned.exit, 0)
  t.match(warned.stderr, command)
  t.strictSame(await run({}, {}), { exit: 0, stderr: '' })
})

t.test('what is turned off is not sent', async t => {
  const { url, spans, metrics, logs } = await receiver(t)
  await session(
    t, { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_TRACES_SAMPLER: 'always_off', OTEL_METRICS_EXPORTER: 'none' },
  )
  t.strictSame([spans.length, metrics.length], [0, 0])
  t.ok(logs.length > 0)
  const off = await receiver(t)
  await session(t, { OTEL_EXPORTER_OTLP_ENDPOINT: off.url, OTEL_SDK_DISABLED: 'true' })
  t.strictSame(off.headers, [])
})

for (const [what, answer] of [['refuses', 400], ['never answers', 'never']] as const) {
  t.test(`a receiver that ${what} stops nothing, and is told of once for each signal`, async t => {
    const { url, spans, until } = await receiver(t, answer)
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_EXPORTER_OTLP_TIMEOUT: '1500', OTEL_BSP_SCHEDULE_DELAY: '50',
    }
    const { exit, stderr } = await session(t, env, [], undefined, () => until(() => spans.length > 0))
    t.equal(exit.code, 0)
    const told = (what: string) => stderr.split('\n').filter(line => line.includes(what))
      .map(line => /telemetry \((\w+)\)/.exec(line)?.[1]).sort()
    t.strictSame(told('not delivered: HTTP 400'), answer === 400 ? ['logs', 'metrics', 'traces'] : [])
    t.strictSame(told('did not arrive'), ['logs', 'metrics', 'traces'])
  })
}

t.test('serve: the parent of the header, and our context in the header to the server, never in its message', async t => {
  const { url, spans } = await receiver(t)
  const asked: { traceparent: string; tracestate: string | undefined; body: string }[] = []
  const far = await serveBodies(t, (body, response, { headers: { traceparent, tracestate } }) => {
    asked.push({
      traceparent: String(traceparent),
      tracestate: tracestate === undefined ? undefined : String(tracestate), body,
    })
    const { id } = JSON.parse(body) as { id: number }
    answerJson(response, { jsonrpc: '2.0', id, result: {} })
  })
  const relay = start(t, process.execPath, [
    cli, 'serve', '--server', 'far', '--audit', 'none', '--listen', '127.0.0.1:0', far,
  ], { ...quiet, OTEL_EXPORTER_OTLP_ENDPOINT: url })
  const front = await urlOf(relay)
  const post = async (body: string, headers: Record<string, string>) =>
    (await postTo(`${front}/mcp`, body, { 'mcp-protocol-version': '2025-06-18', ...headers })).text()
  const other = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`
  const bodies = [
    rpc(1, 'ping', {}), rpc(2, 'ping', { _meta: { traceparent, tracestate: 'b=2' } }), rpc(3, 'ping', {}),
  ]
  await post(bodies[0] ?? '', { traceparent, tracestate: 'a=1' })
  await post(bodies[1] ?? '', { traceparent: other, tracestate: 'a=1' })
  await post(bodies[2] ?? '', {})
  process.kill(relay.pid, 'SIGTERM')
  t.equal((await relay.exit).code, 0)

  t.strictSame(asked.map(({ body }) => body), bodies)
  for (const [index, { traceparent: sent }] of asked.entries()) {
    const [above, below] = [spanOf(spans, 'SERVER', index + 1), spanOf(spans, 'CLIENT', index + 1)]
    t.equal(sent, `00-${above.traceId}-${below.spanId}-01`, 'what the server does is below our span')
    t.equal(below.parentSpanId, above.spanId)
    t.match(above.attributes, {
      'network.transport': 'tcp', 'network.protocol.name': 'http', 'client.address': undefined,
      'mcp.session.id': undefined,
    }, 'who has no session shares ours with others')
    t.match(below.attributes, { 'server.address': '127.0.0.1', 'server.port': new URL(far).port })
  }
  t.strictSame(asked.map(({ tracestate }) => tracestate), ['a=1', 'b=2', undefined])
  t.equal(spanOf(spans, 'SERVER', 1).parentSpanId, parent.spanId)
  t.equal(
    spanOf(spans, 'SERVER', 2).parentSpanId, parent.spanId, 'the message counts for more than the header',
  )
  t.equal(spanOf(spans, 'SERVER', 3).parentSpanId, undefined)
})
