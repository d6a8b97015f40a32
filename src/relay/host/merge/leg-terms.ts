import { termsData } from '#relay/core/shared.js'
import { Handshake } from '#relay/core/terms.js'
import type { Frame } from '#relay/protocol/frame.js'
import type { JsonObject } from '#relay/protocol/json.js'
import type { IdKey } from '#relay/protocol/json-rpc.js'

/**
 * What the handshake of a leg has agreed. It goes with each request, because the session of an HTTP server
 * outlives the server's relay process, and the next one has to know what the client has declared.
 */
export class LegTerms {
  readonly #handshake = new Handshake(true, false)
  #initialize: IdKey | undefined
  #agreed: JsonObject | undefined

  /** Undefined before the answer to `initialize`, and with a modern client. */
  get agreed(): JsonObject | undefined {
    return this.#agreed
  }

  sent({ message }: Frame): void {
    if (message.kind !== 'request' || message.method !== 'initialize') return
    this.#initialize = message.key
    this.#agreed = undefined
    this.#handshake.termsOf(message)
  }

  received({ message }: Frame): void {
    if (message.kind !== 'result' || message.key !== this.#initialize) return
    this.#initialize = undefined
    this.#handshake.agreed(message.result)
    this.#agreed = termsData(this.#handshake.terms)
  }
}
