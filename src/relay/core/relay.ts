import type { Effect, Event, Exchange, Side } from './vocabulary.js'
import type { Frame } from '#relay/protocol/frame.js'
import { idOf, isCancellation, keyIn, idKeysOf, membersOf } from '#relay/protocol/message.js'
import { errorCode, type IdKey } from '#relay/protocol/json-rpc.js'
import { ServerResponses } from './server-responses.js'
import { ClientRequests } from './client-requests.js'
import { Batches, type Stages } from './batches.js'
import { Core } from './core.js'
import { stdioExchange } from './event.js'
import type { Findings } from './findings.js'
import { accessRules, type RelayOptions, restrictsAccess } from './options.js'
import { Waiting } from './order.js'
import { eventOf } from './records.js'
import { blocked, errorFrame, headerMismatch, isMismatch } from './refusal.js'
import { ResponseMatching } from './response-matching.js'
import { ServerFrames } from './server-frames.js'
import { ServerRequests } from './server-requests.js'
import { tidiedParams } from './tidied-params.js'
import { ToolCalls } from './tool-calls.js'
import { ToolLists } from './tool-lists.js'

/**
 * Decides about every frame, in both directions and on every transport, and makes every message that the
 * relay itself sends. It does no IO: it takes events and returns effects, in order.
 */
export class Relay {
  readonly #core: Core
  readonly #lists: ToolLists
  readonly #responses: ServerResponses
  readonly #requests: ClientRequests
  readonly #matching: ResponseMatching
  readonly #serverRequests: ServerRequests
  readonly #serverFrames: ServerFrames
  /** Stdio frames of the client that arrived after a queued request: the server gets them in order. */
  readonly #queue: Waiting
  /** Batches that are blocked. One may wait: by then another revision holds, which must not let it pass. */
  readonly #blocked = new WeakMap<Frame, Findings>()
  /** Made for the first batch. */
  #batches: Batches | undefined
  readonly #stages: Stages
  /** The end of the server and of the session, until nothing that came before them waits. */
  readonly #last: Event[] = []
  /** Why the session must end: an exception outside of a flow. From then on nothing of the server passes. */
  #failure: string | undefined

  constructor(options: RelayOptions) {
    const core = new Core(options)
    this.#core = core
    this.#queue = new Waiting(core.ledger)
    this.#lists = new ToolLists(core)
    const responses = (this.#responses = new ServerResponses(core, this.#lists))
    this.#requests = new ClientRequests(core, this.#lists, new ToolCalls(core, this.#lists), responses)
    this.#matching = new ResponseMatching(core, this.#lists.requests, this.#requests)
    this.#serverRequests = new ServerRequests(core, (...message) => responses.judgeUnsolicited(...message))
    this.#serverFrames =
      new ServerFrames(
        core, this.#lists, responses, this.#matching, this.#serverRequests, this.#requests.tokens,
      )
    const stageOf = (exchange: Exchange, key: IdKey) => this.#requests.stageOf(exchange, key)
    this.#stages = {
      isQueued: (exchange, frame) => this.#queue.some(event => 'frame' in event && event.frame === frame)
        || (frame.message.kind === 'request' && stageOf(exchange, frame.message.key) === 'queued'),
      isAwaiting: (exchange, key) =>
        (stageOf(exchange, key) ?? 'cancelled') !== 'cancelled' || this.#queue.some(isRequest(key)),
    }
  }

