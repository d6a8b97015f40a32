import { fstatSync, readSync } from 'node:fs'
import { beginning, type Position } from '../record.js'
import { logOf } from './logs.js'
import { isTorn, readLine, type ReadRecord } from './line.js'

/** Where the chain of a file goes on. */
export interface Ends {
  readonly position: Position
  /** Which log it is part of (see `logOf`); undefined when it holds no record, or its first line is damaged. */
  readonly log: string | undefined
  /** When its last record was written: ISO 8601. */
  readonly time: string | undefined
  /** It ends within a line: its writer was interrupted. */
  readonly cut: boolean
}

/** How much is read from the end in search of a record, in bytes. */
const farthest = 256 * 1024 * 1024
const piece = 64 * 1024

/**
 * The first and the last record of a file. What follows the last (a line that a crash cut short) stays where it is, for `verify`
 * to judge.
 * @returns undefined when the file holds something else than a log
 */
export const readEnds = (descriptor: number): Ends | undefined => {
  const { size } = fstatSync(descriptor)
  const cut = size > 0 && read(descriptor, size - 1, 1)[0] !== 0x0a
  const last = lastRecord(descriptor, size)
  if (last) {
    const { record: first } = readLine(firstLine(descriptor))
    return { position: { seq: last.seq, hash: last.hash }, log: first && logOf(first), time: last.time, cut }
  }
  // The very first line may have been cut short.
  const isLog = size === 0 || (size < farthest && isTorn(read(descriptor, 0, Math.min(size, 100))))
  return isLog ? { position: beginning, log: undefined, time: undefined, cut } : undefined
}

const lastRecord = (descriptor: number, size: number): ReadRecord | undefined => {
  for (const bytes of linesBackwards(descriptor, size)) {
    const { record, wrong } = readLine(bytes)
    if (record && wrong === undefined) return record
  }
  return undefined
}

function* linesBackwards(descriptor: number, size: number): Generator<Buffer> {
  let pieces: Buffer[] = []
  for (let end = size; end > 0 && size - end < farthest; ) {
    const length = Math.min(end, piece)
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

const firstLine = (descriptor: number): Buffer => {
  const pieces: Buffer[] = []
  for (let at = 0; at < farthest; at += piece) {
    const chunk = read(descriptor, at, piece)
    const end = chunk.indexOf(0x0a)
    pieces.push(end < 0 ? chunk : chunk.subarray(0, end))
    if (end >= 0 || chunk.length < piece) break
  }
  return Buffer.concat(pieces)
}

const read = (descriptor: number, position: number, length: number): Buffer => {
  const buffer = Buffer.alloc(length)
  return buffer.subarray(0, readSync(descriptor, buffer, 0, length, position))
}
