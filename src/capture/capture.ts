import type { RelayOptions } from '../core/options.js'
import { openCaptureFile } from './file.js'
import type { CaptureLimits, Opening } from './line.js'
import { Recorder } from './recorder.js'

export interface Capture {
  /** A session begins. */
  record(options: RelayOptions, limits: CaptureLimits): Recorder
  close(): void
}

/**
 * @param failed told once, when no more can be written
 * @throws CustomsError CANNOT_AUDIT when the file cannot be opened
 */
export const openCapture = (file: string, payloads: Opening['payloads'], failed: (reason: string) => void): Capture => {
  const opened = openCaptureFile(file, failed)
  return {
    record: (options, limits) => new Recorder(options, { payloads, limits, write: line => opened.write(JSON.stringify(line)), now: () => new Date() }),
    close: () => opened.close(),
  }
}
