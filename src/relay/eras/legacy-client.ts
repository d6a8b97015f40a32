import type { Exchange, HttpEvent } from '#relay/core/vocabulary.js'
import { ChurnMap } from '#relay/core/memory.js'
import type { Frame } from '#relay/protocol/frame.js'
import type { ErrorResponse, IdKey } from '#relay/protocol/json-rpc.js'
import { requestBytes, written } from '#relay/protocol/message.js'
import { errorFrame } from '#relay/core/refusal.js'
import { firstModern } from '#relay/protocol/revisions/index.js'
import { LegacySession, modernRequest } from './legacy-session.js'
import { type AskedRequest, EraOutgoing } from './exchanges.js'
import type { Requester } from './results.js'
import { showsModernOnly } from './shown-era.js'
import { type ClientTerms, clientTerms, serverTerms } from './terms.js'
import { isModernRequest } from '#relay/transport/http/headers.js'
import type { TransportEvent } from '#relay/transport/transport.js'
import type { EraAction, EraEvent, EraOptions, MakeTranslator, Translator } from './translator.js'

/** A legacy client in front of a server that may speak 2026-07-28 only (docs/eras.md). */
export const legacyClient: MakeTranslator = options => new LegacyClient(options)

/**
 * How long the server may take to answer `server/discover`, in milliseconds. It runs, since it has just
 * refused `initialize`. Some servers ignore unknown methods: clients wait this long for the refusal.
 */
const discoverMs = 5000
const timer = 'discover'

/** Most requests behind an `initialize` whose answers are known as such. */
const maxPassed = 1000

/** Most bytes of events that wait for the answer, and those of one without its frame. */
const maxHeld = 4 * 1024 * 1024
const eventWeight = 200

type ClientEvent = Exclude<TransportEvent, { readonly type: 'drained' }>

/** `initialize`, from its arrival to its answer. */
interface Opening extends Requester {
  readonly terms: ClientTerms | undefined
  readonly frame: Frame
}

class LegacyClient implements Translator {
  readonly #options: EraOptions
  readonly #out: EraOutgoing
  /** Undefined within one era. */
  #session: LegacySession | undefined
  #opening: Opening | undefined
  /** `server/discover`. */
  #asked: AskedRequest | undefined
  /** The client's HTTP session did not begin here: it was forgotten, or is at another replica. */
  #isUnknown: boolean
  /** What goes to the client if the server is no modern one. */
  #refusal: EraAction[] | undefined
  /** The heads of HTTP errors, until their bodies show what they mean. */
  readonly #heads = new ChurnMap<Exchange, HttpEvent>()
  /** Requests that the server got before it refused `initialize`, untranslated. */
  readonly #passed = new Set<IdKey>()
  /** Events of the client from while `server/discover` is open, and their bytes. */
  #held: ClientEvent[] = []
  #heldBytes = 0

  constructor(options: EraOptions) {
    this.#options = options
    this.#out = new EraOutgoing(options.limits)
    this.#isUnknown = options.newSessionId !== undefined
  }

  handle(event: EraEvent): readonly EraAction[] | undefined {
    const isHandled = this.#handle(event)
    const actions = this.#out.take()
    if (isHandled) return actions
    return actions.length === 0 || !isOfTransports(event) ? undefined : [...actions, passed(event)]
  }

