import type { Exchange } from './vocabulary.js'
import type { Frame } from '#relay/protocol/frame.js'
import { errorCode, type IdKey, type Request } from '#relay/protocol/json-rpc.js'
import { idKeysOf, isResponseShaped, notificationBytes } from '#relay/protocol/message.js'
import { methodOf } from '#relay/protocol/revisions/index.js'
import type { ServerResponses } from './server-responses.js'
import { ChurnMap } from './memory.js'
import type { Core } from './core.js'
import { stdioExchange } from './event.js'
import type { Findings } from './findings.js'
import type { Flow } from './flow.js'
import { settingOf } from './options.js'
import { PendingRequests } from './pending.js'
import { ProgressTokens } from './progress-tokens.js'
import { type Arrived, PendingRequest, requestText } from './request.js'
import { GivenResponses, SharedRequests } from './shared-requests.js'
import type { Terms } from './terms.js'
import { blocked, errorFrame, inItsPlace, isOldRevision, oldRevision } from './refusal.js'
import type { ToolCalls } from './tool-calls.js'
import type { ToolLists } from './tool-lists.js'

/** Most cancelled requests that are remembered for their late responses. */
const maxCancelled = 1000

/**
 * How long a request waits for its response after a blocked frame that may have been it, in milliseconds
 * (docs/promises.md, 3).
 */
const suspectMs = 5000

/** Longest id of a late response that is recognized. */
const longestLate = 100

/** Most bytes of memory for requests in flight. */
const maxBytes = 80 * 1024 * 1024

/** The client's requests, each from its arrival to its one response (docs/promises.md, 3). */
export class ClientRequests {
  readonly #core: Core
  readonly #lists: ToolLists
  readonly #calls: ToolCalls
  readonly #responses: ServerResponses
  /** These three are also searched by `ResponseMatching`. */
  readonly pending: PendingRequests<PendingRequest>
  readonly given: GivenResponses
  readonly shared: SharedRequests
  readonly tokens: ProgressTokens
  readonly #timers = new ChurnMap<string, PendingRequest>()
  /** Requests that the client cancelled, in the order of the cancellations. */
  readonly #cancelled = new Set<PendingRequest>()
  /** Those with the id of another one in flight, until they are at the server. */
  readonly #seconds = new Set<PendingRequest>()
  /** The ids of requests that the relay answered when their time was over: their responses may come late. */
  readonly #late = new Set<IdKey>()
  #queued = 0
  #lastTimer = 0
  /** Why the server can no longer respond, and the code of the error for it. */
  #gone: { readonly reason: string; readonly code: number } | undefined

  constructor(core: Core, lists: ToolLists, calls: ToolCalls, responses: ServerResponses) {
    this.#core = core
    this.#lists = lists
    this.#calls = calls
    this.#responses = responses
    this.pending = new PendingRequests(core.options.stateless, core.ledger.account(maxBytes))
    this.given = new GivenResponses(core)
    this.shared = new SharedRequests(core, lists, calls)
    this.tokens = new ProgressTokens(core)
  }

  /** The number of requests that were not sent to the server yet. */
  get queued(): number {
    return this.#queued
  }

  /** See `Relay.hasAwaitedRequest`. */
  get hasAwaitedRequest(): boolean {
    return this.pending.all().some(isAwaited)
  }

  /**
   * The only request that awaits a response on this exchange, on stdio in the session. Undefined while the
   * relay itself awaits one.
   */
  onlyAwaited(exchange: Exchange): PendingRequest | undefined {
    const [only, ...others] = this.pending.on(exchange).filter(one => one.isAtServer && isAwaited(one))
    return others.length > 0 || this.#lists.requests.isListingOn(exchange) ? undefined : only
  }

  /** Whether this id is that of a request that the relay has answered because the server was late. */
  isLate(key: IdKey): boolean {
    return this.#late.delete(key)
  }

  /** The terms of the requests on an exchange, where there is no session. */
  termsOn(exchange: Exchange): Terms | undefined {
    return this.#core.options.stateless ? this.pending.on(exchange)[0]?.terms : undefined
  }

