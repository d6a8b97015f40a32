import type { Exchange } from '#relay/core/vocabulary.js'
import { stdioExchange } from '#relay/core/event.js'
import { ChurnMap } from '#relay/core/memory.js'
import { errorFrame } from '#relay/core/refusal.js'
import { edited, textWithout } from '#relay/protocol/edit.js'
import type { Frame } from '#relay/protocol/frame.js'
import { isObject, isString, member, type JsonObject } from '#relay/protocol/json.js'
import { errorCode, type IdKey, type Notification, type Request } from '#relay/protocol/json-rpc.js'
import { idOf, isCancellation, keyAt, keyIn, idKeysOf } from '#relay/protocol/message.js'
import { firstModern, inMeta, metaPrefix, newestLegacy } from '#relay/protocol/revisions/index.js'
import type { TransportEvent } from '#relay/transport/transport.js'
import { ListenStreams } from './listen-streams.js'
import {
  discovered, legacyRequest, made, modernResult, objectOf, renamedFrame, type FrameTexts,
} from './modern-frames.js'
import { type OpenCall, OpenCalls } from './open-calls.js'
import { ParkedCalls, callSubject } from './parked-calls.js'
import { eraShownBy } from './shown-era.js'
import type { EraAction, EraEvent, EraOptions, Translator } from './translator.js'

/**
 * unknown: nothing was said yet. asking: `server/discover` was sent, and shows the server's era. opening:
 * `initialize` was sent. open: messages are translated. same era: client and server need no translator.
 */
type Phase = 'unknown' | 'asking' | 'opening' | 'open' | 'same era'

/** Most requests that wait for the server's session, and their bytes. */
const maxHeld = 1000
const maxHeldBytes = 8 * 1024 * 1024

/** How long requests of ours may hold up those of the client, in milliseconds. */
const patienceMs = 5000

/** Methods of legacy revisions that 2026-07-28 does not have; tasks are not announced. */
const removed = /^(?:initialize|ping|logging\/setLevel|resources\/(?:un)?subscribe|tasks\/.*)$/

/** Of log messages, the most verbose first (RFC 5424, section 6.2.1). */
const levels: readonly unknown[] =
  ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']

interface Held {
  readonly exchange: Exchange
  readonly frame: Frame
  readonly message: Request
}

/** A modern client in front of a server that knows only `initialize`. */
export class ModernClient implements Translator {
  readonly #options: EraOptions
  #phase: Phase = 'unknown'
  #actions: EraAction[] = []
  /** Requests of the client that wait for the server's session. */
  #held: Held[] = []
  /** The response to `initialize`, with the JSON text of its `serverInfo`. */
  #initialized: { readonly frame: Frame; readonly serverInfo: string | undefined } | undefined
  #capabilities: JsonObject | undefined
  /** Requests of ours. */
  readonly #own = new ChurnMap<IdKey, (answer: Frame) => void>()
  readonly #timers = new ChurnMap<string, () => void>()
  #last = 0
  readonly #calls = new OpenCalls()
  readonly #parked: ParkedCalls
  readonly #streams: ListenStreams
  /** The level of log messages that the server was told. */
  #level: string | undefined

