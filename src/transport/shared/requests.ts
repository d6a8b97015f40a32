import { ChurnMap } from '#core/memory.js'
import type { Exchange } from '#core/event.js'
import type { Frame } from '#protocol/frame.js'
import type { Request } from '#protocol/json-rpc.js'
import { namesOf } from './rename.js'
import type { Asked, Port } from './port.js'

/** Requests given up whose late answer is still known as one; more than clients give up in earnest. */
const mostGivenUp = 1000

/** What was asked of a shared server and not answered, by a number that is never used again. */
export class SharedRequests {
  readonly #asked = new ChurnMap<number, Asked>()
  readonly #givenUp = new Set<number>()
  #last = 0
  /**
   * Up to this number the server may not know yet what was given up: what names no request may be about one
   * of those. Zero when it is known to have read that far.
   */
  #doubt = 0

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

  /** Nobody waits for it any more; the server is about to be told. */
  giveUp(asked: Asked): void {
    this.close(asked)
    this.#doubt = this.#last
    this.#givenUp.add(asked.number)
    if (this.#givenUp.size <= mostGivenUp) return
    for (const oldest of this.#givenUp) {
      this.#givenUp.delete(oldest)
      break
    }
  }

  /** Whether an answer to nothing comes too late only: true once. */
  isLate(number: number): boolean {
    return this.#givenUp.delete(number)
  }

  /** The server says something of a request: it has read everything up to it. */
  hasRead(number: number): void {
    if (number > this.#doubt) this.#doubt = 0
  }

  /** Whom the server speaks to when it does not say: certain only where one exchange alone waits. */
  only(): Asked | undefined {
    if (this.#doubt > 0) return undefined
    let only: Asked | undefined
    for (const asked of this.#asked.values()) {
      if (only && (only.port !== asked.port || only.exchange !== asked.exchange)) return undefined
      only = asked
    }
    return only
  }

  /** Another server answers from now on. */
  forget(): void {
    this.#givenUp.clear()
    this.#doubt = 0
  }
}
