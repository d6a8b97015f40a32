import { closeSync, openSync, readSync } from 'node:fs'
import { cannotRead, type ErrorCode } from '#relay/base/errors.js'

export interface RawLine {
  readonly file: string
  /** Counted from 1. */
  readonly number: number
  /** Without the line end. */
  readonly bytes: Buffer
  /** False for a last line without a line end. */
  readonly whole: boolean
}

/** Longest line, in bytes: a record with the largest payloads that the limits allow is shorter. */
const longest = 512 * 1024 * 1024 - 64 * 1024

/** Bytes that are read at a time. */
export const chunkBytes = 256 * 1024
const zeros = Buffer.alloc(chunkBytes)

/** Splits a stream of bytes at LF. */
export class Lines {
  #rest: Buffer[] = []
  #length = 0
  #endsInZeros = false

  /** The bytes since the last line end. */
  get rest(): Buffer {
    return Buffer.concat(this.#rest)
  }

  /** The lines that end in these bytes, without their ends. Each is valid until the next is asked for. */
  *take(bytes: Buffer): Generator<Buffer, void> {
    let start = 0
    for (let at = bytes.indexOf(0x0a); at >= 0; at = bytes.indexOf(0x0a, start)) {
      const last = bytes.subarray(start, at)
      const whole = this.#length === 0 ? last : Buffer.concat([...this.#rest, last])
      this.#rest = []
      this.#length = 0
      this.#endsInZeros = false
      start = at + 1
      yield whole
    }
    if (start === bytes.length) return
    this.#length += bytes.length - start
    if (this.#length > longest) throw Object.assign(new Error('too long'), { code: 'a line is too long' })
    // After a power loss, or from a device, zeros may come without end: only the first chunk of them is kept.
    for (let at = start; at < bytes.length; at += chunkBytes) {
      const rest = bytes.subarray(at, at + chunkBytes)
      const isZeros = rest.equals(zeros.subarray(0, rest.length))
      if (!isZeros || !this.#endsInZeros) this.#rest.push(Buffer.from(rest))
      this.#endsInZeros = isZeros
    }
  }
}

/**
 * Reads a file line by line. The bytes of a line are valid until the next is asked for.
 * @param end how many bytes of the file are read
 * @throws CustomsError with this code when the file cannot be read
 */
export function* linesOf(
  file: string, end = Infinity, code: ErrorCode = 'CANNOT_AUDIT',
): Generator<RawLine, void> {
  const lines = new Lines()
  let number = 0
  let descriptor: number | undefined
  try {
    descriptor = openSync(file, 'r')
    // One buffer for all chunks: a long log makes no more garbage than a short one.
    const buffer = Buffer.allocUnsafe(chunkBytes)
    for (let left = end; left > 0;) {
      const length = readSync(descriptor, buffer, 0, Math.min(chunkBytes, left), null)
      if (length === 0) break
      left -= length
      for (const bytes of lines.take(buffer.subarray(0, length))) {
        yield { file, number: ++number, bytes, whole: true }
      }
    }
    const { rest } = lines
    if (rest.length > 0) yield { file, number: number + 1, bytes: rest, whole: false }
  } catch (cause) {
    throw cannotRead(code, file, cause)
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}
