import t from 'tap'
import { allMetrics, countingMetrics } from '#relay/telemetry/metrics.js'
import { MetricTotals } from '#relay/telemetry/registry.js'

t.test('metrics of several processes are added up, and no counter decreases when one of them ends', t => {
  const [one, other, later] = [countingMetrics(), countingMetrics(), countingMetrics()]
  for (const metrics of [one, one, other]) metrics.sessionStarted('files')
  const answered = {
    server: 'files', method: 'other', verdict: 'pass', relayMs: 1, serverMs: undefined,
  } as const
  one.answered(answered)
  other.answered(answered)
  one.ready(new Map([['files', true]]))
  other.ready(new Map([['files', false]]))
  const counts = new MetricTotals(allMetrics)
  const both = counts.text(new Map([[1, one.registry.snapshot()], [2, other.registry.snapshot()]]))
  t.match(both, 'mcp_customs_sessions{server="files"} 3\n')
  t.match(both, 'mcp_customs_sessions_started_total{server="files"} 3\n')
  t.match(both, 'mcp_customs_relay_seconds_count{server="files"} 2\n')
  t.match(
    both, 'mcp_customs_server_ready{server="files"} 0\n', 'a server is ready when every process can reach it',
  )

  counts.retire(1)
  later.sessionStarted('files')
  const now = new Map([[1, later.registry.snapshot()], [2, other.registry.snapshot()]])
  for (const text of [counts.text(now), counts.text(now)]) {
    t.match(text, 'mcp_customs_sessions_started_total{server="files"} 4\n')
    t.match(text, 'mcp_customs_sessions{server="files"} 2\n', 'gauges of an ended process are gone')
    t.match(text, 'mcp_customs_relay_seconds_count{server="files"} 2\n')
  }
  t.match(
    counts.text(new Map([[1, later.registry.snapshot()]])),
    'mcp_customs_sessions_started_total{server="files"} 4\n',
    'of a process that sends no snapshot, the last one counts',
  )
  t.end()
})

t.test('the text of one process is the same by way of its snapshot', t => {
  const metrics = countingMetrics()
  metrics.sessionStarted('files')
  metrics.operation('server', { 'mcp.method.name': 'ping', 'mcp_customs.server': 'files' }, 0.03)
  const totals = new MetricTotals(allMetrics)
  t.equal(totals.text(new Map([[1, metrics.registry.snapshot()]])), metrics.registry.text())
  t.end()
})

t.test('series that differ in attributes that are no labels are one in the text', t => {
  const metrics = countingMetrics()
  for (const code of ['1', '2']) {
    metrics.operation('client', { 'mcp_customs.server': 'files', 'rpc.response.status_code': code }, 500)
  }
  const { registry } = metrics
  t.match(
    registry.text(),
    /^mcp_client_operation_duration_seconds_bucket\{le="\+Inf",.*mcp_customs_server="files"\} 2$/m,
  )
  t.match(
    registry.text(),
    /^mcp_client_operation_duration_seconds_bucket\{le="300",.*mcp_customs_server="files"\} 0$/m,
  )
  t.strictSame(
    [...registry.collect()].flatMap(([{ otlp }, series]) => (otlp ? series.map(({ value }) => value) : [])),
    [500, 500],
  )
  t.end()
})

t.test('a value at a bound is in its bucket; names of servers are escaped', t => {
  const metrics = countingMetrics()
  metrics.session('server', { 'mcp_customs.server': 'a"b\\c\n' }, 0.01)
  const labels =
    'le="0.01",error_type="",network_transport="",mcp_protocol_version="",mcp_customs_server="a\\"b\\\\c\\n"'
  t.ok(metrics.registry.text().includes(`mcp_server_session_duration_seconds_bucket{${labels}} 1\n`))
  t.end()
})
