import { isString, type JsonObject, member } from '#relay/protocol/json.js'
import type { ErrorResponse, Id, IdKey, Result } from '#relay/protocol/json-rpc.js'
import type { Core } from './core.js'
import type { Exchange } from './vocabulary.js'
import type { Findings } from './findings.js'
import type { Flow } from './flow.js'
import { type Ledger, weights } from './memory.js'
import { type Called, PendingRequest, requestText, toJudgeResult } from './request.js'
import type { Terms } from './terms.js'
import type { ToolCalls } from './tool-calls.js'
import type { ToolLists } from './tool-lists.js'

/** Most requests in flight that other replicas know of. */
const maxShared = 1000

/** A request that another replica has sent, and what that replica has kept of it. */
interface Found {
  readonly request: PendingRequest
  readonly data: JsonObject
}

/** The requests in flight whose response may come at another replica, in the state that replicas share. */
export class SharedRequests {
  readonly #core: Core
  readonly #lists: ToolLists
  readonly #calls: ToolCalls
  #count = 0

  constructor(core: Core, lists: ToolLists, calls: ToolCalls) {
    this.#core = core
    this.#lists = lists
    this.#calls = calls
  }

  /** Keeps what another replica needs to judge the response by. */
  keep(request: PendingRequest): void {
    if (request.isShared || this.#count >= maxShared) return
    const { shared, driver } = this.#core
    const { exchange, key } = request
    this.count(request)
    driver.run(
      shared.keep('request', nameOf(exchange, key), requestData(request, shared.digestOf), exchange),
      cause => void this.#core.reportException(cause),
    )
  }

  /** Counts a request that other replicas know of, until `remove`. */
  count(request: PendingRequest): void {
    request.isShared = true
    this.#count++
  }

  /**
   * Takes a request out of the shared state.
   * @param kind `age`: a minute later, so that a replay of its response is still judged; `forget`: at once
   */
  remove(request: PendingRequest, kind: 'age' | 'forget'): void {
    if (!request.isShared) return
    const { exchange, key } = request
    request.isShared = false
    this.#count--
    this.#core.shared.askWithoutReply({ kind, part: 'request', name: nameOf(exchange, key) })
  }

  /** The request of a response on a resumed stream. @returns undefined when no replica has sent one */
  *find(
    exchange: Exchange, message: Result | ErrorResponse, findings: Findings,
  ): Flow<Found | 'unreachable' | undefined> {
    const { shared, output, handshake } = this.#core
    const name = nameOf(exchange, message.key)
    const data = yield* shared.ask({ kind: 'find', part: 'request', name }, exchange)
    if (isString(data)) return data === 'unreachable' ? data : undefined
    const terms = handshake.terms
    const request = requestOfData(data, message, { exchange, terms, now: output.now, findings })
    return request && { request, data }
  }

  /** The tool of a task that may have begun at another replica. */
  *calledByTask(taskId: string, request: PendingRequest): Flow<Called | undefined> {
    const data = yield* this.#core.shared.ask({ kind: 'find', part: 'task', name: taskId }, request.exchange)
    return isString(data) ? undefined : yield* this.calledIn(data, request)
  }

  /**
   * The called tool of a request that another replica has sent. Its definition is left out, and `listed` is
   * false, unless this replica's list has the definition that the other replica called by.
   */
  *calledIn(data: JsonObject, request: PendingRequest): Flow<Called | undefined> {
    const name = member(data, 'tool')
    if (!isString(name)) return undefined
    const shown = requestText(data, 'shown') ?? name
    const found = yield* this.#calls.declared(request, name)
    const called = { name, shown, tool: found === 'absent' ? undefined : found, listed: found !== undefined }
    const isSame = ({ tool, listed }: Called) => listed && member(data, 'listed') === true
      && member(data, 'digest') === (tool && this.#core.shared.digestOf(tool.definition))
    if (!isSame(called)) yield* this.#lists.renew(called, request)
    return isSame(called) ? called : { name, shown, tool: undefined, listed: false }
  }
}

/** The name of a request in the shared state. Other credentials have another context, and do not find it. */
const nameOf = ({ context = '' }: Exchange, key: IdKey): string => `${context} ${key}`

/** What the response to a request is judged by, for another replica and for a replay. */
export const requestData = (
  { method, bytes, called, cursor, wantsTask }: PendingRequest,
  digestOf: (definition: JsonObject) => string,
): JsonObject => ({
  method, bytes,
  ...(called && { tool: called.name, shown: called.shown, listed: called.listed }),
  ...(called?.tool && { digest: digestOf(called.tool.definition) }),
  ...(cursor !== undefined && { isLaterPage: true }),
  ...(wantsTask && { wantsTask }),
})

/** @returns the request by what was kept of it; undefined for data that are none */
const requestOfData = (
  data: JsonObject, { id, key }: { readonly id: Id; readonly key: IdKey },
  { exchange, terms, now, findings }: {
    readonly exchange: Exchange; readonly terms: Terms; readonly now: number; readonly findings: Findings
  },
): PendingRequest | undefined => {
  const method = requestText(data, 'method')
  if (method === undefined) return undefined
  const params: JsonObject = {
    // A page of which nothing but that it is not the first is known.
    ...(member(data, 'isLaterPage') === true && { cursor: '' }),
    ...(member(data, 'wantsTask') === true && { task: {} }),
  }
  const message = { kind: 'request', id, key, method, params } as const
  const frame = { bytes: Buffer.alloc(0), message, faults: [] }
  const request = new PendingRequest(exchange, frame, message, terms, now, findings)
  request.sent(now)
  const bytes = member(data, 'bytes')
  if (typeof bytes === 'number') request.bytes = bytes
  return request
}

/** Most bytes of answered requests that a session keeps; the oldest is forgotten first. */
const maxBytes = 2 * 1024 * 1024

interface GivenResponse {
  readonly data: JsonObject
  readonly terms: Terms
  readonly called: Called | undefined
  readonly context: string | undefined
  readonly weight: number
}

/**
 * Answered requests whose response may be replayed, because it was sent on a stream that can be resumed
 * (2025-11-25, Streamable HTTP, Resumability and Redelivery).
 */
export class GivenResponses {
  readonly #core: Core
  readonly #given = new Map<IdKey, GivenResponse>()
  readonly #ledger: Ledger

  constructor(core: Core) {
    this.#core = core
    this.#ledger = core.ledger.account(maxBytes)
  }

  add(request: PendingRequest, { context }: Exchange): void {
    const { key, terms } = request
    const { called, weight: ofTool } = request.called ? toJudgeResult(request.called) : noTool
    const data = requestData(request, this.#core.shared.digestOf)
    const weight = weights.givenResponse + ofTool + 2 * (key.length + request.method.length)
    this.#forget(key)
    this.#given.set(key, { data, terms, called, context, weight })
    this.#ledger.add(weight)
    for (const oldest of this.#given.keys()) {
      if (this.#ledger.kept <= maxBytes) return
      this.#forget(oldest)
    }
  }

  /** The request of a replayed response, on a stream resumed by the same authorization context. */
  take(exchange: Exchange, message: Result | ErrorResponse): PendingRequest | undefined {
    const { output, findings } = this.#core
    const { resumed, context } = exchange
    const given = this.#given.get(message.key)
    if (resumed !== true || given === undefined || given.context !== context) return undefined
    this.#forget(message.key)
    const { data, terms, called } = given
    const request =
      requestOfData(data, message, { exchange, terms, now: output.now, findings: findings('server') })
    if (request !== undefined) request.called = called
    return request
  }

  #forget(key: IdKey): void {
    const given = this.#given.get(key)
    if (given === undefined) return
    this.#given.delete(key)
    this.#ledger.add(-given.weight)
  }
}

const noTool = { called: undefined, weight: 0 }
