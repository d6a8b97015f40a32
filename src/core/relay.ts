import type { Frame, Message } from '../protocol/frame.js'
import { isObject, isString, member } from '../protocol/json.js'
import { errorCode, type Batch, type IdKey, type Notification } from '../protocol/json-rpc.js'
import { traitsOf } from '../protocol/revision.js'
import { Batches } from './batches.js'
import { ClientRequests, isAnonymousAnswer } from './client-requests.js'
import { Context } from './context.js'
import type { Effect } from './effect.js'
import type { Event, Exchange, Side } from './event.js'
import type { RelayOptions } from './options.js'
import { isStop } from './policy.js'
import { blocked, errorAnswer, headerMismatch, isMismatch } from './refusal.js'
import { Results } from './results.js'
import type { Finding } from './rule.js'
import { ServerRequests } from './server-requests.js'
import { ToolCalls } from './tool-calls.js'
import { ToolLists } from './tool-lists.js'

type Received = Extract<Event, { type: 'frame-received' }>

/**
 * The one choke point: every frame, in both directions and on every transport, is decided here, and every message of
 * ours is made here. Pure: it is handed what happened and returns what is to be done, in order.
 */
export class Relay {
  readonly #context: Context
  readonly #lists: ToolLists
  readonly #results: Results
  readonly #requests: ClientRequests
  readonly #serverRequests: ServerRequests
  readonly #batches = new Batches()

  constructor(options: RelayOptions) {
    this.#context = new Context(options)
    this.#lists = new ToolLists(this.#context)
    this.#results = new Results(this.#context, this.#lists)
    const calls = new ToolCalls(this.#context, this.#lists)
    this.#requests = new ClientRequests(this.#context, this.#lists, calls, this.#results)
    this.#serverRequests = new ServerRequests(this.#context)
  }

  /** @param now a monotonic clock in milliseconds: the core has none of its own */
  handle(event: Event, now: number): readonly Effect[] {
    this.#context.now = now
    switch (event.type) {
      case 'frame-received':
        return this.#received(event)
      case 'checked':
        this.#context.checked(event.check, event.results)
        break
      case 'timer-fired':
        this.#lists.timerFired(event.timer)
        this.#requests.timerFired(event.timer)
        break
      case 'request-lost':
        this.#requests.lost(event.exchange, event.key, event.reason)
        break
      case 'exchange-ended':
        this.#requests.exchangeEnded(event.exchange)
        break
      case 'server-gone':
        this.#requests.serverGone(event.reason)
        break
      case 'session-ended':
        this.#requests.ended()
        this.#context.start()
        this.#context.record({ event: 'session/end', verdict: 'pass', findings: [], reason: event.reason })
        break
      default:
        event satisfies never
    }
    return this.#batches.gather(this.#context.take())
  }

  /** True while a request of the client's is not yet at the server: its input must stay open. */
  get holding(): boolean {
    return this.#requests.holding
  }

  /** The input schema by which a call is checked, as headers are made from it as well. */
  inputSchemaOf(tool: string) {
    const found = this.#lists.catalog.lookup(tool, this.#context.now)
    return found.state === 'known' ? found.tool.inputSchema : undefined
  }

  #received({ from, exchange, frame }: Received): readonly Effect[] {
    if (frame.message.kind !== 'batch') {
      this.#single(from, exchange, frame)
      return this.#batches.gather(this.#context.take())
    }
    this.#batch(from, exchange, frame, frame.message)
    return this.#batches.gather(this.#context.take(), { from, frame })
  }

