import { ChurnMap } from '#relay/core/memory.js'
import type { Exchange, HttpEvent } from '#relay/core/vocabulary.js'
import { edit } from '#relay/protocol/edit.js'
import type { Frame } from '#relay/protocol/frame.js'
import { isString, member } from '#relay/protocol/json.js'
import { errorCode, type IdKey, type Notification, type Request } from '#relay/protocol/json-rpc.js'
import { keyIn, membersOf, requestBytes, responseBytes, written } from '#relay/protocol/message.js'
import { firstModern } from '#relay/protocol/revisions/index.js'
import { parseFrame } from '#relay/protocol/parse.js'
import type { TransportEvent } from '#relay/transport/transport.js'
import { LegacyCall, type Calls, Questions } from './call.js'
import { type Origin, type EraOutgoing, frameWithId } from './exchanges.js'
import { forClient, legacyResult, type Requester } from './results.js'
import { Streams } from './streams.js'
import { Subscriptions, timer as subscriptionTimer } from './subscriptions.js'
import { type ClientTerms, clientTerms, metaEdits, type ServerTerms } from './terms.js'
import type { EraOptions } from './translator.js'

const logLevels: ReadonlySet<string> =
  new Set(['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'])

/** Notifications of a legacy client that 2026-07-28 does not have. */
const legacyOnly: ReadonlySet<string> = new Set([
  'notifications/initialized', 'notifications/roots/list_changed', 'notifications/progress', 'notifications/tasks/status',
])

/** The session of a legacy client with a server of 2026-07-28, after `server/discover`. */
export class LegacySession {
  readonly #options: EraOptions
  readonly #out: EraOutgoing
  readonly #server: ServerTerms
  readonly #streams: Streams
  readonly #subscriptions: Subscriptions
  readonly #questions = new Questions()
  /** By the client's id. */
  readonly #calls = new ChurnMap<IdKey, LegacyCall>()
  #client: ClientTerms
  /** JSON text. */
  #logLevel: string | undefined
  #lastTimer = 0
  readonly #passed: Set<IdKey>

