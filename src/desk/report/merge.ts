import { linesOf } from '#relay/audit/read/lines.js'
import { firstRecord } from '#relay/audit/read/logs.js'
import { recordOfLine, type LogRecord } from '#relay/audit/read/record.js'

export interface MergedRecord {
  readonly file: string
  /** Line number in the file, from 1. */
  readonly number: number
  readonly text: string
  readonly record: LogRecord
}

/** How many bytes of each file are read; a file that is not listed is read whole. */
type Extent = ReadonlyMap<string, number>

/**
 * The records of several logs, by time. A log is opened when the merge reaches the time of its first record;
 * of each open log, one record is in memory.
 * @param logs the files of each log, in the order of its chain (see `findLogs`)
 * @param unreadable is called for each line that is not a record
 */
export function* merge(
  logs: readonly (readonly string[])[], unreadable: () => void, extent: Extent = new Map(),
): Generator<MergedRecord, void> {
  const waiting = logs.map(files => ({ files, from: beginningOf(files) }))
  waiting.sort((a, b) => b.from - a.from)
  const open = new Set<Reader>()
  try {
    for (;;) {
      let next = earliest(open)
      for (let log = waiting.at(-1); log && log.from <= timeOf(next); log = waiting.at(-1)) {
        waiting.pop()
        const reader = new Reader(records(log.files, unreadable, extent))
        if (reader.advance()) open.add(reader)
        next = earliest(open)
      }
      if (next?.head === undefined) return
      yield next.head
      if (!next.advance()) open.delete(next)
    }
  } finally {
    for (const reader of open) reader.close()
  }
}

class Reader {
  head: MergedRecord | undefined

  constructor(private readonly records: Generator<MergedRecord, void>) {}

  /** @returns false at the end */
  advance(): boolean {
    const next = this.records.next()
    this.head = next.done === true ? undefined : next.value
    return this.head !== undefined
  }

  close(): void {
    this.records.return()
  }
}

const timeOf = (reader: Reader | undefined): number => reader?.head?.record.time ?? Infinity

const earliest = (open: ReadonlySet<Reader>): Reader | undefined => {
  let first: Reader | undefined
  for (const reader of open) if (first === undefined || timeOf(reader) < timeOf(first)) first = reader
  return first
}

/** A log whose first record has no time is opened at once. */
const beginningOf = ([file = '']: readonly string[]): number =>
  Date.parse(firstRecord(file)?.time ?? '') || -Infinity

function* records(
  files: readonly string[], unreadable: () => void, extent: Extent,
): Generator<MergedRecord, void> {
  for (const file of files) {
    for (const { number, bytes } of linesOf(file, extent.get(file))) {
      // Bytes that are not UTF-8 become U+FFFD; `audit verify` reports them.
      const text = bytes.toString()
      const record = recordOfLine(text)
      if (record === undefined) unreadable()
      else yield { file, number, text, record }
    }
  }
}
