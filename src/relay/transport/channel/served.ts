import { ChurnMap } from '#relay/core/memory.js'
import { RequestArrival } from '../front/arrival.js'
import type { Backend } from '../front/endpoints.js'
import { ChannelRequest, ChannelResponse, type OpenHead } from './exchange.js'
import type { WireKind, Wire } from './wire.js'

/** Serves the requests that come over a channel as an HTTP server of Node would. */
export class ServedAsks {
  readonly #open = new ChurnMap<number, ChannelResponse>()

  /** @param serve answers a request, at once or later */
  constructor(private readonly wire: Wire, private readonly serve: Backend['serve']) {}

  /** Exchanges that are not over. */
  get inFlight(): number {
    return this.#open.size
  }

  frame(kind: WireKind, exchange: number, payload: Buffer): void {
    switch (kind) {
      case 'open': return this.#begin(exchange, JSON.parse(payload.toString()) as OpenHead)
      case 'body': return void this.#open.get(exchange)?.req.push(payload)
      case 'bodyEnd': return void this.#open.get(exchange)?.req.push(null)
      case 'taken': return this.#open.get(exchange)?.taken(payload.readUInt32LE(0))
      case 'gone': return this.#over(exchange, payload[0] === 1)
      // Of the other direction.
      case 'head': case 'flush': case 'piece': case 'last': case 'cut': case 'continue': case 'pending':
      case 'answered': case 'leave': case 'note':
    }
  }

  /** The channel is closed. */
  lose(): void {
    for (const exchange of this.#open.keys()) this.#over(exchange)
  }

  #begin(exchange: number, head: OpenHead): void {
    // The front must know the pending ids of earlier requests, in case this request ends the process.
    this.wire.flushLate()
    const request = new ChannelRequest(this.wire, exchange, head)
    const response = new ChannelResponse(this.wire, exchange, request)
    this.#open.set(exchange, response)
    const upstream = head.upstream === null ? undefined : { header: head.upstream }
    const access = { token: head.token ?? undefined, subject: head.subject ?? undefined, upstream }
    this.serve(request, response, new RequestArrival(request, access))
  }

  #over(exchange: number, hasHead = false): void {
    const response = this.#open.get(exchange)
    if (!response) return
    this.#open.delete(exchange)
    response.gone(hasHead)
  }
}
