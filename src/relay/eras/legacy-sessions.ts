import type { Exchange } from '#relay/core/vocabulary.js'
import { errorFrame } from '#relay/core/refusal.js'
import type { Frame } from '#relay/protocol/frame.js'
import { errorCode } from '#relay/protocol/json-rpc.js'
import { inMeta } from '#relay/protocol/revisions/index.js'
import { isModernVersion } from '#relay/transport/http/headers.js'
import type { Transport, TransportEvent } from '#relay/transport/transport.js'
import { carried, eraShownBy } from './modern-client.js'
import { made, objectOf, textIn } from './modern-frames.js'

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
  readonly #exchanges = new Map<Exchange, Port>()
  #shared: { readonly port: Port; readonly isKnown: boolean } | undefined
  /** Events that wait for a session to show the server's era. */
  #held: TransportEvent[] | undefined
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
    const port = this.#exchanges.get(event.exchange)
    if (port !== undefined) port.report(event)
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
    this.#exchanges.set(exchange, port)
    port.report(event)
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
      if (this.#held === undefined) return
      port.report({ type: 'exchange-ended', exchange: probe })
      const isLegacy = answer.relayMade === true && answer.message.kind === 'result'
      if (isLegacy) this.#sessions.set(capabilities, port)
      else {
        port.report({ type: 'ended', reason: 'the server needs no session of its own' })
        this.#share(eraShownBy(answer) === 'modern')
      }
      const held = this.#held
      this.#held = undefined
      for (const one of held) this.#onEvent(one)
    })
    this.#options.openAlone(port)
    const _meta = textIn(frame, ['params', '_meta'], ['progressToken']) ?? '{}'
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
    this.#exchanges.set(exchange, this.#shared.port)
    this.#shared.port.report(event)
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
      send: (exchange, frame) =>
        (exchange === probe ? shown?.(frame) === undefined : client.send(exchange, frame)),
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
    this.#closeIfLast()
  }

  #closeIfLast(): void {
    if (!this.#isOver || this.#ports.size > 0) return
    void this.#options.client.close()
    this.#options.closed()
  }
}

const saysModern = (headers: ReadonlyMap<string, string> | undefined): boolean =>
  isModernVersion(headers?.get('mcp-protocol-version'))

const onlyPost = new Map([['allow', ['POST']]])
