import type { KeyObject } from 'node:crypto'
import { isString, field } from '#relay/protocol/unmetered.js'
import { checkpointOf, isSignedBy, lossEvent, ownEvent, type Checkpoint } from '../checkpoint.js'
import { lostRecordsIn } from '../place.js'
import { recordBeginning, type Position } from '../record.js'
import { readLine, type ReadLine, type ReadRecord } from './line.js'
import { linesOf, type RawLine } from './lines.js'

export interface LogProblem {
  readonly file: string
  /** Counted from 1; 0 for a problem of the file as a whole. */
  readonly line: number
  readonly reason: string
}

export interface Verification {
  readonly ok: boolean
  /** Records that were read, including changed ones. */
  readonly records: number
  readonly first: LogProblem | undefined
  /** Lines with a problem. */
  readonly problems: number
  /** Records before the first file that was given. */
  readonly earlier: number
  /** Lines that a crash cut short before another start, or that end in the zeros of a power loss. */
  readonly recovered: number
  /** Records that could not be written, by `audit/lost` and by the notes beside files (see `lossNote`). */
  readonly lost: number
  /** What has begun and not ended: it runs, has crashed, or its end was cut off. */
  readonly open: Open
  /** Signed checkpoints; undefined when no key is given. */
  readonly signed: number | undefined
  /** Those of the expected heads that were found. */
  readonly heads: readonly string[]
}

export interface Open {
  /** Sessions without `session/end`. */
  readonly sessions: number
  /** With keys: `start` checkpoints without an `end`. */
  readonly runs: number
  /** With keys: records after the last signed checkpoint. */
  readonly unsigned: number
  /** Whether the last file ends with a rotation, so that another file should follow. */
  readonly file: boolean
}

export interface ExpectedRecord {
  /** One of them must have signed each checkpoint; without keys, signatures are ignored. */
  readonly keys?: readonly KeyObject[]
  /** Hashes of records to look for. */
  readonly heads?: readonly string[]
}

/**
 * Reads a log once, as a stream. After a changed record, the chain continues from the `seq` and `hash` that
 * the record states, so that one change is one problem.
 * @param files of one log, in the order of its chain (see `findLogs`)
 * @throws CustomsError CANNOT_AUDIT when a file cannot be read
 */
export const verify = (files: readonly string[], expected: ExpectedRecord = {}): Verification => {
  const check = new Verifier(files, expected)
  for (const file of files) for (const line of linesOf(file)) check.take(line, readLine(line.bytes))
  return check.end()
}

/** Verifies a log line by line (see `verify`). */
export class Verifier {
  readonly #files: readonly string[]
  readonly #keys: readonly KeyObject[]
  readonly #heads: ReadonlySet<string>
  readonly #found = new Set<string>()
  #last: Position = recordBeginning
  #records = 0
  #problems = 0
  #first: LogProblem | undefined
  #earlier = 0
  /** Lines that a crash may have cut short, and the first of them: the next record decides. */
  #torn = 0
  #firstTorn: LogProblem | undefined
  #lastTorn: ReadLine['torn']
  #recovered = 0
  #lost = 0
  readonly #sessions = new Set<string>()
  #lastCheckpoint: Checkpoint | undefined
  #signed = 0
  #unsigned = 0
  #closed = true
  #runs = 0

  constructor(files: readonly string[], { keys = [], heads = [] }: ExpectedRecord) {
    this.#files = files
    this.#keys = keys
    this.#heads = new Set(heads)
  }

