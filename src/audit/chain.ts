import type { KeyObject } from 'node:crypto'
import type { Entry } from '../core/event.js'
import { type Checkpoint, checkpointLine, lossLine } from './checkpoint.js'
import { cannotAudit, LogFile, type Output, type Usage } from './log-file.js'
import type { Opened } from './named-file.js'
import type { Payloads } from './payload.js'
import { type Line, nextLine, type Position } from './record.js'
import type { Audit, AuditOptions } from './sink.js'

/**
 * Waits for a record: returns when it is with the operating system, or when it could not be written and that is no
 * error (`onFailure: continue`). It says the same each time that it is called.
 * @throws CustomsError CANNOT_AUDIT
 */
export type Flush = () => void

export interface Recorded {
  readonly text: string
  /** Undefined for records about the log itself. */
  readonly entry: Entry | undefined
  readonly now: Date
}

/** Records that are written together: all of them, or none. */
class Batch {
  readonly records: Recorded[] = []
  /** The records, with their line ends. */
  text = ''
  bytes = 0
  /** How many records before these could not be written, as one of these says. */
  lost = 0
  /** Whether its records were counted as lost. */
  isCounted = false
  #state: 'open' | 'written' | { readonly failure: unknown } = 'open'
  readonly #write: (batch: Batch) => void

  /**
   * @param before where the log stands without it
   * @param write writes it, or throws
   */
  constructor(readonly before: Position, write: (batch: Batch) => void, readonly flush: Flush) {
    this.#write = write
  }

  get isOpen(): boolean {
    return this.#state === 'open'
  }

  add({ text }: Line, now: Date, entry: Entry | undefined): void {
    this.text += text
    this.bytes += Buffer.byteLength(text)
    this.records.push({ text, entry, now })
  }

  /** @throws CustomsError CANNOT_AUDIT, whatever `onFailure` says */
  write(): void {
    if (this.#state === 'open') {
      this.#state = 'written'
      try {
        this.#write(this)
      } catch (failure) {
        this.#state = { failure }
      }
    }
    if (this.#state !== 'written') throw this.#state.failure
  }
}

/** A checkpoint is made at least this often while there are records: in records, and in milliseconds. */
const maxRecords = 1000
const maxMs = 60_000

/** Bytes that are kept unwritten, at most. */
const maxUnwritten = 1024 * 1024

/** From one look at the file to the next, in milliseconds. */
const checkMs = 1000

const nothing = (): undefined => undefined
export const currentTime = (): Date => new Date()

/** An open log: each record follows the one before, and they are written in batches. */
export class Chain implements Audit {
  readonly #output: Output
  readonly #key: KeyObject | undefined
  readonly #now: () => Date
  readonly #log: AuditOptions['log']
  readonly #handOn: ((record: Recorded) => void) | undefined
  readonly #isStrict: boolean
  readonly #countFailed: (records: number) => void
  readonly #timer: NodeJS.Timeout
  /** Of the last record, the open batch included. */
  #position: Position
  #batch: Batch
  /** Names this log in the files that follow the first (see `logOf`). */
  #name: string | undefined
  /** Records since the last checkpoint, and when that was. */
  #records = 0
  #checkpointAt: number
  #checkedAt: number
  /** Records that could not be written, and of which the log has no record yet. */
  #lost: number
  #isFailing = false
  #isWarned = false
  #isClosed = false

  constructor(
    { output, ends, lost = 0 }: Opened, key: KeyObject | undefined,
    { now = currentTime, log, onFailure = 'block', failed = nothing }: AuditOptions,
    handOn?: (record: Recorded) => void,
  ) {
    this.#output = output
    this.#key = key
    this.#now = now
    this.#log = log
    this.#handOn = handOn
    this.#isStrict = onFailure === 'block'
    this.#countFailed = failed
    this.#lost = lost
    this.#position = ends.position
    this.#batch = this.#newBatch()
    this.#name = ends.log
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
    return this.#output.usage()
  }

  write(entry: Entry, payloads?: Payloads): void {
    this.add(entry, payloads)()
  }

