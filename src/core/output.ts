import type { Frame } from '../protocol/frame.js'
import type { Effect } from './effect.js'
import type { Exchange, Side } from './event.js'

/** What is to be done because of the event in hand, in order; and the clock's reading when it happened. */
export class Output {
  #effects: Effect[] = []
  now = 0

  emit(effect: Effect): void {
    this.#effects.push(effect)
  }

  take(): readonly Effect[] {
    const effects = this.#effects
    this.#effects = []
    return effects
  }

  /** @param cause the client, but for what answers the server */
  toServer(exchange: Exchange, frame: Frame, cause: Side = 'client'): void {
    this.#effects.push({ type: 'send', to: 'server', exchange, frame, cause })
  }

  /** @param cause the server, but for what is refused before the server has heard of it */
  toClient(exchange: Exchange, frame: Frame, cause: Side = 'server'): void {
    this.#effects.push({ type: 'send', to: 'client', exchange, frame, cause })
  }
}
