import { closeSync, fstatSync, openSync, renameSync, rmSync, statSync, writeSync } from 'node:fs'
import { resolve } from 'node:path'
import { filesStamped, settle, stamped } from '../audit/place.js'
import { codeOf, CustomsError } from '../errors.js'

/** A file that has grown to so many bytes is followed by the next, and so many stay beside it. */
const mostBytes = 64 * 1024 * 1024
const mostFiles = 8

/** How a capture is written: lines of many sessions, and of many relays, each of them whole. */
export interface CaptureFile {
  /** A capture is no record: where it cannot be written it ends, and the traffic goes on. */
  write(line: string): void
  close(): void
}

/**
 * The current file keeps the name that the operator gave it; those before it get the time into theirs.
 * @param failed told once, when no more can be written
 * @throws CustomsError CANNOT_AUDIT when it cannot be opened
 */
export const openCaptureFile = (wanted: string, failed: (reason: string) => void, most = { bytes: mostBytes, files: mostFiles }): CaptureFile => {
  let file: string
  let descriptor: number | undefined
  try {
    file = settle(wanted)
    descriptor = openSync(file, 'a', 0o600)
  } catch (cause) {
    throw new CustomsError('CANNOT_AUDIT', `the capture ${wanted} cannot be written: ${codeOf(cause)}`, { cause })
  }
  let size = fstatSync(descriptor).size
  const close = (): void => {
    if (descriptor !== undefined) closeSync(descriptor)
    descriptor = undefined
  }
  const rotate = (current: number): number => {
    // Another relay may have done it already: then there is a new file of the name, and ours is an old one.
    if (statSync(file, { throwIfNoEntry: false })?.ino === fstatSync(current).ino) renameSync(file, stamped(file, new Date()))
    closeSync(current)
    for (const old of filesStamped(file).slice(0, -most.files)) rmSync(old, { force: true })
    return openSync(file, 'a', 0o600)
  }
  return {
    write: line => {
      if (descriptor === undefined) return
      try {
        if (size >= most.bytes) {
          descriptor = rotate(descriptor)
          size = fstatSync(descriptor).size
        }
        // One call, at the end of the file, so that no other relay's line gets between.
        size += writeSync(descriptor, `${line}\n`)
      } catch (cause) {
        failed(`the capture ${file} ends here: ${codeOf(cause)}`)
        close()
      }
    },
    close,
  }
}

/** The files of a capture, the oldest first. */
export const filesOf = (file: string): readonly string[] => [...filesStamped(resolve(file)), file]
