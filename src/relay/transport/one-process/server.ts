import type { Exchange } from '#relay/core/vocabulary.js'
import { stdioExchange } from '#relay/core/event.js'
import { errorFrame } from '#relay/core/refusal.js'
import type { Frame } from '#relay/protocol/frame.js'
import { errorCode, type IdKey, type Request } from '#relay/protocol/json-rpc.js'
import { idKeysOf, numberOf } from '#relay/protocol/message.js'
import { realTimers, type Timers } from '../timers.js'
import type { Transport, TransportEvent } from '../transport.js'
import { Dispatcher } from './dispatch.js'
import { Port, type SentRequest, type Hub } from './port.js'
import { SharedProcess } from './process.js'
import { cancellation, namesRevision, renamed } from './rename.js'
import { ProcessRequests } from './requests.js'

interface SharedServerOptions {
  /** Makes the server's process, not yet started: for the first request, and for the first after it ended. */
  readonly make: () => Transport
  readonly timers?: Timers
  /** A monotonic clock, in milliseconds. */
  readonly now?: () => number
  /** From 0 to 1. */
  readonly random?: () => number
}

/**
 * One process for any number of sessions, for revisions that have no sessions on the wire (2026-07-28).
 * Sessions must not learn of each other. So request ids, progress tokens and subscription ids are replaced on
 * the way to the server and restored on the way back. A message of the server that names no request goes to
 * a client only while exactly one exchange has open requests. Not to be confused with what replicas share
 * (core/shared.ts, src/state).
 */
export class SharedServer implements Hub {
  readonly timers: Timers
  readonly now: () => number
  readonly #ports = new Set<Port>()
  readonly #requests = new ProcessRequests()
  readonly #process: SharedProcess
  readonly #dispatcher: Dispatcher

  constructor({
    make, timers = realTimers, now = () => realTimers.now(), random = () => Math.random(),
  }: SharedServerOptions) {
    this.#process = new SharedProcess({
      make, now, random, onEvent: event => this.#contained(event),
      expected: (_, key, length) => {
        const sent = this.#requests.find(numberOf(key))
        return sent?.port.expected?.(sent.exchange, sent.names.key, length)
      },
      isPaused: () => [...this.#ports].some(({ isPausing }) => isPausing),
    })
    this.timers = timers
    this.now = now
    this.#dispatcher = new Dispatcher(this.#ports, this.#requests, this.#process, timers)
  }

  /** A session's own transport to the server. The process ends when the last of them closes. */
  connect(): Transport {
    const port = new Port(this)
    this.#ports.add(port)
    return port
  }

  /** False while the process must not be started: it ended several times before it answered anything. */
  get isReady(): boolean {
    return this.#process.waitMs === 0
  }

  /** Ends the process; resolves when it and all earlier ones have ended. */
  async close(): Promise<void> {
    if (this.#process.endRunning()) this.#ended('the server is let go')
    await this.#process.gone()
  }

  hurry(urgency: number): void {
    this.#process.hurry(urgency)
  }

  send(port: Port, exchange: Exchange, frame: Frame): boolean {
    const { message } = frame
    switch (message.kind) {
      case 'request':
        return this.#ask(port, exchange, frame, message)
      case 'notification':
        // A client's cancellation names an id that other clients use as well. The server gets ours instead,
        // from `shut` and `abandon`.
        if (message.method === 'notifications/cancelled' || !namesRevision(message)) return true
        return this.#sent(port, this.#process.running()?.send(stdioExchange, frame) ?? true)
      case 'batch':
        return message.members.map(one => this.send(port, exchange, one)).every(free => free)
      case 'result':
      case 'error':
      case 'unusable':
      case 'page':
        // The server's requests are refused (see `Dispatcher`), so it expects no responses.
        return true
    }
  }

  giveUp(sentRequest: SentRequest): void {
    this.#requests.giveUp(sentRequest)
    this.#process.child?.send(stdioExchange, cancellation(sentRequest.number, sentRequest.request))
  }

  pausingChanged(): void {
    this.#process.pauseOrResume()
  }

  async leave(port: Port): Promise<void> {
    this.#ports.delete(port)
    for (const sentRequest of port.all()) this.giveUp(sentRequest)
    if (this.#ports.size === 0) await this.close()
  }

  #ask(port: Port, exchange: Exchange, frame: Frame, request: Request): boolean {
    if (!namesRevision(request)) {
      process.nextTick(() =>
        port.report({
          type: 'frame', exchange, frame: errorFrame(request, errorCode.invalidParams, noRevision),
        }))
      return true
    }
    const child = this.#process.running()
    if (child === undefined) {
      const seconds = Math.ceil(this.#process.waitMs / 1000)
      const reason = `the server keeps ending before it answers; it is started again in ${seconds} s`
      process.nextTick(() => port.report({ type: 'lost', exchange, key: request.key, reason }))
      return true
    }
    const { names, number } = this.#requests.open(port, exchange, frame, request)
    return this.#sent(port, child.send(stdioExchange, renamed(frame, request, names, number)))
  }

  #sent(port: Port, free: boolean): boolean {
    port.full ||= !free
    return free
  }

  /** An exception ends the requests that the message names, and no others. */
  #contained(event: TransportEvent): void {
    try {
      this.#onEvent(event)
    } catch {
      const keys = event.type === 'frame' ? idKeysOf(event.frame) : []
      for (const key of keys) this.#lose(key, 'the relay failed on the answer of the server')
    }
  }

  #onEvent(event: TransportEvent): void {
    switch (event.type) {
      case 'frame':
        return this.#dispatcher.dispatch(event.frame)
      case 'drained':
        return this.#drained()
      case 'lost':
        return this.#lose(event.key, event.reason)
      case 'ended':
        return this.#ended(event.reason)
      // Events of HTTP transports.
      case 'renewed':
      case 'head':
      case 'between':
      case 'stream-ended':
      case 'bare-request':
      case 'exchange-ended':
        return
      default:
        event satisfies never
    }
  }

  #lose(key: IdKey, reason: string): void {
    this.#dispatcher.lose(this.#requests.find(numberOf(key)), reason)
  }

  #drained(): void {
    for (const port of [...this.#ports]) {
      if (!port.full) continue
      port.full = false
      port.report({ type: 'drained', exchange: stdioExchange })
    }
  }

  /** Open requests are lost: sending them to the next process might repeat their effects. */
  #ended(reason: string): void {
    this.#requests.forget()
    for (const sentRequest of this.#requests.all()) this.#dispatcher.lose(sentRequest, reason)
    for (const port of this.#ports) port.report({ type: 'renewed' })
    this.#drained()
  }
}

const noRevision =
  'Invalid params: _meta does not name the revision (io.modelcontextprotocol/protocolVersion)'
