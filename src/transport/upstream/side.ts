import type { Exchange } from '../../core/event.js'
import type { Frame } from '../../protocol/frame.js'
import type { IdKey } from '../../protocol/json-rpc.js'
import { Calls } from './calls.js'
import type { Transport, TransportEvent } from '../transport.js'

/** What all have in common who face a server over HTTP: the calls that are under way, readers that can be held back, one end. */
export abstract class HttpSide implements Transport {
  protected readonly calls = new Calls()
  /** How long `close` waits for answers that are under way, in milliseconds. */
  protected readonly stopMs: number
  #closed: Promise<void> | undefined

  constructor(stopMs = 1500) {
    this.stopMs = stopMs
  }

  abstract start(hear: (event: TransportEvent) => void): void

  abstract send(exchange: Exchange, frame: Frame): boolean

  /** The last of `close`: everything is answered that will be. */
  protected abstract finish(): void | Promise<void>

  abandon(exchange: Exchange, key: IdKey): void {
    this.calls.abandon(exchange, key)
  }

  abstract pause(exchange: Exchange): void

  abstract resume(exchange: Exchange): void

  /** Whatever was held back may go on. */
  protected abstract resumeAll(): void

  /** Called again, it waits for no answer any more. */
  close(): Promise<void> {
    if (this.#closed) this.calls.hurry()
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    this.resumeAll()
    await this.calls.rest(this.stopMs)
    await this.finish()
  }
}
