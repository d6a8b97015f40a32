import { onOneLine } from '../../protocol/scan.js'
import type { Frame } from '../../protocol/frame.js'
import { fieldLines, lineFeed, LineEnds } from './event.js'
import type { SseEvent } from './parser.js'

/** A frame as an event: its `data` lines behind those of the fields that it came with (`Envelope.event`). */
export const encodeEvent = ({ bytes, envelope }: Frame): Buffer =>
  Buffer.concat([Buffer.from(envelope?.event ?? ''), ...dataLines(bytes), lineEnd])

/** What is between the messages of a stream, as text to be sent; empty where nothing may pass. */
export const encodeBetween = (event: Exclude<SseEvent, { readonly kind: 'message' | 'oversized' }>): string => {
  if (event.kind === 'comment') return keepAlive
  const lines = fieldLines(event) + (event.dispatched ? 'data: \n' : '')
  return lines === '' ? '' : `${lines}\n`
}

export const keepAlive = ': keep-alive\n\n'

const field = Buffer.from('data: ')
const lineEnd = Buffer.from('\n')

/** From so many lines on, the line ends become spaces: a `data` line for each could make seven bytes of one. */
const mostLines = 1000

/** JSON allows line ends between its tokens, and an event has one line of data for each line of it. */
const dataLines = (bytes: Buffer): readonly Buffer[] => {
  const parts: Buffer[] = []
  const ends = new LineEnds(bytes)
  for (let from = 0; from < bytes.length;) {
    const end = ends.from(from)
    if (parts.length > 3 * mostLines) return dataLines(onOneLine(bytes))
    parts.push(field, bytes.subarray(from, end < 0 ? undefined : end), lineEnd)
    from = end < 0 ? bytes.length : ends.after(end)
  }
  // A carriage return at the end belongs to the line end of a pipe.
  if (bytes.at(-1) === lineFeed) parts.push(field, lineEnd)
  return parts
}
