import { closeSync, statfsSync, statSync } from 'node:fs'
import { codeOf } from '../errors.js'
import { cannotAudit } from './failure.js'
import { Output } from './output.js'
import { isoTime } from './record.js'
import { removeOldest, statesOf, type Retention } from './retention.js'

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
  #identity: string
  #size: number
  #period: string
  /** Why nothing can be written at present. */
  #lost: string | undefined

  /** @param time of the last record, where there is one: ISO 8601 */
  constructor({ file, descriptor }: Made, rotation: Rotation, time = '') {
    super(file, descriptor)
    this.#rotation = rotation
    const { identity, size } = stateOf(file)
    this.#identity = identity
    this.#size = size
    this.#period = this.#periodOf(time)
  }

  get isEmpty(): boolean {
    return this.#size === 0
  }

  usage(): Usage {
    const states = statesOf([...this.others(), this.file])
    const { bavail, bsize } = statfsSync(this.file)
    return { files: states.length, bytes: states.reduce((sum, { size }) => sum + size, 0), free: bavail * bsize }
  }

  override append(line: string): number {
    if (this.#lost !== undefined) throw cannotAudit(this.file, this.#lost)
    const length = super.append(line)
    this.#size += length
    return length
  }

  /**
   * Looks whether the file is still there, still ours, and what was written: a record in a file without a name is lost.
   * @throws CustomsError CANNOT_AUDIT; nothing is written until the file is back as it was
   */
  check(): void {
    this.#lost = this.#damage() ?? this.renew()
    if (this.#lost !== undefined) throw cannotAudit(this.file, this.#lost)
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
  protected abstract renew(): string | undefined

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
