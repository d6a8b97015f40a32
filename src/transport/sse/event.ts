import { onOneLine } from '../../protocol/scan.js'
import type { Frame } from '../../protocol/frame.js'

/** The fields of an event besides its data (WHATWG HTML, 9.2.6 Interpreting an event stream). */
export interface Fields {
  readonly id?: string
  /** The `event` field; absent where it is empty, which means `message`. */
  readonly name?: string
  /** In milliseconds. */
  readonly retry?: number
}

/** One thing in an event stream. */
export type SseEvent =
  /** An event with data, whatever its name: a client may read each of them as a message. */
  | (Fields & { readonly kind: 'message'; readonly data: Buffer })
  /** An event that tells fields and no data. @property dispatched it has a `data` line, which is empty */
  | (Fields & { readonly kind: 'fields'; readonly dispatched: boolean })
  /** An event over the limit: the beginning and the end of its data (4096 bytes at most), and its size in bytes. */
  | (Fields & { readonly kind: 'oversized'; readonly head: Buffer; readonly tail: Buffer; readonly size: number })
  /** One or more comments between events: the server shows that it lives. */
  | { readonly kind: 'comment' }

/** Bytes that no field is made of are read by nobody, and are passed on to nobody. */
export interface ReadEvent extends Fields {
  /** The values of the `data` lines, joined with LF; undefined where there is no such line. */
  readonly data: Buffer | undefined
}

export const readEvent = (bytes: Buffer): ReadEvent => {
  const data = new Data(bytes)
  const fields: { id?: string; name?: string; retry?: number } = {}
  eachLine(bytes, (from, to, next) => {
    if (isField(bytes, from, to, 'data')) return data.add(valueFrom(bytes, from + 4, to), to)
    // The beginning of an event that is too long may end in the middle of a line.
    if (to === next) return
    const valueOf = (field: string) =>
      isField(bytes, from, to, field) ? bytes.toString('utf8', valueFrom(bytes, from + field.length, to), to) : undefined
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

/** The data in the last bytes of an event: what is before the first line end is taken for data that began earlier. */
export const dataInTail = (tail: Buffer): Buffer => {
  const data = new Data(tail)
  eachLine(tail, (from, to) => {
    if (from === 0) data.add(0, to)
    else if (isField(tail, from, to, 'data')) data.add(valueFrom(tail, from + 4, to), to)
  })
  return data.take() ?? Buffer.alloc(0)
}

/**
 * The lines of the fields, each with its end. A value in which some reader sees the end of a line (Python's `splitlines`) is
 * left out.
 */
export const fieldLines = ({ id, name, retry }: Fields): string =>
  line('event', name) + line('id', id) + line('retry', retry?.toString())

const line = (field: string, value: string | undefined): string =>
  value === undefined || hidesLine.test(value) ? '' : `${field}: ${value}\n`

const hidesLine = /[\0-\x1f\x7f-\x9f\u2028\u2029]/

const colon = 0x3a
const space = 0x20

/** A line without a colon is a field without a value. */
const isField = (bytes: Buffer, from: number, to: number, field: string): boolean => {
  const end = from + field.length
  return (end === to || (end < to && bytes[end] === colon)) && bytes[from] === field.charCodeAt(0) && bytes.toString('latin1', from, end) === field
}

/** Where the value begins, when its field's name ends at an index: behind the colon and one space. */
const valueFrom = (bytes: Buffer, nameEnd: number, to: number): number =>
  Math.min(to, bytes[nameEnd + 1] === space ? nameEnd + 2 : nameEnd + 1)

/** Joins the values of data lines; a single one, the common case, is not copied. */
class Data {
  readonly #bytes: Buffer
  #only: Buffer | undefined
  #joined: Buffer | undefined
  #size = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  add(from: number, to: number): void {
    if (this.#only === undefined) {
      this.#only = this.#bytes.subarray(from, to)
      return
    }
    if (this.#joined === undefined) {
      this.#joined = Buffer.allocUnsafe(this.#bytes.length)
      this.#size = this.#only.copy(this.#joined)
    }
    this.#joined[this.#size++] = lineFeed
    this.#size += this.#bytes.copy(this.#joined, this.#size, from, to)
  }

  take(): Buffer | undefined {
    return this.#joined?.subarray(0, this.#size) ?? this.#only
  }
}

export const lineFeed = 0x0a
export const carriageReturn = 0x0d

/**
 * Finds the line ends of an event stream in a buffer: CR, LF, or both. Asked with rising indices, it reads each byte
 * once.
 */
export class LineEnds {
  readonly #bytes: Buffer
  #feed = -1
  #return = -1

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  /** The index of the first CR or LF from an index on; -1 when there is none. */
  from(at: number): number {
    if (this.#feed < at) this.#feed = this.#find(lineFeed, at)
    if (this.#return < at) this.#return = this.#find(carriageReturn, at)
    const end = Math.min(this.#feed, this.#return)
    return end === Infinity ? -1 : end
  }

  /** The index after the line end at an index. */
  after(end: number): number {
    return this.#bytes[end] === carriageReturn && this.#bytes[end + 1] === lineFeed ? end + 2 : end + 1
  }

  #find(one: number, at: number): number {
    const index = this.#bytes.indexOf(one, at)
    return index < 0 ? Infinity : index
  }
}

/** @param visit gets where a line begins, where it ends, and where the next begins; the last line may have no end */
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

const dataField = Buffer.from('data: ')
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
    parts.push(dataField, bytes.subarray(from, end < 0 ? undefined : end), lineEnd)
    from = end < 0 ? bytes.length : ends.after(end)
  }
  // A carriage return at the end belongs to the line end of a pipe.
  if (bytes.at(-1) === lineFeed) parts.push(dataField, lineEnd)
  return parts
}
