import type { Frame } from '../../protocol/frame.js'
import { Gathering, type Gathered } from '../gather.js'
import { dataInTail, readFields, type Marks } from './fields.js'
import { carriageReturn, lineFeed, LineEnds } from './lines.js'

/** One thing in an event stream. */
export type SseEvent = Marks &
  (
    | {
        /** An event with data, whatever its name: a client may read each of them as a message. */
        readonly kind: 'message'
        /**
         * The data lines, joined with LF; `encodeEvent` of a frame with these very bytes is the event as it was
         * received.
         */
        readonly data: Buffer
        /** Every other line as it was received, one character per byte (Latin-1). */
        readonly dressing: string
        /** The `event` field. */
        readonly name?: string
      }
    /** Lines as they were received, one character per byte: comments, and events without data. */
    | { readonly kind: 'dressing'; readonly lines: string }
    /** An event over the limit: the beginning and the end of its data (4096 bytes at most), and its size in bytes. */
    | { readonly kind: 'oversized'; readonly head: Buffer; readonly tail: Buffer; readonly size: number }
  )

const colon = 0x3a
const empty = Buffer.alloc(0)
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf])

/**
 * Reads an event stream as it arrives (WHATWG HTML, 9.2 Server-sent events). An event that the end cuts off is none.
 */
export class SseParser {
  readonly #event: Gathering
  /** The first bytes, as long as they may be a byte order mark; undefined from then on. */
  #opening: Buffer | undefined = empty
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
    const bytes = this.#withoutMark(chunk)
    const events: SseEvent[] = []
    const ends = new LineEnds(bytes)
    let from = 0
    let line = this.#afterReturn && bytes[0] === lineFeed ? 1 : 0
    if (bytes.length > 0) this.#afterReturn = false
    for (let end = ends.from(line); end >= 0; end = ends.from(line)) {
      const blank = this.#lineSize === 0 && end === line
      const comment = (this.#lineFirst ?? bytes[line]) === colon
      if (!blank && !comment) this.#hasFields = true
      line = ends.after(end)
      this.#afterReturn = line === bytes.length && bytes[line - 1] === carriageReturn
      this.#lineSize = 0
      this.#lineFirst = undefined
      // Comments between events keep a connection alive: they do not wait for the next event.
      if (!blank && this.#hasFields) continue
      this.#event.add(bytes.subarray(from, line))
      from = line
      this.#hasFields = false
      const event = read(this.#event.take())
      if (event !== undefined) events.push(event)
    }
    this.#event.add(bytes.subarray(from))
    if (this.#lineSize === 0) this.#lineFirst = bytes[line]
    this.#lineSize += bytes.length - line
    return events
  }

  #withoutMark(chunk: Buffer): Buffer {
    if (this.#opening === undefined) return chunk
    if (this.#opening.length === 0 && chunk.length > 0 && chunk[0] !== byteOrderMark[0]) {
      this.#opening = undefined
      return chunk
    }
    const start = Buffer.concat([this.#opening, chunk])
    if (start.length < byteOrderMark.length && byteOrderMark.subarray(0, start.length).equals(start)) {
      this.#opening = start
      return Buffer.alloc(0)
    }
    this.#opening = undefined
    return start.subarray(0, byteOrderMark.length).equals(byteOrderMark) ? start.subarray(byteOrderMark.length) : start
  }
}

/**
 * The events as they were received, by their data. An edited frame has other bytes, so it never leaves as what it
 * was.
 */
const received = new WeakMap<Buffer, { readonly bytes: Buffer; readonly dressing: string }>()

const read = (event: Gathered | undefined): SseEvent | undefined => {
  if (event === undefined) return undefined
  if (event.kind === 'oversized') {
    const { data: head, marks } = readFields(event.head)
    return { kind: 'oversized', head, tail: dataInTail(event.tail), size: event.size, ...marks }
  }
  const { bytes } = event
  const { data, dressing, marks, name, doubtful } = readFields(bytes)
  if (data.length === 0) return { kind: 'dressing', lines: doubtful ? `${dressing}\n` : bytes.toString('latin1'), ...marks }
  if (!doubtful) received.set(data, { bytes, dressing })
  return { kind: 'message', data, dressing, ...(name !== undefined && { name }), ...marks }
}

/** A frame as an event: byte for byte the one in which it was received, where it was and nothing was changed. */
export const encodeEvent = ({ bytes, envelope }: Frame): Buffer => {
  const dressing = envelope?.event ?? ''
  const was = received.get(bytes)
  if (was?.dressing === dressing) return was.bytes
  return Buffer.concat([encodeDressing(dressing), ...dataLines(bytes), lineEnd])
}

/** Lines of an event without a message, as `SseEvent` has them. */
export const encodeDressing = (lines: string): Buffer => Buffer.from(lines, 'latin1')

const field = Buffer.from('data: ')
const lineEnd = Buffer.from('\n')

/** JSON allows line ends between its tokens, and an event has one line of data for each line of it. */
const dataLines = (bytes: Buffer): readonly Buffer[] => {
  const parts: Buffer[] = []
  const ends = new LineEnds(bytes)
  for (let from = 0; from < bytes.length;) {
    const end = ends.from(from)
    parts.push(field, bytes.subarray(from, end < 0 ? undefined : end), lineEnd)
    from = end < 0 ? bytes.length : ends.after(end)
  }
  return parts
}
