import type { Frame } from '../protocol/frame.js'
import { idOf, keyAt } from '../protocol/ids.js'
import { errorCode, type IdKey, type Notification, type Page } from '../protocol/json-rpc.js'
import { isAnonymousAnswer, isCancellation, keysOf } from '../protocol/message.js'
import { Answers } from './answers.js'
import { ClientBatch, joined, rejoined } from './batch.js'
import { ClientRequests } from './client-requests.js'
import { Core } from './core.js'
import type { Effect } from './effect.js'
import { wholePipe, type Event, type Exchange, type Side } from './event.js'
import type { Findings } from './findings.js'
import type { Flow } from './flow.js'
import { membersOf, Queue } from './queue.js'
import type { RelayOptions } from './options.js'
import { eventOf } from './records.js'
import { blocked, errorAnswer, headerMismatch, isMismatch } from './refusal.js'
import type { Arrived } from './request.js'
import { ServerRequests } from './server-requests.js'
import { ToolCalls } from './tool-calls.js'
import { ToolLists } from './tool-lists.js'

/**
 * The one choke point: every frame, in both directions and on every transport, is decided here, and every message of
 * ours is made here. Pure: it is handed what happened and returns what is to be done, in order.
 */
export class Relay {
  readonly #core: Core
  readonly #lists: ToolLists
  readonly #answers: Answers
  readonly #requests: ClientRequests
  readonly #serverRequests: ServerRequests
  readonly #queue = new Queue()
  #hasFailed = false

  constructor(options: RelayOptions) {
    const core = new Core(options)
    this.#core = core
    this.#lists = new ToolLists(core)
    this.#answers = new Answers(core, this.#lists)
    this.#requests = new ClientRequests(core, this.#lists, new ToolCalls(core, this.#lists), this.#answers)
    this.#serverRequests = new ServerRequests(core, (...said) => this.#answers.judgeUnasked(...said))
  }

  /** @param now a monotonic clock in milliseconds: the core has none of its own */
  handle(event: Event, now: number): readonly Effect[] {
    this.#core.output.now = now
    if (this.#hasFailed) return []
    try {
      this.#happened(event)
      this.#openQueue()
      return this.#core.output.take()
    } catch (error) {
      return this.#failed(error)
    }
  }

  /** True while something of the client's is not yet at the server: its input must stay open. */
  get holding(): boolean {
    return this.#requests.held > 0 || !this.#queue.isEmpty
  }

  /** True while the client waits for an answer that is bound to come. */
  get isAwaited(): boolean {
    return this.#requests.isAwaited
  }

  /** True while the client sends more than can wait for what is held: it must be held back itself. */
  get isCrowded(): boolean {
    return this.#queue.isCrowded
  }

  /** The input schema by which a call is checked, as headers are made from it as well. */
  inputSchemaOf(tool: string) {
    const found = this.#lists.catalog.lookup(tool, this.#core.output.now)
    return found === 'absent' ? undefined : found?.inputSchemas[0]
  }

  #happened(event: Event): void {
    switch (event.type) {
      case 'frame-received':
        return event.from === 'server' ? this.#serverFrame(event.exchange, event.frame) : this.#clientFrame(event.exchange, event.frame)
      case 'checked':
        return this.#core.checks.done(event.check, event.results)
      case 'timer-fired':
        this.#lists.timerFired(event.timer)
        return this.#requests.timerFired(event.timer)
      case 'request-lost':
        return this.#requests.lost(event.exchange, event.key, event.reason)
      case 'exchange-ended':
        return this.#requests.exchangeEnded(event.exchange)
      case 'server-gone':
        return this.#requests.serverGone(event.reason)
      case 'session-ended':
        this.#requests.ended()
        for (const one of this.#unsent()) this.#neverSent(one)
        return this.#core.records.write({ event: 'session/end', from: 'relay', reason: event.reason })
      default:
        event satisfies never
    }
  }

  /** An exception ends this session alone: who waits is told, and it is on record why. */
  #failed(cause: unknown): readonly Effect[] {
    this.#hasFailed = true
    const reason = 'the relay failed on a message of this session, which is over'
    this.#core.output.take()
    this.#requests.crashed(reason)
    for (const { message } of this.#unsent()) {
      if (message.kind === 'request') this.#core.output.toClient(wholePipe, errorAnswer(message, errorCode.blocked, `mcp-customs: ${reason}`), 'client')
    }
    this.#core.records.write({ event: 'session/end', from: 'relay', verdict: 'block', reason })
    return [...this.#core.output.take(), { type: 'close', reason, cause }]
  }

  /** What came by a pipe waits for what came before it; only what the server may be waiting for itself, and what is taken back, does not. */
  #clientFrame(exchange: Exchange, frame: Frame): void {
    if (frame.message.kind === 'batch') {
      const findings = this.#found('client', exchange, frame)
      if (findings.isStop) return this.#refuse(exchange, frame, findings, undefined)
      this.#core.records.note('wire', 'client', findings)
    }
    if (exchange !== wholePipe || !this.holding) return this.#send(exchange, frame, membersOf(frame))
    const { members } = this.#queue.add(frame)
    for (const one of members) if (this.#wentAhead(one)) members.delete(one)
  }

  #wentAhead(frame: Frame): boolean {
    const { message } = frame
    if (!isCancellation(message) && message.kind !== 'result' && message.kind !== 'error') return false
    const key = isCancellation(message) ? keyIn(frame, 'requestId') : undefined
    const taken = key === undefined ? undefined : this.#queue.cancel(key)
    if (taken === undefined) this.#fromClient(wholePipe, frame, undefined)
    else this.#neverSent(taken)
    return true
  }