  #single(from: Side, exchange: Exchange, frame: Frame): void {
    const { message } = frame
    const found = [...this.#wire(frame), ...withoutId(message)]
    if (message.kind === 'unusable' || message.kind === 'batch') {
      const passes = !isStop(this.#context.judge(found).verdict) && !isOversized(frame)
      if (!passes) return this.#unusable(from, exchange, frame, found)
      this.#note(found)
      return this.#pass(from, exchange, frame)
    }
    if (isStop(this.#context.judge(found).verdict) || isOversized(frame)) {
      return this.#unusable(from, exchange, frame, found)
    }
    if (message.kind === 'notification') return this.#notification(from, exchange, frame, message, found)
    if (message.kind === 'request') {
      const requests = from === 'client' ? this.#requests : this.#serverRequests
      return requests.received(exchange, frame, message, found)
    }
    const answers = from === 'client' ? this.#serverRequests : this.#requests
    answers.answered(exchange, frame, message, found)
  }

  #wire(frame: Frame): readonly Finding[] {
    return this.#context.ask('onFrame', frame, '')
  }

  #batch(from: Side, exchange: Exchange, frame: Frame, batch: Batch<Frame>): void {
    const allowed = traitsOf(this.#context.session.terms.revision).batches
    const found: readonly Finding[] = [
      ...this.#wire(frame),
      ...(allowed
        ? []
        : [{ rule: 'wire/json-rpc', path: '', message: 'batches are allowed in revision 2025-03-26 only' } as const]),
    ]
    if (isStop(this.#context.judge(found).verdict) || isOversized(frame)) {
      return this.#unusable(from, exchange, frame, found)
    }
    this.#note(found)
    if (from === 'client') this.#batches.opened(exchange, batch)
    for (const one of batch.members) this.#single(from, exchange, one)
  }

  #notification(from: Side, exchange: Exchange, frame: Frame, message: Notification, found: readonly Finding[]): void {
    const { method, params } = message
    this.#note(found)
    if (from === 'client') {
      if (method !== 'notifications/cancelled') return this.#pass(from, exchange, frame)
      for (const effect of this.#batches.forget(requestIdOf(params))) this.#context.emit(effect)
      if (this.#requests.cancelled(exchange, params)) this.#pass(from, exchange, frame)
      return
    }
    if (method === 'notifications/tools/list_changed') this.#lists.catalog.changed()
    if (method === 'notifications/cancelled') this.#serverRequests.cancelled(exchange, params)
    const result = method === 'notifications/tasks' ? member(params, 'result') : undefined
    if (params === undefined || !isObject(result)) return this.#pass(from, exchange, frame)
    this.#results.judgePushed(frame, params, result, (verdict, findings) => {
      if (findings.length > 0) this.#context.record({ event: method, verdict, findings })
      if (!isStop(verdict)) this.#pass(from, exchange, frame)
    })
  }

  /** A frame that is blocked as such. Nobody who waits for it, or for an answer to it, may wait for ever. */
  #unusable(from: Side, exchange: Exchange, frame: Frame, found: readonly Finding[]): void {
    const keys = keysOf(frame)
    if (from === 'server') {
      if (!isRequest(frame) && this.#requests.unusable(exchange, frame, keys, isAnonymousAnswer(frame), found)) return
      this.#record(frame, found)
      const { message } = frame
      if (message.kind !== 'request') return
      return this.#context.toServer(exchange, errorAnswer(message, errorCode.methodNotFound, 'Blocked by mcp-customs'))
    }
    this.#record(frame, found)
    for (const key of keys) {
      if (this.#serverRequests.unusable(exchange, key, found) || !asks(frame)) continue
      const asker = { id: idOf(key), key }
      this.#context.toClient(exchange, isMismatch(found) ? headerMismatch(asker, found) : blocked(asker, found))
    }
  }

  #pass(from: Side, exchange: Exchange, frame: Frame): void {
    if (from === 'client') this.#context.toServer(exchange, frame)
    else this.#context.toClient(exchange, frame)
  }

  /** Findings about a frame that passes all the same. */
  #note(found: readonly Finding[]): void {
    const { verdict, findings } = this.#context.judge(found)
    if (findings.length > 0) this.#context.record({ event: 'wire', verdict, findings })
  }

  #record(frame: Frame, found: readonly Finding[]): void {
    const { findings } = this.#context.judge(found)
    this.#context.record({ event: 'wire', verdict: 'block', findings, bytes: { request: frame.bytes.length } })
  }
}

/** Requests that a lenient reader would carry out though they have no id, past every check of requests. */
const requestMethods: ReadonlySet<string> = new Set([
  'initialize', 'ping', 'server/discover', 'subscriptions/listen', 'tools/list', 'tools/call', 'resources/list', 'resources/read',
  'resources/templates/list', 'resources/subscribe', 'resources/unsubscribe', 'prompts/list', 'prompts/get',
  'completion/complete', 'logging/setLevel', 'tasks/get', 'tasks/result', 'tasks/list', 'tasks/cancel', 'tasks/update',
  'sampling/createMessage', 'elicitation/create', 'roots/list',
])

const withoutId = (message: Message): readonly Finding[] =>
  message.kind === 'notification' && requestMethods.has(message.method)
    ? [{ rule: 'wire/json-rpc', path: '/id', message: 'a request must have an id' }]
    : []

// Its bytes were not kept: whatever the policy says, there is nothing that could pass.
const isOversized = ({ faults }: Frame): boolean => faults.some(({ kind }) => kind === 'size')

const isRequest = ({ message }: Frame): boolean => message.kind === 'request' || message.kind === 'notification'

/** A bad frame of the client's that may have been a request: what surely is none gets no answer. */
const asks = ({ message }: Frame): boolean => message.kind !== 'notification' && message.kind !== 'result' && message.kind !== 'error'

const keysOf = ({ message, otherKeys }: Frame): readonly IdKey[] => {
  switch (message.kind) {
    case 'unusable':
      return message.keys
    case 'batch':
      return message.members.flatMap(keysOf)
    case 'notification':
      return []
    case 'request':
    case 'result':
    case 'error':
      return [message.key, ...(otherKeys ?? [])]
  }
}

const idOf = (key: IdKey): string | number => {
  const id: unknown = JSON.parse(key)
  return isString(id) ? id : Number(id)
}

const requestIdOf = (params: Notification['params']): IdKey => JSON.stringify(member(params, 'requestId') ?? null)
