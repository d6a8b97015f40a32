import type { Exchange } from '#relay/core/vocabulary.js'
import { errorFrame } from '#relay/core/refusal.js'
import type { Frame } from '#relay/protocol/frame.js'
import { errorCode, type Request } from '#relay/protocol/json-rpc.js'
import { firstModern, inMeta, metaPrefix } from '#relay/protocol/revisions/index.js'
import { textWithout } from '#relay/protocol/edit.js'
import { isModernVersion } from '#relay/transport/http/headers.js'
import type { Transport, TransportEvent } from '#relay/transport/transport.js'
import { carried } from './modern-client.js'
import { made, objectOf } from './modern-frames.js'
import { eraShownBy } from './shown-era.js'

interface LegacySessionsOptions {
  /** The HTTP requests of modern clients with one authorization context. */
  readonly client: Transport
  /** Opens a session with a server of its own, which translates (`ModernClient`). */
  readonly openAlone: (client: Transport) => void
  /** Opens the session that modern clients share. @param isKnown the server speaks their revision */
  readonly openShared: (client: Transport, isKnown: boolean) => void
  /** Called when the last session is over. */
  readonly closed: () => void
}

interface Port extends Transport {
  report: (event: TransportEvent) => void
}

/** An exchange of the client at a session. */
interface Open {
  readonly port: Port
  /** Not answered yet. */
  asked: Request | undefined
}

/** Most sessions: one for each set of capabilities that clients declare. */
const maxSessions = 4
/** Most events that wait for a session. */
const maxHeld = 1000

/**
 * The sessions that modern clients over HTTP, who have none, need at a legacy server: one for each set of
 * capabilities, because a server learns them once (2025-11-25, Lifecycle). Where the server turns out to
 * speak 2026-07-28, or shows nothing, the clients share a session without translation.
 */
export class LegacySessions {
  readonly #options: LegacySessionsOptions
  /** By capabilities. */
  readonly #sessions = new Map<string, Port>()
  readonly #exchanges = new Map<Exchange, Open>()
  #shared: { readonly port: Port; readonly isKnown: boolean } | undefined
  /** Events that wait for a session to show the server's era. */
  #held: TransportEvent[] | undefined
  /** That session. */
  #probed: Port | undefined
  readonly #ports = new Set<Port>()
  #isOver = false

  constructor(options: LegacySessionsOptions) {
    this.#options = options
  }

  start(): void {
    this.#options.client.start(event => this.#onEvent(event))
  }

  #onEvent(event: TransportEvent): void {
    if (event.type === 'ended') return this.#ended(event)
    // Of transports that face servers.
    if (event.type === 'renewed') return
    if (this.#held !== undefined) return this.#hold(event, this.#held)
    const open = this.#exchanges.get(event.exchange)
    if (open !== undefined) open.port.report(event)
    else if (event.type === 'frame') return this.#frame(event)
    else if (event.type === 'bare-request') return this.#bare(event)
    if (event.type === 'exchange-ended') this.#left(event.exchange)
  }

  #frame(event: Extract<TransportEvent, { readonly type: 'frame' }>): void {
    const { exchange, frame } = event
    const { message } = frame
    const params = message.kind === 'request' ? message.params : undefined
    const isModern = inMeta(params, 'protocolVersion') !== undefined || saysModern(frame.envelope?.headers)
    if (!isModern && this.#shared === undefined) this.#share(false)
    if (this.#shared !== undefined || message.kind !== 'request') return this.#toShared(exchange, event)
    const declared = inMeta(params, 'clientCapabilities')
    const capabilities = JSON.stringify(carried(declared))
    const port = this.#sessions.get(capabilities)
    if (port === undefined) return this.#begin(capabilities, event)
    this.#toPort(port, exchange, event)
  }

  /** A GET of a legacy client. 2026-07-28 has none. */
  #bare(event: Extract<TransportEvent, { readonly type: 'bare-request' }>): void {
    const { exchange, headers } = event
    if (!saysModern(headers) && this.#shared === undefined) this.#share(false)
    if (this.#shared === undefined)
      this.#options.client.hand?.({ type: 'head', exchange, status: 405, headers: onlyPost })
    this.#toShared(exchange, event)
  }

  /** Begins a session by a request of ours, whose answer shows the server's era. */
  #begin(capabilities: string, event: Extract<TransportEvent, { readonly type: 'frame' }>): void {
    const { exchange: { context }, exchange, frame } = event
    const { message } = frame
    if (message.kind === 'request' && this.#sessions.size >= maxSessions) {
      const text = 'mcp-customs: clients declare too many sets of capabilities'
      this.#options.client.send(exchange, errorFrame(message, errorCode.blocked, text))
      return
    }
    this.#held = [event]
    const probe: Exchange = { name: 'era', ...(context !== undefined && { context }) }
    const port: Port = this.#port(probe, answer => {
      if (this.#probed !== port) return
      this.#probed = undefined
      port.report({ type: 'exchange-ended', exchange: probe })
      const isLegacy = answer.relayMade === true && answer.message.kind === 'result'
      if (isLegacy) this.#sessions.set(capabilities, port)
      else {
        port.report({ type: 'ended', reason: 'the server needs no session of its own' })
        this.#share(eraShownBy(answer) === 'modern')
      }
      for (const one of this.#released()) this.#onEvent(one)
    })
    this.#probed = port
    this.#options.openAlone(port)
    // A request that lacks its terms is refused by whoever turns out to speak them.
    const isWhole = message.kind === 'request' && inMeta(message.params, 'protocolVersion') !== undefined
    const _meta = isWhole ? textWithout(frame, ['params', '_meta'], ['progressToken']) : noTerms
    const params = objectOf({ _meta })
    const asked = made({ id: '"era"', method: '"server/discover"', params })
    port.report({ type: 'frame', exchange: probe, frame: asked })
  }

  #share(isKnown: boolean): void {
    const port = this.#port()
    this.#shared = { port, isKnown }
    this.#options.openShared(port, isKnown)
  }

