import { closeSync, constants, openSync, statSync, writeSync } from 'node:fs'
import { CustomsError } from '../errors.js'
import { claim } from './claim.js'
import { cannotAudit, codeOf } from './failure.js'
import { numbered, settle } from './place.js'
import { beginning, type Position } from './record.js'
import { readTail } from './tail.js'

export interface Opened {
  readonly file: string | undefined
  readonly descriptor: number
  /** Where the chain goes on. */
  readonly position: Position
  /** Closes and gives back what was opened. */
  readonly release: () => void
}

/** More relays than this of one server are no accident any more. */
const mostFiles = 1000

/**
 * A log is continued. One that another relay is writing is left to it, and the next free of `NAME.2.EXT`, `NAME.3.EXT`, …
 * takes its place.
 * @throws CustomsError CANNOT_AUDIT
 */
export const openFile = (wanted: string): Opened => {
  try {
    const file = settle(wanted)
    return isDevice(file) ? openDevice(file) : openLog(file)
  } catch (cause) {
    throw cause instanceof CustomsError ? cause : cannotAudit(wanted, codeOf(cause), cause)
  }
}

/** A device or a pipe has nobody to share it with, and nothing to go on from. */
const isDevice = (file: string): boolean => statSync(file, { throwIfNoEntry: false })?.isFile() === false

const openDevice = (file: string): Opened => {
  // Without a reader, a pipe would otherwise hold us up for ever.
  const descriptor = openSync(file, constants.O_WRONLY | constants.O_APPEND | constants.O_NONBLOCK)
  return { file, descriptor, position: beginning, release: () => closeSync(descriptor) }
}

const openLog = (wanted: string): Opened => {
  for (let number = 1; number <= mostFiles; number++) {
    const file = numbered(wanted, number)
    const release = claim(file)
    if (!release) continue
    try {
      return continueLog(file, release)
    } catch (cause) {
      release()
      throw cause
    }
  }
  throw cannotAudit(wanted, `${mostFiles} files beside it are locked; remove the .lock files that nobody holds`)
}

const continueLog = (file: string, giveBack: () => void): Opened => {
  const descriptor = openSync(file, constants.O_RDWR | constants.O_APPEND | constants.O_CREAT, 0o600)
  try {
    const tail = readTail(descriptor)
    if (!tail) throw cannotAudit(file, 'it holds something else than an audit log')
    // The cut line ends here, so that it cannot spoil the next one.
    if (tail.cut) writeSync(descriptor, '\n')
    const release = (): void => {
      closeSync(descriptor)
      giveBack()
    }
    return { file, descriptor, position: tail.position, release }
  } catch (cause) {
    closeSync(descriptor)
    throw cause
  }
}
