import type { Frame } from '#protocol/frame.js'
import { idOf, isCancellation, keyIn, keysOf, membersOf } from '#protocol/message.js'
import { errorCode, type IdKey } from '#protocol/json-rpc.js'
import { ServerResponses } from './server-responses.js'
import { ClientRequests } from './client-requests.js'
import { Core } from './core.js'
import { type Effect, type Event, type Exchange, type Side, stdioExchange } from './event.js'
import type { Findings } from './findings.js'
import type { RelayOptions } from './options.js'
import { eventOf } from './records.js'
import { blocked, errorFrame, headerMismatch, isMismatch } from './refusal.js'
import { ResponseMatching } from './response-matching.js'
import { ServerFrames } from './server-frames.js'
import type { Ledger } from './memory.js'
import { ServerRequests } from './server-requests.js'
import { skipsQueue, StdioQueue } from './stdio-queue.js'
import { ToolCalls } from './tool-calls.js'
import { ToolLists } from './tool-lists.js'

/**
 * Decides about every frame, in both directions and on every transport, and makes every message that the
 * relay itself sends. It does no IO: it takes events and returns effects, in order. It handles single
 * messages; `Batches` takes batches apart before it.
 */
export class Relay {
  readonly #core: Core
  readonly #lists: ToolLists
  readonly #responses: ServerResponses
  readonly #requests: ClientRequests
  readonly #matching: ResponseMatching
  readonly #serverRequests: ServerRequests
  readonly #serverFrames: ServerFrames
  readonly #queue: StdioQueue
  /** The reason why the session ended, set when an exception outside of a flow (flow.ts) ended it. */
  #failure: string | undefined