  stageOf(exchange: Exchange, key: IdKey): PendingRequest['stage'] | undefined {
    return this.pending.find(exchange, key)?.stage
  }

  received(exchange: Exchange, frame: Frame, message: Request, findings: Findings): void {
    const { handshake, records, output, ask, judgement } = this.#core
    this.#lists.requests.ids.saw(message.id)
    this.tokens.gave(message.params)
    const terms = handshake.termsOf(message, frame.envelope)
    const request = new PendingRequest(exchange, frame, message, terms, output.now, findings)
    // Another message may follow a refused one of these, in another revision.
    if (!showsEra(message.method)) records.start(terms)
    if (this.#gone !== undefined)
      return this.#reply(
        request, undefined, errorFrame(request, this.#gone.code, `mcp-customs: ${this.#gone.reason}`),
      )
    if (!this.#hasRoom(request)) ask('onId', { use: 'no-room', from: 'client' }, findings, '/id')
    // The translator has replaced an id that another request has: the client's own is repeated all the same.
    if (frame.envelope?.isRepeated === true) ask('onId', repeatedId, findings, '/id')
    this.#core.judgeRevision('client', handshake.spokenIn(message, terms, frame.envelope?.headers), findings)
    if (findings.isStop)
      return this.#reply(request, undefined, isOldRevision(findings)
        ? oldRevision(request, message, findings, judgement.minRevision)
        : blocked(request, findings))
    if (!this.pending.open(request)) return this.#repeated(request)
    this.#begin(request)
  }

  /** The client has received an event id on this exchange, and may resume its stream at another replica. */
  resumable(exchange: Exchange): void {
    for (const request of this.pending.on(exchange)) if (request.stage === 'sent') this.shared.keep(request)
  }

  /** The client cancels a request. @returns true when the cancellation must go to the server */
  cancelled(exchange: Exchange, key: IdKey): boolean {
    const request = this.pending.find(exchange, key)
    if (request?.stage === 'queued') {
      this.#drop(request)
      return false
    }
    if (request === undefined || !request.isAtServer) return true
    request.cancel()
    this.#complete(request.exchange, true)
    this.shared.remove(request, 'forget')
    this.#stopTimers(request)
    this.#cancelled.add(request)
    const [oldest] = this.#cancelled
    if (this.#cancelled.size > maxCancelled && oldest !== undefined) this.#drop(oldest)
    return true
  }

  timerFired(timer: string): void {
    const request = this.#timers.get(timer)
    if (request === undefined) return
    const { output } = this.#core
    if (this.#isHere(request)) return
    if (request.key.length <= longestLate) this.#late.add(request.key)
    const [oldest] = this.#late
    if (this.#late.size > maxCancelled && oldest !== undefined) this.#late.delete(oldest)
    if (timer === request.suspect?.timer) {
      this.#fail(request, errorCode.gone, '')
      return output.emit({ type: 'abandon', exchange: request.exchange, key: request.key })
    }
    this.#fail(request, errorCode.late, `the server did not answer within ${request.waitMs} ms`)
    output.emit({ type: 'abandon', exchange: request.exchange, key: request.key })
    // A client must not cancel its initialize request (2025-11-25, cancellation, behavior requirements).
    if (request.method !== 'initialize') output.toServer(request.exchange, cancellation(request, 'timed out'))
  }

  /** Whether its response has come, and waits for the judgement of another one. */
  #isHere({ exchange, key }: PendingRequest): boolean {
    const { order, options } = this.#core
    return order.keeps(event => event.type === 'frame-received'
      && (!options.stateless || event.exchange === exchange)
      && isResponseShaped(event.frame) && idKeysOf(event.frame).includes(key))
  }

  /** The client closed this exchange: drops queued requests and, without a session, those at the server. */
  exchangeEnded(exchange: Exchange): void {
    for (const request of this.#seconds) if (request.exchange === exchange) request.flow?.return()
    for (const request of this.pending.on(exchange)) {
      const isQueued = request.stage === 'queued'
      // A response that is being judged is recorded after its judgement.
      if (!isQueued && !request.isAtServer) continue
      // In a session, the response to a request that was sent may be fetched on another stream.
      if (!this.#core.options.stateless && !isQueued) continue
      this.#drop(request)
      if (!isQueued) this.#core.output.emit({ type: 'abandon', exchange, key: request.key })
    }
    // Behind them: the end of a listing lets the calls go on that wait for it.
    this.#lists.exchangeEnded(exchange)
  }

  /** @param isFailure true when the relay failed, and not the server */
  serverGone(reason: string, isFailure: boolean): void {
    const code = isFailure ? errorCode.blocked : errorCode.gone
    this.#gone ??= { reason, code }
    for (const request of this.pending.all()) {
      if (isFailure) this.#failedByRelay(request, reason)
      else if (request.stage !== 'answered') this.#fail(request, code, reason)
    }
    this.#lists.requests.allLost()
  }

  /** The relay failed on this exchange: its requests get an error. */
  failedOn(exchange: Exchange, reason: string): void {
    for (const request of this.pending.on(exchange)) this.#failedByRelay(request, reason)
  }

  /** Records a request that was cancelled, or whose session ended, while it was queued. */
  neverSent(exchange: Exchange, frame: Frame, findings: Findings): void {
    const { message } = frame
    if (message.kind !== 'request') return
    const terms = this.#core.handshake.termsOf(message, frame.envelope)
    const request = new PendingRequest(exchange, frame, message, terms, this.#core.output.now, findings)
    const name = requestText(message.params, 'name') ?? ''
    request.called = { name, shown: name, tool: undefined, listed: false }
    request.failure = neverSent
    this.#core.records.answered(request, undefined, undefined)
  }

  /**
   * The session is over: records the requests without a response. The shared state keeps these requests, so
   * that their clients can fetch the responses at another replica.
   */
  ended(): void {
    for (const request of this.pending.all()) this.#drop(request)
  }

  /** Waits for the response to a request that is at the server already, and judges it. */
  awaitResponse(request: PendingRequest): void {
    this.#run(request, this.#outcome(request))
  }

  #begin(request: PendingRequest): void {
    this.#queued++
    request.called = this.#responses.tasks.find(request.taskId)?.called
    this.#run(request, this.#life(request))
  }

  /** A flow that throws ends with an error response to its request. */
  #run(request: PendingRequest, flow: Flow): void {
    request.flow = flow
    this.#core.driver.run(flow, cause => {
      const reason = this.#core.reportException(cause)
      if (request.stage !== 'over') this.#failedByRelay(request, reason)
    })
  }

  /** A request from its arrival to its response. */
  *#life(request: PendingRequest): Flow {
    const { taskId } = request
    if (taskId !== undefined && request.called === undefined && this.#core.shared.isOn) {
      request.called = yield* this.shared.calledByTask(taskId, request)
      if (request.called !== undefined) this.#responses.tasks.began(taskId, request.called, request.terms)
    }
    const refusal =
      request.method === 'tools/call' ? yield* this.#calls.judge(request) : this.#unaccepted(request)
    if (refusal !== undefined) return this.#reply(request, undefined, refusal)
    yield* this.#forwarded(request)
    yield* this.#outcome(request)
  }

  /** @returns an error for a prompt that was not accepted or was withheld; undefined for any other */
  #unaccepted(request: PendingRequest): Frame | undefined {
    const { method, terms, findings, request: arrived } = request
    if (method !== 'prompts/get') return undefined
    this.#responses.drifts.judgePrompt(terms, arrived?.message.params, findings)
    return findings.isStop ? blocked(request, findings) : undefined
  }

