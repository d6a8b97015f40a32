import { Socket } from 'node:net'
import type { Readable, Writable } from 'node:stream'
import { onOneLine } from '#protocol/scan.js'
import type { Frame, FrameLimits } from '#protocol/frame.js'
import { isReading, oversizedFrame, readFrame } from '#protocol/parse.js'
import { finished, Gathering, type Gathered } from '../frames.js'

/** Reads frames from a stream of lines. After `pause`, the frames of the current chunk (64 KB) still come. */
export class FrameReader {
  readonly #limits: FrameLimits
  readonly #lines: LineSplitter
  readonly #hear: (frame: Frame) => void
  readonly #ended: (error?: Error) => void
  #stream: Readable | undefined
  #paused = false
  /** Lines that wait for the parsing of a large one, which takes several turns of the event loop. */
  readonly #waiting: Line[] = []
  #isReading = false
  /** Set when the stream has ended or failed. */
  #end: { readonly error: Error | undefined } | undefined

  /** @param ended called once, after the last frame, when the stream has ended or failed */
  constructor(limits: FrameLimits, hear: (frame: Frame) => void, ended: (error?: Error) => void) {
    this.#limits = limits
    this.#lines = new LineSplitter(limits.messageBytes)
    this.#hear = hear
    this.#ended = ended
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
    this.#lines.end(this.#waiting)
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
    this.#ended(this.#end.error)
  }

