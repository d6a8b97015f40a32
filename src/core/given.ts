import type { IdKey } from '../protocol/json-rpc.js'
import type { Exchange } from './event.js'
import type { Ledger } from './memory.js'
import type { PendingRequest } from './request.js'

/** What a session keeps of requests that were answered, in bytes; the oldest is forgotten first. */
const maxBytes = 128 * 1024

/** Arguments of more bytes are not kept: the record of a replayed answer is without their digest. */
const maxArguments = 4096

/**
 * Answered requests whose answer the client may ask for again: the answer stood in a stream that can be resumed
 * (2025-11-25, Streamable HTTP, Resumability and Redelivery). An answer counts as given when it was delivered (contract
 * section 5).
 */
export class GivenAnswers {
  readonly #given = new Map<IdKey, { readonly request: PendingRequest; readonly context: string | undefined; readonly weight: number }>()
  readonly #ledger: Ledger

  constructor(session: Ledger) {
    this.#ledger = session.account(maxBytes)
  }

  add(request: PendingRequest, { context }: Exchange): void {
    if (request.bytes > maxArguments) request.arguments = undefined
    const { key, weight } = request
    this.#forget(key)
    this.#given.set(key, { request, context, weight })
    this.#ledger.add(weight)
    for (const oldest of this.#given.keys()) {
      if (this.#ledger.kept <= maxBytes) return
      this.#forget(oldest)
    }
  }

  /** The request that a replay answers, on a stream that the same authorization context resumed. */
  find({ resumed, context }: Exchange, key: IdKey): PendingRequest | undefined {
    const given = this.#given.get(key)
    if (resumed !== true || given === undefined || given.context !== context) return undefined
    this.#forget(key)
    return given.request
  }

  /** It is not known that the answer was delivered: it is kept longer than others. */
  refresh(key: IdKey): void {
    const given = this.#given.get(key)
    if (given === undefined) return
    this.#given.delete(key)
    this.#given.set(key, given)
  }

  #forget(key: IdKey): void {
    const given = this.#given.get(key)
    if (given === undefined) return
    this.#given.delete(key)
    this.#ledger.add(-given.weight)
  }
}
