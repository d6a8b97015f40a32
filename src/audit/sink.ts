import { join } from 'node:path'
import type { Entry } from '../core/event.js'
import { codeOf, CustomsError } from '../errors.js'
import { Chain, currentTime, type Flush, messageOf, type Recorded } from './chain.js'
import { readSigningKey } from './checkpoint.js'
import type { Log } from './log.js'
import { cannotAudit, LogFile, Nowhere, Output, type Rotation, type Usage } from './log-file.js'
import { type Opened, openNamed } from './named-file.js'
import { OwnFile } from './own-file.js'
import type { Payloads } from './payload.js'
import { type Environment, fileName, settle, stateFolder } from './place.js'
import { noEnds } from './read/ends.js'

/** Gets each record once the log has it. Nothing waits for it. */
export interface Follower {
  /**
   * @param record as it stands in the log, without its line end
   * @param entry what it is the record of; undefined for what the log says of itself
   */
  recorded(record: string, entry: Entry | undefined, now: Date): void
}

export interface Audit {
  /** Where the records go at present; undefined for a stream, or nowhere. */
  readonly file: string | undefined
  /**
   * Takes a record in. It is written with others, by the first of them that is waited for.
   * @param payloads what is kept of arguments and results (default: `digest`)
   * @returns waits for it: what it is the record of leaves afterwards
   * @throws CustomsError CANNOT_AUDIT when it is known already that it cannot be written
   */
  add(entry: Entry, payloads?: Payloads): Flush
  /** The same, and waits for it. */
  write(entry: Entry, payloads?: Payloads): void
  /** What the log takes up on disk; undefined where there is none. */
  usage(): Usage | undefined
  /** @throws CustomsError CANNOT_AUDIT when the last checkpoint could not be written */
  close(): void
}

export interface AuditOptions extends Rotation {
  /** A path; `-`: the stream; `none`: no log; undefined: a file of this process's own in the user's state folder. */
  readonly file: string | undefined
  /** For `-`: the descriptor of the standard stream that the protocol does not use (default: 2, stderr). */
  readonly stream?: number
  /** Names the process's own file. */
  readonly server: string
  /** The file of the key that signs checkpoints (see `readSigningKey`); undefined: nothing is signed. */
  readonly signKey?: string | undefined
  /** They get each record once it is written; with them there are records even where there is no log. */
  readonly followers?: readonly Follower[]
  /** When a record cannot be written (default: `block`, which is to say that `write` throws). */
  readonly onFailure?: 'block' | 'continue'
  /** Told how many records are not written where that is no error. */
  readonly failed?: (records: number) => void
  /** Told of each checkpoint, and of a log that is lost while nobody writes. */
  readonly log?: Pick<Log, 'checkpoint' | 'warn'> & Partial<Pick<Log, 'info'>>
  /** The wall clock. */
  readonly now?: () => Date
  readonly environment?: Environment
}

/**
 * Opens the log.
 * @throws CustomsError CANNOT_AUDIT, also when another relay writes the file; BAD_CONFIG when the key cannot be used
 */
export const openAudit = async (options: AuditOptions): Promise<Audit> => {
  const { followers = [] } = options
  if (options.file === 'none' && followers.length === 0) {
    return { file: undefined, add: () => nothing, write: nothing, usage: nothing, close: nothing }
  }
  const key = options.signKey === undefined ? undefined : readSigningKey(options.signKey)
  const opened = await openOutput(options)
  const { keepDays = 0, keepBytes = 0 } = options
  if (opened.output instanceof LogFile && keepDays + keepBytes > 0) {
    options.log?.info?.(`audit log ${opened.output.file}: ${kept(keepDays, keepBytes)}`)
  }
  try {
    return new Chain(opened, key, options, handOn(options))
  } catch (error) {
    opened.output.close()
    throw error
  }
}

/** Hands each record on that was written: a follower that fails changes nothing of that. */
const handOn = ({ followers = [], log }: AuditOptions): ((record: Recorded) => void) | undefined => {
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
  const wanted = file ?? join(stateFolder(environment), `${fileName(server)}.ndjson`)
  try {
    if (file !== undefined) return await openNamed(file, rotation)
    return { output: new OwnFile(settle(wanted), now(), rotation), ends: noEnds }
  } catch (cause) {
    throw cause instanceof CustomsError ? cause : cannotAudit(wanted, codeOf(cause), cause)
  }
}

const kept = (days: number, bytes: number): string => {
  const limits = [days > 0 && `${days} days`, bytes > 0 && `${bytes} bytes`].filter(limit => limit !== false)
  return `the last ${limits.join(' or ')} are kept, whichever is less; older files are removed (audit.keepDays, audit.keepBytes)`
}

const nothing = (): undefined => undefined
