import type { Readable, Writable } from 'node:stream'
import { stdioExchange, type Exchange } from '../../core/event.js'
import type { Frame, FrameLimits } from '../../protocol/frame.js'
import type { Transport, TransportEvent } from '../transport.js'
import { FrameReader, LineWriter } from './lines.js'

export interface StdioClientOptions {
  /** What the client writes: the process's stdin. */
  readonly input: Readable
  /** What the client reads: the process's stdout. */
  readonly output: Writable
  readonly limits: FrameLimits
  /** How long, in milliseconds, answers may take after the end of the input (0). */
  readonly graceMs?: number
}

/** How long a client may take no line of ours, once we want to end, before we leave without it. */
const flushMs = 2000

/** Faces an MCP client that started this process and holds the other ends of its pipes. */
export const stdioClient = (options: StdioClientOptions): Transport => new StdioClient(options)

class StdioClient implements Transport {
  readonly #input: Readable
  readonly #reader: FrameReader
  readonly #writer: LineWriter
  #hear: (event: TransportEvent) => void = () => {}
  #isClosing = false
  #closed: Promise<void> | undefined

  constructor({ input, output, limits, graceMs = 0 }: StdioClientOptions) {
    this.#input = input
    this.#reader = new FrameReader(limits, frame => this.#hear({ type: 'frame', exchange: stdioExchange, frame }), error =>
      error === undefined ? this.#end('the client closed its output', graceMs) : this.#end(`reading from the client failed: ${error.message}`))
    this.#writer = new LineWriter(output, () => this.#hear({ type: 'drained', exchange: stdioExchange }), error =>
      this.#end(`the client does not read any more: ${error.message}`))
  }

  start(hear: (event: TransportEvent) => void): void {
    this.#hear = hear
    this.#reader.start(this.#input)
  }

  /** Works after `ended` too: a client that closed its output may still read the answers. */
  send(_exchange: Exchange, frame: Frame): boolean {
    return this.#writer.write(frame.bytes)
  }

  pause(): void {
    this.#reader.pause()
  }

  resume(): void {
    this.#reader.resume()
  }

  /** Resolves when the client has been given everything, or takes no more. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    this.#isClosing = true
    this.#reader.close()
    await this.#writer.flush(flushMs)
    this.#writer.close()
  }

  /** Once when it says nothing more, and once when it reads nothing more. */
  #end(reason: string, graceMs = 0): void {
    if (this.#isClosing) return
    this.#reader.close()
    this.#hear({ type: 'ended', reason, ...(graceMs > 0 && { graceMs }) })
  }
}
