import type { Frame } from '#relay/protocol/frame.js'
import { isObject, isString, type JsonObject, member } from '#relay/protocol/json.js'
import {
  errorCode, type ErrorResponse, type IdKey, type Request, type Result,
} from '#relay/protocol/json-rpc.js'
import { clip } from '#relay/protocol/quote.js'
import type { Core } from './core.js'
import type { Exchange } from './vocabulary.js'
import type { Findings } from './findings.js'
import type { Flow } from './flow.js'
import { weights } from './memory.js'
import { type Pending, PendingRequests } from './pending.js'
import { eventOf } from './records.js'
import { blocked, errorFrame } from './refusal.js'
import { notShared, termsOf } from './shared.js'
import type { Terms } from './terms.js'

/** Most server requests in flight, and their bytes; the oldest is forgotten first. */
const maxPending = 1000
const maxBytes = 1024 * 1024

type JudgeUnsolicited = (
  method: string, exchange: Exchange, frame: Frame, params: JsonObject | undefined, findings: Findings,
) => Flow<Frame>

/** The server's requests to the client: sampling, elicitation, roots, ping. */
export class ServerRequests {
  readonly #core: Core
  readonly #judgeUnsolicited: JudgeUnsolicited
  readonly #pending: PendingRequests<Pending>

  constructor(core: Core, judgeUnsolicited: JudgeUnsolicited) {
    this.#core = core
    this.#judgeUnsolicited = judgeUnsolicited
    this.#pending = new PendingRequests(core.options.stateless, core.ledger.account(maxBytes))
  }

  *received(exchange: Exchange, frame: Frame, message: Request, findings: Findings): Flow {
    const { id, key, method, params } = message
    const { ask, output, records, handshake, shared } = this.#core
    const pending: Pending = { exchange, id, key, weight: weights.serverRequest + 4 * key.length, kept: 0 }
    if (pending.weight > maxBytes) ask('onId', { use: 'no-room', from: 'server' }, findings, '/id')
    while (!this.#pending.hasRoom(pending) || this.#pending.size >= maxPending) this.#forgetOldest()
    const isFresh = this.#pending.open(pending)
    if (!isFresh) ask('onId', { use: 'repeated', from: 'server' }, findings, '/id')
    if (shared.isOn && handshake.terms.capabilities === undefined) {
      const agreed = yield* shared.ask({ kind: 'find', part: 'session', name: '' }, exchange)
      if (agreed === 'unreachable') return this.failed(exchange, frame, message, notShared)
      const terms = isString(agreed) ? undefined : termsOf(agreed)
      if (terms !== undefined) handshake.adopt(terms)
    }
    judgeServerRequest(
      this.#core, params === undefined ? { method } : { method, params }, handshake.terms, '', findings,
    )
    const sent = yield* this.#judgeUnsolicited(method, exchange, frame, params, findings)
    if (!findings.isStop) {
      // Before it leaves: the client may answer at another replica.
      const kept = yield* shared.ask({ kind: 'keep', part: 'asked', name: key, value: { method } }, exchange)
      if (kept === 'unreachable') return this.failed(exchange, frame, message, notShared)
    }
    records.write(
      { event: eventOf(method, 'server'), from: 'server', id, bytes: { request: frame.bytes.length } },
      findings,
    )
    if (!findings.isStop) return output.toClient(exchange, sent)
    if (isFresh) this.#pending.close(pending)
    const refusal = errorFrame(message, errorCode.methodNotFound, `Method not found: ${clip(method)}`)
    output.toServer(exchange, { ...refusal, envelope: { refused: message } }, 'server')
    output.withheld(exchange, frame)
  }

  /** The relay failed on a request: the server gets an error. */
  failed(exchange: Exchange, frame: Frame, message: Request, reason: string): void {
    const pending = this.#pending.find(exchange, message.key)
    if (pending !== undefined) this.#pending.close(pending)
    this.#core.records.write({
      event: eventOf(message.method, 'server'), from: 'server', id: message.id, verdict: 'block', reason,
    })
    this.#core.output.toServer(
      exchange, errorFrame(message, errorCode.blocked, `mcp-customs: ${reason}`), 'server',
    )
    this.#core.output.withheld(exchange, frame)
  }

  /** The client's response. */
  *answered(
    exchange: Exchange, frame: Frame, { key }: Result | ErrorResponse, findings: Findings,
  ): Flow {
    const { ask, output, records, options, shared, handshake } = this.#core
    const pending = this.#pending.findAnywhere(exchange, key)
    if (pending !== undefined) this.#pending.close(pending)
    // Taken, so that a request has one response over all replicas.
    const asked = yield* shared.ask({ kind: 'take', part: 'asked', name: key }, exchange)
    const isKnown =
      isString(asked) ? pending !== undefined && asked !== 'used' : member(asked, 'method') !== undefined
    if (!isKnown && asked === 'unreachable') {
      records.write({ event: 'wire', from: 'client', verdict: 'block', reason: notShared }, findings)
      return output.emit({ type: 'complete', exchange, failed: true })
    }
    const isJoined = options.joined === true && handshake.terms.capabilities === undefined
    if (!isKnown) ask('onId', { use: isJoined ? 'unknown' : 'unasked', from: 'client' }, findings, '/id')
    records.note('wire', 'client', findings)
    if (!findings.isStop) output.toServer(exchange, frame)
    else if (pending !== undefined && asked !== 'used') output.toServer(exchange, blocked(pending, findings))
    else if (shared.isOn) output.emit({ type: 'complete', exchange })
  }

  /** The server cancels a request. */
  cancelled(exchange: Exchange, key: IdKey): void {
    const pending = this.#pending.findAnywhere(exchange, key)
    if (pending !== undefined) this.#pending.close(pending)
    this.#core.shared.askWithoutReply({ kind: 'forget', part: 'asked', name: key })
  }

  /** An unusable response of the client with a readable id. @returns false when its request is unknown */
  unusable(exchange: Exchange, key: IdKey, findings: Findings): boolean {
    const pending = this.#pending.findAnywhere(exchange, key)
    if (pending === undefined) return false
    this.#pending.close(pending)
    this.#core.shared.askWithoutReply({ kind: 'forget', part: 'asked', name: key })
    this.#core.output.toServer(exchange, blocked(pending, findings))
    return true
  }

  #forgetOldest(): void {
    const oldest = this.#pending.oldest()
    if (oldest === undefined) return
    this.#pending.close(oldest)
    this.#core.shared.askWithoutReply({ kind: 'forget', part: 'asked', name: oldest.key })
  }
}

/**
 * Asks the rules about a server request, whether sent or embedded in another message.
 * @param path JSON Pointer of the request in the frame
 */
export const judgeServerRequest = (
  core: Core, request: JsonObject, terms: Terms, path: string, findings: Findings,
): void => {
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
