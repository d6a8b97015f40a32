import { createRequire } from 'node:module'
import type { Socket } from 'node:net'
import type * as Undici from 'undici'
import type { Dispatcher } from 'undici'
import { realTimers } from '../timers.js'

const require = createRequire(import.meta.url)

/** All of undici: with fetch, WebSocket and caches it takes three times as long to load, and 9 MB more. */
export const bodyInOne = (): typeof Undici => require('undici') as typeof Undici

const part = (file: string): unknown => {
  try {
    return require(`undici/lib/${file}`)
  } catch {
    return undefined
  }
}

// Falls back to all of undici where a version has moved these files.
export const errors = (part('core/errors.js') ?? bodyInOne().errors) as typeof Undici.errors
export const Pool = (part('dispatcher/pool.js') ?? bodyInOne().Pool) as typeof Undici.Pool
const buildConnector = (part('core/connect.js') ?? bodyInOne().buildConnector) as typeof Undici.buildConnector

/** Opens connections as undici does, and removes the `100 Continue` responses that undici refuses. */
export const connectorWith = (
  options: Undici.buildConnector.BuildOptions,
): Undici.buildConnector.connector => {
  const connect = buildConnector(options)
  return (to, opened) => connect(to, (...result) => {
    if (result[1]) skipContinue(result[1])
    opened(...result)
  })
}

const noBytes = Buffer.alloc(0)
const interim = 'HTTP/1.1 100'
const statusAt = interim.indexOf('100')
const one = 0x31
/** Longest head of an interim response, in bytes. */
const interimBytes = 8 * 1024

/**
 * Skips `100 Continue` before a response: a client must accept one that it did not ask for (RFC 9110, section
 * 15.2), but undici closes the connection.
 */
const skipContinue = (socket: Socket): void => {
  const [read, write] = [socket.read.bind(socket), socket.write.bind(socket)]
  /** A request was written, and its response has not begun. */
  let awaits = false
  let begun: Buffer = noBytes
  Object.assign(socket, {
    write: (...given: unknown[]): unknown => {
      awaits = true
      return Reflect.apply(write, socket, given)
    },
    read: (size?: number): unknown => {
      for (;;) {
        const chunk: unknown = read(size)
        if (!awaits || !Buffer.isBuffer(chunk)) return chunk
        // The usual case: the first digit of the status is not 1.
        if (begun.length === 0 && chunk.length > statusAt && chunk[statusAt] !== one) {
          awaits = false
          return chunk
        }
        begun = withoutContinue(Buffer.concat([begun, chunk]))
        const beginning = begun.toString('latin1', 0, interim.length)
        if (interim.startsWith(beginning) && begun.length < interimBytes) continue
        awaits = false
        const rest = begun
        begun = noBytes
        return rest
      }
    },
  })
}

const withoutContinue = (bytes: Buffer): Buffer => {
  let from = 0
  while (bytes.toString('latin1', from, from + interim.length) === interim) {
    const end = bytes.indexOf('\r\n\r\n', from)
    if (end < 0) break
    from = end + 4
  }
  return bytes.subarray(from)
}

/** Backpressure: with more unread bytes than this, the connection is paused. */
const maxWaiting = 64 * 1024

const noop = () => {}

type Piece = IteratorResult<Buffer, void>

/** The next piece of a body or of its decoded form; not a promise where a piece has arrived already. */
export const nextPiece = (source: ResponseBody | AsyncGenerator<Buffer, void>): Piece | Promise<Piece> =>
  (source instanceof ResponseBody ? source.poll() : undefined) ?? source.next()

/** What a body needs of the response that it belongs to. */
type BodyController = Pick<Dispatcher.DispatchController, 'paused' | 'pause' | 'resume' | 'abort'>

/** The body of a response as it arrives, for one reader. `return` before the end closes the connection. */
export class ResponseBody implements AsyncIterableIterator<Buffer> {
  readonly #chunks: Buffer[] = []
  #waiting = 0
  #isOver = false
  #error: Error | undefined
  #wake: () => void = noop
  /** Set by `dump`: how many more bytes are discarded before the connection is closed. */
  #dumped: number | undefined

  constructor(private readonly controller: BodyController) {}

  push(chunk: Buffer): void {
    if (this.#dumped !== undefined) {
      if ((this.#dumped -= chunk.length) < 0) this.#abort()
      return
    }
    this.#chunks.push(chunk)
    this.#waiting += chunk.length
    if (this.#waiting > maxWaiting) this.controller.pause()
    this.#wake()
  }

  /** @param error why the body is incomplete; undefined when it is complete */
  end(error?: Error): void {
    this.#isOver = true
    this.#error = error
    this.#wake()
  }

  /**
   * The next piece or the end, where it has arrived; undefined: wait with `next`.
   * @throws why it is incomplete
   */
  poll(): IteratorResult<Buffer, undefined> | undefined {
    const value = this.#chunks.shift()
    if (value !== undefined) {
      this.#waiting -= value.length
      if (this.#waiting <= maxWaiting && this.controller.paused) this.controller.resume()
      return { done: false, value }
    }
    if (this.#error !== undefined) throw this.#error
    return this.#isOver ? { done: true, value: undefined } : undefined
  }

  async next(): Promise<IteratorResult<Buffer, undefined>> {
    for (;;) {
      const polled = this.poll()
      if (polled !== undefined) return polled
      await new Promise<void>(resolve => (this.#wake = resolve))
    }
  }

  return(): Promise<IteratorResult<Buffer, undefined>> {
    this.#abort()
    return Promise.resolve({ done: true, value: undefined })
  }

  /** Discards the rest. The connection is kept if the rest ends within these limits. */
  dump(maxBytes: number, maxMs: number): void {
    if (this.#isOver) return
    this.#dumped = maxBytes
    this.#chunks.length = 0
    if (this.controller.paused) this.controller.resume()
    this.#wake = realTimers.after(maxMs, () => this.#abort())
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  #abort(): void {
    if (!this.#isOver) this.controller.abort(new errors.RequestAbortedError())
  }
}
