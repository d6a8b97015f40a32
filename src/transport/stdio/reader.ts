import type { Readable } from 'node:stream'
import type { Frame, FrameLimits } from '../../protocol/frame.js'
import { isReading, oversizedFrame, readFrame } from '../../protocol/parse.js'
import { Gathering, type Gathered } from '../gather.js'
import { finished } from '../turns.js'

/**
 * Reads frames from a stream of lines. After `pause` come at most the frames of the chunk in hand (64 KB of input):
 * keeping them back would need a queue and save nothing, for the chunk is in memory all the same.
 */
export class FrameReader {
  readonly #limits: FrameLimits
  readonly #lines: LineSplitter
  readonly #hear: (frame: Frame) => void
  readonly #ended: (error?: Error) => void
  #stream: Readable | undefined
  #paused = false
  /** Lines that came after one that is still being read: a large one takes several turns of the event loop. */
  readonly #waiting: Line[] = []
  #isReading = false
  /** The stream has come to its end, or failed. */
  #end: { readonly error: Error | undefined } | undefined

  /** @param ended the stream came to its end, or failed; said once, after the last frame */
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

  /** Reads no more, and lets go of the stream. */
  close(): void {
    const stream = this.#stream
    if (stream === undefined) return
    this.#stream = undefined
    stream.off('end', this.#onEnd).off('close', this.#onEnd)
    stream.off('resume', this.#onResume).off('data', this.#onData)
    // The error listener stays: a stream may fail after its last use, and must not take the process with it.
    stream.destroy()
  }

  // Node resumes the pipes of a child that exits, whoever had paused them.
  readonly #onResume = (): void => {
    if (this.#paused || this.#isReading) this.#stream?.pause()
  }

  readonly #onData = (chunk: Buffer): void => {
    for (const line of this.#lines.push(chunk)) this.#waiting.push(line)
    this.#read()
  }

  readonly #onEnd = (error?: unknown): void => {
    if (this.#stream === undefined || this.#end !== undefined) return
    for (const line of this.#lines.end()) this.#waiting.push(line)
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
    if (line.kind !== 'whole') return this.#hear(oversizedFrame(line.head, line.tail, line.size, this.#limits))
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
    }).catch((error: unknown) => this.#ended(error instanceof Error ? error : new Error('the frame could not be read')))
  }
}

/**
 * What one line of a stream was. Its bytes are those up to the line feed: a carriage return before that stays, for to
 * JSON it is white space, and so it leaves as it came.
 */
export type Line = Gathered

const lineFeed = 0x0a

/**
 * Splits a byte stream into stdio frames at LF (MCP stdio transport, 2026-07-28). Lines that hold nothing but white
 * space are skipped; a last line without LF counts. The chunks must not be written to again: a line that lies within
 * one is a part of it.
 */
export class LineSplitter {
  readonly #line: Gathering

  /**
   * @param maxBytes longest line, in bytes without its LF; of a longer one only the ends are kept, and told at its LF
   */
  constructor(maxBytes: number) {
    this.#line = new Gathering(maxBytes)
  }

  /** The lines that the chunk completes. */
  push(chunk: Buffer): readonly Line[] {
    const lines: Line[] = []
    let from = 0
    for (let end = chunk.indexOf(lineFeed); end >= 0; end = chunk.indexOf(lineFeed, from)) {
      this.#line.add(chunk.subarray(from, end))
      lines.push(...this.end())
      from = end + 1
    }
    this.#line.add(chunk.subarray(from))
    return lines
  }

  /** The line that the end of the stream completes. */
  end(): readonly Line[] {
    const line = this.#line.take()
    return line === undefined || (line.kind === 'whole' && isBlank(line.bytes)) ? [] : [line]
  }
}

const isBlank = (bytes: Buffer): boolean => bytes.every(one => one === 0x20 || one === 0x09 || one === 0x0d)
