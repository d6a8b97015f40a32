import { open, type FileHandle } from 'node:fs/promises'
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

/** Read at a time, in bytes: into one place, so that a long log leaves no more to be cleared away than a short one. */
const piece = 256 * 1024

/**
 * Reads a file once, from its beginning. The bytes of a line are to be used before the next one is asked for.
 * @param end reads only so many bytes of it
 * @throws CustomsError CANNOT_AUDIT when it cannot be read
 */
export async function* linesOf(file: string, end = Infinity): AsyncGenerator<RawLine> {
  const cannot = (reason: string, cause?: unknown) => new CustomsError('CANNOT_AUDIT', `${file}: cannot be read (${reason})`, { cause })
  let rest: Buffer[] = []
  let length = 0
  let number = 0
  let handle: FileHandle | undefined
  try {
    handle = await open(file)
    const buffer = Buffer.allocUnsafe(piece)
    for (let left = end; left > 0; ) {
      const { bytesRead } = await handle.read(buffer, 0, Math.min(piece, left))
      if (bytesRead === 0) break
      left -= bytesRead
      const chunk = buffer.subarray(0, bytesRead)
      let start = 0
      for (let at = chunk.indexOf(0x0a); at >= 0; at = chunk.indexOf(0x0a, start)) {
        const last = chunk.subarray(start, at)
        yield { file, number: ++number, bytes: rest.length === 0 ? last : Buffer.concat([...rest, last]), whole: true }
        rest = []
        length = 0
        start = at + 1
      }
      if (start < chunk.length) rest.push(Buffer.from(chunk.subarray(start)))
      length += chunk.length - start
      if (length > longest) throw cannot('a line is too long')
    }
  } catch (cause) {
    throw cause instanceof CustomsError ? cause : cannot(codeOf(cause), cause)
  } finally {
    await handle?.close()
  }
  if (rest.length > 0) yield { file, number: number + 1, bytes: Buffer.concat(rest), whole: false }
}
