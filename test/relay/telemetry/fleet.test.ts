import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { countingMetrics } from '#relay/telemetry/metrics.js'
import { HttpClient, serve } from '../../e2e/http-bridges.js'

const folder = fileURLToPath(new URL('../../../docker/fleet/', import.meta.url))
const read = (name: string): string => readFileSync(folder + name, 'utf8')

/** What a scrape may show: a histogram shows itself as three. */
const exposed = (): ReadonlyMap<string, ReadonlySet<string>> => {
  const metrics = countingMetrics()
  metrics.sessionStarted('s')
  metrics.answered({ server: 's', method: 'other', verdict: 'pass', relayMs: 1, serverMs: 1 })
  metrics.found('s', 'tool/drift', 'block')
  metrics.moved('s', 'client', 1)
  metrics.refused(401)
  metrics.auditFailed()
  metrics.reloaded('ok')
  metrics.serverHealth('s', 'exit')
  metrics.undelivered('x', 1)
  metrics.ready(new Map([['s', true]]))
  for (const role of ['server', 'client'] as const) {
    metrics.operation(role, {}, 1)
    metrics.session(role, {}, 1)
  }
  const series = new Map<string, Set<string>>()
  for (const line of metrics.registry.text().split('\n')) {
    const [, name, labels = ''] = /^(\w+)(?:\{(.*)\})? /.exec(line) ?? []
    if (name !== undefined) {
      series.set(name, new Set([
        ...(series.get(name) ?? []), ...[...labels.matchAll(/(\w+)="/g)].map(([, label]) => label ?? ''),
      ]))
    }
  }
  return series
}

/** What Prometheus itself adds. */
const ofEach = new Set(['instance', 'job'])

/** What an expression selects: each series with the labels that it is selected or grouped by. */
const selectors = (expression: string) => {
  const grouped = [...expression.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, labels = '']) =>
    labels.split(',').map(label => label.trim()))
  const queried = /^label_values\(\w+, (\w+)\)$/.exec(expression)?.slice(1) ?? []
  const rest = expression.replaceAll(/\bby \([^)]*\)/g, '')
  return [...rest.matchAll(/\b(mcp_\w+)(?:\{([^}]*)\})?/g)].map(([, name = '', within = '']) => ({
    name, labels: [
      ...grouped, ...queried, ...[...within.matchAll(/(\w+)(?:=~|!~|!=|=)/g)].map(([, label]) => label ?? ''),
    ],
  }))
}

interface Rules {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[]
}

interface Dashboard {
  readonly templating: { readonly list: readonly {
    readonly name: string; readonly query: string | { readonly query: string }
  }[] }
  readonly panels: readonly {
    readonly id: number; readonly title: string; readonly targets: readonly { readonly expr: string }[]
  }[]
}

t.test('the alerts and the dashboard name metrics that the relay exposes', t => {
  const series = exposed()
  const { groups } = parse(read('rules.yaml')) as Rules
  const { templating, panels } = JSON.parse(read('dashboard.json')) as Dashboard
  const expressions = [
    ...groups.flatMap(({ rules }) => rules.map(({ alert, expr }) => [alert, expr] as const)),
    ...templating.list.flatMap(({ name, query }) =>
      (typeof query === 'string' ? [] : [[name, query.query] as const])),
    ...panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [title, expr] as const)),
  ]
  for (const [where, expression] of expressions) {
    const selected = selectors(expression)
    t.ok(selected.length > 0 || expression.startsWith('up{'), `${where} selects something`)
    for (const { name, labels } of selected) {
      const known = series.get(name)
      t.ok(known, `${where}: ${name} is exposed`)
      for (const label of labels) {
        t.ok(known?.has(label) === true || ofEach.has(label), `${where}: ${name} has the label ${label}`)
      }
    }
  }
  t.equal(new Set(panels.map(({ id }) => id)).size, panels.length)
  t.end()
})

t.test('the files that the compose file mounts exist, and the collector listens where the relay sends', t => {
  const { services } = parse(read('compose.yaml')) as { services: Record<string, {
    volumes?: string[]; environment?: Record<string, string>
  }> }
  for (const { volumes = [] } of Object.values(services)) {
    for (const volume of volumes) t.ok(existsSync(folder + (volume.split(':')[0] ?? '')), volume)
  }
  const { receivers, exporters, service } = parse(read('collector.yaml')) as {
    receivers: { otlp: { protocols: { http: { endpoint: string } } } }
    exporters: object
    service: { pipelines: Record<string, { receivers: string[]; exporters: string[] }> }
  }
  const endpoint = services['relay']?.environment?.['OTEL_EXPORTER_OTLP_ENDPOINT'] ?? ''
  t.equal(new URL(endpoint).port, receivers.otlp.protocols.http.endpoint.split(':')[1])
  t.strictSame(Object.keys(service.pipelines).sort(), ['logs', 'metrics', 'traces'])
  for (const pipeline of Object.values(service.pipelines)) {
    t.strictSame(pipeline.receivers, ['otlp'])
    for (const exporter of pipeline.exporters) t.ok(exporter in exporters)
  }
  t.end()
})