  add(entry: Entry, payloads: Payloads = 'digest'): Flush {
    try {
      return this.#add(entry, payloads)
    } catch (failure) {
      this.#failed(failure, 1)
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
      this.#check(now)
      this.#recordLost(now)
      if (this.#batch.isOpen) this.#batch.flush()
      if (this.#position.seq > 0) this.#checkpoint({ reason: 'end' }, now)
    } catch (failure) {
      this.#failed(failure, 0)
    } finally {
      const name = this.file ?? 'on the standard stream'
      if (this.#lost > 0) this.#log?.warn(`the audit log ${name} ends without ${this.#lost} records`)
      this.#output.close()
    }
  }

  #add(entry: Entry, payloads: Payloads): Flush {
    if (this.#isClosed) throw cannotAudit(this.file, 'it is closed')
    const now = this.#now()
    // A process that was stopped may go on with a record before the timer fires.
    if (Math.abs(now.getTime() - this.#checkedAt) >= checkMs) this.#check(now)
    this.#turnPage(now)
    this.#recordLost(now)
    this.#append(nextLine(entry, this.#position, payloads, now), now, entry)
    this.#records += 1
    const batch = this.#batch
    try {
      this.#checkpointIfDue(now)
      if (batch.bytes > maxUnwritten) batch.write()
    } catch {
      // The flush of the batch reports it.
    }
    return batch.flush
  }

  #append(line: Line, now: Date, entry?: Entry): void {
    if (!this.#batch.isOpen) this.#batch = this.#newBatch()
    this.#batch.add(line, now, entry)
    this.#position = line.position
    if (line.position.seq === 1) this.#name = line.position.hash
  }

  #newBatch(): Batch {
    const batch = new Batch(this.#position, one => this.#write(one), () => this.#flush(batch))
    return batch
  }

  #write({ text, records, before, lost }: Batch): void {
    try {
      this.#output.append(text)
    } catch (failure) {
      // The next record follows the last one that was written.
      this.#position = before
      throw failure
    }
    if (lost > 0 && this.#output instanceof LogFile) this.#output.noteLost(this.#lost)
    if (this.#handOn !== undefined) records.forEach(this.#handOn)
  }

  #flush(batch: Batch): void {
    try {
      batch.write()
      this.#isFailing = false
    } catch (failure) {
      const records = batch.isCounted ? 0 : batch.records.filter(({ entry }) => entry !== undefined).length
      const again = batch.isCounted ? 0 : batch.lost
      batch.isCounted = true
      this.#failed(failure, records, again)
    }
  }

  /**
   * Some records were not written.
   * @param records how many of them were not counted before
   * @param again how many were, and this batch would have said so
   * @throws the failure, unless the operator chose to go on without a record (`onFailure: continue`)
   */
  #failed(failure: unknown, records: number, again = 0): void {
    this.#lost += again
    if (this.#isStrict) throw failure
    this.#lost += records
    if (this.#output instanceof LogFile) this.#output.noteLost(this.#lost)
    if (records > 0) this.#countFailed(records)
    if (!this.#isFailing) {
      this.#log?.warn(`${messageOf(failure)}; traffic goes on without a record (audit.onFailure: continue)`)
    }
    this.#isFailing = true
  }

  /** The log says how many records could not be written, as soon as something can be written again. */
  #recordLost(now: Date): void {
    const lost = this.#lost
    if (lost === 0) return
    this.#lost = 0
    this.#append(lossLine(lost, this.#position, now), now)
    this.#batch.lost += lost
  }

  /** Begins the next file where this one is full; a file that is not the first says which log it continues. */
  #turnPage(now: Date): void {
    const output = this.#output
    if (!(output instanceof LogFile)) return
    const isUnwritten = this.#batch.isOpen && this.#batch.bytes > 0
    if (output.isDue(now, isUnwritten ? this.#batch.bytes : 0)) {
      if (isUnwritten) this.#batch.write()
      output.next(now, () => this.#checkpoint({ reason: 'rotation' }, now))
    }
    if (output.isEmpty && this.#position.seq > 0 && !(this.#batch.isOpen && this.#batch.bytes > 0)) {
      this.#checkpoint({ reason: 'continuation', log: this.#name }, now)
    }
  }

  /** Without a key, only the ends of files are marked. */
  #checkpoint(checkpoint: Checkpoint, now: Date): void {
    const { reason } = checkpoint
    if (this.#key || reason === 'rotation' || reason === 'continuation') {
      this.#append(checkpointLine(checkpoint, this.#position, now, this.#key), now)
    }
    if (this.#batch.isOpen) this.#batch.write()
    this.#records = 0
    this.#checkpointAt = now.getTime()
    this.#log?.checkpoint(this.file, this.#position)
  }

  #checkpointIfDue(now: Date): void {
    const isLongAgo = this.#records > 0 && Math.abs(now.getTime() - this.#checkpointAt) >= maxMs
    if (isLongAgo || this.#records >= maxRecords) this.#checkpoint({ reason: 'interval' }, now)
  }

  #check(now: Date): void {
    this.#checkedAt = now.getTime()
    this.#output.check()
  }

  /** Once a second, also while nothing is written. What it finds is an error when the next record comes. */
  #look(): void {
    try {
      const now = this.#now()
      this.#check(now)
      if (this.#lost > 0) {
        this.#recordLost(now)
        this.#batch.flush()
      }
      this.#checkpointIfDue(now)
      this.#isWarned = false
    } catch (error) {
      if (!this.#isWarned) this.#log?.warn(messageOf(error))
      this.#isWarned = true
    }
  }
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
