import type { Duplex } from 'node:stream'
import { deserialize } from 'node:v8'
import { ChurnMap } from '#relay/core/memory.js'
import { Arrival } from '../front/arrival.js'
import type { Backend } from '../front/endpoints.js'
import { type Calls, Channel, type Message } from './calls.js'
import { ChannelRequest, ChannelResponse, type OpenHead } from './exchange.js'
import { type Kind, Wire } from './wire.js'

interface RelayEndOptions {
  /** Answers a request, at once or later. */
  readonly serve: Backend['serve']
  readonly calls: Calls
  /** The front is gone. */
  readonly closed: () => void
}

/** The relay process's end of the channel: it delivers requests as an HTTP server of Node would. */
export class RelayEnd<Theirs extends Calls> {
  readonly calls: Channel<Theirs>
  readonly #wire: Wire
  readonly #options: RelayEndOptions
  readonly #open = new ChurnMap<number, ChannelResponse>()

  constructor(stream: Duplex, options: RelayEndOptions) {
    this.#options = options
    this.#wire = new Wire(stream, {
      frame: (kind, exchange, payload) => this.#frame(kind, exchange, payload), closed: () => this.#closed(),
    })
    this.calls = new Channel<Theirs>(message => this.#wire.sendJson('note', 0, message), options.calls)
  }

  /** Exchanges that are not over. */
  get inFlight(): number {
    return this.#open.size
  }

  /** Sends queued frames before the end of the turn. */
  flush(): void {
    this.#wire.flush()
  }

  /** Handles a frame of the front. */
  #frame(kind: Kind, exchange: number, payload: Buffer): void {
    switch (kind) {
      case 'open': return this.#begin(exchange, JSON.parse(payload.toString()) as OpenHead)
      case 'body': return void this.#open.get(exchange)?.req.push(payload)
      case 'bodyEnd': return void this.#open.get(exchange)?.req.push(null)
      case 'taken': return this.#open.get(exchange)?.taken(payload.readUInt32LE(0))
      case 'gone': return this.#over(exchange, payload[0] === 1)
      case 'note': return this.calls.onMessage(deserialize(payload) as Message)
      // Never sent to a relay process.
      case 'head': case 'flush': case 'piece': case 'last': case 'cut': case 'continue': case 'pending':
      case 'answered': case 'leave':
    }
  }

  #begin(exchange: number, head: OpenHead): void {
    // The front must know the pending ids of earlier requests, in case this request ends the process.
    this.#wire.flushLate()
    const request = new ChannelRequest(this.#wire, exchange, head)
    const response = new ChannelResponse(this.#wire, exchange, request)
    this.#open.set(exchange, response)
    const upstream = head.upstream === null ? undefined : { header: head.upstream }
    const access = { token: head.token ?? undefined, subject: head.subject ?? undefined, upstream }
    this.#options.serve(request, response, new Arrival(request, access))
  }

  #over(exchange: number, hasHead = false): void {
    const response = this.#open.get(exchange)
    if (!response) return
    this.#open.delete(exchange)
    response.gone(hasHead)
  }

  #closed(): void {
    for (const exchange of this.#open.keys()) this.#over(exchange)
    this.calls.close()
    this.#options.closed()
  }
}