const hasPromtool = spawnSync('promtool', ['--version']).error === undefined

t.test('promtool finds nothing wrong, and the alerts fire when they should', {
  skip: !hasPromtool && 'promtool is not here (Debian: prometheus)',
}, t => {
  const runs = [
    ['check', 'rules', 'rules.yaml'], ['check', 'config', '--syntax-only', 'prometheus.yaml'],
    ['test', 'rules', 'rules.test.yaml'],
  ]
  for (const words of runs) {
    const { status, stdout, stderr } = spawnSync('promtool', words, { cwd: folder, encoding: 'utf8' })
    t.equal(status, 0, `${words.join(' ')}: ${stdout}${stderr}`)
  }
  t.end()
})

t.test('promtool finds nothing wrong with the metrics', {
  skip: !hasPromtool && 'promtool is not here (Debian: prometheus)',
}, t => {
  const { stdout, stderr } = spawnSync(
    'promtool', ['check', 'metrics'], { input: countingMetrics().registry.text(), encoding: 'utf8' },
  )
  t.equal(stdout + stderr, '')
  t.end()
})

/** What a gateway in front of ordinary servers exposes, after a list and a call of each. */
const ordinary = async (t: Test, folder: string): Promise<string> => {
  const { resolve } = createRequire(import.meta.url)
  const server = (name: string, ...args: readonly string[]) =>
    ({ command: [process.execPath, resolve(`@modelcontextprotocol/server-${name}/dist/index.js`), ...args] })
  const calls = {
    everything: { name: 'echo', arguments: { message: 'hello' } },
    filesystem: { name: 'list_allowed_directories', arguments: {} },
    memory: { name: 'read_graph', arguments: {} },
  }
  const servers = {
    everything: server('everything', 'stdio'), filesystem: server('filesystem', folder), memory: server('memory'),
  }
  const config = join(folder, 'customs.json')
  writeFileSync(
    config, JSON.stringify({ version: 1, admin: '127.0.0.1:0', audit: { file: 'none' }, servers }),
  )
  const { relay, url } = await serve(t, ['--config', config, '--log-level', 'info'])
  for (const [name, call] of Object.entries(calls)) {
    const client = new HttpClient(`${url}/${name}/mcp`)
    const ask = async (id: number, method: string, params: object) => {
      client.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
      t.match(JSON.parse(await client.next()), { id, result: {} }, `${name}: ${method}`)
    }
    const clientInfo = { name: 'test', version: '1' }
    await ask(0, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo })
    await ask(1, 'tools/list', {})
    await ask(2, 'tools/call', call)
  }
  const [, page = ''] = /page on (\S+)\/\?/.exec(relay.stderr()) ?? []
  return (await fetch(`${page}/metrics`)).text()
}

t.test('ordinary servers of npm give no alert that something was blocked', async t => {
  const scratch = mkdtempSync(join(tmpdir(), 'mcp-customs-'))
  t.teardown(() => rmSync(scratch, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }))
  const text = await ordinary(t, scratch)
  const counted = [...text.matchAll(/^(mcp_customs_(?:answers|findings)_total)\{(.*)\} (\d+)$/gm)]
  t.ok(counted.some(([, , labels = '']) => /verdict="mend"/.test(labels)), 'annotations were removed')
  t.strictSame(counted.filter(([, , labels = '']) => /verdict="(block|demote)"/.test(labels)), [])
  if (!hasPromtool) return
  const series = counted.map(([, name = '', labels = '', value = '']) =>
    ({ series: `${name}{${labels},instance="r"}`, values: `0 0 ${value} ${value} ${value}` }))
  const alerts = ['McpCallsBlocked', 'McpDangerousFinding', 'McpDefinitionsDrift']
  writeFileSync(join(scratch, 'rules.test.yaml'), JSON.stringify({
    rule_files: [join(folder, 'rules.yaml')], evaluation_interval: '1m',
    tests: [{ interval: '1m', input_series: series, alert_rule_test: alerts.map(alertname =>
      ({ eval_time: '4m', alertname, exp_alerts: [] })) }],
  }))
  const { status, stdout, stderr } =
    spawnSync('promtool', ['test', 'rules', 'rules.test.yaml'], { cwd: scratch, encoding: 'utf8' })
  t.equal(status, 0, stdout + stderr)
})
