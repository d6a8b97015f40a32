import { closeSync, fstatSync, ftruncateSync, writeSync } from 'node:fs'
import { codeOf, CustomsError, reasonOf } from '#relay/base/errors.js'

/** A log on disk: how many files and bytes it has, and how many bytes are free on that disk. */
export interface Usage {
  readonly files: number
  readonly bytes: number
  readonly free: number
}

/** @param where the log's file; undefined for a standard stream */
export const cannotAudit = (where: string | undefined, reason: string, cause?: unknown): CustomsError =>
  new CustomsError(
    'CANNOT_AUDIT',
    `the audit log ${where ?? 'on the standard stream'} cannot be written: ${reason}`, { cause },
  )

/**
 * A descriptor that lines are written to, synchronously. A logger is not used here: it buffers records, so
 * that some are believed written that are not, and every relay would have to load it at its start.
 */
export class LogOutput {
  /** Part of a line was written and could not be removed: no reader could read a line behind it. */
  #torn = false

  /** @param file undefined for a standard stream, which is never closed here */
  constructor(
    public file: string | undefined,
    protected descriptor: number,
  ) {}

  /**
   * Returns when the operating system has the line.
   * @returns its length, in bytes
   * @throws CustomsError CANNOT_AUDIT; nothing of the line stays in the file
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
      throw cannotAudit(this.file, reasonOf(cause), cause)
    }
  }

  /** The log's size on disk; undefined for a stream or no log. */
  usage(): Usage | undefined {
    return undefined
  }

  /** @throws CustomsError CANNOT_AUDIT when records that were written are gone */
  check(): void {
    // A stream cannot be checked.
  }

  close(): void {
    if (this.file === undefined) return
    try {
      closeSync(this.descriptor)
    } catch (cause) {
      throw cannotAudit(this.file, reasonOf(cause), cause)
    }
  }

  #takeBack(length: number): void {
    try {
      ftruncateSync(this.descriptor, fstatSync(this.descriptor).size - length)
    } catch {
      this.#torn = true
    }
  }
}

/** For `--audit none`: records go to the followers alone. */
export class Nowhere extends LogOutput {
  constructor() {
    super(undefined, -1)
  }

  override append(line: string): number {
    return Buffer.byteLength(line)
  }
}

/** Longest wait while a pipe is full, and the pause between two attempts, in milliseconds. */
const patience = 5000
const pause = 5
const never = new Int32Array(new SharedArrayBuffer(4))

/** A standard stream may be a pipe that is full at present (EAGAIN). */
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