  constructor(options: RelayOptions) {
    const core = new Core(options)
    this.#core = core
    this.#queue = new StdioQueue(core.ledger)
    this.#lists = new ToolLists(core)
    const responses = (this.#responses = new ServerResponses(core, this.#lists))
    this.#requests = new ClientRequests(core, this.#lists, new ToolCalls(core, this.#lists), responses)
    this.#matching = new ResponseMatching(core, this.#lists, this.#requests)
    this.#serverRequests = new ServerRequests(core, (...message) => responses.judgeUnsolicited(...message))
    this.#serverFrames =
      new ServerFrames(core, this.#lists, responses, this.#matching, this.#serverRequests)
  }

  /** @param now a monotonic clock, in milliseconds */
  handle(event: Event, now: number): readonly Effect[] {
    const { output } = this.#core
    output.now = now
    if (this.#failure !== undefined) return this.#afterFailure(event, this.#failure)
    try {
      this.#onEvent(event)
      this.#openQueue()
    } catch (cause) {
      this.#onException(event, cause)
    }
    return output.take()
  }

  /** Judges a batch as a whole. @returns effects, and whether the members may be handled */
  admitBatch(
    from: Side, exchange: Exchange, frame: Frame, now: number,
  ): { readonly isAdmitted: boolean; readonly effects: readonly Effect[] } {
    const { output, records } = this.#core
    output.now = now
    const findings = this.#frameFindings(from, exchange, frame)
    if (!findings.isStop) records.note('wire', from, findings)
    else if (from === 'client') this.#refuse(exchange, frame, findings)
    else this.#serverFrames.block(exchange, frame, findings)
    return { isAdmitted: !findings.isStop, effects: output.take() }
  }

  get ledger(): Ledger {
    return this.#core.ledger
  }

  /** True while client frames are queued: the server's input must stay open. */
  get hasQueuedFrames(): boolean {
    return this.#requests.queued > 0 || !this.#queue.isEmpty
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
    return this.#queue.isAboveHighWater
  }

  /** True while a client frame waits in a queue, and was not sent to the server yet. */
  isQueued(exchange: Exchange, frame: Frame): boolean {
    if (this.#queue.has(frame)) return true
    return (
      frame.message.kind === 'request' && this.#requests.stageOf(exchange, frame.message.key) === 'queued'
    )
  }

  /** True while the client waits for the response to a request. */
  isAwaiting(exchange: Exchange, key: IdKey): boolean {
    const stage = this.#requests.stageOf(exchange, key)
    return (stage !== undefined && stage !== 'cancelled') || this.#queue.hasRequest(key)
  }

  /** The newest input schema of a tool; HTTP headers of a call are made from it. */
  inputSchemaOf(tool: string) {
    const found = this.#lists.catalog.lookup(tool, this.#core.output.now)
    return found === 'absent' ? undefined : found?.inputSchemas[0]
  }

  /** The schema that the structured content of the response to a call will be checked by. */
  outputSchemaFor(exchange: Exchange, key: IdKey) {
    return this.#responses.results.outputSchemaFor(this.#requests.pending.find(exchange, key)?.called)
  }

  #onEvent(event: Event): void {
    switch (event.type) {
      case 'frame-received':
        if (event.from === 'client') return this.#clientFrame(event.exchange, event.frame)
        return this.#serverFrames.received(
          event.exchange, event.frame, this.#frameFindings('server', event.exchange, event.frame),
        )
      case 'checked':
        return this.#core.checks.done(event.check, event.results)
      case 'shared':
        return this.#core.shared.answered(event.share, event.reply)
      case 'resumable':
        return this.#requests.resumable(event.exchange)
      case 'timer-fired':
        this.#lists.timerFired(event.timer)
        return this.#requests.timerFired(event.timer)
      case 'request-lost':
        return event.isElsewhere === true
          ? this.#matching.awaitedElsewhere(event.exchange, event.key, event.reason)
          : this.#matching.lost(event.exchange, event.key, event.reason)
      case 'undelivered':
        return this.#requests.undelivered(event.key)
      case 'exchange-ended':
        return this.#requests.exchangeEnded(event.exchange)
      case 'server-gone':
        return this.#requests.serverGone(event.reason, event.isFailure === true)
      case 'session-ended':
        this.#requests.ended()
        for (const unsent of this.#queue.takeAll()) this.#neverSent(unsent)
        this.#core.records.write({ event: 'session/end', from: 'relay', reason: event.reason })
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
      request !== undefined &&
      exchange !== undefined &&
      this.#requests.stageOf(exchange, request.key) === undefined
    if (isUnregistered) {
      records.write({
        event: eventOf(request.method, 'client'), from: 'client', id: request.id, verdict: 'block', reason,
      })
      output.toClient(exchange, errorFrame(request, errorCode.blocked, `mcp-customs: ${reason}`), 'client')
    }
    if (options.stateless && exchange !== undefined) return this.#requests.failedOn(exchange, reason)
    this.#failure = reason
    this.#requests.serverGone(reason, true)
    for (const { message } of this.#queue.takeAll()) {
      if (message.kind !== 'request') continue
      output.toClient(
        stdioExchange, errorFrame(message, errorCode.blocked, `mcp-customs: ${reason}`), 'client',
      )
    }
    records.write({ event: 'session/end', from: 'relay', verdict: 'block', reason })
    output.emit({ type: 'close', reason, cause })
    this.#core.ledger.close()
  }

  /** Answers requests that arrive between the failure and the end of the session. */
  #afterFailure(event: Event, reason: string): readonly Effect[] {
    if (event.type !== 'frame-received' || event.from !== 'client' || event.frame.message.kind !== 'request')
      return []
    this.#core.output.toClient(
      event.exchange, errorFrame(event.frame.message, errorCode.blocked, `mcp-customs: ${reason}`), 'client',
    )
    return this.#core.output.take()
  }

  #clientFrame(exchange: Exchange, frame: Frame): void {
    if (exchange === stdioExchange && this.hasQueuedFrames && !skipsQueue(frame)) this.#queue.push(frame)
    else this.#fromClient(exchange, frame)
  }

  #openQueue(): void {
    while (this.#requests.queued === 0) {
      const next = this.#queue.shift()
      if (next === undefined) return
      this.#fromClient(stdioExchange, next)
    }
  }

  #neverSent(frame: Frame): void {
    this.#requests.neverSent(stdioExchange, frame, this.#core.findings('client'))
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
    const unsent = isKnown ? undefined : this.#queue.takeRequest(key)
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
      for (const key of keysOf(one)) this.#refuseRequest(exchange, one, key, findings)
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
    const findings = this.#core.findings(from)
    const terms = from === 'server' ? this.#requests.termsOn(exchange) : undefined
    const { revision } = terms ?? this.#core.handshake.legacyTerms(frame.envelope?.headers)
    this.#core.ask('onFrame', { frame, from, revision }, findings, '')
    return findings
  }
}

/** True for a bad client frame that may be a request, and so needs a response. */
const mayBeRequest = ({ message }: Frame): boolean =>
  message.kind !== 'notification' && message.kind !== 'result' && message.kind !== 'error'
