import { onOneLine } from '#relay/protocol/scan.js'
import type { Frame } from '#relay/protocol/frame.js'

/** The fields of an event besides its data (WHATWG HTML, 9.2.6 Interpreting an event stream). */
export interface Fields {
  readonly id?: string
  /** The `event` field; absent where it is empty, which means `message`. */
  readonly name?: string
  /** In milliseconds. */
  readonly retry?: number
}

interface OversizedData {
  readonly kind: 'oversized'
  readonly head: Buffer
  readonly tail: Buffer
  readonly size: number
}

/** One item of an event stream. */
export type SseEvent =
  /** An event with data and any name: a client may read every one of them as a message. */
  | (Fields & { readonly kind: 'message'; readonly data: Buffer })
  /** An event with fields but without data. @property dispatched it has a `data` line, which is empty */
  | (Fields & { readonly kind: 'fields'; readonly dispatched: boolean })
  /** An event over the limit: the first and last bytes of its data (at most 4096), and its size in bytes. */
  | (Fields & OversizedData)
  /** One or more comments between events, which servers send to keep the connection alive. */
  | { readonly kind: 'comment' }

/**
 * Reads the fields of an event; other bytes are dropped, and not forwarded.
 * @property data the values of the `data` lines, joined with LF; undefined when there is no such line
 */
export const readEvent = (bytes: Buffer): Fields & { readonly data: Buffer | undefined } => {
  const data = new Data(bytes)
  const fields: { id?: string; name?: string; retry?: number } = {}
  eachLine(bytes, (from, to, next) => {
    if (isField(bytes, from, to, 'data')) return data.add(valueFrom(bytes, from + 4, to), to)
    // The kept beginning of an oversized event may end in the middle of a line.
    if (to === next) return
    const valueOf = (field: string) => (isField(bytes, from, to, field)
      ? bytes.toString('utf8', valueFrom(bytes, from + field.length, to), to)
      : undefined)
    const id = valueOf('id')
    if (id?.includes('\0') === false) fields.id = id
    const retry = valueOf('retry')
    if (retry !== undefined && /^\d{1,15}$/.test(retry)) fields.retry = Number(retry)
    const name = valueOf('event')
    if (name === '') delete fields.name
    else if (name !== undefined) fields.name = name
  })
  return { ...fields, data: data.take() }
}

/** The data in the last bytes of an event; the bytes before the first line end count as data. */
export const dataInTail = (tail: Buffer): Buffer => {
  const data = new Data(tail)
  eachLine(tail, (from, to) => {
    if (from === 0) data.add(0, to)
    else if (isField(tail, from, to, 'data')) data.add(valueFrom(tail, from + 4, to), to)
  })
  return data.take() ?? Buffer.alloc(0)
}

/** Encodes fields as lines. Values with a character that some readers take for a line end are left out. */
export const fieldLines = ({ id, name, retry }: Fields): string =>
  line('event', name) + line('id', id) + line('retry', retry?.toString())

const line = (field: string, value: string | undefined): string =>
  value === undefined || hidesLine.test(value) ? '' : `${field}: ${value}\n`

// Python's `splitlines` splits at several of these.
const hidesLine = /[\0-\x1f\x7f-\x9f\u2028\u2029]/

const colon = 0x3a
const space = 0x20

/** A line without a colon is a field without a value. */
const isField = (bytes: Buffer, from: number, to: number, field: string): boolean => {
  const end = from + field.length
  return (end === to || (end < to && bytes[end] === colon))
    && bytes[from] === field.charCodeAt(0) && bytes.toString('latin1', from, end) === field
}

/** Index of a field's value: after the name, the colon and one space. */
const valueFrom = (bytes: Buffer, nameEnd: number, to: number): number =>
  Math.min(to, bytes[nameEnd + 1] === space ? nameEnd + 2 : nameEnd + 1)

/** Joins the values of data lines; a single one, the common case, is not copied. */
class Data {
  #only: Buffer | undefined
  #joined: Buffer | undefined
  #size = 0

