import {
  type BigIntStats, closeSync, fstatSync, openSync, rmSync, statfsSync, statSync, truncateSync, writeFileSync,
} from 'node:fs'
import { reasonOf } from '#relay/base/errors.js'
import type { Claim } from '#relay/base/claim.js'
import { cannotAudit, LogOutput, type Usage } from './output.js'
import { lossNote } from './place.js'
import { isoTime } from './record.js'
import { removeOldest, statesOf, type Retention } from './retention.js'

/** When a file ends and the next one begins. Without any limit, one file takes all records. */
export interface Rotation extends Retention {
  /** The size in bytes from which a file takes no more records. */
  readonly maxBytes?: number | undefined
  /** In UTC. */
  readonly rotate?: Period | undefined
}

type Period = 'never' | 'hourly' | 'daily'

/** How many characters of an ISO 8601 time stay the same throughout a period. */
const prefixLengths: Readonly<Record<Period, number>> = { never: 0, hourly: 13, daily: 10 }

export interface OpenedFile {
  readonly file: string
  readonly descriptor: number
}

/** The current file of a log: a regular file with one writer. Rotation replaces it by the next one. */
export abstract class LogFile extends LogOutput {
  declare file: string
  readonly #rotation: Rotation
  readonly #claim: Claim | undefined
  #identity: string
  #size: number
  #period: string
  /** Why no record can be written at present. */
  #damage: string | undefined
  /** The file that notes the lost records. Rotation does not rename it. */
  #note: string | undefined

  /**
   * @param time of the last record, if there is one: ISO 8601
   * @param claim on the file, when other processes might write it
   */
  constructor({ file, descriptor }: OpenedFile, rotation: Rotation, time = '', claim?: Claim) {
    super(file, descriptor)
    this.#rotation = rotation
    this.#claim = claim
    const { identity, size } = openedState(descriptor)
    this.#identity = identity
    this.#size = size
    this.#period = this.#periodOf(time)
  }

  override close(): void {
    try {
      super.close()
    } finally {
      this.#claim?.release()
    }
  }

  get isEmpty(): boolean {
    return this.#size === 0
  }

  override usage(): Usage | undefined {
    try {
      const states = statesOf([...this.otherFiles(), this.file])
      const { bavail, bsize } = statfsSync(this.file)
      const bytes = states.reduce((sum, { size }) => sum + size, 0)
      return { files: states.length, bytes, free: bavail * bsize }
    } catch {
      // Metrics leave out a log that cannot be measured.
      return undefined
    }
  }

  override append(line: string): number {
    if (this.#damage !== undefined) throw cannotAudit(this.file, this.#damage)
    const length = super.append(line)
    this.#size += length
    return length
  }

  /**
   * Notes beside the log how many records could not be written.
   * @param records 0 when the log itself has the count
   */
  noteLost(records: number): void {
    const note = (this.#note ??= lossNote(this.file))
    try {
      if (records > 0) writeFileSync(note, '', { flag: 'a', mode: 0o600 })
      if (records > 0) truncateSync(note, records)
      else rmSync(note, { force: true })
    } catch {
      // When the log is closed, a warning on stderr says the count as well.
    }
    if (records === 0) this.#note = undefined
  }

  /**
   * Checks that the file still has its name, its owner and its size: a record in an unlinked file is lost.
   * @throws CustomsError CANNOT_AUDIT; then nothing is written until the file is back as it was
   */
  override check(): void {
    this.#damage = this.#findDamage() ?? this.keepAlive()
    if (this.#damage !== undefined) throw cannotAudit(this.file, this.#damage)
  }

  /** Whether the next record belongs into the next file. @param unwritten bytes to be written before it */
  isDue(now: Date, unwritten: number): boolean {
    const period = this.#periodOf(isoTime(now))
    const size = this.#size + unwritten
    if (size === 0) this.#period = period
    return size >= (this.#rotation.maxBytes ?? Infinity) || period !== this.#period
  }

  /**
   * Creates the next file, lets `end` write the last record of this one, and continues in the next.
   * @throws CustomsError CANNOT_AUDIT when the next file cannot be created; then this one stays current
   */
  next(now: Date, end: () => void): void {
    let next: OpenedFile
    try {
      next = this.createNext(now)
    } catch (cause) {
      throw cannotAudit(this.file, `the next file cannot be begun: ${reasonOf(cause)}`, cause)
    }
    try {
      end()
    } finally {
      this.#continueIn(next)
      this.#period = this.#periodOf(isoTime(now))
    }
    this.removeOldest()
  }

  /**
   * Begins another file where nothing has the name of this one any more.
   * @returns false when something has, or no file can be begun
   */
  beginAgain(): boolean {
    try {
      this.#continueIn({ file: this.file, descriptor: openEmpty(this.file) })
      this.#damage = undefined
      return true
    } catch {
      return false
    }
  }

  #continueIn({ file, descriptor }: OpenedFile): void {
    const before = this.descriptor
    this.file = file
    this.descriptor = descriptor
    const { identity, size } = openedState(descriptor)
    this.#identity = identity
    this.#size = size
    try {
      closeSync(before)
    } catch {
      // What was written to it was reported as written; the descriptor is free in any case.
    }
  }

  protected removeOldest(): void {
    removeOldest(
      this.otherFiles(), this.file, this.#rotation, (file, modified) => this.isEnded(file, modified),
    )
  }

  /** The other files of this log, and those of earlier logs with the same name. */
  protected abstract otherFiles(): readonly string[]

  /** Whether no process writes the log of this file any more. @param modified in milliseconds since 1970 */
  protected abstract isEnded(file: string, modified: number): boolean

  /** Creates the next file, empty. When it throws, the current file stays current, whatever its name is. */
  protected abstract createNext(now: Date): OpenedFile

  /** Shows other processes that the writer lives. @returns why this process may no longer write the file */
  protected keepAlive(): string | undefined {
    return this.#claim?.renew()
  }

  #periodOf(time: string): string {
    return time.slice(0, prefixLengths[this.#rotation.rotate ?? 'never'])
  }

  #findDamage(): string | undefined {
    try {
      const { identity, size } = stateOf(this.file)
      if (identity !== this.#identity) return 'another file has taken its place'
      if (size === this.#size) return undefined
      return size < this.#size ? 'it was cut' : 'somebody else writes to it'
    } catch (cause) {
      return `it is not there any more: ${reasonOf(cause)}`
    }
  }
}

/** Opens a file for append, or creates it. @throws Error when it is not empty */
export const openEmpty = (file: string): number => {
  const descriptor = openSync(file, 'a', 0o600)
  if (fstatSync(descriptor).size === 0) return descriptor
  closeSync(descriptor)
  throw new Error('the next file is there already')
}

// On some systems, inode numbers do not fit a double.
const stateOf = (file: string) => identified(statSync(file, { bigint: true }))
const openedState = (descriptor: number) => identified(fstatSync(descriptor, { bigint: true }))

const identified = ({ dev, ino, size }: BigIntStats): { readonly identity: string; readonly size: number } =>
  ({ identity: `${dev} ${ino}`, size: Number(size) })
