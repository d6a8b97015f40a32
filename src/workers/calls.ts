import type { Configuration } from '../config/configuration.js'
import type { ErrorCode } from '../errors.js'

/** What a worker may ask of the primary process. */
export type PrimaryCalls = {
  /** It accepts connections. */
  readonly ready: (url: string) => void
  /** It ends, and nothing is to take its place. */
  readonly failed: (failure: Failure) => void
  /** @returns the number of the worker that a session is with; of one that nobody has, whoever asks first */
  readonly whose: (session: SessionName) => Promise<number>
  /** For the live page. */
  readonly records: (records: readonly object[]) => void
}

/** What the primary process may ask of a worker. */
export type WorkerCalls = {
  /** Whether it has a session; 'granted': it was given it, and may not have begun it yet. */
  readonly holds: (session: SessionName) => 'held' | 'granted' | false
  /** Whether each server can be reached: pairs of its name and that. */
  readonly servers: (_: undefined) => Promise<readonly (readonly [string, boolean])[]>
  /** What was counted. */
  readonly counted: (_: undefined) => Promise<readonly object[]>
  /** Reads the configuration again. */
  readonly reload: (_: undefined) => Promise<void>
  /** One more reason to end: each is in more of a hurry. */
  readonly hurry: (_: undefined) => void
}

export interface SessionName {
  readonly path: string
  /** The `Mcp-Session-Id`. */
  readonly session: string
}

export interface Failure {
  /** Undefined: none of those that the operator can mend. */
  readonly code: ErrorCode | undefined
  readonly message: string
}

/** What a worker is told of itself when it is started. */
export interface Role {
  /** From 1; who takes the place of another has its number. */
  readonly number: number
  readonly count: number
  /** Of the sockets by which workers hand over requests: for this user alone. */
  readonly folder: string
  /** All listen where the first did, until a restart. */
  readonly listen: Configuration['listen']
}
