import { ChurnGroups } from '#core/memory.js'
import type { Exchange } from '#core/event.js'
import type { Frame } from '#protocol/frame.js'
import type { IdKey, Request } from '#protocol/json-rpc.js'
import type { Timers } from '../timers.js'
import type { Names } from './rename.js'
import type { Transport, TransportEvent } from '../transport.js'

/** A request that the server has not answered. */
export interface Asked {
  readonly port: Port
  readonly exchange: Exchange
  /** What the server knows it by. */
  readonly number: number
  readonly names: Names
  readonly request: Request
}

/** What a port asks of those who hand it out. */
export interface Hub {
  readonly timers: Timers
  /** A monotonic clock, in milliseconds. */
  readonly now: () => number
  send(port: Port, exchange: Exchange, frame: Frame): boolean
  giveUp(asked: Asked): void
  /** A port holds the server back, or does not any more. */
  held(): void
  leave(port: Port): Promise<void>
  /** A port that has left wants the server to end sooner. */
  hurry(urgency: number): void
}

/**
 * A session that does not read holds up every other: for at most so many milliseconds at a time, and
 * afterwards for none before the server was read for as long.
 */
const holdMs = 1000

/** One session's end of a server that many share. */
export class Port implements Transport {
  readonly #hub: Hub
  #hear: ((event: TransportEvent) => void) | undefined
  readonly #asked = new ChurnGroups<Exchange, Asked>()
  /** It was told to hold back, and waits to be told that the server reads again. */
  full = false
  #heldSince: number | undefined
  #stopHolding: () => void = () => undefined
  #mayHoldAt = 0
  #closed: Promise<void> | undefined

  constructor(hub: Hub) {
    this.#hub = hub
  }

  start(hear: (event: TransportEvent) => void): void {
    this.#hear = hear
  }

  tell(event: TransportEvent): void {
    this.#hear?.(event)
  }

  get holds(): boolean {
    return this.#heldSince !== undefined
  }

  add(asked: Asked): void {
    this.#asked.add(asked.exchange, asked)
  }

  delete(asked: Asked): void {
    this.#asked.delete(asked.exchange, asked)
  }

  /** Everything that it waits for. */
  all(): readonly Asked[] {
    return this.#asked.all()
  }

  send(exchange: Exchange, frame: Frame): boolean {
    return this.#closed !== undefined || this.#hub.send(this, exchange, frame)
  }

  abandon(exchange: Exchange, key: IdKey): void {
    for (const asked of this.#asked.of(exchange)) if (asked.names.key === key) this.#hub.giveUp(asked)
  }

  /** With the exchange goes what was asked on it, by the relay's own account too. */
  shut(exchange: Exchange): void {
    for (const asked of this.#asked.of(exchange)) this.#hub.giveUp(asked)
  }

  pause(): void {
    const now = this.#hub.now()
    if (this.holds || now < this.#mayHoldAt) return
    this.#heldSince = now
    this.#stopHolding = this.#hub.timers.after(holdMs, () => {
      this.#release()
      this.#mayHoldAt = Infinity
    })
    this.#hub.held()
  }

  resume(): void {
    if (this.holds) this.#release()
    else if (this.#mayHoldAt === Infinity) this.#mayHoldAt = this.#hub.now() + holdMs
  }

  /** What it still waits for is given up; the last port takes the server with it. */
  close(urgency = 1): Promise<void> {
    this.#closed ??= this.#close()
    this.#hub.hurry(urgency)
    return this.#closed
  }

  #close(): Promise<void> {
    if (this.holds) this.#release()
    const closed = this.#hub.leave(this)
    this.tell({ type: 'ended', reason: 'the session let go of the server' })
    this.#hear = undefined
    return closed
  }

  #release(): void {
    const now = this.#hub.now()
    this.#mayHoldAt = now + (now - (this.#heldSince ?? now))
    this.#heldSince = undefined
    this.#stopHolding()
    this.#hub.held()
  }
}
