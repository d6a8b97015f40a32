import type { Frame } from '../protocol/frame.js'
import { isObject, isString, member, pointer, type JsonObject } from '../protocol/json.js'
import { errorCode, type ErrorResponse, type Request, type Result } from '../protocol/json-rpc.js'
import { clip } from '../protocol/quote.js'
import type { Context } from './context.js'
import type { Exchange } from './event.js'
import { Exchanges, type Pending } from './exchanges.js'
import { isStop } from './policy.js'
import { blocked, errorAnswer } from './refusal.js'
import type { Finding } from './rule.js'
import type { Terms } from './session.js'

/** Requests of a server that wait for the client at a time: a server could ask for ever. */
const mostPending = 1000

const tooMany = 'too many requests are in flight'

/** What the server asks of the client: sampling, elicitation, roots, ping. */
export class ServerRequests {
  readonly #context: Context
  readonly #pending: Exchanges<Pending>

  constructor(context: Context) {
    this.#context = context
    this.#pending = new Exchanges(context.options.stateless)
  }

  received(exchange: Exchange, frame: Frame, message: Request, found: readonly Finding[]): void {
    const { id, key, method, params } = message
    const asked = { exchange, id, key }
    const many = this.#pending.size >= mostPending
    const fresh = !many && this.#pending.open(asked)
    const request: JsonObject = params === undefined ? { method } : { method, params }
    const { verdict, findings } = this.#context.judge([
      ...found,
      ...(fresh ? [] : [{ rule: 'wire/id', path: '/id', message: many ? tooMany : 'a request of this id is in flight' } as const]),
      ...serverRequestFindings(this.#context, request, this.#context.session.terms, []),
    ])
    this.#context.record({ event: method, id, verdict, findings, bytes: { request: frame.bytes.length } })
    if (!isStop(verdict)) return this.#context.toClient(exchange, frame)
    if (fresh) this.#pending.close(asked)
    this.#context.toServer(exchange, errorAnswer(asked, errorCode.methodNotFound, `Method not found: ${clip(method)}`))
  }

  /** The client's answer. */
  answered(exchange: Exchange, frame: Frame, { key }: Result | ErrorResponse, found: readonly Finding[]): void {
    const asked = this.#pending.find(exchange, key)
    const { verdict, findings } = this.#context.judge(
      asked
        ? found
        : [...found, { rule: 'wire/id', path: '/id', message: 'answers no request that the server has in flight' }],
    )
    if (findings.length > 0) this.#context.record({ event: 'wire', verdict, findings })
    if (asked !== undefined) this.#pending.close(asked)
    if (!isStop(verdict)) return this.#context.toServer(exchange, frame)
    if (asked !== undefined) this.#context.toServer(exchange, blocked(asked, findings))
  }

  /** Takes back a request; `notifications/cancelled` of the server's. */
  cancelled(exchange: Exchange, params: JsonObject | undefined): void {
    const key = JSON.stringify(member(params, 'requestId') ?? null)
    const asked = this.#pending.find(exchange, key)
    if (asked !== undefined) this.#pending.close(asked)
  }

  /** A frame of the client's that cannot be used, though its id can be read: the server need not wait for more. */
  unusable(exchange: Exchange, key: string, findings: readonly Finding[]): boolean {
    const asked = this.#pending.find(exchange, key)
    if (asked === undefined) return false
    this.#pending.close(asked)
    this.#context.toServer(exchange, blocked(asked, findings))
    return true
  }
}

/**
 * What the rules say of a request of the server's, sent as one or embedded in an `input_required` result.
 * @param at where it stands in the frame; empty for the frame itself
 */
export const serverRequestFindings = (
  context: Context,
  request: JsonObject,
  terms: Terms,
  at: readonly string[],
): readonly Finding[] => {
  const method = member(request, 'method')
  const params = member(request, 'params')
  const path = pointer(...at.map(clip))
  const asked = {
    method: isString(method) ? method : '',
    params: isObject(params) ? params : undefined,
    clientCapabilities: terms.capabilities,
    path,
  }
  return context.ask('onServerRequest', asked, path)
}
