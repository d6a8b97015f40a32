import t from 'tap'
import { addedUp } from '../../dist/telemetry/added-up.js'
import { prometheusMetrics } from '../../dist/telemetry/prometheus.js'

t.test('what processes count is added up, and no counter goes back when one of them ends', async t => {
  const [one, other, later] = [await prometheusMetrics(), await prometheusMetrics(), await prometheusMetrics()]
  for (const { metrics } of [one, one, other]) metrics.sessionStarted('files')
  const answered = { server: 'files', method: 'other', verdict: 'pass', relayMs: 1, serverMs: undefined } as const
  one.metrics.answered(answered)
  other.metrics.answered(answered)
  one.metrics.ready(new Map([['files', true]]))
  other.metrics.ready(new Map([['files', false]]))
  const counts = await addedUp()
  const both = await counts.text(new Map([[1, await one.snapshot()], [2, await other.snapshot()]]))
  t.match(both, 'mcp_customs_sessions{server="files"} 3\n')
  t.match(both, 'mcp_customs_sessions_started_total{server="files"} 3\n')
  t.match(both, 'mcp_customs_relay_seconds_count{server="files"} 2\n')
  t.match(both, 'mcp_customs_server_ready{server="files"} 0\n', 'what one of them cannot reach is not ready')

  counts.retire(1)
  later.metrics.sessionStarted('files')
  const now = new Map([[1, await later.snapshot()], [2, await other.snapshot()]])
  for (const text of [await counts.text(now), await counts.text(now)]) {
    t.match(text, 'mcp_customs_sessions_started_total{server="files"} 4\n')
    t.match(text, 'mcp_customs_sessions{server="files"} 2\n', 'its sessions are over')
    t.match(text, 'mcp_customs_relay_seconds_count{server="files"} 2\n')
  }
  t.match(await counts.text(new Map([[1, await later.snapshot()]])), 'mcp_customs_sessions_started_total{server="files"} 4\n', 'who says nothing has not counted less')
})

t.test('the exposition is that of one process', async t => {
  const { metrics, exposition, snapshot } = await prometheusMetrics()
  metrics.sessionStarted('files')
  metrics.operation('server', { 'mcp.method.name': 'ping', 'mcp_customs.server': 'files' }, 0.03)
  const lines = (text: string) => text.split('\n').filter(line => line !== '' && !line.startsWith('#')).sort()
  const counts = await addedUp()
  t.same(lines(await counts.text(new Map([[1, await snapshot()]]))), lines(await exposition.text()))
  t.equal(counts.contentType, exposition.contentType)
})
