import { createRequire } from 'node:module'
import type { Socket } from 'node:net'
import type * as Undici from 'undici'
import type { Dispatcher } from 'undici'

const require = createRequire(import.meta.url)

/**
 * The whole of it also loads its fetch, its WebSocket and its caches: three times the milliseconds, and 9 MB
 * more.
 */
export const whole = (): typeof Undici => require('undici') as typeof Undici

const part = (file: string): unknown => {
  try {
    return require(`undici/lib/${file}`)
  } catch {
    return undefined
  }
}

// A version that has them elsewhere is loaded whole.
export const errors = (part('core/errors.js') ?? whole().errors) as typeof Undici.errors
export const Pool = (part('dispatcher/pool.js') ?? whole().Pool) as typeof Undici.Pool
const buildConnector = (part('core/connect.js') ?? whole().buildConnector) as typeof Undici.buildConnector

/**
 * Opens connections as undici does, from which interim responses are taken away that undici does not take.
 */
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
/** Longest head of one, in bytes. */
const interimBytes = 8 * 1024

/**
 * Skips `100 Continue` before a response: a client has to take it also where it has not asked for it (RFC
 * 9110, section 15.2), and undici closes the connection.
 */
const skipContinue = (socket: Socket): void => {
  const [read, write] = [socket.read.bind(socket), socket.write.bind(socket)]
  /** A request was written, and its response has not begun. */
  let awaits = false
  let held: Buffer = noBytes
  Object.assign(socket, {
    write: (...given: unknown[]): unknown => {
      awaits = true
      return Reflect.apply(write, socket, given)
    },
    read: (size?: number): unknown => {
      for (;;) {
        const chunk: unknown = read(size)
        if (!awaits || !Buffer.isBuffer(chunk)) return chunk
        // The first digit of the status.
        if (held.length === 0 && chunk.length > statusAt && chunk[statusAt] !== one) {
          awaits = false
          return chunk
        }
        held = withoutContinue(Buffer.concat([held, chunk]))
        const beginning = held.toString('latin1', 0, interim.length)
        if (interim.startsWith(beginning) && held.length < interimBytes) continue
        awaits = false
        const whole = held
        held = noBytes
        return whole
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

/** So much waits for a slow reader before the connection is read no further, in bytes. */
const mostWaiting = 64 * 1024

const noop = () => {}

/** The next piece of a body, or of what one is unpacked to: at once where it is here already. */
export const nextPiece = (source: ResponseBody | AsyncGenerator<Buffer, void>): IteratorResult<Buffer, void> | Promise<IteratorResult<Buffer, void>> =>
  (source instanceof ResponseBody ? source.poll() : undefined) ?? source.next()

/** The body of a response as it arrives. It has one reader; who stops reading lets go of the connection. */
export class ResponseBody implements AsyncIterableIterator<Buffer> {
  readonly #controller: Dispatcher.DispatchController
  readonly #chunks: Buffer[] = []
  #waiting = 0
  #isOver = false
  #error: Error | undefined
  #wake: () => void = noop
  /** Of one that nobody reads: how much more of it may come, in bytes. */
  #dumped: number | undefined

  constructor(controller: Dispatcher.DispatchController) {
    this.#controller = controller
  }

  push(chunk: Buffer): void {
    if (this.#dumped !== undefined) {
      if ((this.#dumped -= chunk.length) < 0) this.#abort()
      return
    }
    this.#chunks.push(chunk)
    this.#waiting += chunk.length
    if (this.#waiting > mostWaiting) this.#controller.pause()
    this.#wake()
  }

  /** @param error what cut it; undefined where it is whole */
  end(error?: Error): void {
    this.#isOver = true
    this.#error = error
    this.#wake()
  }

  /** What is here already; undefined where it is to be waited for, by `next`. @throws what cut it */
  poll(): IteratorResult<Buffer, undefined> | undefined {
    const value = this.#chunks.shift()
    if (value !== undefined) {
      this.#waiting -= value.length
      if (this.#waiting <= mostWaiting && this.#controller.paused) this.#controller.resume()
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

  /** Nobody reads it: the connection is kept where the rest is short and soon here. */
  dump(mostBytes: number, mostMs: number): void {
    if (this.#isOver) return
    this.#dumped = mostBytes
    this.#chunks.length = 0
    if (this.#controller.paused) this.#controller.resume()
    const timer = setTimeout(() => this.#abort(), mostMs)
    this.#wake = () => clearTimeout(timer)
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  #abort(): void {
    if (!this.#isOver) this.#controller.abort(new errors.RequestAbortedError())
  }
}
