import type { Usage } from '../audit/log-file.js'
import type { Action, Verdict } from '../core/findings.js'
import type { RuleName } from '../core/rule.js'
import type { Attributes, Role } from './attributes.js'

/**
 * How long things took, as OpenTelemetry's conventions for MCP count them. Attributes are bounded (see `Series`), whoever named the tool.
 */
export interface Durations {
  /** A request, as its server (towards the client) or as its client (towards the server). */
  operation(role: Role, attributes: Attributes, seconds: number): void
  /** A session, from its first to its last. */
  session(role: Role, attributes: Attributes, seconds: number): void
}

/** The bounds of their histograms, by the same conventions. */
export const conventionalSeconds = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]

/** What is counted beside. Labels are ours or the operator's: a name from the wire never becomes one. */
export interface Metrics extends Durations {
  sessionStarted(server: string): void
  sessionEnded(server: string): void
  /** A request of a client's was answered, by the server or by us, or nobody waits for it any more. */
  answered(answered: Answered): void
  /** Something was found, and this was done about it. */
  found(server: string, rule: RuleName, action: Action): void
  /** A message crossed the relay; bytes as received. */
  moved(server: string, from: 'client' | 'server', bytes: number): void
  /** An HTTP request was refused before it reached a session. */
  refused(status: number): void
  /** Records could not be written (default: one). */
  auditFailed(records?: number): void
  /** The relay failed on a message, or a session, of a server: an exception, which was contained. */
  coreFailed(server: string): void
  /** The byte validator failed, and a message was parsed as a whole. */
  byteValidatorFailed(): void
  /** What was to be shipped (records, spans, …) did not arrive. @param to a target of the operator's, or a signal of OpenTelemetry's */
  undelivered(to: string, count: number): void
  /** Whether each server can be reached, of those that there are now. */
  ready(servers: ReadonlyMap<string, boolean>): void
  /** What the audit log of each server takes up on disk. */
  logs(servers: ReadonlyMap<string, Usage>): void
  /** A relay process in front of this server failed, and was replaced. */
  relayFailed(server: string): void
  /** How many relay processes run in front of each server. */
  relays(servers: ReadonlyMap<string, number>): void
}

export interface Answered {
  readonly server: string
  /** `tools/call`, or anything else. */
  readonly method: 'tools/call' | 'other'
  readonly verdict: Verdict
  /** Milliseconds that the request and its answer spent in the relay. */
  readonly relayMs: number
  /** Milliseconds from handing the request to the server to its answer; undefined when it was not asked. */
  readonly serverMs: number | undefined
}

/** What the methods of MCP are to the metrics: clients may invent more. */
export const countedMethod = (method: string): Answered['method'] => (method === 'tools/call' ? method : 'other')

const nothing = (): void => {}

/** For a relay without an admin listener: nothing is counted. */
export const noMetrics: Metrics = {
  operation: nothing,
  session: nothing,
  sessionStarted: nothing,
  sessionEnded: nothing,
  answered: nothing,
  found: nothing,
  moved: nothing,
  refused: nothing,
  auditFailed: nothing,
  coreFailed: nothing,
  byteValidatorFailed: nothing,
  undelivered: nothing,
  ready: nothing,
  logs: nothing,
  relayFailed: nothing,
  relays: nothing,
}
