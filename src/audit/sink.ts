import { fstatSync, ftruncateSync, writeSync } from 'node:fs'
import type { Entry } from '../core/effect.js'
import { cannotAudit, codeOf } from './failure.js'
import { openFile, type Opened } from './log-file.js'
import type { Payloads } from './payload.js'
import { defaultFile } from './place.js'
import { beginning, nextLine, type Position } from './record.js'

export interface Audit {
  /** Where the records go; undefined for a stream, or nowhere. */
  readonly file: string | undefined
  /**
   * Returns when the record is with the operating system.
   * @param payloads what is kept of them, where it is not as the log was opened
   * @throws CustomsError CANNOT_AUDIT when it is not
   */
  write(entry: Entry, payloads?: Payloads): void
  close(): void
}

export interface AuditOptions {
  /** A path; `-`: the stream; `none`: no log; undefined: the server's own file in the user's state directory. */
  readonly file: string | undefined
  /** For `-`: the descriptor of the standard stream that the protocol does not use (default: 2, stderr). */
  readonly stream?: number
  readonly payloads: Payloads
  /** Names the default file. */
  readonly server: string
  /** The wall clock. */
  readonly now?: () => Date
  readonly environment?: Readonly<Record<string, string | undefined>>
}

/**
 * Opens the log; a file goes on where it ended, or is another one when a relay is writing it (see `openFile`).
 * @throws CustomsError CANNOT_AUDIT
 */
export const openAudit = (options: AuditOptions): Audit => {
  const { file, stream = 2, payloads, server, now = () => new Date(), environment = process.env } = options
  if (file === 'none') return { file: undefined, write: () => undefined, close: () => undefined }
  const opened = file === '-' ? standardStream(stream) : openFile(file ?? defaultFile(server, environment))
  return new Sink(opened, payloads, now)
}

const standardStream = (descriptor: number): Opened => ({
  file: undefined,
  descriptor,
  position: beginning,
  // Not ours to close.
  release: () => undefined,
})

/**
 * Plain synchronous writes. A logger would bring buffers, and with them records that are believed written and are not; and it
 * would have to be loaded, by every relay that a desktop client starts.
 */
class Sink implements Audit {
  readonly file: string | undefined
  readonly #opened: Opened
  readonly #payloads: Payloads
  readonly #now: () => Date
  #position: Position
  #closed = false
  /** Part of a record went out and could not be taken back: whatever followed it would be lost to every reader. */
  #torn = false

  constructor(opened: Opened, payloads: Payloads, now: () => Date) {
    this.file = opened.file
    this.#opened = opened
    this.#position = opened.position
    this.#payloads = payloads
    this.#now = now
  }

  write(entry: Entry, payloads = this.#payloads): void {
    if (this.#closed) throw cannotAudit(this.file, 'it is closed')
    if (this.#torn) throw cannotAudit(this.file, 'a record was cut short before')
    const { line, position } = nextLine(entry, this.#position, payloads, this.#now())
    this.#append(Buffer.from(line))
    this.#position = position
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#opened.release()
  }

  #append(bytes: Buffer): void {
    let done = 0
    try {
      while (done < bytes.length) done += writeSome(this.#opened.descriptor, bytes.subarray(done))
    } catch (cause) {
      if (done > 0) this.#takeBack(done)
      throw cannotAudit(this.file, codeOf(cause), cause)
    }
  }

  #takeBack(length: number): void {
    const { descriptor } = this.#opened
    try {
      ftruncateSync(descriptor, fstatSync(descriptor).size - length)
    } catch {
      this.#torn = true
    }
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
