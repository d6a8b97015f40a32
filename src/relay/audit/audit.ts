import type { Environment } from '#relay/base/platform/machine.js'
import type { Entry } from '#relay/core/vocabulary.js'
import type { Log } from './log.js'
import type { Rotation } from './log-file.js'
import type { Usage } from './output.js'
import type { Payloads } from './payloads.js'

/**
 * Writes a record that was queued, and all before it. Returns when the operating system has it, or when it
 * could not be written and the operator chose to go on (`onFailure: continue`). Every call has the same
 * outcome.
 * @throws CustomsError CANNOT_AUDIT
 */
export type Flush = () => void

/** Receives each record after it was written to the log. The log does not wait for it. */
export interface Follower {
  /**
   * @param record the line of the record, without its line end
   * @param entry undefined for a record about the log itself
   */
  recorded(record: string, entry: Entry | undefined, now: Date): void
}

export interface Audit {
  /** The current file; undefined for a stream or no log. */
  readonly file: string | undefined
  /**
   * Queues a record. The first `Flush` that is called writes all queued records.
   * @param payloads what is kept of arguments and results (default: `digest`)
   * @returns to be called before the message that the record is about is forwarded
   * @throws CustomsError CANNOT_AUDIT when the record is already known to be impossible to write
   */
  add(entry: Entry, payloads?: Payloads): Flush
  /** Begins what makes `add` quick for an entry. @returns resolves when it is; undefined: it is already */
  prepare(entry: Entry, payloads?: Payloads): Promise<unknown> | undefined
  /** Queues a record and waits for it. */
  write(entry: Entry, payloads?: Payloads): void
  /** The log's size on disk; undefined for a stream or no log. */
  usage(): Usage | undefined
  /** @throws CustomsError CANNOT_AUDIT when the last checkpoint could not be written */
  close(): void
}

export interface AuditOptions extends Rotation {
  /** A path; `-`: the stream; `none`: no log; undefined: the process's own file in the state folder. */
  readonly file: string | undefined
  /** For `-`: the descriptor of the standard stream that the protocol does not use (default: 2, stderr). */
  readonly stream?: number
  /** Names the process's own file. */
  readonly server: string
  /** File of the key that signs checkpoints (see `readSigningKey`); undefined: nothing is signed. */
  readonly signKey?: string | undefined
  /** Get each record after it was written; records are made for them even with `file: none`. */
  readonly followers?: readonly Follower[]
  /** What `write` does when a record cannot be written: throw (`block`, the default) or go on. */
  readonly onFailure?: 'block' | 'continue'
  /** Called with the number of records that could not be written, under `onFailure: continue`. */
  readonly failed?: (records: number) => void
  /** Gets each checkpoint, and warnings about a log that fails while no record is written. */
  readonly log?: Pick<Log, 'checkpoint' | 'warn'> & Partial<Pick<Log, 'info'>>
  /** The wall clock. */
  readonly now?: () => Date
  readonly environment?: Environment
}
