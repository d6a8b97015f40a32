import {
  closeSync, constants, existsSync, fchmodSync, fstatSync, openSync, renameSync, statSync, writeSync,
} from 'node:fs'
import { Claimed, Unclaimable, claim, type Claim } from '#relay/base/claim.js'
import { LogFile, openEmpty, type OpenedFile, type Rotation } from './log-file.js'
import { cannotAudit, LogOutput } from './output.js'
import { filesStamped, lostRecordsIn, settle, stamped } from './place.js'
import { noEnds, readEnds, type Ends } from './read/ends.js'

export interface Opened {
  readonly output: LogOutput
  /** Where the records that are there already end. */
  readonly ends: Ends
  /** Records that could not be written before, and that no record counts. */
  readonly lost?: number
}

/**
 * Opens the log that the operator named and continues its chain. A device or a pipe is not claimed, and its
 * chain begins anew.
 * @throws CustomsError CANNOT_AUDIT when another relay writes the file, or when it holds something else
 */
export const openNamed = async (wanted: string, rotation: Rotation): Promise<Opened> => {
  const file = settle(wanted)
  if (statSync(file, { throwIfNoEntry: false })?.isFile() === false) {
    // Without O_NONBLOCK, opening a pipe would wait until it has a reader.
    const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_NONBLOCK
    return { output: new LogOutput(file, openSync(file, flags)), ends: noEnds }
  }
  const ownClaim = await claim(file).catch((error: unknown) => {
    if (error instanceof Unclaimable) throw cannotAudit(file, error.message)
    if (!(error instanceof Claimed)) throw error
    throw cannotAudit(file, `${error.message}, and a log that is named has one writer`)
  })
  try {
    return continueLog(file, ownClaim, rotation)
  } catch (cause) {
    ownClaim.release()
    throw cause
  }
}

const continueLog = (file: string, ownClaim: Claim, rotation: Rotation): Opened => {
  const descriptor = openSync(file, constants.O_RDWR | constants.O_APPEND | constants.O_CREAT, 0o600)
  try {
    const own = endsOf(file)
    // The file may have no record yet, but a line of one.
    const ends = own.position.seq > 0 ? own : { ...endsOfLast(file), cut: own.cut }
    // A cut line is ended here, so that the next record begins a line of its own.
    if (ends.cut) writeSync(descriptor, '\n')
    restrict(descriptor)
    const output = new NamedFile({ file, descriptor }, ownClaim, rotation, own.time)
    return { output, ends, lost: lostRecordsIn(file) }
  } catch (cause) {
    closeSync(descriptor)
    throw cause
  }
}

/** After an interrupted rotation or a removed file: the end of the file that has the last record. */
const endsOfLast = (file: string): Ends =>
  filesStamped(file).map(one => endsOf(one, false))
    .sort((a, b) => a.position.seq - b.position.seq).at(-1) ?? noEnds

/** The file may have been created with a wider mode: others may not access it, the group may not write it. */
const restrict = (descriptor: number): void => {
  const { mode, uid } = fstatSync(descriptor)
  const wanted = mode & 0o740
  // Only the owner can change the mode; Windows has none.
  if (uid === process.getuid?.() && wanted !== (mode & 0o777)) fchmodSync(descriptor, wanted)
}

const endsOf = (file: string, heals = true): Ends => {
  const ends = readEnds(file, heals)
  if (!ends) throw cannotAudit(file, 'it holds something else than an audit log')
  return ends
}

/** `audit.ndjson`: the current file keeps this name; a file before it is renamed with its time. */
class NamedFile extends LogFile {
  readonly #name: string

  constructor(opened: OpenedFile, ownClaim: Claim, rotation: Rotation, time?: string) {
    super(opened, rotation, time, ownClaim)
    this.#name = opened.file
    this.removeOldest()
  }

  protected override otherFiles(): readonly string[] {
    return filesStamped(this.#name).filter(file => file !== this.file)
  }

  /** The claim on the name covers these files as well: no other process writes them. */
  protected override isEnded(): boolean {
    return true
  }

  protected override createNext(now: Date): OpenedFile {
    const name = this.#name
    const { mode } = fstatSync(this.descriptor)
    if (this.file === name) {
      let time = now.getTime()
      while (existsSync(stamped(name, new Date(time)))) time++
      const old = stamped(name, new Date(time))
      renameSync(name, old)
      // Should no next file begin, this one goes on under its new name.
      this.file = old
    }
    const descriptor = openEmpty(name)
    try {
      // Everyone who may read the log may read the next file too.
      fchmodSync(descriptor, mode & 0o777)
    } catch (cause) {
      closeSync(descriptor)
      throw cause
    }
    return { file: name, descriptor }
  }
}
