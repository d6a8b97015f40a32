import { createReadStream } from 'node:fs'
import { CustomsError } from '../../errors.js'
import { codeOf } from '../failure.js'

export interface RawLine {
  readonly file: string
  /** Counted from 1. */
  readonly number: number
  /** Without the line end. */
  readonly bytes: Uint8Array
  /** False for a last line that has no end. */
  readonly whole: boolean
}

/** Longest line, in bytes: a record with the largest payloads that the limits allow is shorter. */
const longest = 512 * 1024 * 1024 - 64 * 1024

/**
 * Reads a file once, in a stream.
 * @throws CustomsError CANNOT_AUDIT when it cannot be read
 */
export async function* linesOf(file: string): AsyncGenerator<RawLine> {
  let pieces: Buffer[] = []
  let length = 0
  let number = 0
  const cannot = (reason: string, cause?: unknown) => new CustomsError('CANNOT_AUDIT', `${file}: cannot be read (${reason})`, { cause })
  const stream = createReadStream(file, { highWaterMark: 256 * 1024 })
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      let start = 0
      for (let end = chunk.indexOf(0x0a); end >= 0; end = chunk.indexOf(0x0a, start)) {
        pieces.push(chunk.subarray(start, end))
        yield { file, number: ++number, bytes: Buffer.concat(pieces), whole: true }
        pieces = []
        length = 0
        start = end + 1
      }
      if (start < chunk.length) pieces.push(chunk.subarray(start))
      length += chunk.length - start
      if (length > longest) throw cannot('a line is too long')
    }
  } catch (cause) {
    throw cause instanceof CustomsError ? cause : cannot(codeOf(cause), cause)
  }
  if (pieces.length > 0) yield { file, number: number + 1, bytes: Buffer.concat(pieces), whole: false }
}
