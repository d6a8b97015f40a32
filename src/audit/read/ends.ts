import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { beginning, type Position } from '../record.js'
import { isTorn, readLine, type ReadRecord } from './line.js'
import { Lines } from './lines.js'
import { firstRecord, logOf } from './logs.js'

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

export const noEnds: Ends = { position: beginning, log: undefined, time: undefined, cut: false }

/** How much is read from the end in search of a record, in bytes: at first, and at most. */
const nearest = 64 * 1024
const farthest = 256 * 1024 * 1024

/**
 * The first and the last record of a file. What follows the last (a line that a crash cut short) stays where it is, for `verify`
 * to judge.
 * @returns undefined when the file holds something else than a log
 */
export const readEnds = (file: string): Ends | undefined => {
  const descriptor = openSync(file, 'r')
  try {
    const { size } = fstatSync(descriptor)
    const cut = size > 0 && read(descriptor, size - 1, size)[0] !== 0x0a
    const last = lastRecord(descriptor, size)
    const first = last && firstRecord(file)
    if (last) return { position: { seq: last.seq, hash: last.hash }, log: first && logOf(first), time: last.time, cut }
    // The very first line may have been cut short.
    return size === 0 || (size < farthest && isTorn(read(descriptor, 0, 100))) ? { ...noEnds, cut } : undefined
  } finally {
    closeSync(descriptor)
  }
}

const lastRecord = (descriptor: number, size: number): ReadRecord | undefined => {
  for (let length = nearest; ; length *= 2) {
    const start = Math.max(0, size - length)
    const lines = new Lines()
    const found = [...lines.take(read(descriptor, start, size)), lines.rest]
    // The first is the end of a line, unless it is the file's own.
    for (const bytes of found.slice(start === 0 ? 0 : 1).reverse()) {
      const { record, wrong } = readLine(bytes)
      if (record && wrong === undefined) return record
    }
    if (start === 0 || length >= farthest) return undefined
  }
}

const read = (descriptor: number, start: number, end: number): Buffer => {
  const buffer = Buffer.alloc(end - start)
  return buffer.subarray(0, readSync(descriptor, buffer, 0, buffer.length, start))
}
