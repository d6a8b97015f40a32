import { request } from 'node:http'
import t, { type Test } from 'tap'
import { adminServer, type AdminOptions } from '#relay/host/admin/server.js'
import type { Condition } from '#relay/session/health.js'
import { countingMetrics } from '#relay/telemetry/metrics.js'

const well: Condition = { isReachable: true }

const start = async (
  t: Test, options: Partial<AdminOptions> & { ready?: () => Promise<ReadonlyMap<string, Condition>> } = {},
) => {
  const metrics = countingMetrics()
  const admin = adminServer({
    host: '127.0.0.1',
    port: 0,
    state: {
      ready: options.ready ?? (() => Promise.resolve(new Map([['files', well]]))),
      metrics: () => Promise.resolve(metrics.registry.text()),
    },
    ...(options.readyMs !== undefined && { readyMs: options.readyMs }),
  })
  const url = await admin.listen()
  t.teardown(() => admin.close())
  return { url, metrics, admin }
}

const get = async (url: string, init: RequestInit = {}) => {
  const response = await fetch(url, { ...init, headers: { connection: 'close' } })
  return {
    status: response.status, type: response.headers.get('content-type'), allow: response.headers.get('allow'),
    body: await response.text(),
  }
}

t.test('it says that it lives', async t => {
  const { url } = await start(t)
  t.match(await get(`${url}/healthz`), { status: 200, body: 'ok\n' })
  t.match(await get(`${url}/healthz?x=1`), { status: 200 })
})

t.test('it is ready when every server can be reached', async t => {
  const never = () => new Promise<ReadonlyMap<string, Condition>>(() => {})
  const problem =
    { kind: 'exit', reason: 'the server exited with code 3', since: '2026-11-20T12:00:00.000Z' } as const
  const cases = [
    [
      'all', () => Promise.resolve(new Map([['a', well], ['b', well]])), 200,
      { ready: true, servers: { a: true, b: true } },
    ],
    [
      'one is not', () => Promise.resolve(new Map([['a', well], ['b', { isReachable: false }]])), 503,
      { ready: false, servers: { a: true, b: false } },
    ],
    [
      'one crashed', () => Promise.resolve(new Map([['a', well], ['b', { isReachable: true, problem }]])), 200,
      { ready: true, degraded: true, servers: { a: true, b: false }, problems: { b: problem } },
    ],
    ['nobody knows', () => Promise.reject(new Error('secret')), 503, { ready: false, servers: {} }],
    ['nobody says', never, 503, { ready: false, servers: {} }],
  ] as const
  for (const [name, ready, status, body] of cases) {
    const { url } = await start(t, { ready, readyMs: 5 })
    const got = await get(`${url}/readyz`)
    t.equal(got.status, status, name)
    t.equal(got.type, 'application/json')
    t.same(JSON.parse(got.body), body, name)
  }
})

