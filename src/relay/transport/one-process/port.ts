import { ChurnGroups } from '#relay/core/memory.js'
import type { Exchange } from '#relay/core/vocabulary.js'
import type { Frame } from '#relay/protocol/frame.js'
import type { Json } from '#relay/protocol/json.js'
import type { IdKey, Request } from '#relay/protocol/json-rpc.js'
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

/**
 * Longest time, in milliseconds, for which a session that does not read may stop the reading of the server,
 * which stops all other sessions as well. After that the server is read for as long as it was paused.
 */
const maxPauseMs = 1000

/** One session's transport to a shared server. */
export class Port implements Transport {
  #onEvent: ((event: TransportEvent) => void) | undefined
  expected: Expected | undefined
  readonly #sentRequests = new ChurnGroups<Exchange, SentRequest>()
  /** True when `send` returned false, and `drained` was not reported yet. */
  full = false
  #pausedSince: number | undefined
  #stopPauseTimer: () => void = () => undefined
  #mayPauseAt = 0
  #closed: Promise<void> | undefined

  constructor(private readonly hub: Hub) {}

  start(onEvent: (event: TransportEvent) => void, expected?: Expected): void {
    this.#onEvent = onEvent
    this.expected = expected
  }

  report(event: TransportEvent): void {
    this.#onEvent?.(event)
  }

  get isPausing(): boolean {
    return this.#pausedSince !== undefined
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
    const now = this.hub.now()
    if (this.isPausing || now < this.#mayPauseAt) return
    this.#pausedSince = now
    this.#stopPauseTimer = this.hub.timers.after(maxPauseMs, () => {
      this.#release()
      this.#mayPauseAt = Infinity
    })
    this.hub.pausingChanged()
  }

  resume(): void {
    if (this.isPausing) this.#release()
    else if (this.#mayPauseAt === Infinity) this.#mayPauseAt = this.hub.now() + maxPauseMs
  }

  /** Cancels all open requests. The last port that closes ends the server. */
  close(urgency = 1): Promise<void> {
    this.#closed ??= this.#close()
    this.hub.hurry(urgency)
    return this.#closed
  }

  #close(): Promise<void> {
    if (this.isPausing) this.#release()
    const closed = this.hub.leave(this)
    this.report({ type: 'ended', reason: 'the session let go of the server' })
    this.#onEvent = undefined
    return closed
  }

  #release(): void {
    const now = this.hub.now()
    this.#mayPauseAt = now + (now - (this.#pausedSince ?? now))
    this.#pausedSince = undefined
    this.#stopPauseTimer()
    this.hub.pausingChanged()
  }
}
