import { join } from 'node:path'
import type { Entry } from '#relay/core/event.js'
import { CustomsError, messageOf, reasonOf } from '#relay/base/errors.js'
import type { Recorded } from './batch.js'
import { Chain, currentTime, type Flush } from './chain.js'
import { readSigningKey } from './checkpoint.js'
import type { Log } from './log.js'
import { LogFile, type Rotation, type Usage } from './log-file.js'
import { type Opened, openNamed } from './named-file.js'
import { cannotAudit, Nowhere, Output } from './output.js'
import { OwnFile } from './own-file.js'
import { type Environment, stateFolder, thisMachine } from '#relay/base/platform/machine.js'
import { fileName, settle } from './place.js'
import { noEnds } from './read/ends.js'
import type { Payloads } from './payloads.js'

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

/**
 * Opens the log.
 * @throws CustomsError CANNOT_AUDIT, also when another relay writes the file; BAD_CONFIG for a bad key
 */
export const openAudit = async (options: AuditOptions): Promise<Audit> => {
  const { followers = [], keepDays = 0, keepBytes = 0, log } = options
  if (options.file === 'none' && followers.length === 0) {
    return {
      file: undefined, add: () => nothing, prepare: nothing, write: nothing, usage: nothing, close: nothing,
    }
  }
  const key = options.signKey === undefined ? undefined : readSigningKey(options.signKey)
  const opened = await openOutput(options)
  if (opened.output instanceof LogFile && keepDays + keepBytes > 0) {
    const days = keepDays > 0 ? [`${keepDays} days`] : []
    const bytes = keepBytes > 0 ? [`${keepBytes} bytes`] : []
    log?.info?.(
      `audit log ${opened.output.file}: the last ${[...days, ...bytes].join(' or ')} are kept, ` +
      'whichever is less; older files are removed (audit.keepDays, audit.keepBytes)',
    )
  }
  try {
    return new Chain(opened, key, options, toFollowers(options))
  } catch (error) {
    opened.output.close()
    throw error
  }
}

/** Hands each written record to the followers. A follower's error does not concern the log. */
const toFollowers = ({ followers = [], log }: AuditOptions): ((record: Recorded) => void) | undefined => {
  if (followers.length === 0) return undefined
  return ({ text, entry, now }) => {
    for (const follower of followers) {
      try {
        follower.recorded(text.slice(0, -1), entry, now)
      } catch (error) {
        log?.warn(`a record was not handed on: ${messageOf(error)}`)
      }
    }
  }
}

const openOutput = async (
  { file, stream = 2, server, now = currentTime, environment = process.env, ...rotation }: AuditOptions,
): Promise<Opened> => {
  if (file === 'none') return { output: new Nowhere(), ends: noEnds }
  if (file === '-') return { output: new Output(undefined, stream), ends: noEnds }
  const wanted = file ?? join(stateFolder(thisMachine(environment)), `${fileName(server)}.ndjson`)
  try {
    if (file !== undefined) return await openNamed(file, rotation)
    return { output: new OwnFile(settle(wanted), now(), rotation), ends: noEnds }
  } catch (cause) {
    if (cause instanceof CustomsError) throw cause
    throw cannotAudit(
      wanted, `${reasonOf(cause)}; name another file (--audit FILE), or none (--audit none)`, cause,
    )
  }
}

const nothing = (): undefined => undefined
