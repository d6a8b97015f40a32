import { isObject, isString, type Json, type JsonObject, member } from '#relay/protocol/json.js'
import type { Core } from './core.js'
import type { Exchange } from './vocabulary.js'
import { type Ledger, weights } from './memory.js'

/** Tokens that are remembered, also after the response: progress may come late, and a task goes on. */
const maxTokens = 1000
/** Characters of a token that are compared. */
const longest = 256

/** The progress tokens that requests of the client gave (2025-11-25, progress). */
export class ProgressTokens {
  readonly #core: Core
  readonly #given = new Set<string>()
  readonly #ledger: Ledger
  #hasForgotten = false

  constructor(core: Core) {
    this.#core = core
    this.#ledger = core.ledger.account(Infinity)
  }

  gave(params: JsonObject | undefined): void {
    const meta = member(params, '_meta')
    const token = isObject(meta) ? written(member(meta, 'progressToken')) : undefined
    if (token === undefined || this.#given.has(token)) return
    this.#given.add(token)
    this.#ledger.add(weights.relayId + 2 * token.length)
    const [oldest = ''] = this.#given
    if (this.#given.size <= maxTokens) return
    this.#hasForgotten = true
    this.#given.delete(oldest)
    this.#ledger.add(-weights.relayId - 2 * oldest.length)
  }

  /** Whether no request gave the token of this progress; false where not all requests are known. */
  isForeign(exchange: Exchange, params: JsonObject | undefined): boolean {
    const { options, shared } = this.#core
    const isPartial = this.#hasForgotten || shared.isOn || options.joined === true
    if (isPartial || exchange.resumed === true) return false
    const token = written(member(params, 'progressToken'))
    return token !== undefined && !this.#given.has(token)
  }
}

/** A text and a number are two tokens. */
const written = (token: Json | undefined): string | undefined =>
  // Cut before it is written: a part of a long string would keep all of it in memory.
  (isString(token) || typeof token === 'number'
    ? JSON.stringify(isString(token) ? token.slice(0, longest) : token) : undefined)
