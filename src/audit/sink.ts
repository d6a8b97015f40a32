import type { KeyObject } from 'node:crypto'
import { join } from 'node:path'
import type { Entry } from '../core/effect.js'
import { codeOf, CustomsError } from '../errors.js'
import { Batch, type Flush, type Recorded } from './batch.js'
import { checkpointLine, lossLine, type Checkpoint } from './checkpoint.js'
import { cannotAudit } from './failure.js'
import type { Follower } from './follower.js'
import { readSigningKey } from './keys.js'
import { lenient, strict, type Failures } from './lenient.js'
import type { Log } from './log.js'
import { LogFile, type Rotation, type Usage } from './log-file.js'
import { openNamed, type Opened } from './named-file.js'
import { Nowhere, Output } from './output.js'
import { OwnFile } from './own-file.js'
import type { Payloads } from './payload.js'
import { fileName, settle, stateFolder, type Environment } from './place.js'
import { noEnds } from './read/ends.js'
import { nextLine, type Line, type Position } from './record.js'

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
  if (options.file === 'none' && followers.length === 0) return { file: undefined, add: () => written, write: written, usage: written, close: written }
  const key = options.signKey === undefined ? undefined : readSigningKey(options.signKey)
  const opened = await openOutput(options)
  const { keepDays = 0, keepBytes = 0 } = options
  if (opened.output instanceof LogFile && keepDays + keepBytes > 0) options.log?.info?.(`audit log ${opened.output.file}: ${kept(keepDays, keepBytes)}`)
  try {
    return new Sink(opened, key, options)
  } catch (error) {
    opened.output.close()
    throw error
  }
}

