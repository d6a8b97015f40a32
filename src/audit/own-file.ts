import { futimesSync, openSync, rmSync } from 'node:fs'
import { codeOf } from '../errors.js'
import { isRunning } from './claim.js'
import { LogFile, type Made, type Rotation } from './log-file.js'
import { filesStamped, notedLost, stamped } from './place.js'

/** How often a file is marked as in use, counted in looks at it, of which there is one a second. */
const everyMinute = 60

/** A file that was in use so recently may have a living writer where we cannot see it, in another container: in milliseconds. */
const recently = 3_600_000

/** A file of so many parts of what may be kept: one that never ended could not be removed. */
const parts = 10

/** A file that belongs to this process alone, `SERVER.TIME-PID.ndjson`: nobody else can lay claim to it. */
export class OwnFile extends LogFile {
  readonly #name: string
  /** Files that this process has written to their end. */
  readonly #ended = new Set<string>()
  #looks = 0

  /** @param name path and name of the file, but for time and process */
  constructor(name: string, now: Date, { maxBytes, rotate, ...retention }: Rotation) {
    const { keepDays = 0, keepBytes = 0 } = retention
    super(make(name, now), {
      ...retention,
      maxBytes: maxBytes ?? (keepBytes > 0 ? Math.ceil(keepBytes / parts) : undefined),
      rotate: rotate ?? (keepDays > 0 ? 'daily' : undefined),
    })
    this.#name = name
    this.removeOldest()
  }

  override close(): void {
    super.close()
    // It says nothing.
    if (this.isEmpty && notedLost(this.file) === 0) rmSync(this.file, { force: true })
  }

  protected override others(): readonly string[] {
    return filesStamped(this.#name, '-\\d+').filter(file => file !== this.file)
  }

  protected override isEnded(file: string, modified: number): boolean {
    if (this.#ended.has(file)) return true
    const pid = Number(/-(\d+)(?:\.[^.]*)?$/.exec(file)?.[1])
    // A file of our own number, which is none of ours, is of another container or of an earlier process.
    return (pid === process.pid || !isRunning(pid)) && modified < Date.now() - recently
  }

  protected override succeed(now: Date): Made {
    const made = make(this.#name, now)
    this.#ended.add(this.file)
    return made
  }

  // However quiet it is, a process that cannot see ours must not take it for an old one and remove it.
  protected override renew(): undefined {
    this.#looks += 1
    if (this.#looks % everyMinute !== 0) return
    const now = new Date()
    futimesSync(this.descriptor, now, now)
  }
}

const make = (name: string, now: Date): Made => {
  for (let time = now.getTime(); ; time++) {
    const file = stamped(name, new Date(time), `-${process.pid}`)
    try {
      return { file, descriptor: openSync(file, 'ax', 0o600) }
    } catch (cause) {
      // A process with the same number, in another container, at the same moment.
      if (codeOf(cause) !== 'EEXIST') throw cause
    }
  }
}
