import type { Usage } from '#relay/audit/output.js'
import type { Action, Health, RuleName, Verdict } from '#relay/core/vocabulary.js'
import type { Attributes, Role } from './attributes.js'
import { Registry, type Metric } from './registry.js'

/** Bounds of the histograms of OpenTelemetry's conventions for MCP. */
const conventionalSeconds = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]
/** From a tenth of a millisecond, the usual cost of a check, to a second. */
const relaySeconds = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1]
const serverSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]

const sessionLabels = ['error.type', 'network.transport', 'mcp.protocol.version', 'mcp_customs.server']
const operationLabels = ['mcp.method.name', 'gen_ai.tool.name', 'mcp_customs.shown_tool', ...sessionLabels]

const counter = (name: string, labels: readonly string[], help: string): Metric =>
  ({ name: `mcp_customs_${name}`, type: 'counter', help, labels })
const gauge = (name: string, help: string, least?: { leastCounts: true }): Metric =>
  ({ name: `mcp_customs_${name}`, type: 'gauge', help, labels: ['server'], ...least })
const histogram = (name: string, bounds: readonly number[], help: string): Metric =>
  ({ name: `mcp_customs_${name}`, type: 'histogram', help, labels: ['server'], bounds })
/** A histogram of OpenTelemetry's conventions, for requests or sessions. */
const durations = (role: Role, subject: string, labels: readonly string[], help: string): Metric => ({
  name: `mcp_${role}_${subject}_duration_seconds`, type: 'histogram',
  help: `${help}, as the relay is a ${role}.`,
  labels, bounds: conventionalSeconds, otlp: { name: `mcp.${role}.${subject}.duration`, unit: 's' },
})

/** All metrics, in the order of the text for Prometheus. */
const table = {
  sessions: gauge('sessions', 'Open sessions.'),
  started: counter('sessions_started_total', ['server'], 'Sessions begun.'),
  answers: counter(
    'answers_total', ['server', 'method', 'verdict'],
    'Requests of clients that were answered, by what was decided.',
  ),
  findings: counter(
    'findings_total', ['server', 'rule', 'action'],
    'Findings, by rule and by the action that the policy asked for; noise for lines that are no messages.',
  ),
  bytes: counter('message_bytes_total', ['server', 'from'], 'Bytes of messages, as received from this side.'),
  relay: histogram('relay_seconds', relaySeconds, 'Time that a request and its answer spent in the relay.'),
  server: histogram('server_seconds', serverSeconds, 'Time that the server took for its answer.'),
  refusals: counter(
    'http_refusals_total', ['status'], 'HTTP requests refused before they reached a session.',
  ),
  undelivered: counter(
    'undelivered_total', ['to'],
    'Records, spans and measurements that did not reach where they were shipped to.',
  ),
  ready: gauge(
    'server_ready',
    'Whether the server can be reached, and its last process or request did not fail: 1, or 0.',
    { leastCounts: true },
  ),
  health: counter(
    'server_health_total', ['server', 'health'],
    'What happened to the server: exit, refusal, silence (no answer in time), restored (it answers again).',
  ),
  logFiles: gauge('audit_files', 'Files of the audit log.'),
  logBytes: gauge('audit_bytes', 'Bytes of the audit log on disk.'),
  logFree: gauge('audit_free_bytes', 'Free space where the audit log is.', { leastCounts: true }),
  relayFailures: counter(
    'relay_process_failures_total', ['server'],
    'Relay processes that hung, died or took too much memory, and were replaced.',
  ),
  relays: gauge('relay_processes', 'Relay processes that run.'),
  serverOperation: durations('server', 'operation', operationLabels, 'Time that a request took'),
  clientOperation: durations('client', 'operation', operationLabels, 'Time that a request took'),
  serverSession: durations('server', 'session', sessionLabels, 'Time that a session lasted'),
  clientSession: durations('client', 'session', sessionLabels, 'Time that a session lasted'),
  stateReady: gauge(
    'state_ready', 'Whether the state that replicas share can be reached: 1, or 0.', { leastCounts: true },
  ),
  stateAsked: counter(
    'state_operations_total', ['operation', 'outcome'],
    'Operations on the state that replicas share: ok, or failed (no answer in time, or an error).',
  ),
  stateForged: counter(
    'state_forged_total', [],
    'Values in the state that replicas share that were not written with their state.key: they count as missing.',
  ),
  validatorFailures: counter(
    'byte_validator_failures_total', [],
    'Messages and values that the byte validator failed on (no WebAssembly, no memory, a trap): they are ' +
      'parsed, which is slower.',
  ),
  build: { ...gauge('build_info', 'Always 1; the version is a label.'), labels: ['version'] },
  reloads: counter(
    'reloads_total', ['result'], 'Times that the configuration was read again: ok, or failed.',
  ),
  lastReload: gauge(
    'last_reload_successful', 'Whether the configuration holds that was read last: 1, or 0.', { leastCounts: true },
  ),
  auditFailures: counter('audit_failures_total', [], 'Records that could not be written.'),
  coreFailures: counter(
    'core_failures_total', ['server'], 'Exceptions in the relay, each of which cost a request or a session.',
  ),
}

