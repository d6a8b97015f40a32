import { Socket } from 'node:net'
import type { Writable } from 'node:stream'
import type { Frame } from '#relay/protocol/frame.js'
import { onOneLine } from '#relay/protocol/scan.js'
import { release } from '../frames.js'

/** High-water mark, in bytes: far above a stream's own, so that usual frames never wait. */
const fullBytes = 256 * 1024
/** Up to this size, copying is cheaper than passing several buffers to the kernel. */
const copyBytes = 64 * 1024

const lineEnd = Buffer.from('\n')

/** Writes lines, in order, to a stream that may be slow or break at any time. */
export class LineWriter {
  /** Only a socket or pipe is done with a buffer that it has written; other streams may keep the buffer. */
  readonly #isSocket: boolean
  #broken = false
  #full = false
  /** The lines of this turn of the event loop, their line ends, size, and callbacks for a failed write. */
  #lines: Buffer[] = []
  #bytes = 0
  #lost: (() => void)[] = []
  /** The frames of the lines that may be freed when they are written. */
  #frames: Frame[] = []
  /** Turns whose lines the stream has not taken yet. */
  #pending = 0
  /**
   * Buffer in which lines are joined, unless it is in use: allocating one for each write would cost garbage
   * collection.
   */
  #spare: Buffer | undefined
  #settled: () => void = () => {}

  /**
   * @param drained called after `write` returned false, when the peer reads again or the stream has failed
   * @param broken called once, when the stream has failed
   */
  constructor(
    private readonly stream: Writable,
    private readonly drained: () => void,
    broken: (error: Error) => void = () => {},
  ) {
    this.#isSocket = stream instanceof Socket
    if (this.#isSocket) this.#spare = Buffer.allocUnsafeSlow(copyBytes)
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
   * @param frame of the line: see `release`
   * @returns false when the peer is not reading
   */
  write(text: Buffer, lost?: () => void, frame?: Frame): boolean {
    if (this.#broken || !this.stream.writable) {
      if (lost !== undefined) process.nextTick(lost)
      return true
    }
    if (this.#lines.length === 0) {
      this.#pending += 1
      process.nextTick(this.handOver)
    }
    const bytes = onOneLine(text)
    this.#lines.push(bytes, lineEnd)
    this.#bytes += bytes.length + 1
    if (lost !== undefined) this.#lost.push(lost)
    if (frame !== undefined && this.#isSocket) this.#frames.push(frame)
    // It stays full until `drain`, which callers wait for after `false`.
    this.#full ||= this.#bytes + this.stream.writableLength >= fullBytes
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
    this.stream.off('drain', this.#onDrain)
  }

  /** Writes the lines of this turn; to be called before the stream is ended. */
  readonly handOver = (): void => {
    if (this.#lines.length === 0) return
    const [lines, bytes, lost, frames] = [this.#lines, this.#bytes, this.#lost, this.#frames]
    this.#lines = []
    this.#bytes = 0
    this.#lost = []
    this.#frames = []
    const done = (error: Error | null | undefined): void => {
      this.#pending -= 1
      if (error) for (const report of lost) report()
      else frames.forEach(release)
      if (this.#pending === 0) this.#settled()
    }
    if (bytes <= copyBytes) {
      const spare = this.#spare
      this.#spare = undefined
      this.stream.write(spare === undefined ? Buffer.concat(lines, bytes) : joined(lines, spare), error => {
        this.#spare ??= spare
        done(error)
      })
      return
    }
    this.stream.cork()
    for (const part of lines.slice(0, -1)) this.stream.write(part)
    this.stream.write(lineEnd, done)
    this.stream.uncork()
  }

  readonly #onDrain = (): void => {
    if (!this.#full) return
    this.#full = false
    this.drained()
  }
}

const joined = (parts: readonly Buffer[], into: Buffer): Buffer => {
  let end = 0
  for (const part of parts) end += part.copy(into, end)
  return into.subarray(0, end)
}
