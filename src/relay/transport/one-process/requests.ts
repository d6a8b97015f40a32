import { ChurnMap } from '#relay/core/memory.js'
import type { Exchange } from '#relay/core/vocabulary.js'
import type { Frame } from '#relay/protocol/frame.js'
import type { Json } from '#relay/protocol/json.js'
import type { Request } from '#relay/protocol/json-rpc.js'
import { inMeta } from '#relay/protocol/revisions/index.js'
import { renamedNames } from './rename.js'
import type { SentRequest, Port } from './port.js'

/** Most cancelled requests whose late response is recognized. Real clients cancel fewer. */
const maxGivenUp = 1000

/** The open requests of a shared server, by a number that is never used again. */
export class ProcessRequests {
  readonly #sentRequest = new ChurnMap<number, SentRequest>()
  readonly #givenUp = new Set<number>()
  #last = 0
  /**
   * The number of the last request before a cancellation that the server may not have read yet. Until it has,
   * a message that names no request may belong to the cancelled one. Zero when it has read the cancellation.
   */
  #unreadUpTo = 0
  /** The numbers of cancelled requests that may still log: see `#unreadUpTo`. */
  readonly #mayLog = new Set<number>()

  open(port: Port, exchange: Exchange, frame: Frame, request: Request): SentRequest {
    const logLevel = inMeta(request.params, 'logLevel')
    const sentRequest =
      { port, exchange, number: ++this.#last, names: renamedNames(frame, request), request, logLevel }
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
    if (sentRequest.logLevel !== undefined) this.#mayLog.add(sentRequest.number)
    this.#givenUp.add(sentRequest.number)
    if (this.#givenUp.size <= maxGivenUp) return
    for (const oldest of this.#givenUp) {
      this.isLate(oldest)
      break
    }
  }

  /** True for the number of a request, open or over. */
  wasSent(number: number): boolean {
    return number >= 1 && number <= this.#last
  }

  /** True for the first response to a cancelled request. */
  isLate(number: number): boolean {
    this.#mayLog.delete(number)
    return this.#givenUp.delete(number)
  }

  /** Call when the server names a request: it has then read everything before that request. */
  hasRead(number: number): void {
    if (number <= this.#unreadUpTo) return
    this.#unreadUpTo = 0
    this.#mayLog.clear()
  }

  /** The request of a message that names none: known only while one exchange has open requests. */
  only(): SentRequest | undefined {
    return this.#unreadUpTo > 0 ? undefined : onlyOf(this.#sentRequest.values())
  }

  /** The request that a log message belongs to: the only one that asked for its level. */
  ofLog(level: Json | undefined): SentRequest | undefined {
    const open = this.#sentRequest.values()
    const asking = open.filter(({ logLevel }) => logLevel !== undefined)
    if (this.#mayLog.size > 0 || (asking.length === 0 && this.#unreadUpTo > 0)) return undefined
    if (asking.length === 0) return onlyOf(open.filter(({ request }) => request.method !== 'subscriptions/listen'))
    return onlyOf(asking.length === 1 ? asking : asking.filter(({ logLevel }) => takes(logLevel, level)))
  }

  /** Call when the process has ended. */
  forget(): void {
    this.#givenUp.clear()
    this.#unreadUpTo = 0
    this.#mayLog.clear()
  }
}

/** One of these requests, if all of them are of one exchange. */
const onlyOf = (requests: readonly SentRequest[]): SentRequest | undefined => {
  const [first] = requests
  return requests.every(({ port, exchange }) => port === first?.port && exchange === first.exchange)
    ? first
    : undefined
}

/** Of log messages, the least severe first (RFC 5424, section 6.2.1). */
const levels: readonly unknown[] =
  ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']

/** Whether a request that asked for a level takes a message of another. A level that is not known passes. */
const takes = (asked: Json | undefined, level: Json | undefined): boolean =>
  !levels.includes(level) || levels.indexOf(level) >= levels.indexOf(asked)