export const allMetrics: readonly Metric[] = Object.values(table)

/** The label of a method. Clients may send any method, so all but one have the same label. */
export const countedMethod = (method: string): 'tools/call' | 'other' =>
  (method === 'tools/call' ? method : 'other')

interface Answered {
  readonly server: string
  readonly method: ReturnType<typeof countedMethod>
  readonly verdict: Verdict
  /** Milliseconds that the request and its response spent in the relay. */
  readonly relayMs: number
  /** Milliseconds from sending the request to the server to its response; undefined when it was not sent. */
  readonly serverMs: number | undefined
}

/**
 * The functions that count, in a registry or not at all. Values of labels are ours or the operator's, or
 * their number is bounded (see observing.ts): a name from the wire never adds a series without limit.
 */
const metricsIn = <Into extends Registry | undefined>(registry: Into) => ({
  registry,
  operation: (role: Role, attributes: Attributes, seconds: number) =>
    registry?.observe(table[`${role}Operation`], attributes, seconds),
  /** A session, from its first request to its end. */
  session: (role: Role, attributes: Attributes, seconds: number) =>
    registry?.observe(table[`${role}Session`], attributes, seconds),
  sessionStarted(server: string): void {
    registry?.add(table.sessions, { server })
    registry?.add(table.started, { server })
  },
  sessionEnded: (server: string) => registry?.add(table.sessions, { server }, -1),
  /** A client's request was answered, by the server or by the relay, or was cancelled. */
  answered({ server, method, verdict, relayMs, serverMs }: Answered): void {
    registry?.add(table.answers, { server, method, verdict })
    registry?.observe(table.relay, { server }, relayMs / 1000)
    if (serverMs !== undefined) registry?.observe(table.server, { server }, serverMs / 1000)
  },
  /** @param action `noise` where a line of a server was dropped that is no message */
  found: (server: string, rule: RuleName, action: Action | 'noise') =>
    registry?.add(table.findings, { server, rule, action }),
  moved: (server: string, from: 'client' | 'server', bytes: number) =>
    registry?.add(table.bytes, { server, from }, bytes),
  build: (version: string) => registry?.add(table.build, { version }),
  /** The configuration was read again, or the old one stays. */
  reloaded(result: 'ok' | 'failed'): void {
    registry?.add(table.reloads, { result })
    registry?.replace(table.lastReload, new Map([['', result === 'ok']]), Number)
  },
  refused: (status: number) => registry?.add(table.refusals, { status }),
  auditFailed: (records = 1) => registry?.add(table.auditFailures, {}, records),
  coreFailed: (server: string) => registry?.add(table.coreFailures, { server }),
  byteValidatorFailed: () => registry?.add(table.validatorFailures, {}),
  /** @param to the name of an audit target, or a signal of OpenTelemetry */
  undelivered: (to: string, count: number) => registry?.add(table.undelivered, { to }, count),
  /** Whether each of the present servers is well. */
  ready: (servers: ReadonlyMap<string, boolean>) => registry?.replace(table.ready, servers, Number),
  /** Something happened to a server, which is on record. */
  serverHealth: (server: string, health: Health) => registry?.add(table.health, { server, health }),
  /** Disk usage of each server's audit log. */
  logs(servers: ReadonlyMap<string, Usage>): void {
    registry?.replace(table.logFiles, servers, ({ files }) => files)
    registry?.replace(table.logBytes, servers, ({ bytes }) => bytes)
    registry?.replace(table.logFree, servers, ({ free }) => free)
  },
  stateReady: (isReady: boolean) => registry?.replace(table.stateReady, new Map([['', isReady]]), Number),
  stateAsked: (operation: string, outcome: 'ok' | 'failed') =>
    registry?.add(table.stateAsked, { operation, outcome }),
  stateForged: () => registry?.add(table.stateForged, {}),
  relayFailed: (server: string) => registry?.add(table.relayFailures, { server }),
  relays: (servers: ReadonlyMap<string, number>) => registry?.replace(table.relays, servers, Number),
})

export type Metrics = ReturnType<typeof metricsIn<Registry | undefined>>

/** For a relay with neither an admin listener nor a receiver of metrics. */
export const noMetrics: Metrics = metricsIn(undefined)

export const countingMetrics = () => metricsIn(new Registry(allMetrics))
