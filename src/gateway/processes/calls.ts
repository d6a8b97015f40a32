import type { ErrorCode } from '../../errors.js'

/** What the front may ask of a relay process. */
export type RelayCalls = {
  /** Opens what it needs to serve. @param setup what the configuration says of its server */
  readonly begin: (setup: never) => Promise<void>
  /** Takes notice of another configuration. */
  readonly reload: (setup: never) => Promise<void>
  /** Whether its server can be reached. */
  readonly ready: (_: undefined) => Promise<boolean>
  /** What was counted. */
  readonly counted: (_: undefined) => Promise<readonly object[]>
  /** See `Backend`. */
  readonly endStreams: (_: undefined) => void
  readonly giveUp: (reason: string) => Promise<void>
  /** One more reason to end: each is in more of a hurry. */
  readonly hurry: (_: undefined) => void
}

/** What a relay process may tell the front. */
export type FrontCalls = {
  /** It cannot begin, or not end well, and says why. */
  readonly failed: (failure: Failure) => void
  /** A process group of its begins or ends: should it be killed, the front ends the group. */
  readonly group: (group: { readonly pid: number; readonly isAlive: boolean }) => void
  /** For the live page. */
  readonly records: (records: readonly object[]) => void
}

export interface Failure {
  /** Undefined: none of those that the operator can mend. */
  readonly code: ErrorCode | undefined
  readonly message: string
}