  constructor(options: EraOptions) {
    this.#options = options
    const after = (ms: number, act: () => void) => this.#after(ms, act)
    const send = (exchange: Exchange, frame: Frame) => this.#send(exchange, frame)
    this.#parked = new ParkedCalls(this.#calls, {
      after, send,
      // Each id has 122 random bits.
      newHandle: () => `${options.newId()}.${options.newId()}`,
      respond: (...response) => this.#respond(...response),
      fail: (...failure) => this.#fail(...failure),
      drop: call => this.#drop(call),
    })
    this.#streams = new ListenStreams({
      after, send,
      ask: (method, params, then) =>
        this.#ask(method, JSON.stringify(params), ({ message }) => then(message.kind === 'result')),
    })
  }

  handle(event: EraEvent): readonly EraAction[] | undefined {
    if (this.#phase === 'same era') return undefined
    const actions: EraAction[] = (this.#actions = [])
    if (event.from === 'client') this.#fromClient(event.event)
    else if (event.from === 'closing') return undefined
    else if (event.from === 'timer') this.#fired(event.timer)
    else if (event.from === 'refusal') this.#parked.asked(event.exchange, event.request, undefined)
    else if (event.type === 'frame') this.#fromRelay(event.exchange, event.frame)
    else if (event.type === 'hand') actions.push({ type: 'hand', event: event.event })
    else if (!(event.exchange instanceof CallExchange)) this.#complete(event.exchange)
    return actions
  }

  #fromClient(event: TransportEvent): void {
    if (event.type === 'frame') return this.#clientFrame(event.exchange, event.frame)
    // An HTTP request is over: answered, or cancelled by its client (2026-07-28, Streamable HTTP).
    if (event.type === 'exchange-ended') this.#givenUp(event.exchange)
    if (event.type === 'lost') for (const call of this.#calls.awaited(event.exchange, event.key))
      return this.#fail(call, errorCode.gone, `mcp-customs: ${event.reason}`)
    if (event.type === 'ended') {
      this.#parked.abandon()
      this.#streams.finish()
    }
    this.#report(event)
  }

  #clientFrame(exchange: Exchange, frame: Frame): void {
    const { message } = frame
    if (message.kind === 'request') return this.#requested({ exchange, frame, message })
    const isEarly = this.#phase === 'unknown' || this.#phase === 'asking'
    if (isEarly || message.kind === 'unusable') return this.#report({ type: 'frame', exchange, frame })
    if (isCancellation(message)) this.#givenUp(exchange, keyIn(frame, 'requestId') ?? '')
    // 2026-07-28 has no batches, and its clients send no responses: one would answer a question that another
    // client was asked.
    for (const key of message.kind === 'batch' ? idKeysOf(frame) : [])
      this.#send(exchange, errorFrame({ id: idOf(key), key }, errorCode.invalidRequest, 'Invalid request: a batch'))
    this.#complete(exchange)
  }

  #requested(held: Held): void {
    const { exchange, frame, message } = held
    if (this.#phase === 'open') return this.#request(exchange, frame, message)
    if (this.#phase === 'unknown' && inMeta(message.params, 'protocolVersion') === undefined) {
      this.#phase = 'same era'
      return this.#report({ type: 'frame', exchange, frame })
    }
    const bytes = this.#held.reduce((sum, one) => sum + one.frame.bytes.length, frame.bytes.length)
    if (this.#held.length >= maxHeld || bytes > maxHeldBytes)
      return this.#send(exchange, errorFrame(message, errorCode.blocked, 'mcp-customs: too many requests wait'))
    this.#held.push(held)
    if (this.#phase === 'unknown') this.#askEra(held)
  }

  /** Shows the server's era by `server/discover`: that of the client, or one of ours. */
  #askEra(first: Held): void {
    this.#phase = 'asking'
    const { exchange, frame, message } = first
    // No answer proves nothing: the answer to `initialize` will decide.
    const stop = this.#after(patienceMs, () => this.#shown(first, undefined))
    const shown = (answer: Frame): void => {
      stop()
      this.#shown(first, answer)
    }
    if (message.method === 'server/discover') {
      this.#own.set(message.key, shown)
      return this.#report({ type: 'frame', exchange, frame })
    }
    const params = objectOf({ _meta: textWithout(frame, ['params', '_meta'], ['progressToken']) })
    this.#ask('server/discover', params, shown)
  }

  #shown(first: Held, answer: Frame | undefined): void {
    if (this.#phase !== 'asking') return
    const era = answer === undefined ? 'legacy' : eraShownBy(answer)
    if (era === 'legacy') return this.#initialize(first)
    this.#phase = era === 'modern' ? 'same era' : 'unknown'
    for (const { exchange, frame, message } of this.#held.splice(0)) {
      if (answer !== undefined && message === first.message && message.method === 'server/discover')
        this.#send(exchange, answer)
      else this.#report({ type: 'frame', exchange, frame })
    }
  }

  /** Begins the server's session, with the terms of the first request (2025-11-25, Lifecycle). */
  #initialize({ frame, message }: Held): void {
    this.#phase = 'opening'
    const params = objectOf({
      protocolVersion: JSON.stringify(newestLegacy),
      capabilities: JSON.stringify(carried(inMeta(message.params, 'clientCapabilities'))),
      clientInfo: textWithout(frame, ['params', '_meta', `${metaPrefix}clientInfo`]) ?? '{"name":"unknown","version":"0"}',
    })
    this.#ask('initialize', params, answer => {
      const held = this.#held.splice(0)
      const isOpen = answer.message.kind === 'result'
      if (isOpen) this.#opened(answer, answer.message.result)
      else this.#phase = 'unknown'
      for (const one of held) {
        if (isOpen) this.#requested(one)
        else this.#send(one.exchange, renamedFrame(answer, one.message))
      }
    })
  }

  #opened(frame: Frame, result: JsonObject): void {
    const [version, capabilities] = [member(result, 'protocolVersion'), member(result, 'capabilities')]
    this.#phase = 'open'
    this.#initialized = { frame, serverInfo: textWithout(frame, ['result', 'serverInfo']) }
    this.#capabilities = isObject(capabilities) ? capabilities : undefined
    this.#actions.push({ type: 'began', client: firstModern, server: isString(version) ? version : newestLegacy })
    this.#tell(stdioExchange, { method: '"notifications/initialized"' })
  }

  #request(exchange: Exchange, frame: Frame, message: Request): void {
    const { id, key, method, params } = message
    const refuse = (code: number, text: string, data?: JsonObject): void =>
      this.#send(exchange, errorFrame(message, code, text, data))
    // The relay refuses and records a request with a fault.
    if (frame.faults.some(({ isMinor }) => isMinor !== true)) return this.#forward(exchange, frame, message)
    const version = inMeta(params, 'protocolVersion')
    if (!isString(version) || !isObject(inMeta(params, 'clientCapabilities')))
      return refuse(errorCode.invalidParams, 'Invalid params: _meta lacks a required key')
    if (version !== firstModern) {
      const data = { supported: [firstModern], requested: version.slice(0, 80) }
      return refuse(errorCode.unsupportedVersion, 'Unsupported protocol version', data)
    }
    if (key.length > longestName) return refuse(errorCode.blocked, 'mcp-customs: the id is too long')
    if (removed.test(method)) return refuse(errorCode.methodNotFound, 'Method not found')
    if (method === 'server/discover' && this.#initialized !== undefined)
      return this.#send(exchange, discovered(message, this.#initialized.frame))
    if (method === 'subscriptions/listen') {
      const isOpen = this.#streams.open(exchange, message, this.#capabilities)
      return isOpen ? undefined : refuse(errorCode.blocked, 'mcp-customs: too many subscriptions')
    }
    const state = member(params, 'requestState')
    if (!isString(state)) return this.#forward(exchange, frame, message)
    const waiter = { exchange, id, key, token: tokenIn(frame) }
    const retried = this.#parked.retried(state, waiter, message, frame)
    if (retried === undefined)
      return refuse(errorCode.invalidParams, 'mcp-customs: no call waits for this requestState: begin anew')
    const { call, answer } = retried
    if (answer !== undefined) return this.#deliver(call, answer)
    if (call.isAtServer) return
    // The server refused the call until a URL was visited.
    this.#finish(call)
    this.#forward(exchange, frame, message)
  }

  #forward(exchange: Exchange, frame: Frame, message: Request): void {
    const { method, id, params } = message
    const isRepeated = this.#calls.awaited(exchange, message.key).length > 0 || undefined
    const given = tokenIn(frame)
    const [key, token] = [this.#calls.free(message.key, 'id'), this.#calls.free(given, 'token')]
    const [declared, logLevel] = [inMeta(params, 'clientCapabilities'), inMeta(params, 'logLevel')]
    const { context } = exchange
    const call: OpenCall = {
      id: idOf(key), key, token, method, context, subject: callSubject(message),
      exchange: this.#exchangeFor(exchange),
      capabilities: carried(declared),
      logLevel: isString(logLevel) && levels.includes(logLevel) ? logLevel : undefined,
      waiter: { exchange, id, key: message.key, token: given }, questions: new Map(), isAtServer: false,
      handle: undefined, answer: undefined, rounds: 0, stop: () => undefined,
    }
    this.#calls.add(call)
    this.#leveled(() => {
      // The client may have cancelled it.
      if (this.#calls.find(key) !== call) return
      call.isAtServer = true
      const clientId = key === message.key ? undefined : id
      const sent = legacyRequest(frame, key, token === given ? undefined : token, { isRepeated, clientId })
      this.#report({ type: 'frame', exchange: call.exchange, frame: sent })
    })
  }

  /** Over HTTP each call has an exchange of ours: what comes in its HTTP response is known as its own. */
  #exchangeFor(exchange: Exchange): Exchange {
    if (exchange === stdioExchange) return exchange
    return new CallExchange(`era-${++this.#last}`, exchange.context)
  }

  /** Tells the server the most verbose level that an open call asks for, and goes on when it was told. */
  #leveled(goOn: () => void): void {
    const asked =
      this.#calls.all().map(({ logLevel }) => levels.indexOf(logLevel)).filter(index => index >= 0)
    const level = levels[Math.min(...asked)]
    const hasLevels = member(this.#capabilities, 'logging') !== undefined
    if (!isString(level) || level === this.#level || !hasLevels) return goOn()
    this.#level = level
    const stop = this.#after(patienceMs, goOn)
    this.#ask('logging/setLevel', JSON.stringify({ level }), () => {
      if (stop()) goOn()
    })
  }

  #fromRelay(exchange: Exchange, frame: Frame): void {
    const { message } = frame
    if (this.#phase === 'unknown') return this.#send(exchange, frame)
    if (message.kind === 'notification') return this.#notified(exchange, frame, message)
    if (message.kind === 'request') {
      if (message.method === 'ping') return this.#respond(exchange, message.key, { result: '{}' })
      return this.#parked.asked(exchange, message, frame)
    }
    for (const key of idKeysOf(frame)) {
      const own = this.#own.get(key)
      const call = this.#calls.find(key)
      if (own !== undefined) {
        this.#own.delete(key)
        own(frame)
      } else if (call !== undefined) this.#answered(call, frame)
      // The refusal of what is no message. Other responses are late: their calls were cancelled.
      else if (frame.relayMade === true && !(exchange instanceof CallExchange)) this.#send(exchange, frame)
    }
  }

  #answered(call: OpenCall, frame: Frame): void {
    if (!call.isAtServer) return
    const { kind } = frame.message
    // By policy it passes; but it cannot be translated.
    if (kind !== 'result' && kind !== 'error')
      return this.#fail(call, errorCode.blocked, 'mcp-customs: the answer is unusable')
    call.isAtServer = false
    if (call.waiter === undefined) this.#parked.keep(call, frame)
    else this.#deliver(call, frame)
  }

  #deliver(call: OpenCall, frame: Frame): void {
    const { message } = frame
    const { waiter, method } = call
    if (waiter === undefined || (message.kind === 'error' && this.#parked.askedByError(call, message))) return
    const asker = { ...waiter, method }
    const leftOut: string[] = []
    // Made before the call is over: where it cannot be made, the relay's error is the answer.
    const answer = message.kind === 'result'
      ? modernResult(frame, message, asker, this.#initialized?.serverInfo, tool => leftOut.push(tool))
      : renamedFrame(frame, waiter)
    this.#finish(call)
    this.#send(waiter.exchange, answer)
    for (const tool of leftOut) this.#actions.push({ type: 'left-out', tool })
  }

  #notified(exchange: Exchange, frame: Frame, message: Notification): void {
    const { method, params } = message
    if (method === 'notifications/progress') {
      const waiter = this.#calls.withToken(keyIn(frame, 'progressToken'))?.waiter
      if (waiter?.token === undefined) return
      const told = edited(frame, [{ path: ['params', 'progressToken'], replace: waiter.token }])
      return this.#send(waiter.exchange, told)
    }
    if (method === 'notifications/message') return this.#logged(frame, member(params, 'level'))
    if (method === 'notifications/cancelled') return this.#parked.withdrawn(keyIn(frame, 'requestId'))
    // 2026-07-28 has no notifications of elicitations and tasks.
    if (this.#streams.notified(frame, message) || /^notifications\/(?:elicitation|tasks)\//.test(method)) return
    // One that no revision has goes to the client of the call in whose HTTP response it came.
    const [call] = this.#calls.all().filter(one => one.exchange === exchange && one.waiter !== undefined)
    if (call?.waiter !== undefined) this.#send(call.waiter.exchange, frame)
  }

  /**
   * A log message names no call. It goes to the client whose open calls ask for its level (2026-07-28,
   * Logging); where several clients do, to none.
   */
  #logged(frame: Frame, level: JsonObject[string]): void {
    const asking =
      this.#calls.all().filter(({ logLevel, isAtServer }) => isAtServer && levels.includes(logLevel))
    const [first, ...others] = new Set(asking.flatMap(({ waiter }) => waiter?.exchange ?? []))
    const isWanted = asking.some(({ logLevel }) => levels.indexOf(logLevel) <= levels.indexOf(level))
    if (first !== undefined && others.length === 0 && isWanted) this.#send(first, frame)
  }

  /** The client has given up its requests on an exchange, or one of them. */
  #givenUp(exchange: Exchange, key?: IdKey): void {
    this.#held = this.#held.filter(({ exchange: other, message }) =>
      other !== exchange || (key !== undefined && message.key !== key))
    this.#streams.ended(exchange, key)
    for (const call of this.#calls.awaited(exchange, key)) this.#drop(call)
  }

  #fail(call: OpenCall, code: number, message: string, data?: JsonObject): void {
    const { waiter } = call
    this.#cancel(call)
    if (waiter === undefined) return this.#parked.keep(call, errorFrame(call, code, message, data))
    this.#finish(call)
    this.#send(waiter.exchange, errorFrame(waiter, code, message, data))
  }

  #drop(call: OpenCall): void {
    this.#cancel(call)
    this.#finish(call)
  }

  #cancel(call: OpenCall): void {
    if (!call.isAtServer) return
    call.isAtServer = false
    this.#calls.giveUp(call)
    const params = objectOf({ requestId: call.key, reason: '"the client does not wait for it any more"' })
    this.#tell(call.exchange, { method: '"notifications/cancelled"', params })
  }

  #finish(call: OpenCall): void {
    this.#calls.delete(call)
    this.#parked.ended(call)
    if (call.exchange instanceof CallExchange) this.#report({ type: 'exchange-ended', exchange: call.exchange })
  }

  /** Sends a request of ours. @param params JSON text */
  #ask(method: string, params: string, then: (answer: Frame) => void): void {
    const id = JSON.stringify(this.#options.newId())
    this.#own.set(id, then)
    this.#tell(stdioExchange, { id, method: JSON.stringify(method), params })
  }

  #respond(exchange: Exchange, id: IdKey, members: FrameTexts): void {
    this.#tell(exchange, { id, ...members })
  }

  /** Sends a message of ours to the server. @param members JSON texts */
  #tell(exchange: Exchange, members: FrameTexts): void {
    const isTranslated = this.#phase !== 'asking'
    const frame = { ...made(members), ...(isTranslated && { envelope: { translatedFrom: firstModern } }) }
    this.#report({ type: 'frame', exchange, frame })
  }

  /** @returns a function that stops the timer, and tells whether it ran */
  #after(ms: number, act: () => void): () => boolean {
    const timer = `era ${++this.#last}`
    this.#timers.set(timer, act)
    this.#actions.push({ type: 'start-timer', timer, ms })
    return () => this.#timers.delete(timer) && this.#actions.push({ type: 'stop-timer', timer }) > 0
  }

  #fired(timer: string): void {
    const act = this.#timers.get(timer)
    this.#timers.delete(timer)
    act?.()
  }

  #report(event: TransportEvent): void {
    this.#actions.push({ type: 'report', event })
  }

  #send(exchange: Exchange, frame: Frame): void {
    this.#actions.push({ type: 'send', exchange, frame })
  }

  #complete(exchange: Exchange): void {
    this.#actions.push({ type: 'complete', exchange })
  }
}

/** The exchange of one call over HTTP, towards the relay. */
class CallExchange implements Exchange {
  constructor(readonly name: string, readonly context: string | undefined) {}
}

/** Longest id or progress token that is kept, in characters. */
const longestName = 1024

const tokenIn = (frame: Frame): IdKey | undefined => {
  const token = keyAt(frame, ['params', '_meta', 'progressToken'])
  return token !== undefined && token.length <= longestName ? token : undefined
}

/** The capabilities that can be carried: a question of the server reaches the client by `input_required`. */
export const carried = (declared: JsonObject[string]): JsonObject => {
  const parts = (name: string, ...known: readonly string[]) => {
    const given = isObject(declared) ? member(declared, name) : undefined
    if (!isObject(given)) return {}
    const kept = known.filter(part => isObject(member(given, part)))
    return { [name]: Object.fromEntries(kept.map(part => [part, {}])) }
  }
  return { ...parts('roots'), ...parts('sampling', 'tools', 'context'), ...parts('elicitation', 'form', 'url') }
}