  #toShared(exchange: Exchange, event: TransportEvent): void {
    if (this.#shared === undefined) return this.#options.client.complete?.(exchange)
    this.#toPort(this.#shared.port, exchange, event)
  }

  #toPort(port: Port, exchange: Exchange, event: TransportEvent): void {
    const message = event.type === 'frame' ? event.frame.message : undefined
    this.#exchanges.set(exchange, { port, asked: message?.kind === 'request' ? message : undefined })
    port.report(event)
  }

  #left(exchange: Exchange): void {
    this.#exchanges.delete(exchange)
    // What proves nothing is not remembered.
    if (this.#shared?.isKnown !== false || this.#exchanges.size > 0) return
    this.#shared.port.report({ type: 'ended', reason: 'the era of the server is asked for again' })
    this.#shared = undefined
  }

  #hold(event: TransportEvent, held: TransportEvent[]): void {
    if (held.length < maxHeld || event.type !== 'frame') return void held.push(event)
    const { exchange, frame: { message } } = event
    if (message.kind === 'request')
      this.#options.client.send(exchange, errorFrame(message, errorCode.blocked, 'mcp-customs: too many requests wait'))
  }

  /** What was held, and is held no more. */
  #released(): readonly TransportEvent[] {
    const held = this.#held ?? []
    this.#held = undefined
    return held
  }

  #ended(event: Extract<TransportEvent, { readonly type: 'ended' }>): void {
    this.#isOver = true
    for (const port of [...this.#ports]) port.report(event)
    this.#closeIfLast()
  }

  /** The client's side of a session. @param probe of a request of ours, whose answer `shown` gets */
  #port(probe?: Exchange, shown?: (answer: Frame) => void): Port {
    const { client } = this.#options
    const port: Port = {
      report: () => undefined,
      start: onEvent => void (port.report = onEvent),
      send: (exchange, frame) => {
        if (exchange === probe) return shown?.(frame) === undefined
        const open = this.#exchanges.get(exchange)
        const { kind } = frame.message
        if (open !== undefined && kind !== 'request' && kind !== 'notification') open.asked = undefined
        return client.send(exchange, frame)
      },
      hand: event => event.exchange === probe || (client.hand?.(event) ?? true),
      complete: exchange => client.complete?.(exchange),
      pause: exchange => client.pause(exchange),
      resume: exchange => client.resume(exchange),
      close: () => Promise.resolve(this.#closed(port)),
    }
    this.#ports.add(port)
    return port
  }

  #closed(port: Port): void {
    this.#ports.delete(port)
    for (const [capabilities, one] of this.#sessions) if (one === port) this.#sessions.delete(capabilities)
    if (this.#shared?.port === port) this.#shared = undefined
    for (const [exchange, open] of this.#exchanges) {
      if (open.port === port && this.#exchanges.delete(exchange)) this.#giveUp(exchange, open.asked)
    }
    if (this.#probed === port) this.#unproved()
    this.#closeIfLast()
  }

  /** The session that should show the server's era has ended without an answer. */
  #unproved(): void {
    this.#probed = undefined
    for (const event of this.#released()) {
      if (event.type !== 'frame' && event.type !== 'bare-request') continue
      const message = event.type === 'frame' ? event.frame.message : undefined
      this.#giveUp(event.exchange, message?.kind === 'request' ? message : undefined)
    }
  }

  /** Ends an exchange whose session is over. @param asked the request that got no answer */
  #giveUp(exchange: Exchange, asked: Request | undefined): void {
    const { client } = this.#options
    if (asked === undefined) return client.complete?.(exchange)
    client.send(exchange, errorFrame(asked, errorCode.gone, 'mcp-customs: the session with the server has ended'))
  }

  #closeIfLast(): void {
    if (!this.#isOver || this.#ports.size > 0) return
    void this.#options.client.close()
    this.#options.closed()
  }
}

const saysModern = (headers: ReadonlyMap<string, string> | undefined): boolean =>
  isModernVersion(headers?.get('mcp-protocol-version'))

/** The terms of a client that declares nothing. */
const noTerms = JSON.stringify({
  [`${metaPrefix}protocolVersion`]: firstModern, [`${metaPrefix}clientCapabilities`]: {},
  [`${metaPrefix}clientInfo`]: { name: 'unknown', version: '0' },
})

const onlyPost = new Map([['allow', ['POST']]])
