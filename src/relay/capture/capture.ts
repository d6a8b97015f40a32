import { closeSync, fstatSync, openSync, renameSync, rmSync, statSync, writeSync } from 'node:fs'
import { resolve } from 'node:path'
import { filesStamped, settle, stamped } from '#relay/audit/place.js'
import type { RelayOptions } from '#relay/core/options.js'
import { CustomsError, reasonOf } from '#relay/base/errors.js'
import type { CaptureLimits, Opening } from './line.js'
import { CaptureRecorder } from './recorder.js'

export interface Capture {
  /** Begins to capture a session. */
  record(options: RelayOptions, limits: CaptureLimits): CaptureRecorder
  close(): void
}

/**
 * @param failed called once, when no more lines can be written
 * @throws CustomsError CANNOT_AUDIT when the file cannot be opened
 */
export const openCapture = (
  file: string, payloads: Opening['payloads'], failed: (reason: string) => void,
): Capture => {
  const opened = openCaptureFile(file, failed)
  const write = (line: object): void => opened.write(JSON.stringify(line))
  return {
    record: (options, limits) =>
      new CaptureRecorder(options, { payloads, limits, write, now: () => new Date() }),
    close: () => opened.close(),
  }
}

/** Size at which a file is followed by the next one, and how many files are kept beside the current one. */
const maxBytes = 64 * 1024 * 1024
const maxFiles = 8

/** Takes whole lines, of many sessions and of many relays. */
interface CaptureFile {
  /** Unlike the audit log, a capture never stops the traffic: a failed write only ends the capture. */
  write(line: string): void
  close(): void
}

/**
 * The current file keeps the operator's name; a file before it is renamed with its time.
 * @param failed called once, when no more lines can be written
 * @throws CustomsError CANNOT_AUDIT when the file cannot be opened
 */
export const openCaptureFile = (
  wanted: string, failed: (reason: string) => void, max = { bytes: maxBytes, files: maxFiles },
): CaptureFile => {
  let file: string
  let descriptor: number | undefined
  try {
    file = settle(wanted)
    descriptor = openSync(file, 'a', 0o600)
  } catch (cause) {
    const reason = `the capture ${wanted} cannot be written: ${reasonOf(cause)}`
    throw new CustomsError('CANNOT_AUDIT', reason, { cause })
  }
  let size = fstatSync(descriptor).size
  const close = (): void => {
    if (descriptor !== undefined) closeSync(descriptor)
    descriptor = undefined
  }
  const rotate = (current: number): number => {
    // Another relay may have rotated already: then the name belongs to a new file.
    const isCurrent = statSync(file, { throwIfNoEntry: false })?.ino === fstatSync(current).ino
    if (isCurrent) renameSync(file, stamped(file, new Date()))
    closeSync(current)
    for (const old of filesStamped(file).slice(0, -max.files)) rmSync(old, { force: true })
    return openSync(file, 'a', 0o600)
  }
  return {
    write: line => {
      if (descriptor === undefined) return
      try {
        if (size >= max.bytes) {
          descriptor = rotate(descriptor)
          size = fstatSync(descriptor).size
        }
        // One system call in append mode: no line of another relay comes between.
        size += writeSync(descriptor, `${line}\n`)
      } catch (cause) {
        failed(`the capture ${file} ends here: ${reasonOf(cause)}`)
        close()
      }
    },
    close,
  }
}

/** The files of a capture, the oldest first. */
export const captureFilesOf = (file: string): readonly string[] => [...filesStamped(resolve(file)), file]
