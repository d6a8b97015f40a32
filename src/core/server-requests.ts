import type { Frame } from '../protocol/frame.js'
import { isObject, isString, member, type JsonObject } from '../protocol/json.js'
import { errorCode, type ErrorResponse, type IdKey, type Request, type Result } from '../protocol/json-rpc.js'
import { clip } from '../protocol/quote.js'
import type { Core } from './core.js'
import type { Exchange } from './event.js'
import type { Findings } from './findings.js'
import type { Flow } from './flow.js'
import { PendingRequests, type Pending } from './pending.js'
import { eventOf } from './records.js'
import { blocked, errorAnswer } from './refusal.js'
import type { Terms } from './terms.js'

/** Requests of a server that wait for the client at a time; it has given up the oldest of more, by all that can be told. */
const mostPending = 1000

type JudgeUnasked = (method: string, exchange: Exchange, frame: Frame, params: JsonObject | undefined, findings: Findings) => Flow<Frame>

/** What the server asks of the client: sampling, elicitation, roots, ping. */
export class ServerRequests {
  readonly #core: Core
  readonly #judgeUnasked: JudgeUnasked
  readonly #pending: PendingRequests<Pending>

  constructor(core: Core, judgeUnasked: JudgeUnasked) {
    this.#core = core
    this.#judgeUnasked = judgeUnasked
    this.#pending = new PendingRequests(core.options.stateless)
  }

  *received(exchange: Exchange, frame: Frame, message: Request, findings: Findings): Flow {
    const { id, key, method, params } = message
    const { ask, output, records, handshake } = this.#core
    const pending: Pending = { exchange, id, key, bytes: key.length }
    const isFresh = this.#pending.open(pending)
    if (!isFresh) ask('onId', { use: 'repeated', from: 'server' }, findings, '/id')
    judgeServerRequest(this.#core, params === undefined ? { method } : { method, params }, handshake.terms, '', findings)
    const sent = yield* this.#judgeUnasked(method, exchange, frame, params, findings)
    records.write({ event: eventOf(method, 'server'), from: 'server', id, bytes: { request: frame.bytes.length } }, findings)
    if (findings.isStop) {
      if (isFresh) this.#pending.close(pending)
      return output.toServer(exchange, errorAnswer(message, errorCode.methodNotFound, `Method not found: ${clip(method)}`), 'server')
    }
    const oldest = this.#pending.size > mostPending ? this.#pending.oldest() : undefined
    if (oldest !== undefined) this.#pending.close(oldest)
    output.toClient(exchange, sent)
  }

  /** The client's answer. */
  answered(exchange: Exchange, frame: Frame, { key }: Result | ErrorResponse, findings: Findings): void {
    const { ask, output, records } = this.#core
    const pending = this.#pending.findAnywhere(exchange, key)
    if (pending === undefined) ask('onId', { use: 'unasked', from: 'client' }, findings, '/id')
    else this.#pending.close(pending)
    records.note('wire', 'client', findings)
    if (!findings.isStop) output.toServer(exchange, frame)
    else if (pending !== undefined) output.toServer(exchange, blocked(pending, findings))
  }

  /** Takes back a request; `notifications/cancelled` of the server's. */
  cancelled(exchange: Exchange, key: IdKey): void {
    const pending = this.#pending.findAnywhere(exchange, key)
    if (pending !== undefined) this.#pending.close(pending)
  }

  /** A frame of the client's that cannot be used, though its id can be read: the server need not wait for more. */
  unusable(exchange: Exchange, key: IdKey, findings: Findings): boolean {
    const pending = this.#pending.findAnywhere(exchange, key)
    if (pending === undefined) return false
    this.#pending.close(pending)
    this.#core.output.toServer(exchange, blocked(pending, findings))
    return true
  }
}

/**
 * What the rules say of a request of the server's, sent as one or embedded in another message.
 * @param path JSON Pointer of the request in the frame
 */
export const judgeServerRequest = (core: Core, request: JsonObject, terms: Terms, path: string, findings: Findings): void => {
  const method = member(request, 'method')
  const params = member(request, 'params')
  const asked = {
    method: isString(method) ? method : '',
    params: isObject(params) ? params : undefined,
    clientCapabilities: terms.capabilities,
    methodPath: `${path}/method`,
    paramsPath: `${path}/params`,
  }
  core.ask('onServerRequest', asked, findings, path)
}