t.test('it tells what was counted, as Prometheus reads it', async t => {
  const { url, metrics } = await start(t)
  metrics.sessionStarted('files')
  metrics.sessionStarted('files')
  metrics.sessionEnded('files')
  metrics.answered({ server: 'files', method: 'tools/call', verdict: 'block', relayMs: 0.4, serverMs: 20 })
  metrics.answered({ server: 'files', method: 'other', verdict: 'pass', relayMs: 0.2, serverMs: undefined })
  metrics.found('files', 'result/schema', 'block')
  metrics.moved('files', 'client', 100)
  metrics.moved('files', 'client', 20)
  metrics.refused(401)
  metrics.auditFailed()
  metrics.byteValidatorFailed()
  metrics.undelivered('pino-loki', 3)
  metrics.ready(new Map([['gone', false]]))
  metrics.ready(new Map([['files', true], ['tickets', false]]))
  const attributes = {
    'mcp.method.name': 'tools/call', 'gen_ai.tool.name': 'search', 'network.transport': 'tcp',
    'mcp.protocol.version': '2026-07-28', 'mcp_customs.server': 'files',
  }
  metrics.operation('server', { ...attributes, 'error.type': 'tool_error' }, 0.015)
  metrics.operation('client', attributes, 0.4)
  metrics.session('server', { 'mcp_customs.server': 'files', 'network.transport': 'tcp' }, 61)
  const { status, type, body } = await get(`${url}/metrics`)
  t.equal(status, 200)
  t.match(type, /^text\/plain; version=0\.0\.4/)
  for (const line of [
    'mcp_customs_sessions{server="files"} 1',
    'mcp_customs_sessions_started_total{server="files"} 2',
    'mcp_customs_answers_total{server="files",method="tools/call",verdict="block"} 1',
    'mcp_customs_answers_total{server="files",method="other",verdict="pass"} 1',
    'mcp_customs_findings_total{server="files",rule="result/schema",action="block"} 1',
    'mcp_customs_message_bytes_total{server="files",from="client"} 120',
    'mcp_customs_relay_seconds_bucket{le="0.00025",server="files"} 1',
    'mcp_customs_relay_seconds_bucket{le="0.0005",server="files"} 2',
    'mcp_customs_relay_seconds_count{server="files"} 2',
    'mcp_customs_server_seconds_count{server="files"} 1',
    'mcp_customs_server_seconds_sum{server="files"} 0.02',
    'mcp_customs_http_refusals_total{status="401"} 1',
    'mcp_customs_audit_failures_total 1',
    'mcp_customs_byte_validator_failures_total 1',
    'mcp_customs_undelivered_total{to="pino-loki"} 3',
    'mcp_customs_server_ready{server="files"} 1',
    'mcp_customs_server_ready{server="tickets"} 0',
    'mcp_server_operation_duration_seconds_bucket{le="0.02",mcp_method_name="tools/call",gen_ai_tool_name="search",mcp_customs_shown_tool="",error_type="tool_error",network_transport="tcp",mcp_protocol_version="2026-07-28",mcp_customs_server="files"} 1',
    'mcp_client_operation_duration_seconds_sum{mcp_method_name="tools/call",gen_ai_tool_name="search",mcp_customs_shown_tool="",error_type="",network_transport="tcp",mcp_protocol_version="2026-07-28",mcp_customs_server="files"} 0.4',
    'mcp_server_session_duration_seconds_bucket{le="60",error_type="",network_transport="tcp",mcp_protocol_version="",mcp_customs_server="files"} 0',
    'mcp_server_session_duration_seconds_bucket{le="120",error_type="",network_transport="tcp",mcp_protocol_version="",mcp_customs_server="files"} 1',
  ]) t.ok(body.split('\n').includes(line), line)
  t.notMatch(body, /server_ready\{server="gone"/)
})

t.test('each registry counts for itself', t => {
  const [one, other] = [countingMetrics(), countingMetrics()]
  one.auditFailed()
  t.match(one.registry.text(), /^mcp_customs_audit_failures_total 1$/m)
  t.match(other.registry.text(), /^mcp_customs_audit_failures_total 0$/m)
  t.end()
})

t.test('a page whose name was rebound learns nothing', async t => {
  const { url } = await start(t)
  const status = (host: string) => new Promise<number | undefined>((resolve, reject) => {
    request(`${url}/readyz`, { headers: { host } }, response => resolve(response.resume().statusCode))
      .on('error', reject).end()
  })
  for (const [host, expected] of [
    ['evil.example', 403], ['localhost', 200], ['10.1.2.3:80', 200], ['[::1]:1', 200],
    ['localhost@evil.example', 403],
  ] as const) {
    t.equal(await status(host), expected, host)
  }
})

t.test('it offers nothing else, and changes nothing', async t => {
  const { url } = await start(t)
  t.match(await get(`${url}/`), { status: 404 })
  t.match(await get(`${url}/constructor`), { status: 404 })
  t.match(await get(`${url}/healthz`, { method: 'POST' }), { status: 405, allow: 'GET, HEAD' })
  t.match(await get(`${url}/healthz`, { method: 'HEAD' }), { status: 200, body: '' })
})

t.test('a port that is taken is a clear error', async t => {
  const { url } = await start(t)
  const port = Number(new URL(url).port)
  const state = {
    ready: () => Promise.resolve(new Map<string, Condition>()), metrics: () => Promise.resolve(''),
  }
  await t.rejects(adminServer({ host: '127.0.0.1', port, state }).listen(), { code: 'CANNOT_START' })
})

t.test('closing does not wait for clients that keep their connections', async t => {
  const { url, admin } = await start(t)
  await new Promise<void>((resolve, reject) => {
    const kept = request(`${url}/healthz`, response => response.resume().on('end', resolve))
    kept.on('error', reject)
    kept.end()
  })
  await admin.close()
  await admin.close()
  await t.rejects(fetch(`${url}/healthz`))
})
