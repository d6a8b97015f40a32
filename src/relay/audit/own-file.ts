import { futimesSync, openSync, rmSync } from 'node:fs'
import { codeOf } from '#relay/base/errors.js'
import { isRunning } from '#relay/base/claim.js'
import { LogFile, type OpenedFile, type Rotation } from './log-file.js'
import { filesStamped, lostRecordsIn, stamped } from './place.js'

/** The file's time is touched at every 60th check, which is once a minute. */
const checksPerTouch = 60

/** Another container may write a file that was touched within this time. */
const inUseMs = 3_600_000

/** A file is rotated at this part of `keepBytes`, because retention never removes the current file. */
const partsOfLimit = 10

/** The file of this process alone, `SERVER.TIME-PID.ndjson`. It needs no claim: no other process opens it. */
export class OwnFile extends LogFile {
  readonly #name: string
  /** Files that this process has rotated. */
  readonly #ended = new Set<string>()
  #checks = 0

  /** @param name path of the file without time and process */
  constructor(name: string, now: Date, { maxBytes, rotate, ...retention }: Rotation) {
    const { keepDays = 0, keepBytes = 0 } = retention
    super(create(name, now), {
      ...retention,
      maxBytes: maxBytes ?? (keepBytes > 0 ? Math.ceil(keepBytes / partsOfLimit) : undefined),
      rotate: rotate ?? (keepDays > 0 ? 'daily' : undefined),
    })
    this.#name = name
    this.removeOldest()
  }

  override close(): void {
    super.close()
    if (this.isEmpty && lostRecordsIn(this.file) === 0) rmSync(this.file, { force: true })
  }

  protected override otherFiles(): readonly string[] {
    return filesStamped(this.#name, '-\\d+').filter(file => file !== this.file)
  }

  protected override isEnded(file: string, modified: number): boolean {
    if (this.#ended.has(file)) return true
    const pid = Number(/-(\d+)(?:\.[^.]*)?$/.exec(file)?.[1])
    // A file with this process's id that this process has not rotated is from another container or from an
    // earlier process. Like the file of a process that is gone, it has ended if not touched for an hour.
    return (pid === process.pid || !isRunning(pid)) && modified < Date.now() - inUseMs
  }

  protected override createNext(now: Date): OpenedFile {
    const next = create(this.#name, now)
    this.#ended.add(this.file)
    return next
  }

  // A quiet log is touched as well, so that no process in another container removes it as an old one.
  protected override keepAlive(): undefined {
    this.#checks += 1
    if (this.#checks % checksPerTouch !== 0) return
    const now = new Date()
    futimesSync(this.descriptor, now, now)
  }
}

const create = (name: string, now: Date): OpenedFile => {
  for (let time = now.getTime(); ; time++) {
    const file = stamped(name, new Date(time), `-${process.pid}`)
    try {
      return { file, descriptor: openSync(file, 'ax', 0o600) }
    } catch (cause) {
      // A process in another container may have the same number, and have begun in the same millisecond.
      if (codeOf(cause) !== 'EEXIST') throw cause
    }
  }
}