  constructor(private readonly bytes: Buffer) {}

  add(from: number, to: number): void {
    if (this.#only === undefined) {
      this.#only = this.bytes.subarray(from, to)
      return
    }
    if (this.#joined === undefined) {
      this.#joined = Buffer.allocUnsafe(this.bytes.length)
      this.#size = this.#only.copy(this.#joined)
    }
    this.#joined[this.#size++] = lineFeed
    this.#size += this.bytes.copy(this.#joined, this.#size, from, to)
  }

  take(): Buffer | undefined {
    return this.#joined?.subarray(0, this.#size) ?? this.#only
  }
}

export const lineFeed = 0x0a
export const carriageReturn = 0x0d

/** Finds the line ends of an event stream: CR, LF, or both. With rising indices, each byte is read once. */
export class LineEnds {
  #feed = -1
  #return = -1

  constructor(private readonly bytes: Buffer) {}

  /** The index of the first CR or LF from an index on; -1 when there is none. */
  from(at: number): number {
    if (this.#feed < at) this.#feed = this.#find(lineFeed, at)
    if (this.#return < at) this.#return = this.#find(carriageReturn, at)
    const end = Math.min(this.#feed, this.#return)
    return end === Infinity ? -1 : end
  }

  /** The index after the line end at an index. */
  after(end: number): number {
    return this.bytes[end] === carriageReturn && this.bytes[end + 1] === lineFeed ? end + 2 : end + 1
  }

  #find(one: number, at: number): number {
    const index = this.bytes.indexOf(one, at)
    return index < 0 ? Infinity : index
  }
}

/** @param visit gets the start of a line, its end, and the start of the next; the last may lack a line end */
const eachLine = (bytes: Buffer, visit: (from: number, to: number, next: number) => void): void => {
  const ends = new LineEnds(bytes)
  for (let from = 0; from < bytes.length;) {
    const end = ends.from(from)
    const to = end < 0 ? bytes.length : end
    const next = end < 0 ? bytes.length : ends.after(end)
    visit(from, to, next)
    from = next
  }
}

/** Encodes a frame as an event: the lines of its other fields (`Envelope.event`), then its `data` lines. */
export const encodeEvent = ({ bytes, envelope }: Frame): Buffer =>
  Buffer.concat([Buffer.from(envelope?.event ?? ''), ...dataLines(bytes), lineEnd])

/** Encodes an event without data, or a comment; empty when nothing may pass. */
export const encodeBetween = (
  event: Exclude<SseEvent, { readonly kind: 'message' | 'oversized' }>,
): string => {
  if (event.kind === 'comment') return keepAlive
  const lines = fieldLines(event) + (event.dispatched ? 'data: \n' : '')
  return lines === '' ? '' : `${lines}\n`
}

export const keepAlive = ': keep-alive\n\n'

/** The first bytes of a stream that may be silent: some proxies hold its head back until then. */
export const opening = ': open\n\n'

const dataField = Buffer.from('data: ')
const lineEnd = Buffer.from('\n')

/** In longer messages the line ends become spaces: a `data` line for each could make seven bytes of one. */
const maxLines = 1000

/** JSON allows line ends between tokens; an event needs one `data` line for each line. */
const dataLines = (bytes: Buffer): readonly Buffer[] => {
  const parts: Buffer[] = []
  const ends = new LineEnds(bytes)
  for (let from = 0; from < bytes.length;) {
    const end = ends.from(from)
    if (parts.length > 3 * maxLines) return dataLines(onOneLine(bytes))
    parts.push(dataField, bytes.subarray(from, end < 0 ? undefined : end), lineEnd)
    from = end < 0 ? bytes.length : ends.after(end)
  }
  // A CR at the end is left out: it belongs to the line end of a stdio frame.
  if (bytes.at(-1) === lineFeed) parts.push(dataField, lineEnd)
  return parts
}
