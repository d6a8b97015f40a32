import type { Frame } from '#relay/protocol/frame.js'
import type { Effect, Exchange, Side } from './vocabulary.js'

/** The effects of the current event, in order, and the time when it happened. */
export class Output {
  #effects: Effect[] = []
  now = 0

  emit(effect: Effect): void {
    this.#effects.push(effect)
  }

  /** Completes an exchange, unless the event that is being handled sent the client a message on it. */
  complete(exchange: Exchange): void {
    const sent = this.#effects.flatMap(effect => {
      if (effect.type === 'complete') return effect.exchange === exchange ? 'client' : []
      return effect.type === 'send' && effect.exchange === exchange ? effect.to : []
    })
    if (sent.includes('client')) return
    this.emit({ type: 'complete', exchange, ...(sent.includes('server') && { isAtServer: true }) })
  }

  /**
   * The client does not get a frame, but its event id all the same: a client that resumes the stream goes on
   * behind the frame (2025-11-25, resumability and redelivery).
   */
  withheld(exchange: Exchange, { envelope }: Frame): void {
    const event = envelope?.event
    if (event === undefined) return
    this.emit({ type: 'hand', exchange, event: { type: 'between', exchange, lines: `${event}data: \n\n` } })
  }

  take(): readonly Effect[] {
    const effects = this.#effects
    this.#effects = []
    return effects
  }

  /** @param cause `server` for responses to the server's own requests */
  toServer(exchange: Exchange, frame: Frame, cause: Side = 'client'): void {
    this.#effects.push({ type: 'send', to: 'server', exchange, frame, cause })
  }

  /** @param cause `client` for refusals of requests that the server never saw */
  toClient(exchange: Exchange, frame: Frame, cause: Side = 'server'): void {
    this.#effects.push({ type: 'send', to: 'client', exchange, frame, cause })
  }
}
