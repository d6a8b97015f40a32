import type { Gauge, Histogram as Observed } from 'prom-client'
import type { Usage } from '../audit/log-file.js'
import type { Snapshot } from './added-up.js'
import type { Attributes, Role } from './attributes.js'
import { conventionalSeconds, type Metrics } from './metrics.js'

/** What was counted so far, as Prometheus reads it. */
export interface Exposition {
  readonly contentType: string
  text(): Promise<string>
}

/** What is counted for Prometheus. */
export interface Counted {
  readonly metrics: Metrics
  readonly exposition: Exposition
  /** What was counted so far, as `AddedUp` takes it. */
  readonly snapshot: () => Promise<Snapshot>
}

/** From a tenth of a millisecond, which is what a check costs, to seconds, which is what it must not. */
const relaySeconds = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1]
const serverSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]

/** The attributes of the conventions that are labels, by the name that a label can have. */
const labels = (names: readonly string[]): ReadonlyMap<string, string> => new Map(names.map(name => [name.replaceAll('.', '_'), name]))
const sessionLabels = labels(['error.type', 'network.transport', 'mcp.protocol.version', 'mcp_customs.server'])
const operationLabels = labels(['mcp.method.name', 'gen_ai.tool.name', ...sessionLabels.values()])

const labelled = (names: ReadonlyMap<string, string>, attributes: Attributes): Record<string, string> =>
  Object.fromEntries([...names].map(([label, name]) => [label, String(attributes[name] ?? '')]))

/** Counts with prom-client, in a registry of its own. The package is loaded only here, and only when this is called. */
export const prometheusMetrics = async (): Promise<Counted> => {
  const { Counter, Gauge, Histogram, Registry } = await import('prom-client')
  const registry = new Registry()
  const registers = [registry]

  const sessions = new Gauge({ name: 'mcp_customs_sessions', help: 'Open sessions.', labelNames: ['server'], registers })
  const started = new Counter({ name: 'mcp_customs_sessions_started_total', help: 'Sessions begun.', labelNames: ['server'], registers })
  const answers = new Counter({
    name: 'mcp_customs_answers_total',
    help: 'Requests of clients that were answered, by what was decided.',
    labelNames: ['server', 'method', 'verdict'],
    registers,
  })
  const findings = new Counter({
    name: 'mcp_customs_findings_total',
    help: 'Findings, by rule and by the action that the policy asked for.',
    labelNames: ['server', 'rule', 'action'],
    registers,
  })
  const bytes = new Counter({
    name: 'mcp_customs_message_bytes_total',
    help: 'Bytes of messages, as received from this side.',
    labelNames: ['server', 'from'],
    registers,
  })
  const relay = new Histogram({
    name: 'mcp_customs_relay_seconds',
    help: 'Time that a request and its answer spent in the relay.',
    labelNames: ['server'],
    buckets: relaySeconds,
    registers,
  })
  const server = new Histogram({
    name: 'mcp_customs_server_seconds',
    help: 'Time that the server took for its answer.',
    labelNames: ['server'],
    buckets: serverSeconds,
    registers,
  })
  const refusals = new Counter({
    name: 'mcp_customs_http_refusals_total',
    help: 'HTTP requests refused before they reached a session.',
    labelNames: ['status'],
    registers,
  })
  const undelivered = new Counter({
    name: 'mcp_customs_undelivered_total',
    help: 'Records, spans and measurements that did not reach where they were shipped to.',
    labelNames: ['to'],
    registers,
  })
  const ready = new Gauge({ name: 'mcp_customs_server_ready', help: 'Whether the server can be reached: 1, or 0.', labelNames: ['server'], aggregator: 'min', registers })
  const logs: Readonly<Record<keyof Usage, Gauge>> = {
    files: new Gauge({ name: 'mcp_customs_audit_files', help: 'Files of the audit log.', labelNames: ['server'], registers }),
    bytes: new Gauge({ name: 'mcp_customs_audit_bytes', help: 'Bytes of the audit log on disk.', labelNames: ['server'], registers }),
    free: new Gauge({ name: 'mcp_customs_audit_free_bytes', help: 'Free space where the audit log is.', labelNames: ['server'], aggregator: 'min', registers }),
  }
  const relayFailures = new Counter({
    name: 'mcp_customs_relay_process_failures_total', help: 'Relay processes that hung, died or took too much memory, and were replaced.', labelNames: ['server'], registers,
  })
  const relays = new Gauge({ name: 'mcp_customs_relay_processes', help: 'Relay processes that run.', labelNames: ['server'], registers })
  const durations = (what: string, help: string, names: ReadonlyMap<string, string>): Readonly<Record<Role, Observed>> => {
    const of = (role: Role) =>
      new Histogram({ name: `mcp_${role}_${what}_duration_seconds`, help: `${help}, as the relay is a ${role}.`, labelNames: [...names.keys()], buckets: conventionalSeconds, registers })
    return { server: of('server'), client: of('client') }
  }
  const operations = durations('operation', 'Time that a request took', operationLabels)
  const sessionTimes = durations('session', 'Time that a session lasted', sessionLabels)
  const validatorFailures = new Counter({
    name: 'mcp_customs_byte_validator_failures_total',
    help: 'Messages and values that the byte validator failed on (no WebAssembly, no memory, a trap): they are parsed, which is slower.',
    registers,
  })
  const auditFailures = new Counter({ name: 'mcp_customs_audit_failures_total', help: 'Records that could not be written.', registers })

  const coreFailures = new Counter({
    name: 'mcp_customs_core_failures_total', help: 'Exceptions in the relay, each of which cost a request or a session.', labelNames: ['server'], registers,
  })

  const metrics: Metrics = {
    sessionStarted(name) {
      sessions.inc({ server: name })
      started.inc({ server: name })
    },
    sessionEnded: name => sessions.dec({ server: name }),
    answered(answer) {
      answers.inc({ server: answer.server, method: answer.method, verdict: answer.verdict })
      relay.observe({ server: answer.server }, answer.relayMs / 1000)
      if (answer.serverMs !== undefined) server.observe({ server: answer.server }, answer.serverMs / 1000)
    },
    found: (name, rule, action) => findings.inc({ server: name, rule, action }),
    moved: (name, from, count) => bytes.inc({ server: name, from }, count),
    refused: status => refusals.inc({ status: String(status) }),
    auditFailed: (records = 1) => auditFailures.inc(records),
    coreFailed: name => coreFailures.inc({ server: name }),
    byteValidatorFailed: () => validatorFailures.inc(),
    undelivered: (to, count) => undelivered.inc({ to }, count),
    ready(servers) {
      ready.reset()
      for (const [name, isReady] of servers) ready.set({ server: name }, isReady ? 1 : 0)
    },
    logs(servers) {
      for (const gauge of Object.values(logs)) gauge.reset()
      for (const [name, { files, bytes: taken, free }] of servers) {
        logs.files.set({ server: name }, files)
        logs.bytes.set({ server: name }, taken)
        logs.free.set({ server: name }, free)
      }
    },
    relayFailed: name => relayFailures.inc({ server: name }),
    relays(servers) {
      relays.reset()
      for (const [name, count] of servers) relays.set({ server: name }, count)
    },
    operation: (role, attributes, seconds) => operations[role].observe(labelled(operationLabels, attributes), seconds),
    session: (role, attributes, seconds) => sessionTimes[role].observe(labelled(sessionLabels, attributes), seconds),
  }
  return { metrics, exposition: { contentType: registry.contentType, text: () => registry.metrics() }, snapshot: () => registry.getMetricsAsJSON() }
}
