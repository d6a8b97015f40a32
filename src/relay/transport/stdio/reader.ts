import type { Readable } from 'node:stream'
import { asError } from '#relay/base/errors.js'
import type { Frame, FrameLimits } from '#relay/protocol/frame.js'
import { isReading, oversizedFrame, readFrame } from '#relay/protocol/parse.js'
import { finished, Gathering, owning, type Gathered } from '../frames.js'

/** Reads frames from a stream of lines. After `pause`, the frames of the current chunk (64 KB) still come. */
export class FrameReader {
  readonly #lines: LineSplitter
  #stream: Readable | undefined
  #paused = false
  /** Lines that wait for the parsing of a large one, which takes several turns of the event loop. */
  readonly #waiting: Line[] = []
  #isReading = false
  /** Set when the stream has ended or failed. */
  #end: { readonly error: Error | undefined } | undefined

  /**
   * @param ended called once, after the last frame, when the stream has ended or failed
   * @param byLength called when the stream is framed by Content-Length; undefined: only lines are read
   */
  constructor(
    private readonly limits: FrameLimits,
    private readonly onFrame: (frame: Frame) => void,
    private readonly ended: (error?: Error) => void,
    byLength?: () => void,
  ) {
    this.#lines = new LineSplitter(limits.messageBytes, byLength)
  }

