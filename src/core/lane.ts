import type { Frame } from '../protocol/frame.js'
import type { IdKey } from '../protocol/json-rpc.js'

/** More than that is not taken from the pipe while something is held, in bytes. */
const crowdedBytes = 1024 * 1024

interface Waiting {
  readonly frame: Frame
  /** The client has taken it back meanwhile. */
  isCancelled: boolean
}

/** What came by a pipe after a request that is still held: the server gets it in the order in which it came. */
export class Lane {
  readonly #waiting: Waiting[] = []
  #bytes = 0

  get isEmpty(): boolean {
    return this.#waiting.length === 0
  }

  get isCrowded(): boolean {
    return this.#bytes > crowdedBytes
  }

  add(frame: Frame): void {
    this.#waiting.push({ frame, isCancelled: false })
    this.#bytes += frame.bytes.length
  }

  next(): Waiting | undefined {
    const next = this.#waiting.shift()
    this.#bytes -= next?.frame.bytes.length ?? 0
    return next
  }

  /** @returns false when no request of this id waits here */
  cancel(key: IdKey): boolean {
    const found = this.#waiting.find(({ frame: { message } }) => message.kind === 'request' && message.key === key)
    if (found !== undefined) found.isCancelled = true
    return found !== undefined
  }
}
