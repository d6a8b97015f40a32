import { linesOf } from '../audit/read/lines.js'
import { firstRecord } from '../audit/read/logs.js'
import { recordOfLine, type LogRecord } from './record.js'

export interface ReadRecord {
  readonly file: string
  /** Of the line in the file, counted from 1. */
  readonly number: number
  readonly text: string
  readonly record: LogRecord
}

/** How much of a file is read, in bytes: of one that is not in it, all. */
export type Extent = ReadonlyMap<string, number>

/**
 * The records of several logs, one after the other by their time. A log is open only while its time has come, and of each that is open
 * one record is in memory.
 * @param logs each as its files, in the order of its chain (see `findLogs`)
 * @param unreadable is told of each line that is no record
 */
export function* merge(logs: readonly (readonly string[])[], unreadable: () => void, extent: Extent = new Map()): Generator<ReadRecord, void> {
  const waiting = logs.map(files => ({ files, from: beginningOf(files) }))
  waiting.sort((a, b) => b.from - a.from)
  const open = new Set<Reader>()
  try {
    for (;;) {
      let next = earliest(open)
      for (let log = waiting.at(-1); log && log.from <= (next?.head?.record.time ?? Infinity); log = waiting.at(-1)) {
        waiting.pop()
        const reader = new Reader(records(log.files, unreadable, extent))
        if (reader.advance()) open.add(reader)
        next = earliest(open)
      }
      if (next?.head === undefined) return
      yield next.head
      if (!(next.advance())) open.delete(next)
    }
  } finally {
    for (const reader of open) reader.close()
  }
}

class Reader {
  head: ReadRecord | undefined
  readonly #records: Generator<ReadRecord, void>

  constructor(records: Generator<ReadRecord, void>) {
    this.#records = records
  }

  /** @returns false at the end */
  advance(): boolean {
    const next = this.#records.next()
    this.head = next.done === true ? undefined : next.value
    return this.head !== undefined
  }

  close(): void {
    this.#records.return()
  }
}

const earliest = (open: ReadonlySet<Reader>): Reader | undefined => {
  let first: Reader | undefined
  for (const reader of open) if (first === undefined || (reader.head?.record.time ?? 0) < (first.head?.record.time ?? 0)) first = reader
  return first
}

/** A log that does not say when it begins is begun with. */
const beginningOf = ([file = '']: readonly string[]): number => Date.parse(firstRecord(file)?.time ?? '') || -Infinity

function* records(files: readonly string[], unreadable: () => void, extent: Extent): Generator<ReadRecord, void> {
  for (const file of files) {
    for (const { number, bytes } of linesOf(file, extent.get(file))) {
      const text = textOf(bytes)
      const record = recordOfLine(text)
      if (record === undefined) unreadable()
      else yield { file, number, text, record }
    }
  }
}

/** Half a character, and whatever else is no UTF-8, becomes U+FFFD: it is for `audit verify` to mind. */
export const textOf = (bytes: Uint8Array): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()
