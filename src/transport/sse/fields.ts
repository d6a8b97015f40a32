import { eachLine, lineFeed } from './lines.js'

/** What an event tells the reader of the stream, whatever its data. */
export interface Marks {
  readonly id?: string
  /** In milliseconds. */
  readonly retry?: number
}

/** What the lines of one event say. */
export interface Fields {
  /** The `data` lines, joined with LF. */
  readonly data: Buffer
  /** Every other line as it was received, one character per byte (Latin-1); without blank ones. */
  readonly dressing: string
  readonly marks: Marks
  /** The `event` field. */
  readonly name: string | undefined
  /** A line was left out of the dressing, because another reader may take part of it for data. */
  readonly doubtful: boolean
}

/** Reads the lines of one event (WHATWG HTML, 9.2.6 Interpreting an event stream). */
export const readFields = (bytes: Buffer): Fields => {
  const data = new Data(bytes)
  let dressing = ''
  let id: string | undefined
  let retry: number | undefined
  let name: string | undefined
  let doubtful = false
  eachLine(bytes, (from, to, next) => {
    if (to === from) return
    if (isData(bytes, from, to)) return data.add(valueFrom(bytes, from + 4, to), to)
    // The beginning of an event that is too long may end in the middle of a line.
    if (to === next) return
    const line = bytes.toString('latin1', from, next)
    if (hidesData.test(line)) {
      doubtful = true
      return
    }
    dressing += line
    const value = (field: string) => fieldValue(bytes, from, to, field)
    const idHere = value('id')
    if (idHere !== undefined && !idHere.includes('\0')) id = idHere
    const retryHere = value('retry')
    if (retryHere !== undefined && /^\d{1,15}$/.test(retryHere)) retry = Number(retryHere)
    name = value('event') ?? name
  })
  const marks = { ...(id !== undefined && { id }), ...(retry !== undefined && { retry }) }
  return { data: data.take(), dressing, marks, name, doubtful }
}

/**
 * The data in the last bytes of an event: what is before the first line end is taken for data that began earlier.
 */
export const dataInTail = (tail: Buffer): Buffer => {
  const data = new Data(tail)
  eachLine(tail, (from, to) => {
    if (from === 0) data.add(0, to)
    else if (isData(tail, from, to)) data.add(valueFrom(tail, from + 4, to), to)
  })
  return data.take()
}

/**
 * In UTF-8 read as Latin-1: characters that some readers take for line ends (Python's `splitlines`), and names that a lenient
 * one takes for `data`.
 */
const hidesData = /[\x0b\x0c\x1c-\x1e]|\xc2\x85|\xe2\x80[\xa8\xa9]|^\s*data\s*(?::|$)/i

const colon = 0x3a
const space = 0x20

const isData = (bytes: Buffer, from: number, to: number): boolean =>
  bytes[from] === 0x64 && isField(bytes, from, to, 'data')

/** A line without a colon is a field without a value. */
const isField = (bytes: Buffer, from: number, to: number, field: string): boolean => {
  const end = from + field.length
  return (end === to || (end < to && bytes[end] === colon)) && bytes.toString('latin1', from, end) === field
}

/** Where the value begins, when its field's name ends at an index: behind the colon and one space. */
const valueFrom = (bytes: Buffer, nameEnd: number, to: number): number =>
  Math.min(to, bytes[nameEnd + 1] === space ? nameEnd + 2 : nameEnd + 1)

const fieldValue = (bytes: Buffer, from: number, to: number, field: string): string | undefined =>
  isField(bytes, from, to, field) ? bytes.toString('utf8', valueFrom(bytes, from + field.length, to), to) : undefined

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

  take(): Buffer {
    return this.#joined?.subarray(0, this.#size) ?? this.#only ?? Buffer.alloc(0)
  }
}
