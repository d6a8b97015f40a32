import type { ErrorCode } from '#errors.js'
import type { Condition } from '../health.js'

/** Calls from the front to a relay process. */
export type RelayCalls = {
  /** Prepares to serve. @param setup the configuration of its server */
  readonly begin: (setup: never) => Promise<void>
  /** Applies another configuration. */
  readonly reload: (setup: never) => Promise<void>
  readonly ready: (_: undefined) => Promise<Condition>
  readonly counted: (_: undefined) => Promise<readonly object[]>
  /** See `Backend`. */
  readonly endStreams: (_: undefined) => void
  readonly giveUp: (reason: string) => Promise<void>
  /** Ends it; each further call ends it faster. */
  readonly hurry: (_: undefined) => void
}

/** Calls from a relay process to the front. */
export type FrontCalls = {
  /** It failed to begin or to end. */
  readonly failed: (failure: Failure) => void
  /**
   * A process group that the relay process started begins or ends. When a relay process is killed, the
   * front kills its groups.
   */
  readonly group: (group: { readonly pid: number; readonly isAlive: boolean }) => void
  /** For the live page. */
  readonly records: (records: readonly object[]) => void
}

export interface Failure {
  /** Undefined for a failure that the operator cannot mend. */
  readonly code: ErrorCode | undefined
  readonly message: string
}
