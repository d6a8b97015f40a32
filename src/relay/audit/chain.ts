import type { KeyObject } from 'node:crypto'
import type { Entry } from '#relay/core/vocabulary.js'
import { messageOf } from '#relay/base/errors.js'
import { type Checkpoint, checkpointLine, lossLine } from './checkpoint.js'
import { LogFile } from './log-file.js'
import type { Opened } from './named-file.js'
import { cannotAudit, type LogOutput, type Usage } from './output.js'
import { digestLarge, nextLine, type Position, RecordBatch, type Recorded, type RecordLine } from './record.js'
import type { Payloads } from './payloads.js'
import type { Audit, AuditOptions, Flush } from './audit.js'

/** While records are written, a checkpoint follows this many records or milliseconds after the last one. */
const checkpointRecords = 1000
const checkpointMs = 60_000

/** Most bytes that are kept unwritten. */
const maxUnwritten = 1024 * 1024

/** Time between two checks of the file, in milliseconds. */
const checkMs = 1000

const nothing = (): undefined => undefined
export const currentTime = (): Date => new Date()

/** An open log: each record carries the hash of the one before; records are written in batches. */
export class Chain implements Audit {
  readonly #output: LogOutput
  readonly #key: KeyObject | undefined
  readonly #options: AuditOptions
  readonly #now: () => Date
  readonly #onWritten: ((record: Recorded) => void) | undefined
  readonly #timer: NodeJS.Timeout
  /** The position after the last record, including those of the open batch. */
  #position: Position
  #batch: RecordBatch
  /** The hash of the log's first record, by which later files name the log (see `logOf`). */
  #name: string | undefined
  #recordsSinceCheckpoint = 0
  #checkpointAt: number
  #checkedAt: number
  /** Whether the checkpoint `start` is written. It is the first record of whoever continues a log. */
  #isStarted: boolean
  /** Records that could not be written and that no `audit/lost` record counts yet. */
  #lost: number
  #isFailing = false
  #isWarned = false
  #isClosed = false

  constructor(
    { output, ends, lost = 0 }: Opened, key: KeyObject | undefined, options: AuditOptions,
    onWritten?: (record: Recorded) => void,
  ) {
    this.#output = output
    this.#key = key
    this.#options = options
    this.#now = options.now ?? currentTime
    this.#onWritten = onWritten
    this.#lost = lost
    this.#position = ends.position
    this.#batch = this.#newBatch()
    this.#name = ends.log
    const now = this.#now()
    this.#checkpointAt = this.#checkedAt = now.getTime()
    const isNew = ends.position.seq === 0 && (!(output instanceof LogFile) || output.isEmpty)
    this.#isStarted = isNew && key === undefined
    try {
      this.#begin(now)
    } catch (failure) {
      // A log that cannot begin is a mistake of the configuration.
      if (isNew) throw failure
      this.#onFailure(failure, 0)
    }
    this.#timer = setInterval(() => this.#onTimer(), checkMs).unref()
  }

  get file(): string | undefined {
    return this.#output.file
  }

  usage(): Usage | undefined {
    return this.#output.usage()
  }

  write(entry: Entry, payloads?: Payloads): void {
    this.add(entry, payloads)()
  }

  prepare(entry: Entry, payloads: Payloads = 'digest'): Promise<unknown> | undefined {
    return payloads === 'none' ? undefined : digestLarge(entry)
  }

