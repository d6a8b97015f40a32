import type { Frame } from '#protocol/frame.js'
import type { IdKey } from '#protocol/json-rpc.js'
import { isCancellation } from '#protocol/message.js'
import type { Ledger } from './memory.js'
import { parsedWeight } from './request.js'

/** Bytes of queued frames above which the client's input is paused. */
const highWaterBytes = 1024 * 1024

/** Stdio frames of the client that arrived after a queued request: the server gets them in order. */
export class StdioQueue {
  readonly #ledger: Ledger
  readonly #queue: { readonly frame: Frame; readonly weight: number }[] = []
  #bytes = 0

  constructor(ledger: Ledger) {
    this.#ledger = ledger
  }

  get isEmpty(): boolean {
    return this.#queue.length === 0
  }

  get isAboveHighWater(): boolean {
    return this.#bytes > highWaterBytes
  }

  push(frame: Frame): void {
    const weight = frame.bytes.length + parsedWeight(frame)
    this.#queue.push({ frame, weight })
    this.#bytes += frame.bytes.length
    this.#ledger.add(weight)
  }

  shift(): Frame | undefined {
    return this.#remove(0)
  }

  *takeAll(): Generator<Frame> {
    for (let next = this.shift(); next !== undefined; next = this.shift()) yield next
  }

  /** Takes the request with this id out of the queue. */
  takeRequest(key: IdKey): Frame | undefined {
    const index = this.#queue.findIndex(({ frame }) => isRequestOf(frame, key))
    return index < 0 ? undefined : this.#remove(index)
  }

  has(frame: Frame): boolean {
    return this.#queue.some(queued => queued.frame === frame)
  }

  hasRequest(key: IdKey): boolean {
    return this.#queue.some(({ frame }) => isRequestOf(frame, key))
  }

  #remove(index: number): Frame | undefined {
    const [queued] = this.#queue.splice(index, 1)
    if (queued === undefined) return undefined
    this.#bytes -= queued.frame.bytes.length
    this.#ledger.add(-queued.weight)
    return queued.frame
  }
}

/** Responses to the server, cancellations and pings skip the queue. */
export const skipsQueue = ({ message }: Frame): boolean =>
  message.kind === 'result' ||
  message.kind === 'error' ||
  isCancellation(message) ||
  (message.kind === 'request' && message.method === 'ping')

const isRequestOf = ({ message }: Frame, key: IdKey): boolean =>
  message.kind === 'request' && message.key === key