const openOutput = async ({ file, stream = 2, server, now = currentTime, environment = process.env, ...rotation }: AuditOptions): Promise<Opened> => {
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

const written = (): undefined => undefined
const currentTime = (): Date => new Date()

/** So often at least is a checkpoint made while there are records: in records, and in milliseconds. */
const mostRecords = 1000
const longest = 60_000

/** More is not kept unwritten, in bytes. */
const mostUnwritten = 1024 * 1024

/** From one look at the file to the next, in milliseconds. */
const checkMs = 1000

class Sink implements Audit {
  readonly #output: Output
  readonly #key: KeyObject | undefined
  readonly #now: () => Date
  readonly #told: AuditOptions['log']
  readonly #followers: readonly Follower[]
  readonly #failures: Failures
  readonly #timer: NodeJS.Timeout
  /** With what is in the batch. */
  #position: Position
  #batch: Batch
  /** Names this log in the files that follow the first (see `logOf`). */
  #log: string | undefined
  /** Records since the last checkpoint, and when that was. */
  #records = 0
  #checkpointAt: number
  #checkedAt: number
  #warned = false
  #closed = false

  constructor({ output, ends }: Opened, key: KeyObject | undefined, { now = currentTime, log, followers = [], onFailure, failed = () => undefined }: AuditOptions) {
    this.#output = output
    this.#key = key
    this.#now = now
    this.#told = log
    this.#followers = followers
    this.#failures = onFailure === 'continue' ? lenient(message => log?.warn(message), failed) : strict
    this.#position = ends.position
    this.#batch = this.#newBatch()
    this.#log = ends.log
    const time = now()
    this.#checkpointAt = time.getTime()
    this.#checkedAt = time.getTime()
    if (key) {
      this.#turnPage(time)
      this.#checkpoint({ reason: 'start' }, time)
    }
    this.#timer = setInterval(() => this.#look(), checkMs).unref()
  }

  get file(): string | undefined {
    return this.#output.file
  }

  usage(): Usage | undefined {
    try {
      return this.#output instanceof LogFile ? this.#output.usage() : undefined
    } catch {
      return undefined
    }
  }

  write(entry: Entry, payloads?: Payloads): void {
    this.add(entry, payloads)()
  }

  add(entry: Entry, payloads: Payloads = 'digest'): Flush {
    try {
      return this.#add(entry, payloads)
    } catch (failure) {
      this.#failures.failed(failure, 1)
      return written
    }
  }

  #add(entry: Entry, payloads: Payloads): Flush {
    if (this.#closed) throw cannotAudit(this.file, 'it is closed')
    const now = this.#now()
    // A process that was stopped may find that all has changed when it goes on, before the timer does.
    if (Math.abs(now.getTime() - this.#checkedAt) >= checkMs) this.#check(now)
    this.#turnPage(now)
    this.#tellLost(now)
    this.#append(nextLine(entry, this.#position, payloads, now), now, entry)
    this.#records += 1
    const batch = this.#batch
    try {
      if (this.#records >= mostRecords) this.#checkpoint({ reason: 'interval' }, now)
      else this.#checkpointByTime(now)
      if (batch.bytes > mostUnwritten) batch.write()
    } catch {
      // Who waits for the batch is told.
    }
    return batch.flush
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    clearInterval(this.#timer)
    try {
      if (this.#batch.isOpen) this.#batch.flush()
      this.#check(this.#now())
      this.#tellLost(this.#now())
      if (this.#batch.isOpen) this.#batch.flush()
      if (this.#position.seq > 0) this.#checkpoint({ reason: 'end' }, this.#now())
    } catch (failure) {
      this.#failures.failed(failure, 1)
    } finally {
      this.#output.close()
    }
  }

  #append(line: Line, now: Date, entry?: Entry): void {
    if (!this.#batch.isOpen) this.#batch = this.#newBatch()
    this.#batch.add(line, now, entry)
    this.#position = line.position
    if (line.position.seq === 1) this.#log = line.position.hash
  }

  /** What could not be written is on record with its number, as soon as something can be written again. */
  #tellLost(now: Date): void {
    const { lost } = this.#failures
    if (lost === 0) return
    this.#failures.lost = 0
    this.#append(lossLine(lost, this.#position, now), now)
    this.#batch.lost += lost
  }

  #newBatch(): Batch {
    return new Batch(this.#position, batch => this.#write(batch), this.#failures)
  }

  #write({ text, records, before }: Batch): void {
    try {
      this.#output.append(text)
    } catch (failure) {
      // The next one follows what is there.
      this.#position = before
      throw failure
    }
    if (this.#followers.length > 0) for (const record of records) this.#follow(record)
  }

  /** It is written: whatever happens to those who follow changes nothing of that. */
  #follow({ text, now, entry }: Recorded): void {
    const record = text.slice(0, -1)
    for (const follower of this.#followers) {
      try {
        follower.recorded(record, entry, now)
      } catch (error) {
        this.#told?.warn(`a record was not handed on: ${error instanceof Error ? error.message : String(error)}`)
      }
    }
  }

  /** Begins the next file where this one is full, and says in a file that is not the first what it continues. */
  #turnPage(now: Date): void {
    const output = this.#output
    if (!(output instanceof LogFile)) return
    if (output.isDue(now, this.#unwritten)) {
      if (this.#batch.isOpen) this.#batch.write()
      output.next(now, () => this.#checkpoint({ reason: 'rotation' }, now))
    }
    if (output.isEmpty && this.#position.seq > 0 && this.#unwritten === 0) this.#checkpoint({ reason: 'continuation', log: this.#log }, now)
  }

  /** In bytes. */
  get #unwritten(): number {
    return this.#batch.isOpen ? this.#batch.bytes : 0
  }

  /** Without a key, only the ends of files are marked. */
  #checkpoint(checkpoint: Checkpoint, now: Date): void {
    const { reason } = checkpoint
    if (this.#key || reason === 'rotation' || reason === 'continuation') this.#append(checkpointLine(checkpoint, this.#position, now, this.#key), now)
    if (this.#batch.isOpen) this.#batch.write()
    this.#records = 0
    this.#checkpointAt = now.getTime()
    this.#told?.checkpoint(this.file, this.#position)
  }

  #checkpointByTime(now: Date): void {
    if (this.#records > 0 && Math.abs(now.getTime() - this.#checkpointAt) >= longest) this.#checkpoint({ reason: 'interval' }, now)
  }

  #check(now: Date): void {
    this.#checkedAt = now.getTime()
    if (this.#output instanceof LogFile) this.#output.check()
  }

  /** Once a second, also while nothing is written. What it finds is an error when the next record comes. */
  #look(): void {
    try {
      const now = this.#now()
      this.#check(now)
      if (this.#failures.lost > 0) {
        this.#tellLost(now)
        this.#batch.flush()
      }
      this.#checkpointByTime(now)
      this.#warned = false
    } catch (error) {
      if (!this.#warned) this.#told?.warn(error instanceof Error ? error.message : String(error))
      this.#warned = true
    }
  }
}
