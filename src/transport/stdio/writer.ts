import type { Writable } from 'node:stream'
import { onOneLine } from '../../protocol/edit.js'

const lineFeed = Buffer.from('\n')

/** From here on the peer counts as not reading: far above a stream's own mark, so that common frames do not stop the traffic. */
const fullBytes = 256 * 1024
/** Below this a copy is cheaper than one more buffer for the kernel to gather. */
const copyBytes = 4 * 1024

/** Writes lines, in order, to a stream that may be slow or break at any time. */
export class LineWriter {
  readonly #stream: Writable
  readonly #drained: () => void
  #broken = false
  #corked = false
  #full = false
  /** Lines that the stream has not taken yet. */
  #pending = 0
  #settled: () => void = () => {}

  /**
   * @param drained the peer reads again, or never will, after `write` returned false
   * @param broken the stream failed; said once
   */
  constructor(stream: Writable, drained: () => void, broken: (error: Error) => void = () => {}) {
    this.#stream = stream
    this.#drained = drained
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
  write(frame: Buffer, lost: () => void = () => {}): boolean {
    if (this.#broken || !this.#stream.writable) {
      process.nextTick(lost)
      return true
    }
    this.#cork()
    this.#pending += 1
    const done = (error: Error | null | undefined) => {
      this.#pending -= 1
      if (error) lost()
      if (this.#pending === 0) this.#settled()
    }
    const bytes = onOneLine(frame)
    const small = bytes.length < copyBytes
    if (!small) this.#stream.write(bytes)
    const free = this.#stream.write(small ? Buffer.concat([bytes, lineFeed]) : lineFeed, done)
    this.#full = !free && this.#stream.writableLength >= fullBytes
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

  #cork(): void {
    if (this.#corked) return
    this.#corked = true
    this.#stream.cork()
    process.nextTick(() => {
      this.#corked = false
      this.#stream.uncork()
    })
  }

  readonly #onDrain = (): void => {
    if (!this.#full) return
    this.#full = false
    this.#drained()
  }
}