  take({ file, number, whole }: RawLine, { record, wrong, torn }: ReadLine): void {
    const reason = wrong ?? (whole ? undefined : 'half-cut: its line end is missing')
    const problem = (why: string): LogProblem => ({ file, line: number, reason: why })
    // A record without its line end is a torn line too: who continued the log knew nothing of it.
    if (record === undefined || !whole) {
      const unusable = problem(reason ?? 'not a record')
      // A power loss leaves zeros without a line end; the next start writes the line end, and its records.
      this.#lastTorn = whole ? undefined : torn
      if (torn !== undefined || record !== undefined) {
        this.#torn += 1
        this.#firstTorn ??= unusable
      } else {
        this.#judgeTorn(false)
        this.#report(unusable)
      }
      return
    }
    const checkpoint = checkpointOf(record.members)
    const displaced = this.#displaced(record, checkpoint)
    this.#judgeTorn(displaced === undefined && isFirstOfStart(record, checkpoint))
    const why = reason ?? displaced ?? (checkpoint && this.#signature(record))
    if (why !== undefined) this.#report(problem(why))
    this.#records += 1
    this.#last = record
    if (reason === undefined && this.#heads.has(record.hash)) this.#found.add(record.hash)
    this.#follow(record, checkpoint)
  }

  end(): Verification {
    this.#judgeTorn(this.#lastTorn === 'zeros')
    const [file = ''] = this.#files
    const lost = this.#files.reduce((sum, one) => sum + lostRecordsIn(one), this.#lost)
    // A log of which the disk took nothing has zeros, or the number of lost records beside it.
    if (this.#records === 0 && this.#recovered === 0 && this.#problems === 0 && lost === 0) {
      this.#report({ file, line: 1, reason: 'the file is empty' })
    } else if (this.#records === 0 && this.#problems > 0) {
      const reason = 'no line is a record: it is no audit log, or all of it was overwritten'
      this.#first = { file, line: 0, reason }
    }
    const keyed = this.#keys.length > 0
    if (keyed && this.#signed === 0) {
      this.#report({ file, line: 0, reason: 'nothing in it is signed by the key' })
    }
    return {
      ok: this.#first === undefined,
      records: this.#records,
      first: this.#first,
      problems: this.#problems,
      earlier: this.#earlier,
      recovered: this.#recovered,
      lost,
      open: {
        sessions: this.#sessions.size,
        runs: keyed ? this.#runs + (this.#closed ? 0 : 1) : 0,
        unsigned: keyed ? this.#unsigned : 0,
        file: this.#lastCheckpoint?.reason === 'rotation',
      },
      signed: keyed ? this.#signed : undefined,
      heads: [...this.#found],
    }
  }

  #displaced({ seq, prev }: ReadRecord, checkpoint: Checkpoint | undefined): string | undefined {
    if (this.#records === 0 && checkpoint?.log !== undefined && seq > 1) {
      this.#earlier = seq - 1
      return undefined
    }
    const missing = seq - this.#last.seq - 1
    if (missing > 0) return `${missing} ${missing === 1 ? 'record is' : 'records are'} missing before it`
    if (missing < 0) return 'out of order: a record was moved, repeated or inserted'
    return prev === this.#last.hash ? undefined : 'does not follow the record before it'
  }

  #signature({ members }: ReadRecord): string | undefined {
    if (this.#keys.length === 0 || isSignedBy(this.#keys, members)) return undefined
    return 'not signed by the key: it, or something before it, is not what was written'
  }

  /** @param recovered whether the chain continues behind the cut lines with the first record of a start */
  #judgeTorn(recovered: boolean): void {
    if (recovered) this.#recovered += this.#torn
    else if (this.#firstTorn) this.#report(this.#firstTorn, this.#torn)
    this.#torn = 0
    this.#firstTorn = undefined
  }

  /** Keeps track of sessions, starts of relays and signatures. */
  #follow({ members }: ReadRecord, checkpoint: Checkpoint | undefined): void {
    const event = ownEvent(members)
    const session = field(members, 'session')
    if (event === 'session/start' && isString(session)) this.#sessions.add(session)
    if (event === 'session/end' && isString(session)) this.#sessions.delete(session)
    const lost = event === lossEvent ? field(members, 'lost') : undefined
    if (typeof lost === 'number') this.#lost += lost
    if (checkpoint?.reason === 'start' && !this.#closed) this.#runs += 1
    this.#closed = checkpoint?.reason === 'end'
    this.#lastCheckpoint = checkpoint
    const isSigned = checkpoint !== undefined && isString(field(members, 'signature'))
    this.#unsigned = isSigned ? 0 : this.#unsigned + 1
    if (isSigned) this.#signed += 1
  }

  #report(problem: LogProblem, lines = 1): void {
    this.#problems += lines
    this.#first ??= problem
  }
}

/** Whether a relay writes it first where it continues a log, or in the next file. Earlier: a session. */
const isFirstOfStart = ({ members }: ReadRecord, checkpoint: Checkpoint | undefined): boolean =>
  checkpoint?.reason === 'start' || checkpoint?.reason === 'continuation'
  || ownEvent(members) === 'session/start'
