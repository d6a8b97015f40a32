import type { Action, Verdict } from '../core/policy.js'
import type { RuleName } from '../core/rule.js'

/**
 * What is counted. Labels are ours or the operator's: a name from the wire (a tool's, a client's) never becomes one, for a
 * peer could make as many of them as it likes.
 */
export interface Metrics {
  sessionStarted(server: string): void
  sessionEnded(server: string): void
  /** A request of a client's was answered, by the server or by us. */
  answered(answer: Answered): void
  /** Something was found, and this was done about it. */
  found(server: string, rule: RuleName, action: Action): void
  /** A message crossed the relay; bytes as received. */
  moved(server: string, from: 'client' | 'server', bytes: number): void
  /** An HTTP request was refused before it reached a session. */
  refused(status: number): void
  /** A record could not be written. */
  auditFailed(): void
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
  sessionStarted: nothing,
  sessionEnded: nothing,
  answered: nothing,
  found: nothing,
  moved: nothing,
  refused: nothing,
  auditFailed: nothing,
}
