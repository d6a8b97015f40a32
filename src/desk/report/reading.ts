import type { KeyObject } from 'node:crypto'
import { statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { readLine } from '#relay/audit/read/line.js'
import { linesOf } from '#relay/audit/read/lines.js'
import { type Verification, Verifier } from '#relay/audit/read/verify.js'
import { CustomsError, type ErrorCode } from '#relay/base/errors.js'
import { filterFor, type WantedRecords } from './filter.js'
import { recordOf, recordOfLine } from '#relay/audit/read/record.js'
import { Window } from './totals/window.js'

/** What is read of logs. */
interface Settings {
  /** How many milliseconds before now records count. */
  readonly windowMs: number
  readonly now: number
  /** Set to verify the chain of hashes as well, by these keys. */
  readonly verify?: { readonly keys: readonly KeyObject[] }
  readonly wanted?: WantedRecords
}

/** A log: its files in the order of its chain, and how many bytes of them are read. */
export interface LogFiles {
  readonly files: readonly string[]
  readonly end?: number
}

export type ReadingOrder = Settings & { readonly log: LogFiles }

/** What was read of a log. */
export interface LogReading {
  readonly totals: Window['state']
  readonly records: number
  readonly unreadable: number
  readonly verification: Verification | undefined
}

export type ReaderAnswer =
  | { readonly part: LogReading }
  | { readonly bytes: number }
  | { readonly code: ErrorCode; readonly message: string }

/** Bytes after which a reader says how far it is. */
const reportBytes = 2_000_000

/** Reads a log. @throws CustomsError CANNOT_AUDIT when a file cannot be read */
export const readLogs = (
  { log: { files, end }, windowMs, now, verify, wanted }: ReadingOrder, onRead: (bytes: number) => void,
): LogReading => {
  const window = new Window(windowMs)
  const isWanted = wanted && filterFor(wanted)
  const verifier = verify && new Verifier(files, verify)
  let [records, unreadable, unsaid] = [0, 0, 0]
  for (const file of files) {
    for (const line of linesOf(file, end)) {
      let record
      if (verifier === undefined) record = recordOfLine(line.bytes.toString())
      else {
        const read = readLine(line.bytes)
        verifier.take(line, read)
        record = read.record && recordOf(read.record.members)
      }
      if (record === undefined) unreadable += 1
      else {
        records += 1
        if (isWanted === undefined || isWanted(record)) window.take(record, now)
      }
      unsaid += line.bytes.length + 1
      if (unsaid >= reportBytes) {
        onRead(unsaid)
        unsaid = 0
      }
    }
  }
  onRead(unsaid)
  return { totals: window.state, records, unreadable, verification: verifier?.end() }
}

/** Logs of fewer bytes are read before threads have started. */
const fewBytes = 16_000_000
const maxThreads = 4

/**
 * Reads logs, large ones in several threads.
 * @param onRead is called with numbers of bytes
 * @returns a part for each log
 * @throws CustomsError CANNOT_AUDIT when a file cannot be read
 */
export const readAll = async (
  logs: readonly LogFiles[], settings: Settings, onRead: (bytes: number) => void = () => undefined,
): Promise<readonly LogReading[]> => {
  const sizes = new Map(logs.map(log => [log, log.end ?? sizeOf(log.files)]))
  const total = [...sizes.values()].reduce((sum, size) => sum + size, 0)
  const threads = total < fewBytes ? 0 : Math.min(maxThreads, availableParallelism(), logs.length)
  if (threads === 0) return logs.map(log => readLogs({ ...settings, log }, onRead))
  // The largest first, so that the threads end at about the same time.
  const waiting = [...logs].sort((a, b) => (sizes.get(b) ?? 0) - (sizes.get(a) ?? 0))
  const parts = new Map<LogFiles, LogReading>()
  const workers = Array.from({ length: threads }, () => new Worker(script, { execArgv: [] }))
  try {
    await Promise.all(workers.map(async worker => {
      for (let log = waiting.shift(); log !== undefined; log = waiting.shift()) {
        parts.set(log, await readIn(worker, { ...settings, log }, onRead))
      }
    }))
  } finally {
    await Promise.all(workers.map(worker => worker.terminate()))
  }
  return logs.flatMap(log => parts.get(log) ?? [])
}

const readIn = (worker: Worker, order: ReadingOrder, onRead: (bytes: number) => void): Promise<LogReading> =>
  new Promise((resolve, reject) => {
    worker.removeAllListeners()
    worker.on('error', reject)
    worker.on('messageerror', reject)
    worker.on('message', (answer: ReaderAnswer) => {
      if ('bytes' in answer) onRead(answer.bytes)
      else if ('code' in answer) reject(new CustomsError(answer.code, answer.message))
      else resolve(answer.part)
    })
    worker.postMessage(order)
  })

const sizeOf = (files: readonly string[]): number =>
  files.reduce((sum, file) => sum + (statSync(file, { throwIfNoEntry: false })?.size ?? 0), 0)

/** Beside this module, and beside the chunk that the command is bundled in. */
const script = new URL('./reader.js', import.meta.url)
