import { closeSync, fstatSync, ftruncateSync, rmSync, statfsSync, statSync, truncateSync, writeFileSync, writeSync } from 'node:fs'
import { codeOf, CustomsError } from '../errors.js'
import type { Claim } from './claim.js'
import { lossNote } from './place.js'
import { isoTime } from './record.js'
import { removeOldest, statesOf, type Retention } from './retention.js'

/** @param where the log's file; undefined for a standard stream */
export const cannotAudit = (where: string | undefined, reason: string, cause?: unknown): CustomsError =>
  new CustomsError('CANNOT_AUDIT', `the audit log ${where ?? 'on the standard stream'} cannot be written: ${reason}`, { cause })

/**
 * Where lines go. Plain synchronous writes: a logger would bring buffers, and with them records that are believed written and
 * are not; and it would have to be loaded, by every relay that a desktop client starts.
 */
export class Output {
  /** Part of a line went out and could not be taken back: whatever followed it would be lost to every reader. */
  #torn = false

  /** @param file undefined for a standard stream, which is not ours to close */
  constructor(
    public file: string | undefined,
    protected descriptor: number,
  ) {}

  /**
   * Returns when the line is with the operating system.
   * @returns its length, in bytes
   * @throws CustomsError CANNOT_AUDIT when it is not; nothing is left of it
   */
  append(line: string): number {
    if (this.#torn) throw cannotAudit(this.file, 'a record was cut short before')
    const bytes = Buffer.from(line)
    let done = 0
    try {
      while (done < bytes.length) done += writeSome(this.descriptor, bytes.subarray(done))
      return done
    } catch (cause) {
      if (done > 0) this.#takeBack(done)
      throw cannotAudit(this.file, codeOf(cause), cause)
    }
  }

  /** What the log takes up on disk; undefined where there is none. */
  usage(): Usage | undefined {
    return undefined
  }

  /** @throws CustomsError CANNOT_AUDIT when what was written is not there any more */
  check(): void {
    // Nothing more is known of a stream.
  }

  close(): void {
    if (this.file !== undefined) closeSync(this.descriptor)
  }

  #takeBack(length: number): void {
    try {
      ftruncateSync(this.descriptor, fstatSync(this.descriptor).size - length)
    } catch {
      this.#torn = true
    }
  }
}

/** Of a log that nobody keeps here: its records are for its followers alone. */
export class Nowhere extends Output {
  constructor() {
    super(undefined, -1)
  }

  override append(line: string): number {
    return Buffer.byteLength(line)
  }
}

/** Longest wait for the reader of a pipe, and from one try to the next, in milliseconds. */
const patience = 5000
const pause = 5
const never = new Int32Array(new SharedArrayBuffer(4))

/** A standard stream may be a pipe that is full for the moment. */
const writeSome = (descriptor: number, bytes: Buffer): number => {
  for (let waited = 0; ; waited += pause) {
    try {
      return writeSync(descriptor, bytes)
    } catch (cause) {
      if (codeOf(cause) !== 'EAGAIN' || waited >= patience) throw cause
      Atomics.wait(never, 0, 0, pause)
    }
  }
}

/** When a file ends and the next one begins; without any of it, one file takes everything. */
export interface Rotation extends Retention {
  /** In bytes: what comes when the file has grown to this goes to the next. */
  readonly maxBytes?: number | undefined
  /** By the clock of UTC. */
  readonly rotate?: Period | undefined
}

export type Period = 'never' | 'hourly' | 'daily'

/** So much of a time (ISO 8601) stays the same throughout a period. */
const lengths: Readonly<Record<Period, number>> = { never: 0, hourly: 13, daily: 10 }

export interface Made {
  readonly file: string
  readonly descriptor: number
}

/** A log on disk: its files, their bytes, and the bytes that are free beside them. */
export interface Usage {
  readonly files: number
  readonly bytes: number
  readonly free: number
}

/** A regular file with one writer, and those that come after it. */
export abstract class LogFile extends Output {
  declare file: string
  readonly #rotation: Rotation
  readonly #claim: Claim | undefined
  #identity: string
  #size: number
  #period: string
  /** Why nothing can be written at present. */
  #damaged: string | undefined
  /** Where the loss of records was noted: another file may have been begun since. */
  #note: string | undefined