  /** @param passed requests that the server got before it refused `initialize`, untranslated */
  constructor(
    options: EraOptions, out: EraOutgoing, client: ClientTerms, server: ServerTerms, passed: Set<IdKey>,
  ) {
    this.#passed = passed
    this.#options = options
    this.#out = out
    this.#client = client
    this.#server = server
    this.#streams = new Streams(out, options.newSessionId !== undefined)
    this.#subscriptions = new Subscriptions({
      out, options, capabilities: server.capabilities,
      requestOf: (id, method, params) => this.#requestOf(id, method, params),
      deliver: frame => this.#streams.deliver(frame),
    })
  }

  /** Answers `initialize`. */
  initialized(requester: Requester): void {
    const { announced, instructions, info } = this.#server
    const serverInfo = info ?? JSON.stringify({ name: this.#options.server, version: '0' })
    const told = instructions === undefined ? '' : `,"instructions":${instructions}`
    const result =
      `{"protocolVersion":"${this.#client.revision}","capabilities":${announced},"serverInfo":${serverInfo}${told}}`
    const id = this.#options.newSessionId?.()
    const response = id && { status: 200, headers: new Map([['mcp-session-id', [id]]]) }
    this.#out.answer(requester, 'result', result, response ? { response } : undefined)
  }

  /** @returns false: the event passes as it is */
  fromClient(event: Exclude<TransportEvent, { readonly type: 'drained' }>): boolean {
    switch (event.type) {
      case 'frame':
        return this.#frameOfClient(event.exchange, event.frame)
      case 'bare-request':
        this.#streams.asked(event)
        return true
      case 'exchange-ended':
        this.#streams.ended(event.exchange)
        return false
      case 'ended':
        for (const call of this.#calls.values()) call.clientLeft()
        return false
      case 'head':
      case 'between':
      case 'stream-ended':
      case 'lost':
      case 'renewed':
        return false
    }
  }

  /** @returns false: the frame passes as it is */
  fromRelay(exchange: Exchange, frame: Frame): boolean {
    const { message } = frame
    switch (message.kind) {
      case 'request':
        // 2026-07-28 has no requests of servers (Transports): nobody is asked.
        this.#out.report({ type: 'frame', exchange, frame: this.#refusalOf(message) })
        return true
      case 'notification': {
        const asker = this.#out.find(exchange, undefined)
        if (asker !== undefined) asker.notified(frame)
        else if (!this.#subscriptions.received(frame) && !this.#out.isOwn(exchange)) return false
        return true
      }
      case 'result':
        // A result without a request goes nowhere.
        if (!this.#out.answered(exchange, frame, message.key) && this.#passed.delete(message.key)) {
          this.#out.send(exchange, forClient(frame, legacyResult(frame, message.result, '', undefined)))
        }
        return true
      case 'error':
      case 'page':
        return this.#out.answered(exchange, frame, message.key)
      case 'unusable':
        return this.#out.answered(exchange, frame, message.keys[0])
      case 'batch':
        return membersOf(frame).map(one => this.fromRelay(exchange, one)).includes(true)
    }
  }

  /** The session ends, and with it what the relay has no request of: calls between two rounds. */
  closing(): void {
    for (const call of this.#calls.values()) call.serverGone()
  }

  handed(event: HttpEvent): boolean {
    return this.#out.handed(event)
  }

  completed(exchange: Exchange): boolean {
    if (!this.#out.isOwn(exchange)) return false
    this.#out.over(exchange)
    return true
  }

  timerFired(timer: string): void {
    if (timer === subscriptionTimer) this.#subscriptions.timerFired()
    else this.#calls.values().find(call => call.timer === timer)?.timerFired()
  }

  #frameOfClient(exchange: Exchange, frame: Frame): boolean {
    const { kind } = frame.message
    if (kind === 'unusable' || kind === 'page') return false
    const origin = { exchange, envelope: frame.envelope }
    const members = membersOf(frame)
    for (const one of members) this.#memberOfClient(one, origin)
    // A message without a request has no answer; over HTTP it is accepted.
    if (!members.some(({ message }) => message.kind === 'request' || message.kind === 'unusable'))
      this.#out.act({ type: 'complete', exchange })
    return true
  }

  #memberOfClient(frame: Frame, origin: Origin): void {
    const { message } = frame
    const { exchange } = origin
    switch (message.kind) {
      case 'request':
        return this.#request(frame, message, origin)
      case 'notification':
        return this.#notification(frame, message, origin)
      case 'result':
      case 'error':
        return this.#questions.answered(frame, message)
      case 'batch':
      case 'page':
      case 'unusable':
        return this.#out.report({ type: 'frame', exchange, frame })
    }
  }

  #notification(frame: Frame, { method }: Notification, origin: Origin): void {
    if (method === 'notifications/cancelled') return this.#cancelled(keyIn(frame, 'requestId'))
    if (method === 'notifications/initialized') return this.#subscriptions.begin(origin)
    if (!legacyOnly.has(method)) this.#out.tell(origin, frame.bytes)
  }

  #cancelled(key: IdKey | undefined): void {
    const call = this.#calls.get(key ?? '')
    if (call === undefined) return
    call.cancel()
    const { exchange } = call.requester
    const isShared = this.#calls.values().some(({ requester }) => requester.exchange === exchange)
    if (!isShared) this.#out.act({ type: 'complete', exchange })
  }

  #request(frame: Frame, message: Request, origin: Origin): void {
    const { id, key, method, params } = message
    const requester = { exchange: origin.exchange, id, key }
    switch (method) {
      case 'initialize':
        this.#client = clientTerms(frame, params) ?? this.#client
        return this.initialized(requester)
      case 'ping':
        return this.#out.answer(requester, 'result', {})
      case 'logging/setLevel': {
        const level = member(params, 'level')
        if (member(this.#server.capabilities, 'logging') === undefined) return this.#unknown(requester)
        if (!isString(level) || !logLevels.has(level))
          return this.#out.answer(requester, 'error', { code: errorCode.invalidParams, message: 'Invalid params: level' })
        this.#logLevel = JSON.stringify(level)
        return this.#out.answer(requester, 'result', {})
      }
      case 'resources/subscribe':
      case 'resources/unsubscribe': {
        const uri = member(params, 'uri')
        if (!isString(uri))
          return this.#out.answer(requester, 'error', { code: errorCode.invalidParams, message: 'Invalid params: uri' })
        return this.#subscriptions.change({ requester, uri, isWanted: method === 'resources/subscribe' }, origin)
      }
      default:
        return this.#call(frame, message, requester, origin)
    }
  }

  #unknown(requester: Requester): void {
    this.#out.answer(requester, 'error', { code: errorCode.methodNotFound, message: 'Method not found' })
  }

  #call(frame: Frame, message: Request, requester: Requester, origin: Origin): void {
    const edits = [...metaEdits(frame, this.#client, this.#logLevel), { path: ['params', 'task'], remove: true as const }]
    // The id that another request of the client still has is replaced, so that each gets its answer.
    const isRepeated = this.#calls.get(requester.key) !== undefined
    const id = isRepeated ? this.#options.newId() : message.id
    const bytes = isRepeated ? frameWithId(frame, id, edits) : edit(frame.bytes, edits)
    const call = new LegacyCall(
      this.#parts, requester, { ...origin, isRepeated }, message, { bytes, message, faults: [] }, `call ${++this.#lastTimer}`,
    )
    if (!isRepeated) this.#calls.set(requester.key, call)
    call.begin(id, bytes)
  }

  get #parts(): Calls {
    return {
      out: this.#out, options: this.#options, client: this.#client, questions: this.#questions,
      ended: call => {
        if (this.#calls.get(call.requester.key) === call) this.#calls.delete(call.requester.key)
      },
    }
  }

  #requestOf(id: string, method: string, params: string): Buffer {
    return modernRequest(requestBytes(written(id), method, params), this.#client, this.#options)
  }

  #refusalOf({ id, key }: Request): Frame {
    const error = { code: errorCode.methodNotFound, message: `Method not found: ${firstModern} has no requests of servers` }
    return { bytes: responseBytes(key, 'error', error), message: { kind: 'error', id, key, error }, faults: [] }
  }
}

/** A request of ours in the client's name. */
export const modernRequest = (bytes: Buffer, client: ClientTerms, { limits }: Pick<EraOptions, 'limits'>): Buffer =>
  edit(bytes, metaEdits(parseFrame(bytes, limits), client))