  #handle(event: EraEvent): boolean {
    switch (event.from) {
      case 'client':
        if (event.event.type === 'drained') return false
        if (this.#session !== undefined) return this.#session.fromClient(event.event)
        if (this.#refusal !== undefined && this.#hold(event.event)) return true
        if (event.event.type === 'frame') this.#watch(event.event.exchange, event.event.frame)
        else if (event.event.type === 'exchange-ended') this.#heads.delete(event.event.exchange)
        return false
      case 'timer':
        if (event.timer === timer && this.#asked !== undefined) this.#out.cancel(this.#asked)
        if (event.timer === timer) this.#giveUp()
        else this.#session?.timerFired(event.timer)
        return true
      case 'closing':
        this.#session?.closing()
        return true
      case 'refusal':
        return false
      case 'relay':
        if (event.type === 'hand') return this.#handed(event.event)
        if (event.type === 'complete') return this.#completed(event.exchange)
        return this.#frameOfRelay(event.exchange, event.frame)
    }
  }

  /**
   * While the server is asked what it can do, the client's frames wait for its era, and what comes after one
   * keeps its place behind it. @returns false where nothing waits, or there is no room
   */
  #hold(event: ClientEvent): boolean {
    const weight = eventWeight + (event.type === 'frame' ? event.frame.bytes.length : 0)
    const isFirst = this.#held.length === 0 && event.type !== 'frame'
    if (isFirst || this.#heldBytes + weight > maxHeld) return false
    this.#heldBytes += weight
    this.#held.push(event)
    return true
  }

  #releaseHeld(): void {
    const held = this.#held
    this.#held = []
    this.#heldBytes = 0
    for (const event of held) if (!this.#handle({ from: 'client', event })) this.#out.report(event)
  }

  /** The client's frames pass: nothing is known of the server yet. */
  #watch(exchange: Exchange, frame: Frame): void {
    const { message } = frame
    // One of 2026-07-28 that asks for a removed method gets the server's own answer.
    if (message.kind !== 'request' || isModernRequest(frame)) return
    if (message.method !== 'initialize') {
      if (this.#opening !== undefined && this.#passed.size < maxPassed) this.#passed.add(message.key)
      return
    }
    const { id, key, params } = message
    this.#isUnknown = false
    this.#opening = { exchange, id, key, frame, terms: clientTerms(frame, params) }
  }

  #frameOfRelay(exchange: Exchange, frame: Frame): boolean {
    const { message } = frame
    if (this.#session !== undefined) return this.#session.fromRelay(exchange, frame)
    const key = message.kind === 'result' || message.kind === 'error' ? message.key : undefined
    // The answer to `server/discover` may come when nobody waits for it any more.
    const isLate = key !== undefined && key === this.#asked?.key
    if (this.#out.answered(exchange, frame, key) || isLate) return true
    const shows = message.kind === 'error' && frame.relayMade !== true ? showsModernOnly(message.error) : 'no'
    const opening = key !== undefined && key === this.#opening?.key && exchange === this.#opening.exchange
      ? this.#opening : undefined
    if (opening !== undefined && shows !== 'no' && opening.terms !== undefined) {
      this.#refusal = [...this.#headOf(exchange), { type: 'send', exchange, frame }]
      this.#discover(opening, opening.terms)
      return true
    }
    if (opening !== undefined) this.#settled()
    else if (message.kind === 'error' && shows === 'yes' && this.#isUnknown) {
      this.#lostSession(exchange, message)
      return true
    }
    for (const action of this.#headOf(exchange)) this.#out.act(action)
    return false
  }

  #lostSession(exchange: Exchange, { id, key }: ErrorResponse): void {
    this.#heads.delete(exchange)
    const frame = errorFrame({ id, key }, -32001, 'There is no such session: begin a new one with initialize')
    this.#out.send(exchange, { ...frame, envelope: { response: { status: 404, headers: new Map() } } })
  }

  #handed(event: HttpEvent): boolean {
    if (this.#session?.handed(event) === true || this.#out.handed(event)) return true
    const { exchange } = event
    if (this.#session === undefined && event.type === 'head' && event.status >= 400) {
      this.#heads.set(exchange, event)
      return true
    }
    if (exchange === this.#opening?.exchange && this.#refusal !== undefined) {
      this.#refusal.push({ type: 'hand', event })
      return true
    }
    for (const action of this.#headOf(exchange)) this.#out.act(action)
    return false
  }

  #completed(exchange: Exchange): boolean {
    if (this.#session?.completed(exchange) === true) return true
    if (exchange === this.#opening?.exchange && this.#refusal !== undefined) return true
    for (const action of this.#headOf(exchange)) this.#out.act(action)
    return false
  }

  #headOf(exchange: Exchange): readonly EraAction[] {
    const event = this.#heads.get(exchange)
    this.#heads.delete(exchange)
    return event === undefined ? [] : [{ type: 'hand', event }]
  }

  #discover(opening: Opening, terms: ClientTerms): void {
    const id = this.#options.newId()
    this.#out.translatedFrom = terms.revision
    this.#out.act({ type: 'start-timer', timer, ms: discoverMs })
    const origin = { exchange: opening.exchange, envelope: opening.frame.envelope }
    const request = modernRequest(requestBytes(written(id), 'server/discover'), terms, this.#options)
    this.#asked = this.#out.ask(origin, id, request, {
      answered: frame => this.#discovered(opening, terms, frame), notified: () => {},
    })
  }

  #discovered(opening: Opening, client: ClientTerms, frame: Frame): void {
    const { message } = frame
    const server = message.kind === 'result' ? serverTerms(frame, message.result) : undefined
    if (server === undefined || this.#refusal === undefined) return this.#giveUp()
    this.#out.act({ type: 'stop-timer', timer })
    this.#out.act({ type: 'began', client: client.revision, server: firstModern })
    this.#refusal = undefined
    this.#opening = undefined
    this.#session = new LegacySession(this.#options, this.#out, client, server, this.#passed)
    this.#session.initialized(opening)
    this.#releaseHeld()
  }

  /** The server's own refusal goes to the client. */
  #giveUp(): void {
    this.#out.act({ type: 'stop-timer', timer })
    for (const action of this.#refusal ?? []) this.#out.act(action)
    this.#settled()
    this.#releaseHeld()
  }

  #settled(): void {
    this.#refusal = undefined
    this.#opening = undefined
    this.#passed.clear()
  }
}

type OfTransports = Extract<EraEvent, { readonly from: 'client' | 'relay' }>

const isOfTransports = (event: EraEvent): event is OfTransports =>
  event.from === 'client' || event.from === 'relay'

/** The action by which an event takes its own way. */
const passed = (event: OfTransports): EraAction => {
  if (event.from === 'client') return { type: 'report', event: event.event }
  if (event.type === 'hand') return { type: 'hand', event: event.event }
  if (event.type === 'complete') return { type: 'complete', exchange: event.exchange }
  return { type: 'send', exchange: event.exchange, frame: event.frame }
}