  #take(line: Line): void {
    if (line.kind !== 'whole') {
      return this.#hear(oversizedFrame(line.head, line.tail, line.size, this.#limits))
    }
    const frame = readFrame(line.bytes, this.#limits)
    if (!isReading(frame)) return this.#hear(frame)
    this.#isReading = true
    this.#stream?.pause()
    void finished(frame).then(read => {
      this.#isReading = false
      if (this.#stream === undefined) return
      if (!this.#paused) this.#stream.resume()
      this.#hear(read)
      this.#read()
    }).catch((error: unknown) =>
      this.#ended(error instanceof Error ? error : new Error('the frame could not be read')))
  }
}

/** One line of a stream, without its LF. A CR before it stays: it is white space in JSON. */
export type Line = Gathered

const lineFeed = 0x0a

/**
 * Splits a byte stream into stdio frames at LF (MCP stdio transport, 2026-07-28). Blank lines are skipped; a
 * last line without LF counts. The chunks must not be modified: lines may share their memory.
 */
export class LineSplitter {
  readonly #maxBytes: number
  /** The beginning of a line, from earlier chunks. */
  readonly #begun: Gathering
  #hasBegun = false

  /**
   * @param maxBytes longest line, in bytes without its LF; only the ends of longer lines are kept, and
   * reported at the LF
   */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
    this.#begun = new Gathering(maxBytes)
  }

  /** @param lines gets the lines that the chunk completes */
  push(chunk: Buffer, lines: Line[]): void {
    let from = 0
    for (let end = chunk.indexOf(lineFeed); end >= 0; end = chunk.indexOf(lineFeed, from)) {
      if (this.#hasBegun || end - from > this.#maxBytes) {
        this.#begun.add(chunk.subarray(from, end))
        this.end(lines)
      } else add(chunk.subarray(from, end), lines)
      from = end + 1
    }
    if (from === chunk.length) return
    this.#begun.add(chunk.subarray(from))
    this.#hasBegun = true
  }

  /** @param lines gets the line that the end of the stream completes */
  end(lines: Line[]): void {
    this.#hasBegun = false
    const line = this.#begun.take()
    if (line?.kind === 'whole') add(line.bytes, lines)
    else if (line !== undefined) lines.push(line)
  }
}

const add = (bytes: Buffer, lines: Line[]): void => {
  if (!bytes.every(one => one === 0x20 || one === 0x09 || one === 0x0d)) lines.push({ kind: 'whole', bytes })
}

/** High-water mark, in bytes: far above a stream's own, so that usual frames never wait. */
const fullBytes = 256 * 1024
/** Up to this size, copying is cheaper than passing several buffers to the kernel. */
const copyBytes = 64 * 1024

const lineEnd = Buffer.from('\n')

/** Writes lines, in order, to a stream that may be slow or break at any time. */
export class LineWriter {
  readonly #stream: Writable
  readonly #drained: () => void
  #broken = false
  #full = false
  /** The lines of this turn of the event loop, their line ends, size, and callbacks for a failed write. */
  #lines: Buffer[] = []
  #bytes = 0
  #lost: (() => void)[] = []
  /** Turns whose lines the stream has not taken yet. */
  #pending = 0
  /**
   * Buffer in which lines are joined, unless it is in use: allocating one for each write would cost garbage
   * collection. Only for sockets and pipes: other streams may keep the buffers that they get.
   */
  #spare: Buffer | undefined
  #settled: () => void = () => {}

  /**
   * @param drained called after `write` returned false, when the peer reads again or the stream has failed
   * @param broken called once, when the stream has failed
   */
  constructor(stream: Writable, drained: () => void, broken: (error: Error) => void = () => {}) {
    this.#stream = stream
    this.#drained = drained
    if (stream instanceof Socket) this.#spare = Buffer.allocUnsafeSlow(copyBytes)
    stream.on('drain', this.#onDrain)
    // This listener stays: a stream may fail long after the last line, and must not end the process.
    stream.on('error', error => {
      if (this.#broken) return
      this.#broken = true
      broken(error)
      this.#onDrain()
    })
  }

  /**
   * Lines of one turn of the event loop are written together.
   * @param lost called later if the line could not be written
   * @returns false when the peer is not reading
   */
  write(frame: Buffer, lost?: () => void): boolean {
    if (this.#broken || !this.#stream.writable) {
      if (lost !== undefined) process.nextTick(lost)
      return true
    }
    if (this.#lines.length === 0) {
      this.#pending += 1
      process.nextTick(this.handOver)
    }
    const bytes = onOneLine(frame)
    this.#lines.push(bytes, lineEnd)
    this.#bytes += bytes.length + 1
    if (lost !== undefined) this.#lost.push(lost)
    // It stays full until `drain`: callers that were told so wait for that.
    this.#full ||= this.#bytes + this.#stream.writableLength >= fullBytes
    return !this.#full
  }

  /** Resolves when everything is written, or the peer has taken no line for `ms` milliseconds. */
  async flush(ms: number): Promise<void> {
    for (let before = Infinity; this.#pending > 0 && this.#pending < before;) {
      before = this.#pending
      await new Promise<void>(resolve => {
        const timer = setTimeout(resolve, ms)
        this.#settled = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
  }

  /** Stops reporting `drained`. */
  close(): void {
    this.#stream.off('drain', this.#onDrain)
  }

  /** Writes the lines of this turn; to be called before the stream is ended. */
  readonly handOver = (): void => {
    if (this.#lines.length === 0) return
    const [lines, bytes, lost] = [this.#lines, this.#bytes, this.#lost]
    this.#lines = []
    this.#bytes = 0
    this.#lost = []
    const done = (error: Error | null | undefined): void => {
      this.#pending -= 1
      if (error) for (const told of lost) told()
      if (this.#pending === 0) this.#settled()
    }
    if (bytes <= copyBytes) {
      const spare = this.#spare
      this.#spare = undefined
      this.#stream.write(spare === undefined ? Buffer.concat(lines, bytes) : joined(lines, spare), error => {
        this.#spare ??= spare
        done(error)
      })
      return
    }
    this.#stream.cork()
    for (const part of lines.slice(0, -1)) this.#stream.write(part)
    this.#stream.write(lineEnd, done)
    this.#stream.uncork()
  }

  readonly #onDrain = (): void => {
    if (!this.#full) return
    this.#full = false
    this.#drained()
  }
}

const joined = (parts: readonly Buffer[], into: Buffer): Buffer => {
  let end = 0
  for (const part of parts) end += part.copy(into, end)
  return into.subarray(0, end)
}
