import { closeSync, rmSync, statSync } from 'node:fs'
import { cannotAudit, codeOf } from './failure.js'
import { Output } from './output.js'
import { isoTime } from './record.js'

/** When a file ends and the next one begins; without any of it, one file takes everything. */
export interface Rotation {
  /** In bytes: what comes when the file has grown to this goes to the next. */
  readonly maxBytes?: number | undefined
  /** By the clock of UTC. */
  readonly rotate?: Period | undefined
  /** How many files stay beside the current one: the oldest are removed. Undefined: all stay. */
  readonly keep?: number | undefined
}

export type Period = 'never' | 'hourly' | 'daily'

/** So much of a time (ISO 8601) stays the same throughout a period. */
const lengths: Readonly<Record<Period, number>> = { never: 0, hourly: 13, daily: 10 }

export interface Made {
  readonly file: string
  readonly descriptor: number
}

/** A regular file with one writer, and those that come after it. */
export abstract class LogFile extends Output {
  declare file: string
  readonly #rotation: Rotation
  #identity: string
  #size: number
  #period: string
  /** Why nothing can be written any more. */
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

  override append(line: string): number {
    if (this.#lost !== undefined) throw cannotAudit(this.file, this.#lost)
    const length = super.append(line)
    this.#size += length
    return length
  }

  /**
   * Looks whether the file is still there, still ours, and what was written: a record in a file without a name is lost.
   * @throws CustomsError CANNOT_AUDIT; from then on, nothing is written
   */
  check(): void {
    this.#lost ??= this.#damage() ?? this.renew()
    if (this.#lost !== undefined) throw cannotAudit(this.file, this.#lost)
  }

  /** Whether the next record belongs into the next file. @param unwritten bytes that are to be written before it */
  isDue(now: Date, unwritten: number): boolean {
    const period = this.#periodOf(isoTime(now))
    const size = this.#size + unwritten
    if (size === 0) this.#period = period
    return size >= (this.#rotation.maxBytes ?? Infinity) || period !== this.#period
  }

  /** Begins the next file. @throws CustomsError CANNOT_AUDIT; from then on, nothing is written */
  next(now: Date): void {
    try {
      const { file, descriptor } = this.succeed(now)
      closeSync(this.descriptor)
      this.file = file
      this.descriptor = descriptor
      this.#identity = stateOf(file).identity
      this.#size = 0
      this.#period = this.#periodOf(isoTime(now))
      this.removeOldest()
    } catch (cause) {
      this.#lost = `the next file cannot be begun (${codeOf(cause)})`
      throw cannotAudit(this.file, this.#lost, cause)
    }
  }

  protected removeOldest(): void {
    const { keep } = this.#rotation
    if (keep === undefined) return
    const older = this.older()
    for (const file of older.slice(0, Math.max(0, older.length - keep))) rmSync(file, { force: true })
  }

  /** The files before this one that may be removed, oldest first. */
  protected abstract older(): readonly string[]

  /** Makes the next file, an empty one. */
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
