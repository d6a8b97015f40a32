import { stdioExchange, type Exchange } from '../core/event.js'
import type { Frame, FrameLimits } from '../protocol/frame.js'
import { isCancellation, keyAt } from '../protocol/message.js'
import type { IdKey } from '../protocol/json-rpc.js'
import type { Transport, TransportEvent } from '../transport/transport.js'
import { Parcels, type Parcel } from './parcels.js'

/** A message of the client's, whose `send` is settled when it is known what became of it. */
export interface Outgoing extends Parcel {
  /** It is on its way to the server: what becomes of that settles it. */
  taken: boolean
  readonly done: () => void
  readonly fail: (error: unknown) => void
}

type Deliver = (message: unknown, extra: unknown) => void

/** The client's end of the session: the SDK's client speaks to it. */
export class ClientEnd implements Transport {
  readonly outgoing: Parcels<Outgoing>
  readonly incoming: Parcels<Parcel>
  readonly #deliver: Deliver
  /** Requests whose `send` is not settled yet. */
  readonly #asked = new Map<IdKey, Outgoing>()
  #hear: ((event: TransportEvent) => void) | undefined
  /** Its `send` has failed, and with that its caller has an answer: another one would be one too many. */
  #failing: IdKey | undefined

  constructor(limits: FrameLimits, deliver: Deliver) {
    this.outgoing = new Parcels(limits)
    this.incoming = new Parcels(limits)
    this.#deliver = deliver
  }

  start(hear: (event: TransportEvent) => void): void {
    this.#hear = hear
  }

  /** @returns when the message was handed on, or answered in the server's place; rejects as the transport's own `send` does */
  say(message: unknown, options: unknown): Promise<void> {
    return new Promise((resolve, reject) => {
      if (!this.#hear) throw new Error('the transport is not open')
      const forget = () => {
        if (key !== undefined && this.#asked.get(key) === parcel) this.#asked.delete(key)
      }
      const parcel: Outgoing = {
        message, extra: options, taken: false,
        done: () => {
          forget()
          resolve()
        },
        fail: reason => {
          forget()
          // As the transport's own: whatever it rejects with.
          // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors
          reject(reason)
        },
      }
      const frame = this.outgoing.frameOf(parcel)
      const key = frame.message.kind === 'request' ? frame.message.key : undefined
      if (key !== undefined) this.#asked.set(key, parcel)
      this.#hear({ type: 'frame', exchange: stdioExchange, frame })
      // Whoever cancels does not wait.
      const cancelled = isCancellation(frame.message) ? keyAt(frame, ['params', 'requestId']) : undefined
      if (cancelled !== undefined) this.#asked.get(cancelled)?.done()
      // A request is handed on or answered, now or later. Anything else that was not handed on by now was blocked.
      if (frame.message.kind !== 'request' && !parcel.taken) resolve()
    })
  }

  send(_exchange: Exchange, frame: Frame): boolean {
    const { message, parcel } = this.incoming.open(frame)
    if (frame.message.kind === 'result' || frame.message.kind === 'error') {
      const { key } = frame.message
      this.#asked.get(key)?.done()
      if (key === this.#failing) return true
    }
    this.#deliver(message, parcel?.extra)
    return true
  }

  /** Whatever happens meanwhile, the request of this id is not answered. */
  without(key: IdKey, happens: () => void): void {
    this.#failing = key
    try {
      happens()
    } finally {
      this.#failing = undefined
    }
  }

  pause(): void {}

  resume(): void {}

  close(): Promise<void> {
    this.#hear = undefined
    for (const { done } of [...this.#asked.values()]) done()
    return Promise.resolve()
  }
}
