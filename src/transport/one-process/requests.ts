import { ChurnMap } from '#core/memory.js'
import type { Exchange } from '#core/event.js'
import type { Frame } from '#protocol/frame.js'
import type { Request } from '#protocol/json-rpc.js'
import { namesOf } from './rename.js'
import type { SentRequest, Port } from './port.js'

/** Most cancelled requests whose late response is recognized. Real clients cancel fewer. */
const maxGivenUp = 1000

/** The open requests of a shared server, by a number that is never used again. */
export class SharedRequests {
  readonly #sentRequest = new ChurnMap<number, SentRequest>()
  readonly #givenUp = new Set<number>()
  #last = 0
  /**
   * The number of the last request before a cancellation that the server may not have read yet. Until it has,
   * a message that names no request may belong to the cancelled one. Zero when it has read the cancellation.
   */
  #unreadUpTo = 0

  open(port: Port, exchange: Exchange, frame: Frame, request: Request): SentRequest {
    const sentRequest = { port, exchange, number: ++this.#last, names: namesOf(frame, request), request }
    this.#sentRequest.set(sentRequest.number, sentRequest)
    port.add(sentRequest)
    return sentRequest
  }

  find(number: number): SentRequest | undefined {
    return this.#sentRequest.get(number)
  }

  all(): readonly SentRequest[] {
    return this.#sentRequest.values()
  }

  close(sentRequest: SentRequest): void {
    this.#sentRequest.delete(sentRequest.number)
    sentRequest.port.delete(sentRequest)
  }

  /** Call before the server gets the cancellation of this request. */
  giveUp(sentRequest: SentRequest): void {
    this.close(sentRequest)
    this.#unreadUpTo = this.#last
    this.#givenUp.add(sentRequest.number)
    if (this.#givenUp.size <= maxGivenUp) return
    for (const oldest of this.#givenUp) {
      this.#givenUp.delete(oldest)
      break
    }
  }

  /** True for the first response to a cancelled request. */
  isLate(number: number): boolean {
    return this.#givenUp.delete(number)
  }

  /** Call when the server names a request: it has then read everything before that request. */
  hasRead(number: number): void {
    if (number > this.#unreadUpTo) this.#unreadUpTo = 0
  }

  /** The request of a message that names none: known only while one exchange has open requests. */
  only(): SentRequest | undefined {
    if (this.#unreadUpTo > 0) return undefined
    let only: SentRequest | undefined
    for (const sentRequest of this.#sentRequest.values()) {
      if (only && (only.port !== sentRequest.port || only.exchange !== sentRequest.exchange)) return undefined
      only = sentRequest
    }
    return only
  }

  /** Call when the process has ended. */
  forget(): void {
    this.#givenUp.clear()
    this.#unreadUpTo = 0
  }
}
