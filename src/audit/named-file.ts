import { closeSync, constants, existsSync, fchmodSync, fstatSync, openSync, renameSync, statSync, writeSync } from 'node:fs'
import { claim, type Claim } from './claim.js'
import { cannotAudit, LogFile, Output, type Made, type Rotation } from './log-file.js'
import { filesStamped, notedLost, settle, stamped } from './place.js'
import { noEnds, readEnds, type Ends } from './read/ends.js'

export interface Opened {
  readonly output: Output
  /** What is in it already. */
  readonly ends: Ends
  /** Records that could not be written, and of which it says nothing. */
  readonly lost?: number
}

/**
 * Opens the log that the operator named: it goes on where it ended. A device or a pipe has nobody to share it with, and nothing
 * to go on from.
 * @throws CustomsError CANNOT_AUDIT when another relay is writing it, or it is no log
 */
export const openNamed = async (wanted: string, rotation: Rotation): Promise<Opened> => {
  const file = settle(wanted)
  if (statSync(file, { throwIfNoEntry: false })?.isFile() === false) {
    // Without a reader, a pipe would otherwise hold us up for ever.
    return { output: new Output(file, openSync(file, constants.O_WRONLY | constants.O_APPEND | constants.O_NONBLOCK)), ends: noEnds }
  }
  const held = await claim(file)
  try {
    return goOn(file, held, rotation)
  } catch (cause) {
    held.release()
    throw cause
  }
}

const goOn = (file: string, held: Claim, rotation: Rotation): Opened => {
  const descriptor = openSync(file, constants.O_RDWR | constants.O_APPEND | constants.O_CREAT, 0o600)
  try {
    const isEmpty = fstatSync(descriptor).size === 0
    // Where rotation was interrupted, or the file was taken away, the chain goes on from the file before: the one that came furthest.
    const before = isEmpty ? filesStamped(file).map(endsOf).sort((a, b) => a.position.seq - b.position.seq).at(-1) : undefined
    const ends = isEmpty ? { ...(before ?? noEnds), cut: false } : endsOf(file)
    // The cut line ends here, so that it cannot spoil the next one.
    if (ends.cut) writeSync(descriptor, '\n')
    restrict(descriptor)
    return { output: new NamedFile({ file, descriptor }, held, rotation, isEmpty ? undefined : ends.time), ends, lost: notedLost(file) }
  } catch (cause) {
    closeSync(descriptor)
    throw cause
  }
}

/** It may have been made by somebody to whom it was no log: the others lose the right to it, and the group to write. */
const restrict = (descriptor: number): void => {
  const { mode, uid } = fstatSync(descriptor)
  const wanted = mode & 0o740
  // Who is not the owner has no say; and Windows knows no modes.
  if (uid === process.getuid?.() && wanted !== (mode & 0o777)) fchmodSync(descriptor, wanted)
}

const endsOf = (file: string): Ends => {
  const ends = readEnds(file)
  if (!ends) throw cannotAudit(file, 'it holds something else than an audit log')
  return ends
}

/** `audit.ndjson`: the current file keeps the name, those before it get the time into theirs. */
class NamedFile extends LogFile {
  constructor(made: Made, held: Claim, rotation: Rotation, time?: string) {
    super(made, rotation, time, held)
    this.removeOldest()
  }

  protected override others(): readonly string[] {
    return filesStamped(this.file)
  }

  /** They are of our log, or of one that ended before we had the right to its name. */
  protected override isEnded(): boolean {
    return true
  }

  protected override succeed(now: Date): Made {
    const { file } = this
    const { mode } = fstatSync(this.descriptor)
    let time = now.getTime()
    while (existsSync(stamped(file, new Date(time)))) time++
    const old = stamped(file, new Date(time))
    renameSync(file, old)
    try {
      const descriptor = openSync(file, 'ax', 0o600)
      // Whoever may read the log may go on reading it.
      fchmodSync(descriptor, mode & 0o777)
      return { file, descriptor }
    } catch (cause) {
      renameSync(old, file)
      throw cause
    }
  }
}
