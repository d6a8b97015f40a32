import { Gathering, type Gathered } from '../frames.js'
import { carriageReturn, dataInTail, lineFeed, LineEnds, readEvent, type SseEvent } from './event.js'

const colon = 0x3a
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf])

/**
 * Reads an event stream as it arrives (WHATWG HTML, 9.2 Server-sent events). An event that the end cuts off is none.
 */
export class SseParser {
  readonly #event: Gathering
  /** How many bytes of a byte order mark the stream has begun with; undefined once it has gone on. One mark is skipped. */
  #marked: number | undefined = 0
  /** A line feed that comes next belongs to the line end before it. */
  #afterReturn = false
  /** Of the line that has begun, in earlier chunks: its size in bytes, and its first byte. */
  #lineSize = 0
  #lineFirst: number | undefined
  /** The event that has begun holds more than comments. */
  #hasFields = false

  /** @param maxBytes longest event, in bytes; of a longer one only the ends are kept */
  constructor(maxBytes: number) {
    this.#event = new Gathering(maxBytes)
  }

  /**
   * What the chunk completes. The chunk must not be written to again: an event that lies within it is a part of it.
   */
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
      // Comments between events keep a connection alive, and are kept no longer than that.
      const event = this.#hasFields ? read(gathered) : comment && events.at(-1)?.kind !== 'comment' ? commented : undefined
      this.#hasFields = false
      if (event !== undefined) events.push(event)
    }
    this.#event.add(bytes.subarray(from))
    if (this.#lineSize === 0) this.#lineFirst = bytes[line]
    this.#lineSize += bytes.length - line
    return events
  }

  #withoutMark(chunk: Buffer, marked: number): Buffer {
    let at = marked
    while (at < byteOrderMark.length && at - marked < chunk.length && chunk[at - marked] === byteOrderMark[at]) at += 1
    const isOpen = at < byteOrderMark.length && at - marked === chunk.length
    this.#marked = isOpen ? at : undefined
    if (isOpen) return chunk.subarray(chunk.length)
    if (at === byteOrderMark.length) return chunk.subarray(at - marked)
    return Buffer.concat([byteOrderMark.subarray(0, marked), chunk])
  }
}

const commented = { kind: 'comment' } as const

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