  #openQueue(): void {
    while (this.#requests.held === 0) {
      const next = this.#queue.next()
      if (next === undefined) return
      this.#send(wholePipe, next.frame, [...next.members])
    }
  }

  /** What is taken out of the queue unsent. */
  *#unsent(): Generator<Frame> {
    for (let next = this.#queue.next(); next !== undefined; next = this.#queue.next()) yield* next.members
  }

  #neverSent(frame: Frame): void {
    this.#requests.neverSent(wholePipe, frame, this.#core.findings())
  }

  /** @param members of the frame, those that are left of it, or the frame itself */
  #send(exchange: Exchange, frame: Frame, members: readonly Frame[]): void {
    const { output, driver } = this.#core
    if (frame.message.kind !== 'batch') {
      for (const one of members) this.#fromClient(exchange, one, undefined)
      return
    }
    const left = members.length === frame.message.members.length ? frame : joined(members)
    const forward = (frames: readonly Frame[]) => {
      for (const one of frames) output.toServer(exchange, one)
      driver.fill(batch.left, undefined)
    }
    const batch: ClientBatch = new ClientBatch(left, members, forward, answer => output.toClient(exchange, answer))
    for (const one of members) this.#fromClient(exchange, one, batch)
  }

  #fromClient(exchange: Exchange, frame: Frame, batch: ClientBatch | undefined): void {
    const { message } = frame
    const { output, records } = this.#core
    const findings = this.#found('client', exchange, frame)
    if (findings.isStop) this.#refuse(exchange, frame, findings, batch)
    else if (message.kind === 'request') return this.#requests.received(exchange, frame, message, findings, batch)
    else if (message.kind === 'result' || message.kind === 'error') this.#serverRequests.answered(exchange, frame, message, findings)
    else {
      records.note('wire', 'client', findings)
      const key = isCancellation(message) ? keyIn(frame, 'requestId') : undefined
      const passes = key === undefined || this.#requests.cancelled(exchange, key)
      if (batch !== undefined) return batch.judged(frame, passes)
      return passes ? output.toServer(exchange, frame) : undefined
    }
    batch?.judged(frame, false)
  }

  /** A frame of the client's that goes nowhere: whoever asks by it is told, and so is the server where it waits for it. */
  #refuse(exchange: Exchange, frame: Frame, findings: Findings, batch: ClientBatch | undefined): void {
    this.#core.records.write({ event: 'wire', from: 'client', bytes: { request: frame.bytes.length } }, findings)
    for (const one of membersOf(frame)) {
      // One answer is owed to the batch, however many ids its member names.
      for (const [index, key] of keysOf(one).entries()) this.#refuseRequest(exchange, one, key, findings, index === 0 ? batch : undefined)
    }
  }

  #refuseRequest(exchange: Exchange, frame: Frame, key: IdKey, findings: Findings, batch: ClientBatch | undefined): void {
    const isRequest = frame.message.kind === 'request'
    if ((!isRequest && this.#serverRequests.unusable(exchange, key, findings)) || !asks(frame)) return
    const asker = { id: idOf(key), key }
    const refusal = isMismatch(findings) ? headerMismatch(asker, findings) : blocked(asker, findings)
    if (batch !== undefined && isRequest) batch.answered(refusal, undefined)
    else this.#core.output.toClient(exchange, refusal, 'client')
  }

  #serverFrame(exchange: Exchange, frame: Frame): void {
    const { message } = frame
    if (message.kind !== 'batch') return this.#fromServer(exchange, frame, undefined)
    const { output, records } = this.#core
    const findings = this.#found('server', exchange, frame)
    if (findings.isStop) return this.#unusable(exchange, frame, undefined, findings)
    records.note('wire', 'server', findings)
    const before = output.take()
    for (const one of message.members) this.#fromServer(exchange, one, frame)
    for (const effect of [...before, ...rejoined(output.take(), frame, message.members)]) output.emit(effect)
  }

  #fromServer(exchange: Exchange, frame: Frame, batch: Frame | undefined): void {
    const { message } = frame
    const findings = this.#found('server', exchange, frame)
    if (findings.isStop) return this.#unusable(exchange, frame, batch, findings)
    switch (message.kind) {
      case 'result':
      case 'error':
        return this.#requests.answered({ exchange, frame, message, batch }, findings)
      case 'request':
        return this.#core.driver.run(this.#serverRequests.received(exchange, frame, message, findings))
      case 'notification':
        return this.#core.driver.run(this.#notified(exchange, frame, message, findings))
      case 'page':
        return this.#page({ exchange, frame, message, batch }, findings)
      case 'batch':
      case 'unusable':
        if (this.#requests.unusable({ exchange, frame, batch }, keysOf(frame), isAnonymousAnswer(frame), findings)) return
        this.#core.records.note('wire', 'server', findings)
        this.#core.output.toClient(exchange, frame)
    }
  }

  #page(arrived: Arrived & { readonly message: Page }, findings: Findings): void {
    if (this.#requests.answeredByPage(arrived, findings)) return
    const { output, records } = this.#core
    this.#answers.readPage(arrived.frame, arrived.message.text, findings)
    records.note('wire', 'server', findings)
    if (!findings.isStop) output.toClient(arrived.exchange, arrived.frame)
  }

  /** The life of a notification of the server's. */
  *#notified(exchange: Exchange, frame: Frame, notification: Notification, findings: Findings): Flow {
    const { output, records } = this.#core
    const { method, params } = notification
    const event = findings.kept.length > 0 ? 'wire' : eventOf(method, 'server')
    const sent = yield* this.#answers.judgeUnasked(method, exchange, frame, params, findings)
    records.note(event, 'server', findings)
    // What it says of a request of ours is for nobody else.
    const key = keyIn(frame, isCancellation(notification) ? 'requestId' : 'progressToken')
    if (key !== undefined && this.#lists.ids.isOurs(key)) return
    if (key !== undefined && isCancellation(notification)) this.#serverRequests.cancelled(exchange, key)
    if (method === 'notifications/tools/list_changed' && !this.#lists.changed(exchange, frame)) return
    if (!findings.isStop) output.toClient(exchange, sent)
  }

  /** A frame of the server's that is blocked as such. Nobody who waits for it, or for an answer to it, may wait for ever. */
  #unusable(exchange: Exchange, frame: Frame, batch: Frame | undefined, findings: Findings): void {
    const { message } = frame
    const isAnswer = message.kind !== 'request' && message.kind !== 'notification'
    if (isAnswer && this.#requests.unusable({ exchange, frame, batch }, keysOf(frame), isAnonymousAnswer(frame), findings)) return
    this.#core.records.write({ event: 'wire', from: 'server', bytes: { request: frame.bytes.length } }, findings)
    if (message.kind !== 'request') return
    this.#core.output.toServer(exchange, errorAnswer(message, errorCode.methodNotFound, 'Blocked by mcp-customs'), 'server')
  }

  /** What the rules say of a frame as such. */
  #found(from: Side, exchange: Exchange, frame: Frame): Findings {
    const findings = this.#core.findings()
    const asked = from === 'server' ? this.#requests.termsOn(exchange) : undefined
    const { revision } = asked ?? this.#core.handshake.legacyTerms(frame.envelope?.headers)
    this.#core.ask('onFrame', { frame, from, revision }, findings, '')
    return findings
  }
}
/** A bad frame of the client's that may have been a request: what surely is none gets no answer. */
const asks = ({ message }: Frame): boolean => message.kind !== 'notification' && message.kind !== 'result' && message.kind !== 'error'

/** The id that a member of the params is; undefined where it is none. */
const keyIn = (frame: Frame, name: 'requestId' | 'progressToken'): IdKey | undefined =>
  frame.message.kind === 'notification' ? keyAt(frame, ['params', name]) : undefined