  /** @param now a monotonic clock, in milliseconds */
  handle(arrived: Event, now: number): readonly Effect[] {
    const { output } = this.#core
    const event = this.#tidied(arrived)
    output.now = now
    for (const one of this.#members(event) ?? [event]) if (!this.#waits(one)) this.#step(one)
    // The server will not answer the relay's own requests any more.
    if (this.#last.length > 0) this.#lists.requests.allLost()
    for (let next = this.#next(); next !== undefined; next = this.#next()) this.#step(next)
    this.#completeWithoutRequest(event)
    const effects = output.take()
    return this.#batches === undefined ? effects : this.#batches.gathered(effects, event)
  }

  /** True while client frames are queued: the server's input must stay open. */
  get hasQueuedFrames(): boolean {
    return this.#requests.queued > 0 || !this.#queue.isEmpty
  }

  /** Frames of clients whose access is restricted must be readable as they came. */
  #tidied(event: Event): Event {
    if (event.type !== 'frame-received' || !this.#core.mends.has('wire/json-rpc')) return event
    const { from, frame } = event
    const isRestricted = from === 'client' && restrictsAccess(this.#core, frame.envelope?.scopes)
    return isRestricted ? event : { ...event, frame: tidiedParams(frame) }
  }

  /**
   * True while the client waits for a response. Cancelled requests do not count, nor do requests without a
   * time limit (`Method.lasting`).
   */
  get hasAwaitedRequest(): boolean {
    return this.#requests.hasAwaitedRequest
  }

  /** True while the queue is above the high-water mark: the client's input must be paused. */
  get isAboveHighWater(): boolean {
    return this.#queue.weight > highWaterBytes
  }

  /** The newest input schema of a tool; HTTP headers of a call are made from it. */
  inputSchemaOf(tool: string) {
    const found = this.#lists.catalog.lookup(tool, this.#core.output.now)
    return found === 'absent' ? undefined : found?.inputSchemas[0]
  }

  /** The newest output schema that the server declared for a tool. */
  outputSchemaOf(tool: string) {
    const found = this.#lists.catalog.lookupLast(tool)
    return found === 'absent' ? undefined : found?.outputSchemas[0]
  }

  /** The schema that the structured content of the response to a call will be checked by. */
  outputSchemaFor(exchange: Exchange, key: IdKey) {
    return this.#responses.results.outputSchemaFor(this.#requests.pending.find(exchange, key)?.called)
  }

  /** Keeps an event back that must not overtake an earlier one. @returns false when it can be handled now */
  #waits(event: Event): boolean {
    const { order } = this.#core
    switch (event.type) {
      case 'frame-received':
        if (event.from === 'client')
          return event.exchange === stdioExchange && this.hasQueuedFrames && !skipsQueue(event.frame)
            && this.#queue.push(event)
        if (!order.isHeld(event.exchange) || this.#isNeeded(event)) return false
        // No call that comes from now on is judged by the old list.
        if (isListChange(event.frame)) this.#lists.catalog.changed()
        return order.keep(event)
      case 'request-lost':
        return !this.#lists.requests.awaits(event.exchange, event.key) && order.keep(event)
      case 'head':
      case 'between':
      case 'stream-ended':
      case 'whole':
        return order.keep(event)
      case 'server-gone':
        return !order.isEmpty && event.isFailure !== true && this.#last.push(event) > 0
      case 'session-ended':
        return this.#last.length > 0 && this.#last.push(event) > 0
      case 'checked':
      case 'shared':
      case 'resumable':
      case 'timer-fired':
      case 'exchange-ended':
      case 'server-renewed':
        return false
    }
  }

  /**
   * While the relay lists, the responses to it do not wait, nor do requests of the server: it may want their
   * response first.
   */
  readonly #isNeeded = (event: Event): boolean =>
    this.#lists.requests.isListing && event.type === 'frame-received'
      && (event.frame.message.kind === 'request'
        || idKeysOf(event.frame).some(key => this.#lists.requests.awaits(event.exchange, key)))

  /** The next event that waited and can be handled now. */
  #next(): Event | undefined {
    const { order } = this.#core
    return order.next(this.#isNeeded) ?? (this.#requests.queued === 0 ? this.#queue.shift() : undefined)
      ?? (order.isEmpty ? this.#last.shift() : undefined)
  }

  #step(event: Event): void {
    try {
      this.#onEvent(event)
    } catch (cause) {
      this.#onException(event, cause)
    }
  }

  /** Takes a batch apart. @returns undefined for any other event, and for a batch that is blocked whole */
  #members(event: Event): readonly Event[] | undefined {
    if (event.type !== 'frame-received' || event.frame.message.kind !== 'batch') return undefined
    const { from, exchange, frame } = event
    const findings = this.#frameFindings(from, exchange, frame)
    if (findings.isStop) {
      this.#blocked.set(frame, findings)
      return undefined
    }
    this.#core.records.note('wire', from, findings)
    this.#batches ??= new Batches(this.#core.ledger, this.#stages)
    const { members } = event.frame.message
    return (from === 'server' ? members : this.#batches.open(exchange, frame, members))
      .map(one => ({ ...event, frame: one }))
  }

  /** A message without a request has no response. If it waits, its flow completes the exchange. */
  #completeWithoutRequest(event: Event): void {
    if (event.type !== 'frame-received' || event.from === 'server' || event.exchange === stdioExchange) return
    if (membersOf(event.frame).some(({ message }) => message.kind === 'request')) return
    if (!this.#core.order.isHeld(event.exchange)) this.#core.output.complete(event.exchange)
  }

  #onEvent(event: Event): void {
    switch (event.type) {
      case 'frame-received':
        if (event.from === 'client') return this.#fromClient(event.exchange, event.frame)
        if (this.#failure !== undefined) return
        return this.#serverFrames.received(
          event.exchange, event.frame, this.#frameFindings('server', event.exchange, event.frame),
        )
      case 'checked':
        return this.#core.checked(event.check, event.results)
      case 'shared':
        return this.#core.shared.answered(event.share, event.reply)
      case 'resumable':
        return this.#requests.resumable(event.exchange)
      case 'timer-fired':
        this.#lists.requests.timerFired(event.timer)
        return this.#requests.timerFired(event.timer)
      case 'request-lost':
        return event.isElsewhere === true
          ? this.#matching.awaitedElsewhere(event.exchange, event.key, event.reason)
          : this.#matching.lost(event.exchange, event.key, event.reason)
      case 'exchange-ended':
        return this.#requests.exchangeEnded(event.exchange)
      case 'head':
      case 'between':
      case 'stream-ended':
        return this.#core.output.emit({ type: 'hand', exchange: event.exchange, event })
      case 'whole':
        return this.#core.output.emit({ type: 'complete', exchange: event.exchange })
      case 'server-renewed':
        return this.#lists.catalog.changed()
      case 'server-gone':
        return this.#requests.serverGone(event.reason, event.isFailure === true)
      case 'session-ended':
        this.#requests.ended()
        for (let one = this.#queue.shift(); one !== undefined; one = this.#queue.shift()) this.#neverSent(one)
        this.#core.records.write({
          event: 'session/end', from: 'relay', reason: this.#failure ?? event.reason,
          ...(this.#failure !== undefined && { verdict: 'block' }),
        })
        this.#core.output.emit({ type: 'end', reason: event.reason })
        return this.#core.ledger.close()
      default:
        event satisfies never
    }
  }

  /**
   * Handles an exception outside of a flow. Many clients share a stateless relay, so there only the event's
   * exchange fails. Otherwise the session ends. Each unanswered request of that exchange or session gets an
   * error. Effects that were decided before the exception are kept.
   */
  #onException(event: Event, cause: unknown): void {
    const { output, records, options } = this.#core
    const reason = this.#core.reportException(cause)
    const exchange = 'exchange' in event ? event.exchange : undefined
    const request =
      event.type === 'frame-received' && event.from === 'client' && event.frame.message.kind === 'request'
        ? event.frame.message
        : undefined
    const isUnregistered =
      request !== undefined
      && exchange !== undefined
      && this.#requests.stageOf(exchange, request.key) === undefined
    if (isUnregistered) {
      records.write({
        event: eventOf(request.method, 'client'), from: 'client', id: request.id, verdict: 'block', reason,
      })
      output.toClient(exchange, errorFrame(request, errorCode.blocked, `mcp-customs: ${reason}`), 'client')
    }
    if (options.stateless && exchange !== undefined) return this.#requests.failedOn(exchange, reason)
    this.#failure ??= reason
    this.#requests.serverGone(reason, true)
    output.emit({ type: 'close', reason, cause })
  }

  #neverSent(event: Event): void {
    if (event.type === 'frame-received')
      this.#requests.neverSent(stdioExchange, event.frame, this.#core.findings('client'))
  }

  #fromClient(exchange: Exchange, frame: Frame): void {
    const { message } = frame
    const findings = this.#frameFindings('client', exchange, frame)
    if (findings.isStop) this.#refuse(exchange, frame, findings)
    else if (message.kind === 'request') this.#requests.received(exchange, frame, message, findings)
    else if (message.kind === 'result' || message.kind === 'error')
      this.#core.driver.run(this.#serverRequests.answered(exchange, frame, message, findings), cause => {
        this.#core.reportException(cause)
        this.#core.output.emit({ type: 'complete', exchange, failed: true })
      })
    else {
      this.#core.records.note('wire', 'client', findings)
      if (!isCancellation(message) || this.#cancelled(exchange, frame))
        this.#core.output.toServer(exchange, frame)
    }
  }

  /** @returns true when the cancellation must go to the server */
  #cancelled(exchange: Exchange, frame: Frame): boolean {
    const key = keyIn(frame, 'requestId')
    if (key === undefined) return true
    // When two requests have the same id, a cancellation is for the first one.
    const isKnown = this.#requests.stageOf(exchange, key) !== undefined
    const unsent = isKnown ? undefined : this.#queue.take(isRequest(key))
    if (unsent === undefined) return this.#requests.cancelled(exchange, key)
    this.#neverSent(unsent)
    return false
  }