  start(stream: Readable): void {
    this.#stream = stream
    stream.on('end', this.#onEnd).on('close', this.#onEnd).on('error', this.#onEnd)
    stream.on('resume', this.#onResume).on('data', this.#onData)
    if (this.#paused) stream.pause()
  }

  get paused(): boolean {
    return this.#paused
  }

  pause(): void {
    this.#paused = true
    this.#stream?.pause()
  }

  resume(): void {
    this.#paused = false
    if (!this.#isReading) this.#stream?.resume()
  }

  /** Stops reading and destroys the stream. */
  close(): void {
    const stream = this.#stream
    if (stream === undefined) return
    this.#stream = undefined
    stream.off('end', this.#onEnd).off('close', this.#onEnd)
    stream.off('resume', this.#onResume).off('data', this.#onData)
    // The error listener stays: a stream may fail after its last use, and must not end the process.
    stream.destroy()
  }

  // Node resumes the pipes of a child that exits, also those that we paused.
  readonly #onResume = (): void => {
    if (this.#paused || this.#isReading) this.#stream?.pause()
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#lines.push(chunk, this.#waiting)
    this.#read()
  }

  readonly #onEnd = (error?: unknown): void => {
    if (this.#stream === undefined || this.#end !== undefined) return
    this.#lines.complete(this.#waiting)
    this.#end = { error: error instanceof Error ? error : undefined }
    this.#read()
  }

  #read(): void {
    while (!this.#isReading && this.#stream !== undefined) {
      const line = this.#waiting.shift()
      if (line === undefined) break
      this.#take(line)
    }
    if (this.#isReading || this.#end === undefined || this.#stream === undefined) return
    this.close()
    this.ended(this.#end.error)
  }

  #take(line: Line): void {
    if (line.kind !== 'whole') {
      return this.onFrame(oversizedFrame(line.head, line.tail, line.size, this.limits))
    }
    const frame = readFrame(line.bytes, this.limits)
    if (!isReading(frame)) return this.onFrame(owning(frame))
    this.#isReading = true
    this.#stream?.pause()
    void finished(frame).then(read => {
      this.#isReading = false
      if (this.#stream === undefined) return
      if (!this.#paused) this.#stream.resume()
      this.onFrame(owning(read))
      this.#read()
    }).catch((error: unknown) => this.ended(asError(error)))
  }
}

/** One line of a stream, without its LF. A CR before it stays: it is white space in JSON. */
export type Line = Gathered

const lineFeed = 0x0a

/** Longest head of a message that is framed by Content-Length, in bytes. */
const maxHead = 1024

/**
 * Splits a byte stream into stdio frames at LF (MCP stdio transport, 2026-07-28). Blank lines are skipped; a
 * last line without LF is a frame too. Lines share memory with the chunks, which must not be modified.
 * Some servers frame their messages by Content-Length, as language servers do. A stream that begins so is
 * split so, as long as it goes on so.
 */
export class LineSplitter {
  /** The beginning of a line, from earlier chunks. */
  readonly #begun: Gathering
  #hasBegun = false
  /** Set before the first bytes of a stream that may be framed by Content-Length. */
  #byLength: (() => void) | undefined
  /** The head of the next message, as far as it has come; undefined: the stream has lines. */
  #head: Buffer | undefined
  /** Bytes of the message that are still to come. */
  #left = 0

  /** @param maxBytes of a line without its LF; of a longer line, head, tail and size are reported */
  constructor(private readonly maxBytes: number, byLength?: () => void) {
    this.#begun = new Gathering(maxBytes)
    this.#byLength = byLength
  }

  /** @param lines gets the lines that the chunk completes */
  push(chunk: Buffer, lines: Line[]): void {
    if (this.#byLength !== undefined && lengthIn(chunk) !== undefined) {
      this.#byLength()
      this.#head = noBytes
    }
    this.#byLength = undefined
    if (this.#head === undefined) this.#pushLines(chunk, lines)
    else this.#pushMessages(chunk, lines, this.#head)
  }

  #pushMessages(chunk: Buffer, lines: Line[], head: Buffer): void {
    let rest = chunk
    this.#head = head
    while (rest.length > 0) {
      if (this.#left > 0) {
        this.#begun.add(rest.subarray(0, this.#left))
        this.#hasBegun = true
        const taken = Math.min(this.#left, rest.length)
        rest = rest.subarray(taken)
        this.#left -= taken
        if (this.#left === 0) this.complete(lines)
        continue
      }
      rest = this.#head.length === 0 ? rest : Buffer.concat([this.#head, rest])
      const end = /\r?\n\r?\n/.exec(rest.toString('latin1', 0, maxHead))
      const length = lengthIn(rest)
      const isHead = length !== undefined || !rest.includes(lineFeed)
      if (end !== null && length !== undefined) {
        this.#head = noBytes
        this.#left = length
        rest = rest.subarray(end.index + end[0].length)
      } else if (isHead && end === null && rest.length < maxHead) {
        this.#head = rest
        return
      } else {
        this.#head = undefined
        return this.#pushLines(rest, lines)
      }
    }
  }

  #pushLines(chunk: Buffer, lines: Line[]): void {
    let from = 0
    for (let end = chunk.indexOf(lineFeed); end >= 0; end = chunk.indexOf(lineFeed, from)) {
      if (this.#hasBegun || end - from > this.maxBytes) {
        this.#begun.add(chunk.subarray(from, end))
        this.complete(lines)
      } else addUnlessBlank(chunk.subarray(from, end), lines)
      from = end + 1
    }
    if (from === chunk.length) return
    this.#begun.add(chunk.subarray(from))
    this.#hasBegun = true
  }

  /** Completes the line that has begun. Called at the end of the stream as well. */
  complete(lines: Line[]): void {
    this.#hasBegun = false
    if (this.#head !== undefined && this.#head.length > 0) this.#begun.add(this.#head)
    const line = this.#begun.take()
    if (line?.kind === 'whole') addUnlessBlank(line.bytes, lines)
    else if (line !== undefined) lines.push(line)
  }
}

const noBytes = Buffer.alloc(0)

/** The length that a head at the beginning of these bytes names first. */
const lengthIn = (bytes: Buffer): number | undefined => {
  const found = /^content-length: {0,8}(\d{1,10})\r?\n/i.exec(bytes.toString('latin1', 0, 64))
  return found?.[1] === undefined ? undefined : Number(found[1])
}

const addUnlessBlank = (bytes: Buffer, lines: Line[]): void => {
  if (!bytes.every(one => one === 0x20 || one === 0x09 || one === 0x0d)) lines.push({ kind: 'whole', bytes })
}
