import type { Condition } from '#relay/session/health.js'
import type { MergedFindings } from '../merge/findings.js'

/** Calls from the front to a relay process. */
export type RelayCalls = {
  /**
   * Applies the configuration of its server; the first one begins to serve. Setups are applied one after
   * another, and one that is no newer than the last changes nothing. A process that cannot apply one is
   * replaced.
   */
  readonly setup: (message: { readonly generation: number; readonly setup: never }) => Promise<void>
  /** The heartbeat. */
  readonly vitals: (_: undefined) => Vitals
  readonly ready: (_: undefined) => Promise<Condition>
  readonly counted: (_: undefined) => Promise<readonly object[]>
  /** See `Backend`. */
  readonly endStreams: (_: undefined) => Promise<void>
  readonly giveUp: (reason: string) => Promise<void>
  /** Ends it if it is idle. @returns false when it has a request or a session */
  readonly endIfIdle: (_: undefined) => boolean
  /** Ends it; each further call ends it faster. */
  readonly hurry: (_: undefined) => void
}

/** The answer to a heartbeat. */
export interface Vitals {
  /** Resident memory, in bytes. */
  readonly rss: number
  readonly sessions: number
}

/** Calls from a relay process to the front. */
export type FrontCalls = {
  /**
   * A process group that the relay process started begins or ends. When a relay process is killed, the
   * front kills its groups.
   */
  readonly group: (group: { readonly pid: number; readonly isAlive: boolean }) => void
  /** What the merged endpoint leaves out, for the front's audit log. */
  readonly found: (found: MergedFindings) => void
  /** For the live page. */
  readonly records: (records: readonly object[]) => void
}
