import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { recordBeginning, type Position } from '../record.js'
import { isTorn, readLine, type ReadRecord } from './line.js'
import { Lines } from './lines.js'
import { firstRecord, logOf } from './logs.js'

/** The end of the records in a file, from which its chain is continued. */
export interface Ends {
  readonly position: Position
  /** The log that the file is part of (see `logOf`); undefined if the first line is no record. */
  readonly log: string | undefined
  /** When the last record was written: ISO 8601. */
  readonly time: string | undefined
  /** Whether the file ends within a line: its writer was interrupted. */
  readonly cut: boolean
}

export const noEnds: Ends = { position: recordBeginning, log: undefined, time: undefined, cut: false }

/** How many bytes at the end of a file are searched for a record: at first, and at most. */
const nearest = 64 * 1024
const farthest = 256 * 1024 * 1024

/**
 * Reads the first and the last record of a file. A cut line behind the last record stays in the file, where
 * `verify` reports it.
 * @param heals whether the caller writes the line end that a last record lacks; else it is a cut line
 * @returns undefined when the file is no log
 */
export const readEnds = (file: string, heals = true): Ends | undefined => {
  const descriptor = openSync(file, 'r')
  try {
    const { size } = fstatSync(descriptor)
    const cut = size > 0 && read(descriptor, size - 1, size)[0] !== 0x0a
    const last = lastRecord(descriptor, size, heals)
    const first = last && firstRecord(file)
    if (last) {
      return {
        position: { seq: last.seq, hash: last.hash }, log: first && logOf(first), time: last.time, cut,
      }
    }
    // Even the first line may have been cut short.
    const [start] = read(descriptor, 0, 100).toString('latin1').split('\n', 1)
    const isLog = size === 0 || (size < farthest && isTorn(Buffer.from(start ?? '', 'latin1')))
    return isLog ? { ...noEnds, cut } : undefined
  } finally {
    closeSync(descriptor)
  }
}

const lastRecord = (descriptor: number, size: number, heals: boolean): ReadRecord | undefined => {
  for (let length = nearest; ; length *= 2) {
    const start = Math.max(0, size - length)
    const lines = new Lines()
    const found = [...lines.take(read(descriptor, start, size)), ...(heals ? [lines.rest] : [])]
    // Unless the search began at the file's start, the first piece is only the end of a line.
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
