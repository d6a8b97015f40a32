import type { Duplex } from 'node:stream'
import { deserialize } from 'node:v8'
import type { Backend } from '../front/endpoints.js'
import { Asks } from './asks.js'
import { type ChannelCalls, Channel, type ChannelMessage } from './calls.js'
import { ServedAsks } from './served.js'
import { type WireKind, Wire } from './wire.js'

interface RelayEndOptions {
  /** Answers a request, at once or later. */
  readonly serve: Backend['serve']
  readonly calls: ChannelCalls
  /** The front is gone. */
  readonly closed: () => void
}

/** The relay process's end of the channel. */
export class RelayEnd<Theirs extends ChannelCalls> {
  readonly calls: Channel<Theirs>
  /** Requests to the gateway's endpoints. */
  readonly asks: Asks
  readonly #wire: Wire
  readonly #served: ServedAsks
  readonly #closed: () => void

  constructor(stream: Duplex, { serve, calls, closed }: RelayEndOptions) {
    this.#closed = closed
    this.#wire = new Wire(stream, {
      frame: (kind, exchange, payload) => this.#frame(kind, exchange, payload), closed: () => this.#lose(),
    })
    this.#served = new ServedAsks(this.#wire, serve)
    this.asks = new Asks(this.#wire)
    this.calls = new Channel<Theirs>(message => this.#wire.sendJson('note', 0, message), calls)
  }

  /** Exchanges that are not over. */
  get inFlight(): number {
    return this.#served.inFlight
  }

  /** Sends queued frames before the end of the turn. */
  flush(): void {
    this.#wire.flush()
  }

  /** Handles a frame of the front: one of its requests, or of a response to this process. */
  #frame(kind: WireKind, exchange: number, payload: Buffer): void {
    if (kind === 'note') return this.calls.onMessage(deserialize(payload) as ChannelMessage)
    this.#served.frame(kind, exchange, payload)
    this.asks.frame(kind, exchange, payload)
  }

  #lose(): void {
    this.#served.lose()
    this.asks.lose()
    this.calls.close()
    this.#closed()
  }
}
