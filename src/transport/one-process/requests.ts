import { ChurnMap } from '#core/memory.js'
import type { Exchange } from '#core/event.js'
import type { Frame } from '#protocol/frame.js'
import type { Request } from '#protocol/json-rpc.js'
import { namesOf } from './rename.js'
import type { Asked, Port } from './port.js'

/** Most cancelled requests whose late response is recognized. Real clients cancel fewer. */
const maxGivenUp = 1000

/** The open requests of a shared server, by a number that is never used again. */
export class SharedRequests {
  readonly #asked = new ChurnMap<number, Asked>()
  readonly #givenUp = new Set<number>()
  #last = 0
  /**
   * The number of the last request before a cancellation that the server may not have read yet. Until it has,
   * a message that names no request may belong to the cancelled one. Zero when it has read the cancellation.
   */
  #unreadUpTo = 0

  open(port: Port, exchange: Exchange, frame: Frame, request: Request): Asked {
    const asked = { port, exchange, number: ++this.#last, names: namesOf(frame, request), request }
    this.#asked.set(asked.number, asked)
    port.add(asked)
    return asked
  }

  find(number: number): Asked | undefined {
    return this.#asked.get(number)
  }

  all(): readonly Asked[] {
    return this.#asked.values()
  }

  close(asked: Asked): void {
    this.#asked.delete(asked.number)
    asked.port.delete(asked)
  }

  /** Call before the server gets the cancellation of this request. */
  giveUp(asked: Asked): void {
    this.close(asked)
    this.#unreadUpTo = this.#last
    this.#givenUp.add(asked.number)
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
  only(): Asked | undefined {
    if (this.#unreadUpTo > 0) return undefined
    let only: Asked | undefined
    for (const asked of this.#asked.values()) {
      if (only && (only.port !== asked.port || only.exchange !== asked.exchange)) return undefined
      only = asked
    }
    return only
  }

  /** Call when the process has ended. */
  forget(): void {
    this.#givenUp.clear()
    this.#unreadUpTo = 0
  }
}
