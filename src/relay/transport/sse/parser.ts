import { Gathering, type Gathered } from '../frames.js'
import { carriageReturn, dataInTail, lineFeed, LineEnds, readEvent, type SseEvent } from './event.js'

const colon = 0x3a
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf])

/** Parses an event stream in chunks (WHATWG HTML, 9.2 Server-sent events). Drops an incomplete last event. */
export class SseParser {
  readonly #event: Gathering
  /** Bytes of the leading byte order mark so far (one mark is skipped); undefined after it. */
  #marked: number | undefined = 0
  /** The last chunk ended with CR: an LF that follows belongs to the same line end. */
  #afterReturn = false
  /** The part of the current line in earlier chunks: its size in bytes, and its first byte. */
  #lineSize = 0
  #lineFirst: number | undefined
  /** The current event has more than comments. */
  #hasFields = false

  /** @param maxBytes longest event, in bytes; only the ends of longer ones are kept */
  constructor(maxBytes: number) {
    this.#event = new Gathering(maxBytes)
  }

  /** Returns the events that the chunk completes. The chunk must not be modified: events may share it. */
  push(chunk: Buffer): readonly SseEvent[] {
    const bytes = this.#marked === undefined ? chunk : this.#withoutMark(chunk, this.#marked)
    const events: SseEvent[] = []
    const ends = new LineEnds(bytes)
    let from = 0
    let line = this.#afterReturn && bytes[0] === lineFeed ? 1 : 0
    if (bytes.length > 0) this.#afterReturn = false
    for (let end = ends.from(line); end >= 0; end = ends.from(line)) {
      const blank = this.#lineSize === 0 && end === line
      const comment = !blank && (this.#lineFirst ?? bytes[line]) === colon
      if (!blank && !comment) this.#hasFields = true
      line = ends.after(end)
      this.#afterReturn = line === bytes.length && bytes[line - 1] === carriageReturn
      this.#lineSize = 0
      this.#lineFirst = undefined
      if (!blank && this.#hasFields) continue
      this.#event.add(bytes.subarray(from, line))
      from = line
      const gathered = this.#event.take()
      const event = this.#hasFields ? read(gathered) : comment ? commented : undefined
      this.#hasFields = false
      // Comments in a row are one: they only keep the connection alive.
      if (event !== undefined && (event !== commented || events.at(-1) !== commented)) events.push(event)
    }
    this.#event.add(bytes.subarray(from))
    if (this.#lineSize === 0) this.#lineFirst = bytes[line]
    this.#lineSize += bytes.length - line
    return events
  }

  #withoutMark(chunk: Buffer, marked: number): Buffer {
    let at = marked
    while (at < byteOrderMark.length && chunk[at - marked] === byteOrderMark[at]) at += 1
    const isOpen = at < byteOrderMark.length && at - marked === chunk.length
    this.#marked = isOpen ? at : undefined
    if (isOpen) return chunk.subarray(chunk.length)
    if (at === byteOrderMark.length) return chunk.subarray(at - marked)
    return Buffer.concat([byteOrderMark.subarray(0, marked), chunk])
  }
}

const commented: SseEvent = { kind: 'comment' }

const read = (event: Gathered | undefined): SseEvent | undefined => {
  if (event === undefined) return undefined
  if (event.kind === 'oversized') {
    const { data: head = Buffer.alloc(0), ...fields } = readEvent(event.head)
    return { kind: 'oversized', head, tail: dataInTail(event.tail), size: event.size, ...fields }
  }
  const { data, ...fields } = readEvent(event.bytes)
  if (data !== undefined && data.length > 0) return { kind: 'message', data, ...fields }
  const tells = data !== undefined || fields.id !== undefined || fields.retry !== undefined
  return tells ? { kind: 'fields', dispatched: data !== undefined, ...fields } : undefined
}
