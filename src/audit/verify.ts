import { createReadStream } from 'node:fs'
import { CustomsError } from '../errors.js'
import { codeOf } from './failure.js'
import { readLine, type Line } from './line.js'
import { beginning, type Position } from './record.js'

/** What is wrong, and where it shows first. */
export interface Problem {
  /** Counted from 1. */
  readonly line: number
  readonly reason: string
}

export interface Verification {
  readonly ok: boolean
  /** Lines that are records, changed ones included. */
  readonly records: number
  readonly first: Problem | undefined
  /** How many lines have something wrong. */
  readonly problems: number
  /** How many sessions have no `session/end`: still running, crashed, or the end of the file is missing. */
  readonly open: number
}

/** Longest line, in bytes: a record with the largest payloads that the limits allow is shorter. */
const longest = 512 * 1024 * 1024 - 64 * 1024

/**
 * Reads a log once, in a stream. After a wrong line the chain is taken up again at what the line says of itself, so that one
 * change counts once.
 * @throws CustomsError CANNOT_AUDIT when the file cannot be read
 */
export const verify = async (file: string): Promise<Verification> => {
  const check = new Check()
  try {
    for await (const { bytes, whole } of linesOf(file)) check.take(bytes, whole)
  } catch (cause) {
    throw new CustomsError('CANNOT_AUDIT', `${file}: cannot be read (${codeOf(cause)})`, { cause })
  }
  return check.end()
}

class Check {
  #last: Position = beginning
  #lines = 0
  #records = 0
  #problems = 0
  #first: Problem | undefined
  readonly #open = new Set<string>()

  take(bytes: Uint8Array, whole: boolean): void {
    this.#lines += 1
    const { line, wrong } = readLine(bytes)
    const reason = wrong ?? (whole ? undefined : 'half-cut: its line end is missing')
    if (line === undefined) return this.#note(reason ?? 'not a record')
    this.#records += 1
    this.#note(reason ?? this.#displaced(line))
    this.#last = line
    if (line.event === 'session/start') this.#open.add(line.session)
    if (line.event === 'session/end') this.#open.delete(line.session)
  }

  end(): Verification {
    if (this.#lines === 0) this.#note('the file is empty', 1)
    const { size: open } = this.#open
    return { ok: this.#first === undefined, records: this.#records, first: this.#first, problems: this.#problems, open }
  }

  #displaced({ seq, prev }: Line): string | undefined {
    const missing = seq - this.#last.seq - 1
    if (missing > 0) return `${missing} ${missing === 1 ? 'record is' : 'records are'} missing before it`
    if (missing < 0) return 'out of order: a record was moved, repeated or inserted'
    return prev === this.#last.hash ? undefined : 'does not follow the record before it'
  }

  #note(reason: string | undefined, line = this.#lines): void {
    if (reason === undefined) return
    this.#problems += 1
    this.#first ??= { line, reason }
  }
}

/** @returns lines without their ends; `whole` is false for a last one that has none */
async function* linesOf(file: string): AsyncGenerator<{ readonly bytes: Uint8Array; readonly whole: boolean }> {
  let pieces: Buffer[] = []
  let length = 0
  for await (const chunk of createReadStream(file, { highWaterMark: 256 * 1024 }) as AsyncIterable<Buffer>) {
    let start = 0
    for (let end = chunk.indexOf(0x0a); end >= 0; end = chunk.indexOf(0x0a, start)) {
      pieces.push(chunk.subarray(start, end))
      yield { bytes: Buffer.concat(pieces), whole: true }
      pieces = []
      length = 0
      start = end + 1
    }
    if (start < chunk.length) pieces.push(chunk.subarray(start))
    length += chunk.length - start
    if (length > longest) throw Object.assign(new Error('a line is too long'), { code: 'a line is too long' })
  }
  if (pieces.length > 0) yield { bytes: Buffer.concat(pieces), whole: false }
}
