import { Socket } from 'node:net'
import type { Writable } from 'node:stream'
import { onOneLine } from '../../protocol/edit.js'

const lineFeed = Buffer.from('\n')

/** From here on the peer counts as not reading: far above a stream's own mark, so that common frames do not stop the traffic. */
const fullBytes = 256 * 1024
/** Below this a copy is cheaper than more buffers for the kernel to gather. */
const copyBytes = 64 * 1024

/** Writes lines, in order, to a stream that may be slow or break at any time. */
export class LineWriter {
  readonly #stream: Writable
  readonly #drained: () => void
  #broken = false
  #full = false
  /** The lines of this turn of the event loop, each with its end; their size; and who hears when they could not be handed over. */
  #lines: Buffer[] = []
  #bytes = 0
  #lost: (() => void)[] = []
  /** Turns whose lines the stream has not taken yet. */
  #pending = 0
  /**
   * Where lines are put together, unless it is in use: memory that is made for each write sets off the garbage collector. Streams other than
   * those of the system may keep what they are given.
   */
  #spare: Buffer | undefined
  #settled: () => void = () => {}

  /**
   * @param drained the peer reads again, or never will, after `write` returned false
   * @param broken the stream failed; said once
   */
  constructor(stream: Writable, drained: () => void, broken: (error: Error) => void = () => {}) {
    this.#stream = stream
    this.#drained = drained
    if (stream instanceof Socket) this.#spare = Buffer.allocUnsafeSlow(copyBytes)
    stream.on('drain', this.#onDrain)
    // This listener stays for good: a stream may fail long after the last line, and must not take the process with it.
    stream.on('error', error => {
      if (this.#broken) return
      this.#broken = true
      broken(error)
      this.#onDrain()
    })
  }

  /**
   * Lines written in one turn of the event loop leave together.
   * @param lost called later, when the line could not be handed over
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
    this.#lines.push(bytes, lineFeed)
    this.#bytes += bytes.length + 1
    if (lost !== undefined) this.#lost.push(lost)
    // Until it is drained: whoever was told so waits for that.
    this.#full ||= this.#bytes + this.#stream.writableLength >= fullBytes
    return !this.#full
  }

  /** Resolves when all is written, or when the peer has taken no line for so many milliseconds. */
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

  /** Lets go of the stream. */
  close(): void {
    this.#stream.off('drain', this.#onDrain)
  }

  /** Hands over the lines of this turn; to be called before the stream is ended. */
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
    this.#stream.write(lineFeed, done)
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
