import { closeSync, fstatSync, ftruncateSync, writeSync } from 'node:fs'
import { codeOf } from '../errors.js'
import { cannotAudit } from './failure.js'

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