  /**
   * @param time of the last record, where there is one: ISO 8601
   * @param claim to the file, where others might lay one
   */
  constructor({ file, descriptor }: Made, rotation: Rotation, time = '', claim?: Claim) {
    super(file, descriptor)
    this.#rotation = rotation
    this.#claim = claim
    const { identity, size } = stateOf(file)
    this.#identity = identity
    this.#size = size
    this.#period = this.#periodOf(time)
  }

  override close(): void {
    super.close()
    this.#claim?.release()
  }

  get isEmpty(): boolean {
    return this.#size === 0
  }

  override usage(): Usage | undefined {
    try {
      const states = statesOf([...this.others(), this.file])
      const { bavail, bsize } = statfsSync(this.file)
      return { files: states.length, bytes: states.reduce((sum, { size }) => sum + size, 0), free: bavail * bsize }
    } catch {
      return undefined
    }
  }

  override append(line: string): number {
    if (this.#damaged !== undefined) throw cannotAudit(this.file, this.#damaged)
    const length = super.append(line)
    this.#size += length
    return length
  }

  /** Notes beside the log, if it can, how many records could not be written; 0: the log says so itself. */
  noteLost(records: number): void {
    const note = (this.#note ??= lossNote(this.file))
    try {
      if (records > 0) writeFileSync(note, '', { flag: 'a', mode: 0o600 })
      if (records > 0) truncateSync(note, records)
      else rmSync(note, { force: true })
    } catch {
      // Standard error says it as well, when the log is closed.
    }
    if (records === 0) this.#note = undefined
  }

  /**
   * Looks whether the file is still there, still ours, and what was written: a record in a file without a name is lost.
   * @throws CustomsError CANNOT_AUDIT; nothing is written until the file is back as it was
   */
  override check(): void {
    this.#damaged = this.#damage() ?? this.renew()
    if (this.#damaged !== undefined) throw cannotAudit(this.file, this.#damaged)
  }

  /** Whether the next record belongs into the next file. @param unwritten bytes that are to be written before it */
  isDue(now: Date, unwritten: number): boolean {
    const period = this.#periodOf(isoTime(now))
    const size = this.#size + unwritten
    if (size === 0) this.#period = period
    return size >= (this.#rotation.maxBytes ?? Infinity) || period !== this.#period
  }

  /**
   * Makes the next file, and goes on in it when this one has its last record.
   * @throws CustomsError CANNOT_AUDIT when there is no next file: this one is still the current one
   */
  next(now: Date, end: () => void): void {
    let made: Made
    try {
      made = this.succeed(now)
    } catch (cause) {
      throw cannotAudit(this.file, `the next file cannot be begun (${codeOf(cause)})`, cause)
    }
    try {
      end()
    } finally {
      closeSync(this.descriptor)
      this.file = made.file
      this.descriptor = made.descriptor
      this.#identity = stateOf(made.file).identity
      this.#size = 0
      this.#period = this.#periodOf(isoTime(now))
    }
    this.removeOldest()
  }

  protected removeOldest(): void {
    removeOldest(this.others(), this.file, this.#rotation, (file, modified) => this.isEnded(file, modified))
  }

  /** The files of this log beside the current one, and those of earlier logs in its place. */
  protected abstract others(): readonly string[]

  /** Whether nobody writes the log of one of them any more. @param modified in milliseconds since 1970 */
  protected abstract isEnded(file: string, modified: number): boolean

  /** Makes the next file, an empty one; where that fails, all is as it was. */
  protected abstract succeed(now: Date): Made

  /** Tells others that the file has a living writer. @returns why that is not us any more */
  protected renew(): string | undefined {
    return this.#claim?.renew()
  }

  #periodOf(time: string): string {
    return time.slice(0, lengths[this.#rotation.rotate ?? 'never'])
  }

  #damage(): string | undefined {
    try {
      const { identity, size } = stateOf(this.file)
      if (identity !== this.#identity) return 'another file has taken its place'
      if (size === this.#size) return undefined
      return size < this.#size ? 'it was cut' : 'somebody else writes to it'
    } catch (cause) {
      return `it is not there any more (${codeOf(cause)})`
    }
  }
}

const stateOf = (file: string): { readonly identity: string; readonly size: number } => {
  // Numbers of files are longer than a double on some systems.
  const { dev, ino, size } = statSync(file, { bigint: true })
  return { identity: `${dev} ${ino}`, size: Number(size) }
}
