import { futimesSync, openSync, rmSync, statSync } from 'node:fs'
import { codeOf } from './failure.js'
import { LogFile, type Made, type Rotation } from './log-file.js'
import { filesStamped, stamped } from './place.js'

/** How often a file is marked as in use, counted in looks at it, of which there is one a second. */
const everyMinute = 60

/** A file that was in use so recently may have a living writer: in milliseconds. */
const recently = 3_600_000

/** A file that belongs to this process alone, `SERVER.TIME-PID.ndjson`: nobody else can lay claim to it. */
export class OwnFile extends LogFile {
  readonly #name: string
  /** Files that this process has written to their end. */
  readonly #ended = new Set<string>()
  #looks = 0

  /** @param name path and name of the file, but for time and process */
  constructor(name: string, now: Date, rotation: Rotation) {
    super(make(name, now), rotation)
    this.#name = name
    this.removeOldest()
  }

  override close(): void {
    super.close()
    // It says nothing.
    if (this.isEmpty) rmSync(this.file, { force: true })
  }

  protected override older(): readonly string[] {
    const since = Date.now() - recently
    return filesStamped(this.#name, '-\\d+').filter(file => {
      const state = statSync(file, { throwIfNoEntry: false })
      return this.#ended.has(file) || (file !== this.file && state !== undefined && state.mtimeMs < since)
    })
  }

  protected override succeed(now: Date): Made {
    this.#ended.add(this.file)
    return make(this.#name, now)
  }

  // However quiet it is, another process must not take it for an old one and remove it.
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
