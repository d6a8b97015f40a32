import { ChurnGroups } from '#relay/core/memory.js'
import type { Exchange } from '#relay/core/vocabulary.js'
import type { Frame } from '#relay/protocol/frame.js'
import type { Json } from '#relay/protocol/json.js'
import type { IdKey, Request } from '#relay/protocol/json-rpc.js'
import { BriefPause } from '../brief-pause.js'
import type { Timers } from '../timers.js'
import type { Names } from './rename.js'
import type { Expected, Transport, TransportEvent } from '../transport.js'

/** A request that the server has not answered. */
export interface SentRequest {
  readonly port: Port
  readonly exchange: Exchange
  /** The id, and progress token, by which the server knows the request. */
  readonly number: number
  readonly names: Names
  readonly request: Request
  /** The least severe level of log messages that it asked for (2026-07-28, Logging). */
  readonly logLevel: Json | undefined
}

/** What a port needs of the shared server. */
export interface Hub {
  readonly timers: Timers
  /** A monotonic clock, in milliseconds. */
  readonly now: () => number
  send(port: Port, exchange: Exchange, frame: Frame): boolean
  giveUp(sentRequest: SentRequest): void
  /** Call when `isPausing` of a port has changed. */
  pausingChanged(): void
  leave(port: Port): Promise<void>
  /** Ends the process sooner, after `leave`. */
  hurry(urgency: number): void
}

/** One session's transport to a shared server. */
export class Port implements Transport {
  #onEvent: ((event: TransportEvent) => void) | undefined
  expected: Expected | undefined
  readonly #sentRequests = new ChurnGroups<Exchange, SentRequest>()
  /** True when `send` returned false, and `drained` was not reported yet. */
  full = false
  /** A server that is not read is not read for any other session. */
  readonly #pause: BriefPause
  #closed: Promise<void> | undefined

  constructor(private readonly hub: Hub) {
    this.#pause = new BriefPause({
      timers: hub.timers, now: () => hub.now(), changed: () => hub.pausingChanged(),
    })
  }

  start(onEvent: (event: TransportEvent) => void, expected?: Expected): void {
    this.#onEvent = onEvent
    this.expected = expected
  }

  report(event: TransportEvent): void {
    this.#onEvent?.(event)
  }

  get isPausing(): boolean {
    return this.#pause.isPausing
  }

  add(sentRequest: SentRequest): void {
    this.#sentRequests.add(sentRequest.exchange, sentRequest)
  }

  delete(sentRequest: SentRequest): void {
    this.#sentRequests.delete(sentRequest.exchange, sentRequest)
  }

  /** All open requests of this session. */
  all(): readonly SentRequest[] {
    return this.#sentRequests.all()
  }

  send(exchange: Exchange, frame: Frame): boolean {
    return this.#closed !== undefined || this.hub.send(this, exchange, frame)
  }

  abandon(exchange: Exchange, key: IdKey): void {
    for (const sentRequest of this.#sentRequests.of(exchange))
      if (sentRequest.names.key === key) this.hub.giveUp(sentRequest)
  }

  /** Cancels all requests of the exchange, including the relay's own. */
  shut(exchange: Exchange): void {
    for (const sentRequest of this.#sentRequests.of(exchange)) this.hub.giveUp(sentRequest)
  }

  pause(): void {
    this.#pause.pause()
  }

  resume(): void {
    this.#pause.resume()
  }

  /** Cancels all open requests. The last port that closes ends the server. */
  close(urgency = 1): Promise<void> {
    this.#closed ??= this.#close()
    this.hub.hurry(urgency)
    return this.#closed
  }

  #close(): Promise<void> {
    if (this.isPausing) this.#pause.resume()
    const closed = this.hub.leave(this)
    this.report({ type: 'ended', reason: 'the session let go of the server' })
    this.#onEvent = undefined
    return closed
  }
}
