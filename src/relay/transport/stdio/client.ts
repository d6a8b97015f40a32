import type { Exchange } from '#relay/core/vocabulary.js'
import type { Readable, Writable } from 'node:stream'
import { stdioExchange } from '#relay/core/event.js'
import type { Frame, FrameLimits } from '#relay/protocol/frame.js'
import type { Transport, TransportEvent } from '../transport.js'
import { FrameReader } from './reader.js'
import { LineWriter } from './writer.js'

interface StdioClientOptions {
  /** Written by the client: stdin of this process. */
  readonly input: Readable
  /** Read by the client: stdout of this process. */
  readonly output: Writable
  readonly limits: FrameLimits
  /** How long, in milliseconds, answers may take after the end of the input (0). */
  readonly graceMs?: number
}

/** How long `close` waits for a client that takes no line, in milliseconds. */
const flushMs = 2000

/** Faces the MCP client that started this process, over its stdin and stdout. */
export const stdioClient = (options: StdioClientOptions): Transport => new StdioClient(options)

class StdioClient implements Transport {
  readonly #input: Readable
  readonly #reader: FrameReader
  readonly #writer: LineWriter
  #onEvent: (event: TransportEvent) => void = () => {}
  #isClosing = false
  #closed: Promise<void> | undefined

  constructor({ input, output, limits, graceMs = 0 }: StdioClientOptions) {
    this.#input = input
    this.#reader = new FrameReader(
      limits,
      frame => this.#onEvent({ type: 'frame', exchange: stdioExchange, frame }),
      error => {
        if (error === undefined) this.#end('the client closed its output', graceMs)
        else this.#end(`reading from the client failed: ${error.message}`)
      },
    )
    this.#writer = new LineWriter(
      output,
      () => this.#onEvent({ type: 'drained', exchange: stdioExchange }),
      error => this.#end(`the client does not read any more: ${error.message}`),
    )
  }

  start(onEvent: (event: TransportEvent) => void): void {
    this.#onEvent = onEvent
    this.#reader.start(this.#input)
  }

  /** Works after `ended` too: a client that closed its output may still read the answers. */
  send(_exchange: Exchange, frame: Frame): boolean {
    return this.#writer.write(frame.bytes, undefined, frame)
  }

  pause(): void {
    this.#reader.pause()
  }

  resume(): void {
    this.#reader.resume()
  }

  /** Resolves when everything is written, or the client does not read any more. */
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

  /** Called at the end of the input, and when the output is closed. */
  #end(reason: string, graceMs = 0): void {
    if (this.#isClosing) return
    this.#reader.close()
    this.#onEvent({ type: 'ended', reason, ...(graceMs > 0 && { graceMs }) })
  }
}
