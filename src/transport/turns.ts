import type { Frame, FrameLimits } from '../protocol/frame.js'
import { isReading, readFrame, type Reading } from '../protocol/parse.js'

/** Reads one message; a large one a piece in each turn of the event loop, so that others have theirs, and only that one is to be waited for. */
export const parseInTurns = (bytes: Buffer, limits: FrameLimits): Frame | Promise<Frame> => {
  const frame = readFrame(bytes, limits)
  return isReading(frame) ? finished(frame) : frame
}

export const finished = async (reading: Reading): Promise<Frame> => {
  for (;;) {
    const { done, value } = reading.next()
    // What is made of the message has a turn of its own.
    await new Promise(setImmediate)
    if (done === true) return value
  }
}