  *#forwarded(request: PendingRequest): Flow {
    const params = request.request?.message.params
    this.#forward(request)
    if (request.method === 'tools/call' && this.#calls.checks(request) === 'after')
      yield* this.#calls.check(request, params)
    this.pending.reweigh(request)
  }

  *#outcome(request: PendingRequest): Flow {
    const arrived = yield* request.response.value()
    this.#reply(request, arrived, yield* this.#judged(request, arrived))
  }

  #forward(request: PendingRequest): void {
    const { judgement, output, records } = this.#core
    const frame = request.request?.frame
    if (frame === undefined) return
    records.sent(request)
    if (request.method === 'tools/list') request.generation = this.#lists.catalog.generationAt(output.now)
    this.#queued--
    request.sent(output.now)
    const ofTool = request.method === 'tools/call'
      ? settingOf(judgement.ruling, request.called?.name ?? '')?.timeoutMs
      : undefined
    const ms = ofTool ?? judgement.limits.requestMs
    if (ms > 0 && methodOf(request.method)?.lasting !== true) {
      request.waitMs = ms
      request.timer = this.#startTimer(request, ms)
    }
    output.toServer(request.exchange, frame)
  }

  /** @returns the frame for the client */
  *#judged(request: PendingRequest, arrived: Arrived): Flow<Frame> {
    const { frame, message } = arrived
    const exchange = exchangeOf(request, arrived)
    if (message?.kind === 'page') return this.#responses.judgeHttpPage(request, frame, message)
    if (message?.kind === 'error')
      return yield* this.#responses.judgeError(request, exchange, frame, message.error)
    if (message === undefined && request.findings.isStop)
      return inItsPlace(frame, blocked(request, request.findings))
    // A frame that is no message and passes by policy is judged as an empty result.
    return yield* this.#responses.judge(request, exchange, frame, message?.result ?? {})
  }

  /** Hands the server's frame to the flow of its request. */
  arrived(request: PendingRequest, arrived: Arrived, findings: Findings): void {
    this.#stopTimers(request)
    request.answered(this.#core.output.now)
    request.findings.include(findings)
    this.#core.driver.fill(request.response, arrived)
  }

  /**
   * A blocked frame may be the response to this request. It counts as the response if no better one comes in
   * time, or if none can come any more: a guess must not cost the request its response.
   */
  suspect(request: PendingRequest, findings: Findings): void {
    if (request.suspect !== undefined) return
    request.suspect = { findings, timer: this.#startTimer(request, suspectMs) }
    this.pending.reweigh(request)
  }

  /**
   * Makes room for a request by forgetting cancelled ones, oldest first.
   * @returns false when there is still no room
   */
  #hasRoom(request: PendingRequest): boolean {
    for (const oldest of this.#cancelled) {
      if (this.pending.hasRoom(request)) break
      this.#drop(oldest)
    }
    return this.pending.hasRoom(request)
  }

  /**
   * Handles a request with the id of another one in flight. The policy blocks the second request, or lets the
   * server have both; the relay then tracks only the first, or only the second if the first was cancelled.
   */
  #repeated(request: PendingRequest): void {
    const { findings, exchange } = request
    const { ask } = this.#core
    ask('onId', repeatedId, findings, '/id')
    if (findings.isStop) return this.#reply(request, undefined, blocked(request, findings))
    const first = this.pending.find(exchange, request.key)
    // The first was cancelled, so the next response belongs to the second.
    if (first?.stage === 'cancelled') {
      this.#drop(first)
      if (this.pending.open(request)) return this.#begin(request)
    }
    this.#seconds.add(request)
    this.#run(request, this.#second(request))
  }

  /** A request that is judged like any other, but not tracked: its response passes as that of the first. */
  *#second(request: PendingRequest): Flow {
    this.#queued++
    try {
      const refusal =
        request.method === 'tools/call' ? yield* this.#calls.judge(request) : this.#unaccepted(request)
      if (refusal !== undefined) return this.#reply(request, undefined, refusal)
      this.#core.records.answered(request, undefined, undefined)
      if (request.request !== undefined) this.#core.output.toServer(request.exchange, request.request.frame)
    } finally {
      this.#queued--
      this.#seconds.delete(request)
    }
  }

  /** The server can no longer respond to this request. @param exchange where the client gets the error */
  lost(request: PendingRequest, exchange: Exchange, reason: string): void {
    this.#fail(request, errorCode.gone, reason, exchange)
  }

  #failedByRelay(request: PendingRequest, reason: string): void {
    request.findings.block()
    request.failure = reason
    this.#fail(request, errorCode.blocked, reason)
  }

  #fail(request: PendingRequest, code: number, reason: string, exchange = request.exchange): void {
    // A cancelled request gets no response.
    if (request.stage === 'cancelled') return this.#drop(request)
    request.flow?.return()
    const findings = code === errorCode.gone ? request.suspect?.findings : undefined
    if (findings !== undefined) request.findings.include(findings)
    const error = findings === undefined
      ? errorFrame(request, code, `mcp-customs: ${reason}`)
      : blocked(request, request.findings)
    this.#reply(request, undefined, error, exchange)
  }

  /** Sends the one response. @param arrived the server's frame; undefined for an error of ours */
  #reply(
    request: PendingRequest, arrived: Arrived | undefined, sent: Frame, exchange = request.exchange,
  ): void {
    const { records, output } = this.#core
    this.#close(request)
    if (showsEra(request.method) && sent.message.kind === 'result') records.start(request.terms)
    records.answered(request, arrived?.frame, sent)
    request.end()
    this.shared.remove(request, 'age')
    if (arrived === undefined) {
      output.toClient(exchange, sent, 'client')
      return request.ended?.()
    }
    if (arrived.frame.envelope?.event !== undefined && !this.#core.options.stateless)
      this.given.add(request, arrived.exchange)
    output.toClient(exchangeOf(request, arrived), sent)
    request.ended?.()
  }

  /** Ends a request without a response, and records it. */
  #drop(request: PendingRequest): void {
    const isQueued = request.stage === 'queued'
    if (isQueued) request.failure ??= neverSent
    request.flow?.return()
    this.#close(request)
    this.#core.records.answered(request, undefined, undefined)
    request.end()
    // The server never saw it, so nothing else ends the client's HTTP request.
    if (isQueued) this.#complete(request.exchange)
    request.ended?.()
  }

  /** Ends the client's HTTP request, unless it waits for other responses. */
  #complete(exchange: Exchange, isAtServer?: true): void {
    if (exchange === stdioExchange || this.pending.on(exchange).some(({ stage }) => stage !== 'cancelled')) return
    this.#core.output.emit({ type: 'complete', exchange, isAtServer })
  }

  #close(request: PendingRequest): void {
    if (!this.pending.close(request)) return
    if (request.stage === 'queued') this.#queued--
    this.#cancelled.delete(request)
    this.#stopTimers(request)
  }

  #startTimer(request: PendingRequest, ms: number): string {
    const timer = `request ${++this.#lastTimer}`
    this.#timers.set(timer, request)
    this.#core.output.emit({ type: 'start-timer', timer, ms })
    return timer
  }

  #stopTimers(request: PendingRequest): void {
    for (const timer of [request.timer, request.suspect?.timer]) {
      if (timer === undefined) continue
      this.#timers.delete(timer)
      this.#core.output.emit({ type: 'stop-timer', timer })
    }
    request.timer = undefined
    request.suspect = undefined
  }
}

/** Why there is no response, in the record. */
const neverSent = 'it was never sent: its client cancelled it or left, or the session ended'

const repeatedId = { use: 'repeated', from: 'client' } as const

/** A request whose answer shows the server's era. */
const showsEra = (method: string): boolean => method === 'initialize' || method === 'server/discover'

/** Whether the client waits for the response. */
const isAwaited = ({ stage, method }: PendingRequest): boolean =>
  stage !== 'cancelled' && methodOf(method)?.lasting !== true

/** The exchange of the response. For a stdio server, it is the exchange of the request. */
const exchangeOf = (request: PendingRequest, { exchange }: Arrived): Exchange =>
  exchange === stdioExchange ? request.exchange : exchange

const cancellation = ({ id }: PendingRequest, reason: string): Frame => {
  const params = { requestId: id, reason }
  return {
    bytes: notificationBytes('notifications/cancelled', params),
    message: { kind: 'notification', method: 'notifications/cancelled', params },
    faults: [], relayMade: true,
  }
}
