import { fstatSync, readSync } from 'node:fs'
import { readLine } from './line.js'
import { beginning, type Position } from './record.js'

export interface Tail {
  /** Where the chain goes on. */
  readonly position: Position
  /** The file ends within a line: its writer was interrupted. */
  readonly cut: boolean
}

/** How much is read from the end in search of a record, in bytes. */
const farthest = 256 * 1024 * 1024

/**
 * The last record of a file. What follows it (a line that a crash cut short) stays where it is, for `verify` to name.
 * @returns undefined when the file holds something else than a log
 */
export const readTail = (descriptor: number): Tail | undefined => {
  const { size } = fstatSync(descriptor)
  if (size === 0) return { position: beginning, cut: false }
  const cut = read(descriptor, size - 1, 1)[0] !== 0x0a
  for (const bytes of linesBackwards(descriptor, size)) {
    const { line, wrong } = readLine(bytes)
    if (line && wrong === undefined) return { position: { seq: line.seq, hash: line.hash }, cut }
  }
  // The very first line may have been cut short.
  const begun = read(descriptor, 0, Math.min(size, start.length)).toString('latin1')
  return start.startsWith(begun) && size < farthest ? { position: beginning, cut } : undefined
}

const start = '{"time":"'

function* linesBackwards(descriptor: number, size: number): Generator<Buffer> {
  let pieces: Buffer[] = []
  for (let end = size; end > 0 && size - end < farthest; ) {
    const length = Math.min(end, 64 * 1024)
    let chunk = read(descriptor, end - length, length)
    for (let at = chunk.lastIndexOf(0x0a); at >= 0; at = chunk.lastIndexOf(0x0a)) {
      const bytes = Buffer.concat([chunk.subarray(at + 1), ...pieces])
      if (bytes.length > 0) yield bytes
      pieces = []
      chunk = chunk.subarray(0, at)
    }
    pieces.unshift(chunk)
    end -= length
  }
  yield Buffer.concat(pieces)
}

const read = (descriptor: number, position: number, length: number): Buffer => {
  const buffer = Buffer.alloc(length)
  return buffer.subarray(0, readSync(descriptor, buffer, 0, length, position))
}