  add(entry: Entry, payloads: Payloads = 'digest'): Flush {
    try {
      return this.#add(entry, payloads)
    } catch (failure) {
      this.#onFailure(failure, 1)
      return nothing
    }
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    clearInterval(this.#timer)
    try {
      if (this.#batch.isOpen) this.#batch.flush()
      const now = this.#now()
      this.#checkAtEnd(now)
      this.#begin(now)
      this.#recordLost(now)
      if (this.#batch.isOpen) this.#batch.flush()
      if (this.#position.seq > 0) this.#checkpoint({ reason: 'end' }, now)
    } catch (failure) {
      this.#onFailure(failure, 0)
    } finally {
      if (this.#lost > 0) {
        const name = this.file ?? 'on the standard stream'
        this.#options.log?.warn(`the audit log ${name} ends without ${this.#lost} records`)
      }
      this.#output.close()
    }
  }

  /** The last chance to count lost records: where the file was moved away, another one begins. */
  #checkAtEnd(now: Date): void {
    try {
      this.#check(now)
    } catch (failure) {
      if (this.#lost === 0 || !(this.#output instanceof LogFile) || !this.#output.beginAgain()) throw failure
      this.#isStarted = false
    }
  }

  #add(entry: Entry, payloads: Payloads): Flush {
    if (this.#isClosed) throw cannotAudit(this.file, 'it is closed')
    const now = this.#now()
    // After the process was suspended, a record may come before the timer fires.
    if (Math.abs(now.getTime() - this.#checkedAt) >= checkMs) this.#check(now)
    this.#begin(now)
    this.#rotateIfDue(now)
    this.#recordLost(now)
    this.#addLine(nextLine(entry, this.#position, payloads, now), now, entry)
    this.#recordsSinceCheckpoint += 1
    const batch = this.#batch
    try {
      this.#checkpointIfDue(now)
      if (batch.bytes > maxUnwritten) this.#write(batch)
    } catch {
      // The flush of the batch reports the failure.
    }
    return batch.flush
  }

  #addLine(line: RecordLine, now: Date, entry?: Entry): void {
    if (!this.#batch.isOpen) this.#batch = this.#newBatch()
    this.#batch.add(line, now, entry)
    this.#position = line.position
    if (line.position.seq === 1) this.#name = line.position.hash
  }

  #newBatch(): RecordBatch {
    const batch: RecordBatch = new RecordBatch(this.#position, () => this.#flush(batch))
    return batch
  }

  #write(batch: RecordBatch): void {
    batch.write(this.#writeToOutput)
  }

  readonly #writeToOutput = ({ text, records, before, lost }: RecordBatch): void => {
    try {
      this.#output.append(text)
    } catch (failure) {
      // The next record follows the last one that was written.
      this.#position = before
      throw failure
    }
    if (lost > 0) this.#noteLost()
    if (this.#onWritten !== undefined) records.forEach(this.#onWritten)
  }

  #flush(batch: RecordBatch): void {
    try {
      this.#write(batch)
      this.#isFailing = false
    } catch (failure) {
      const isNew = !batch.isCounted
      batch.isCounted = true
      // The `audit/lost` records of the batch were not written, so their counts are added again.
      if (isNew) this.#lost += batch.lost
      this.#onFailure(failure, isNew ? batch.records.filter(({ entry }) => entry !== undefined).length : 0)
    }
  }

  /**
   * Handles records that could not be written.
   * @param records the number of those that are not counted yet
   * @throws the failure, unless the operator chose to go on without a record (`onFailure: continue`)
   */
  #onFailure(failure: unknown, records: number): void {
    const { onFailure = 'block', failed, log } = this.#options
    if (onFailure === 'block') throw failure
    this.#lost += records
    this.#noteLost()
    if (records > 0) failed?.(records)
    if (!this.#isFailing) {
      log?.warn(`${messageOf(failure)}; traffic goes on without a record (audit.onFailure: continue)`)
    }
    this.#isFailing = true
  }

  #noteLost(): void {
    if (this.#output instanceof LogFile) this.#output.noteLost(this.#lost)
  }

  /** Adds the record that says how many others could not be written. */
  #recordLost(now: Date): void {
    const lost = this.#lost
    if (lost === 0) return
    this.#lost = 0
    this.#addLine(lossLine(lost, this.#position, now), now)
    this.#batch.lost += lost
  }

  get #unwritten(): number {
    return this.#batch.isOpen ? this.#batch.bytes : 0
  }

  /**
   * Writes what stands before anything else: a checkpoint `start` of whoever continues a log, or signs it (a
   * line that a crash cut short may stand before it, see `verify`), and a `continuation` in each next file.
   */
  #begin(now: Date): void {
    const output = this.#output
    const isEmpty = output instanceof LogFile && output.isEmpty && this.#unwritten === 0
    if (this.#isStarted && !(isEmpty && this.#position.seq > 0)) return
    // The period of an empty file begins now.
    if (isEmpty) output.isDue(now, 0)
    // The name of a log whose first record could not be written is none.
    const log = this.#position.seq > 0 ? this.#name : undefined
    this.#checkpoint({ reason: this.#isStarted ? 'continuation' : 'start', log }, now)
    this.#isStarted = true
  }

  /** Begins the next file when this one is full. */
  #rotateIfDue(now: Date): void {
    const output = this.#output
    if (!(output instanceof LogFile) || !output.isDue(now, this.#unwritten)) return
    if (this.#unwritten > 0) this.#write(this.#batch)
    output.next(now, () => this.#checkpoint({ reason: 'rotation' }, now))
    this.#begin(now)
  }

  /** Without a key, no checkpoint is written at intervals and at the end. */
  #checkpoint(checkpoint: Checkpoint, now: Date): void {
    const { reason } = checkpoint
    if (this.#key || (reason !== 'interval' && reason !== 'end')) {
      this.#addLine(checkpointLine(checkpoint, this.#position, now, this.#key), now)
    }
    if (this.#batch.isOpen) this.#write(this.#batch)
    this.#recordsSinceCheckpoint = 0
    this.#checkpointAt = now.getTime()
    this.#options.log?.checkpoint(this.file, this.#position)
  }

  #checkpointIfDue(now: Date): void {
    const records = this.#recordsSinceCheckpoint
    const isLongAgo = records > 0 && Math.abs(now.getTime() - this.#checkpointAt) >= checkpointMs
    if (isLongAgo || records >= checkpointRecords) this.#checkpoint({ reason: 'interval' }, now)
  }

  #check(now: Date): void {
    this.#checkedAt = now.getTime()
    this.#output.check()
  }

  /** Runs once a second, also while nothing is written. A failure is reported again with the next record. */
  #onTimer(): void {
    try {
      const now = this.#now()
      this.#check(now)
      if (this.#lost > 0) {
        this.#begin(now)
        this.#recordLost(now)
        this.#batch.flush()
      }
      this.#checkpointIfDue(now)
      this.#isWarned = false
    } catch (error) {
      if (!this.#isWarned) this.#options.log?.warn(messageOf(error))
      this.#isWarned = true
    }
  }
}