  /**
   * Blocks a client frame. The server gets an error for each of its requests that the frame answers, the
   * client one for each request in the frame.
   */
  #refuse(exchange: Exchange, frame: Frame, findings: Findings): void {
    this.#core.records.write(
      { event: 'wire', from: 'client', bytes: { request: frame.bytes.length } }, findings,
    )
    for (const one of membersOf(frame))
      for (const key of idKeysOf(one)) this.#refuseRequest(exchange, one, key, findings)
  }

  #refuseRequest(exchange: Exchange, frame: Frame, key: IdKey, findings: Findings): void {
    const isRequest = frame.message.kind === 'request'
    if ((!isRequest && this.#serverRequests.unusable(exchange, key, findings)) || !mayBeRequest(frame)) return
    const asker = { id: idOf(key), key }
    const refusal = isMismatch(findings) ? headerMismatch(asker, findings) : blocked(asker, findings)
    this.#core.output.toClient(exchange, refusal, 'client')
  }

  /** The rules' findings about a frame as a whole. */
  #frameFindings(from: Side, exchange: Exchange, frame: Frame): Findings {
    const known = this.#blocked.get(frame)
    if (known !== undefined) return known
    const isRestricted =
      from === 'client' && !isClear(frame) && restrictsAccess(this.#core, frame.envelope?.scopes)
    const findings = this.#core.findings(from, ...(isRestricted ? accessRules : []))
    const terms = from === 'server' ? this.#requests.termsOn(exchange) : undefined
    const { revision } = terms ?? this.#core.handshake.legacyTerms(frame.envelope?.headers)
    this.#core.ask('onFrame', { frame, from, revision }, findings, '')
    return findings
  }
}

/** Memory of queued stdio frames above which the client's input is paused, in bytes. */
const highWaterBytes = 2 * 1024 * 1024

/** Responses to the server, cancellations and pings skip the queue. */
const skipsQueue = ({ message }: Frame): boolean =>
  message.kind === 'result' || message.kind === 'error' || isCancellation(message)
  || (message.kind === 'request' && message.method === 'ping')

const isRequest = (key: IdKey) => (event: Event): boolean =>
  event.type === 'frame-received' && event.frame.message.kind === 'request' && event.frame.message.key === key

/** A request, or a response, in which the strict reader has found no fault. */
const isClear = ({ message: { kind }, faults }: Frame): boolean =>
  faults.length === 0 && (kind === 'request' || kind === 'result' || kind === 'error')

const isListChange = ({ message }: Frame): boolean =>
  message.kind === 'notification' && message.method === 'notifications/tools/list_changed'

/** True for a bad client frame that may be a request, and so needs a response. */
const mayBeRequest = ({ message }: Frame): boolean =>
  message.kind !== 'notification' && message.kind !== 'result' && message.kind !== 'error'
