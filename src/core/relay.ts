import { slice } from '../protocol/edit.js'
import type { Frame } from '../protocol/frame.js'
import { isString } from '../protocol/json.js'
import { errorCode, type Batch, type IdKey, type Notification } from '../protocol/json-rpc.js'
import { idIn, isAnonymousAnswer, keysOf } from '../protocol/message.js'
import { Answers } from './answers.js'
import { ClientBatch, Convoy, rejoined } from './batch.js'
import { ClientRequests } from './client-requests.js'
import { Core } from './core.js'
import type { Effect } from './effect.js'
import { wholePipe, type Event, type Exchange, type Side } from './event.js'
import type { Findings } from './findings.js'
import type { Flow } from './flow.js'
import { Lane } from './lane.js'
import type { RelayOptions } from './options.js'
import { blocked, errorAnswer, headerMismatch, isMismatch } from './refusal.js'
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
  readonly #lane = new Lane()
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
      this.#handle(event)
      this.#openLane()
      return this.#core.output.take()
    } catch (error) {
      return this.#failed(error)
    }
  }

  /** True while something of the client's is not yet at the server: its input must stay open. */
  get holding(): boolean {
    return this.#requests.held > 0 || !this.#lane.isEmpty
  }

  /** True while the client sends more than can wait for what is held: it must be held back itself. */
  get isCrowded(): boolean {
    return this.#lane.isCrowded
  }

  /** The input schema by which a call is checked, as headers are made from it as well. */
  inputSchemaOf(tool: string) {
    const found = this.#lists.catalog.lookup(tool, this.#core.output.now)
    return found.state === 'known' ? found.tool.inputSchemas[0] : undefined
  }

  #handle(event: Event): void {
    switch (event.type) {
      case 'frame-received':
        return event.from === 'server' ? this.#serverFrame(event.exchange, event.frame) : this.#arrived(event.exchange, event.frame)
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
        this.#ended()
        return this.#core.records.write({ event: 'session/end', reason: event.reason })
      default:
        event satisfies never
    }
  }

  /** What came by a pipe waits for what came before it; only what the server may be waiting for itself, and what is taken back, does not. */
  #arrived(exchange: Exchange, frame: Frame): void {
    const { message } = frame
    const isResponse = message.kind === 'result' || message.kind === 'error'
    if (exchange !== wholePipe || !this.holding || isResponse) return this.#clientFrame(exchange, frame)
    if (message.kind !== 'notification' || message.method !== cancelled) return this.#lane.add(frame)
    const key = requestIdOf(frame)
    if (key === undefined || !this.#lane.cancel(key)) this.#clientFrame(exchange, frame)
  }

  #openLane(): void {
    while (this.#requests.held === 0) {
      const next = this.#lane.next()
      if (next === undefined) return
      if (next.isCancelled) this.#requests.neverSent(wholePipe, next.frame, this.#core.findings())
      else this.#clientFrame(wholePipe, next.frame)
    }
  }

  #ended(): void {
    this.#requests.ended()
    for (let next = this.#lane.next(); next !== undefined; next = this.#lane.next()) {
      this.#requests.neverSent(wholePipe, next.frame, this.#core.findings())
    }
  }

  /** An exception ends this session alone: who waits is told, and it is on record why. */
  #failed(error: unknown): readonly Effect[] {
    this.#hasFailed = true
    const reason = `mcp-customs failed: ${error instanceof Error ? error.name : 'an exception'}`
    this.#core.output.take()
    this.#requests.failed(reason)
    this.#core.records.write({ event: 'session/end', verdict: 'block', reason })
    return [...this.#core.output.take(), { type: 'close', reason }]
  }

  #clientFrame(exchange: Exchange, frame: Frame): void {
    const { message } = frame
    if (message.kind !== 'batch') return this.#fromClient(exchange, frame, this.#found('client', frame), undefined)
    const { output, records } = this.#core
    const findings = this.#found('client', frame)
    if (findings.isStop) return this.#refuse(exchange, frame, findings)
    records.note('wire', findings)
    const convoy = new Convoy(frame, message, one => output.toServer(exchange, one))
    const requests = message.members.filter(one => one.message.kind === 'request').length
    const batch = new ClientBatch(convoy, requests, one => output.toClient(exchange, one))
    for (const one of message.members) this.#fromClient(exchange, one, this.#found('client', one), batch)
  }

  #fromClient(exchange: Exchange, frame: Frame, findings: Findings, batch: ClientBatch | undefined): void {
    const { message } = frame
    const { output, records } = this.#core
    if (message.kind === 'request' && !findings.isStop) return this.#requests.received(exchange, frame, message, findings, batch)
    if (findings.isStop) {
      this.#refuse(exchange, frame, findings, batch)
      return batch?.convoy.judged(frame, false)
    }
    if (message.kind === 'result' || message.kind === 'error') {
      this.#serverRequests.answered(exchange, frame, message, findings)
      return batch?.convoy.judged(frame, false)
    }
    records.note('wire', findings)
    const passes = message.kind !== 'notification' || message.method !== cancelled || this.#cancels(exchange, frame)
    if (batch !== undefined) batch.convoy.judged(frame, passes)
    else if (passes) output.toServer(exchange, frame)
  }

  #cancels(exchange: Exchange, frame: Frame): boolean {
    const key = requestIdOf(frame)
    return key === undefined || this.#requests.cancelled(exchange, key)
  }

  /** A frame of the client's that goes nowhere: whoever asks by it is told, and so is the server where it waits for it. */
  #refuse(exchange: Exchange, frame: Frame, findings: Findings, batch?: ClientBatch): void {
    this.#core.records.write({ event: 'wire', bytes: { request: frame.bytes.length } }, findings)
    const members = frame.message.kind === 'batch' ? frame.message.members : [frame]
    for (const one of members) for (const key of keysOf(one)) this.#refuseRequest(exchange, one, key, findings, batch)
  }

  #refuseRequest(exchange: Exchange, frame: Frame, key: IdKey, findings: Findings, batch: ClientBatch | undefined): void {
    const isRequest = frame.message.kind === 'request'
    if ((!isRequest && this.#serverRequests.unusable(exchange, key, findings)) || !asks(frame)) return
    const asker = { id: idIn(key), key }
    const refusal = isMismatch(findings) ? headerMismatch(asker, findings) : blocked(asker, findings)
    if (batch !== undefined && isRequest) batch.answered(refusal, undefined)
    else this.#core.output.toClient(exchange, refusal, 'client')
  }

  #serverFrame(exchange: Exchange, frame: Frame): void {
    const { message } = frame
    if (message.kind !== 'batch') return this.#fromServer(exchange, frame)
    this.#serverBatch(exchange, frame, message)
  }

  #serverBatch(exchange: Exchange, frame: Frame, { members }: Batch<Frame>): void {
    const { output, records } = this.#core
    const findings = this.#found('server', frame)
    if (findings.isStop) return this.#unusable(exchange, frame, findings)
    records.note('wire', findings)
    const before = output.take()
    this.#requests.arriving = frame
    for (const one of members) this.#fromServer(exchange, one)
    this.#requests.arriving = undefined
    for (const effect of [...before, ...rejoined(output.take(), frame, members)]) output.emit(effect)
  }

  #fromServer(exchange: Exchange, frame: Frame): void {
    const { message } = frame
    const findings = this.#found('server', frame)
    if (findings.isStop) return this.#unusable(exchange, frame, findings)
    switch (message.kind) {
      case 'result':
      case 'error':
        return this.#requests.answered(exchange, frame, message, findings)
      case 'request':
        return this.#core.driver.run(this.#serverRequests.received(exchange, frame, message, findings))
      case 'notification':
        return this.#core.driver.run(this.#notified(exchange, frame, message, findings))
      case 'batch':
      case 'unusable':
        if (this.#requests.unusable(exchange, frame, keysOf(frame), isAnonymousAnswer(frame), findings)) return
        this.#core.records.note('wire', findings)
        this.#core.output.toClient(exchange, frame)
    }
  }

  /** The life of a notification of the server's. */
  *#notified(exchange: Exchange, frame: Frame, { method, params }: Notification, findings: Findings): Flow {
    const { output, records } = this.#core
    const event = findings.kept.length > 0 ? 'wire' : method
    yield* this.#answers.judgeUnasked(method, exchange, frame, params, findings)
    records.note(event, findings)
    if (method === cancelled) {
      const key = requestIdOf(frame)
      if (key !== undefined && this.#lists.ids.isOurs(key)) return
      if (key !== undefined) this.#serverRequests.cancelled(exchange, key)
    }
    if (method === 'notifications/tools/list_changed' && !this.#lists.changed(exchange, frame)) return
    if (!findings.isStop) output.toClient(exchange, frame)
  }

  /** A frame of the server's that is blocked as such. Nobody who waits for it, or for an answer to it, may wait for ever. */
  #unusable(exchange: Exchange, frame: Frame, findings: Findings): void {
    const { message } = frame
    const isAnswer = message.kind !== 'request' && message.kind !== 'notification'
    if (isAnswer && this.#requests.unusable(exchange, frame, keysOf(frame), isAnonymousAnswer(frame), findings)) return
    this.#core.records.write({ event: 'wire', bytes: { request: frame.bytes.length } }, findings)
    if (message.kind !== 'request') return
    this.#core.output.toServer(exchange, errorAnswer(message, errorCode.methodNotFound, 'Blocked by mcp-customs'), 'server')
  }

  /** What the rules say of a frame as such. */
  #found(from: Side, frame: Frame): Findings {
    const findings = this.#core.findings()
    const { revision } = this.#core.handshake.terms
    this.#core.ask('onFrame', { frame, from, revision }, findings, '')
    return findings
  }
}

const cancelled = 'notifications/cancelled'

/** A bad frame of the client's that may have been a request: what surely is none gets no answer. */
const asks = ({ message }: Frame): boolean => message.kind !== 'notification' && message.kind !== 'result' && message.kind !== 'error'

/** The id that a cancellation names, as it is spelt; undefined where it names none. */
const requestIdOf = (frame: Frame): IdKey | undefined => {
  const { message } = frame
  const id = message.kind === 'notification' ? message.params?.['requestId'] : undefined
  if (isString(id)) return JSON.stringify(id)
  return typeof id === 'number' ? slice(frame, ['params', 'requestId'])?.toString() : undefined
}
