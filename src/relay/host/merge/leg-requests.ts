import type { Exchange } from '#relay/core/vocabulary.js'
import { exchangeNamed, stdioExchange } from '#relay/core/event.js'
import { ChurnMap } from '#relay/core/memory.js'
import type { Frame } from '#relay/protocol/frame.js'
import type { IdKey } from '#relay/protocol/json-rpc.js'
import type { Leg, LegAnswer } from './leg.js'
import type { Host } from './machine.js'

interface Pending {
  readonly leg: Leg
  readonly exchange: Exchange
  readonly answered: (answer: LegAnswer) => void
  /** Of a client's request: where its notifications go, and its progress token. */
  readonly client?: { readonly exchange: Exchange; readonly token: Buffer | undefined } | undefined
}

/** The requests that were sent on legs and are not answered: each has a number of ours. */
export class LegRequests {
  readonly #host: Host
  readonly #isLegacy: () => boolean
  readonly #pending = new ChurnMap<number, Pending>()
  #last = 0

  /** @param isLegacy whether the client has sent `initialize` */
  constructor(host: Host, isLegacy: () => boolean) {
    this.#host = host
    this.#isLegacy = isLegacy
  }

  /** Sends a request, under a number of ours. @returns the number */
  ask(
    leg: Leg, make: (number: number) => Frame, how: Pick<Pending, 'answered' | 'client'>,
  ): number {
    const number = (this.#last += 1)
    const isOwn = this.#isLegacy() || !this.#host.options.hasExchanges
    const exchange = isOwn ? stdioExchange : exchangeNamed(`merged-${number}`)
    this.#pending.set(number, { leg, exchange, ...how })
    this.#host.emit({ type: 'send-to-leg', leg: leg.name, exchange, frame: make(number) })
    return number
  }

  notify(leg: Leg, frame: Frame): void {
    this.#host.emit({ type: 'send-to-leg', leg: leg.name, exchange: stdioExchange, frame })
  }

  /** Nobody waits for the answer any more. */
  cancel(number: number, cancellation: Frame): void {
    const pending = this.#pending.get(number)
    if (pending === undefined) return
    this.#pending.delete(number)
    const { leg, exchange } = pending
    this.#host.emit({ type: 'send-to-leg', leg: leg.name, exchange, frame: cancellation })
  }

  /**
   * The client's HTTP request has ended: so does that to the server's relay, which drops what it has not sent
   * yet. What is at the server goes on (2025-11-25, transports: disconnecting is no cancellation).
   * @returns tells the server of the client's later cancellation
   */
  leave(number: number): ((cancellation: Frame) => void) | undefined {
    const pending = this.#pending.get(number)
    if (pending === undefined) return undefined
    this.#pending.delete(number)
    const { leg, exchange } = pending
    this.#host.emit({ type: 'abandon', leg: leg.name, exchange, key: String(number) })
    return frame => this.notify(leg, frame)
  }

  find(leg: Leg, key: IdKey): Pending | undefined {
    const pending = this.#pending.get(Number(key))
    return pending?.leg === leg ? pending : undefined
  }

  /** A server has answered, or its relay knows that it will not. */
  answered(leg: Leg, key: IdKey, answer: LegAnswer): void {
    const pending = this.find(leg, key)
    if (pending === undefined) return
    this.#pending.delete(Number(key))
    pending.answered(answer)
  }

  /** The server will answer none of them. */
  lose(leg: Leg, reason: string): void {
    for (const [number, pending] of this.#pending.entries()) {
      if (pending.leg !== leg || !this.#pending.delete(number)) continue
      pending.answered(reason)
    }
  }
}
