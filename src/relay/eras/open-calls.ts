import type { Exchange } from '#relay/core/vocabulary.js'
import { ChurnGroups, ChurnMap } from '#relay/core/memory.js'
import type { RequestId } from '#relay/core/refusal.js'
import type { Frame } from '#relay/protocol/frame.js'
import type { IdKey } from '#relay/protocol/json-rpc.js'
import type { JsonObject } from '#relay/protocol/json.js'
import { meaningOf } from '#relay/protocol/message.js'

/** What waits for an answer: the client's request, or the retry that has taken its place. */
export interface Waiter extends RequestId {
  readonly exchange: Exchange
  /** Its progress token. */
  readonly token: IdKey | undefined
}

/** A request of the client at the server, from its arrival to its one answer. */
export interface OpenCall extends RequestId {
  /** `id`, `key` and `token` are those that the server knows. */
  readonly token: IdKey | undefined
  /** Towards the relay; over HTTP each call has its own. */
  readonly exchange: Exchange
  readonly method: string
  /** What a retry must repeat: a digest of the method, the name and the arguments. */
  readonly subject: string
  /** What the client declared, and the least severe level of log messages that it asked for. */
  readonly capabilities: JsonObject
  readonly logLevel: string | undefined
  /** The open questions of the server, as entries of `inputRequests`, by the server's id. */
  readonly questions: Map<IdKey, { readonly exchange: Exchange; readonly text: string }>
  /** Undefined while the call is parked: the client got `input_required`, and has not sent the retry yet. */
  waiter: Waiter | undefined
  /** True from when it was sent until the server has answered. */
  isAtServer: boolean
  /** By which a retry finds the call while it is parked, and the authorization context of that retry. */
  handle: string | undefined
  readonly context: string | undefined
  /** The answer that came while the call was parked. */
  answer: Frame | undefined
  rounds: number
  /** Stops the timer of the call: to collect questions, or for the end of its time while it is parked. */
  stop: () => void
}

/** Most names that are remembered for late messages; then no name of a client is used any more. */
const maxGivenUp = 1000

/** The open calls. A lenient server takes `1` and `"1"` for one id, so ids are compared by their meaning. */
export class OpenCalls {
  readonly #byKey = new ChurnMap<string, OpenCall>()
  readonly #byToken = new ChurnMap<string, OpenCall>()
  readonly #byExchange = new ChurnGroups<Exchange, OpenCall>()
  readonly #givenUp = new Set<string>()
  #last = 1_000_000_000

  /**
   * The client's own id or token, or another one where that is in use, or late messages may name it: they
   * must not reach another client that uses the same.
   */
  free<Key extends IdKey | undefined>(key: Key, of: 'id' | 'token'): Key | IdKey {
    if (key === undefined) return key
    const isTaken = (of === 'id' ? this.#byKey : this.#byToken).has(meaningOf(key))
    const isLate = this.#givenUp.size >= maxGivenUp || this.#givenUp.has(meaningOf(key))
    return isTaken || isLate ? String(++this.#last) : key
  }

  /** The server may still answer the call. */
  giveUp({ key, token }: OpenCall): void {
    for (const one of [key, token])
      if (one !== undefined && this.#givenUp.size < maxGivenUp) this.#givenUp.add(meaningOf(one))
  }

  add(call: OpenCall): void {
    this.#byKey.set(meaningOf(call.key), call)
    if (call.token !== undefined) this.#byToken.set(meaningOf(call.token), call)
    this.setWaiter(call, call.waiter)
  }

  delete(call: OpenCall): void {
    this.#byKey.delete(meaningOf(call.key))
    if (call.token !== undefined) this.#byToken.delete(meaningOf(call.token))
    this.setWaiter(call, undefined)
  }

  setWaiter(call: OpenCall, waiter: Waiter | undefined): void {
    if (call.waiter !== undefined) this.#byExchange.delete(call.waiter.exchange, call)
    if (waiter !== undefined) this.#byExchange.add(waiter.exchange, call)
    call.waiter = waiter
  }

  find(key: IdKey): OpenCall | undefined {
    return this.#byKey.get(meaningOf(key))
  }

  withToken(token: IdKey | undefined): OpenCall | undefined {
    return token === undefined ? undefined : this.#byToken.get(meaningOf(token))
  }

  /** The calls that are awaited on an exchange of the client, or the one of this id. */
  awaited(exchange: Exchange, key?: IdKey): readonly OpenCall[] {
    return this.#byExchange.of(exchange).filter(({ waiter }) => key === undefined || waiter?.key === key)
  }

  all(): readonly OpenCall[] {
    return this.#byKey.values()
  }
}
