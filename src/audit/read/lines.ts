import { closeSync, openSync, readSync } from 'node:fs'
import { codeOf, CustomsError, type ErrorCode } from '../../errors.js'

export interface RawLine {
  readonly file: string
  /** Counted from 1. */
  readonly number: number
  /** Without the line end. */
  readonly bytes: Buffer
  /** False for a last line that has no end. */
  readonly whole: boolean
}

/** Longest line, in bytes: a record with the largest payloads that the limits allow is shorter. */
const longest = 512 * 1024 * 1024 - 64 * 1024

/** Read at a time, in bytes. */
export const piece = 256 * 1024
const zeros = Buffer.alloc(piece)

/** Cuts what comes in pieces into lines. */
export class Lines {
  #rest: Buffer[] = []
  #length = 0
  #isNothing = false

  /** What has no end yet. */
  get rest(): Buffer {
    return Buffer.concat(this.#rest)
  }

  /** The lines that end in this piece, without their ends; each is to be used before the next one is asked for. */
  *take(bytes: Buffer): Generator<Buffer, void> {
    let start = 0
    for (let at = bytes.indexOf(0x0a); at >= 0; at = bytes.indexOf(0x0a, start)) {
      const last = bytes.subarray(start, at)
      const whole = this.#length === 0 ? last : Buffer.concat([...this.#rest, last])
      this.#rest = []
      this.#length = 0
      this.#isNothing = false
      start = at + 1
      yield whole
    }
    if (start === bytes.length) return
    this.#length += bytes.length - start
    if (this.#length > longest) throw Object.assign(new Error('too long'), { code: 'a line is too long' })
    // A power loss or a device gives zeros without an end: a second piece of them says no more than the first.
    for (let at = start; at < bytes.length; at += piece) {
      const rest = bytes.subarray(at, at + piece)
      const isNothing = rest.equals(zeros.subarray(0, rest.length))
      if (!isNothing || !this.#isNothing) this.#rest.push(Buffer.from(rest))
      this.#isNothing = isNothing
    }
  }
}

/**
 * The lines of a file, read once from its beginning. The bytes of one are to be used before the next one is asked for.
 * @param end reads only so many bytes of it
 * @throws CustomsError of this code when it cannot be read
 */
export function* linesOf(file: string, end = Infinity, code: ErrorCode = 'CANNOT_AUDIT'): Generator<RawLine, void> {
  const lines = new Lines()
  let number = 0
  let descriptor: number | undefined
  try {
    descriptor = openSync(file, 'r')
    // One place for all pieces, so that a long log leaves no more to be cleared away than a short one.
    const buffer = Buffer.allocUnsafe(piece)
    for (let left = end; left > 0;) {
      const length = readSync(descriptor, buffer, 0, Math.min(piece, left), null)
      if (length === 0) break
      left -= length
      for (const bytes of lines.take(buffer.subarray(0, length))) yield { file, number: ++number, bytes, whole: true }
    }
    const { rest } = lines
    if (rest.length > 0) yield { file, number: number + 1, bytes: rest, whole: false }
  } catch (cause) {
    throw new CustomsError(code, `${file}: cannot be read (${codeOf(cause)})`, { cause })
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}
