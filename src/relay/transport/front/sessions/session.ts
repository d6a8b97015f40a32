import type { Exchange, HttpEvent } from '#relay/core/vocabulary.js'
import type { Frame, ResponseHead } from '#relay/protocol/frame.js'
import { only } from '../../http/headers.js'
import { opening } from '../../sse/event.js'
import { Latch } from '../../timers.js'
import type { Transport, TransportEvent } from '../../transport.js'
import type { RequestArrival } from '../arrival.js'
import { isInitialize } from '../message.js'
import type { Reply } from '../reply.js'
import { Routes, type FrontExchange, type RequestFacts } from './routes.js'

/**
 * Which exchanges a session has.
 * `own`: those of one client, with a session id that the front has created for a stdio server;
 * `upstream`: those of one client, with a session id of the HTTP server;
 * `stateless`: those of one authorization context without session ids. Request ids are unique only within an
 * exchange.
 */
export type SessionKind = 'own' | 'upstream' | 'stateless'

export interface SessionHooks {
  /** Called when the last exchange has ended, and when the next one begins. */
  readonly idle: (idle: boolean) => void
  /** Called with the session id that the server has chosen. */
  readonly named: (id: string) => void
  /** Called when the server knows the session no more. */
  readonly gone: () => void
  /** Called when the session takes no more requests. */
  readonly ended: () => void
}

/** In a stateless session, a slow client with more unread bytes is cut off. */
const maxUnread = 16 * 1024 * 1024

/** The HTTP requests of one session as one transport, with an exchange for each request. */
export class FrontSession implements Transport {
  readonly kind: SessionKind
  /** The `Mcp-Session-Id` that the front has created. */
  readonly id: string | undefined
  readonly #routes: Routes
  /** Events from before `start`. */
  readonly #early: TransportEvent[] = []
  #onEvent: ((event: TransportEvent) => void) | undefined
  /** Closed while the gateway has paused reading. */
  readonly latch = new Latch()
  /** Slow clients (or a full queue), with the exchanges for which `send` or `hand` has returned false. */
  readonly #full = new Map<FrontExchange | Routes, Set<Exchange>>()
  #ended = false
  #closed = false
  /** The server has answered a request with a status below 300. */
  #accepted = false
  /** A client has got the head of a response, and with it the session's id. */
  #answered = false
  /** The reason to end the session after its last exchange. */
  #endReason: string | undefined
  #settleClosed: () => void = () => {}
  /** Resolves when the gateway has closed it. */
  readonly closed = new Promise<void>(resolve => {
    this.#settleClosed = resolve
  })

  constructor(kind: SessionKind, id: string | undefined, private readonly hooks: SessionHooks) {
    this.kind = kind
    this.id = id
    this.#routes = new Routes(kind === 'own' ? 'one client' : 'as named')
  }

  start(onEvent: (event: TransportEvent) => void): void {
    for (let event = this.#early.shift(); event; event = this.#early.shift()) onEvent(event)
    this.#onEvent = onEvent
  }

  /** Begins an exchange for a POST. */
  post(reply: Reply, frame: Frame, how: Pick<RequestFacts, 'isUnverified' | 'carries' | 'arrival'>): void {
    const exchange = this.#opened(reply, { request: 'POST', frame, ...how })
    this.#report({ type: 'frame', exchange, frame })
  }

  /** Begins an exchange for a GET or DELETE that the server answers. */
  bare(
    reply: Reply, method: 'GET' | 'DELETE', headers: ReadonlyMap<string, string>,
    how: Pick<RequestFacts, 'isUnverified' | 'arrival'>,
  ): void {
    const exchange = this.#opened(reply, { request: method, carries: false, ...how })
    this.#report({ type: 'bare-request', exchange, method, headers })
  }

  /** Begins an exchange for a GET to a stdio server: a stream of the server's notifications and requests. */
  listen(reply: Reply, arrival: RequestArrival): void {
    reply.stream()
    reply.between(opening)
    this.#opened(reply, { request: 'GET', isUnverified: false, carries: false, arrival })
  }

  send(exchange: Exchange, frame: Frame): boolean {
    const response = frame.envelope?.response
    const open = response && this.#routes.find(exchange)
    if (open) this.#learn(response, open)
    const route = this.#routes.route(exchange, frame)
    if (route?.reply.full === true && this.#isTooSlow(route, frame)) route.reply.destroy()
    route?.reply.send(frame)
    return this.#isFree(route, exchange)
  }

  #isFree(route: FrontExchange | undefined, exchange: Exchange): boolean {
    const slow = route?.reply.full === true ? route : undefined
    const full = route === undefined && this.#routes.isAboveHighWater ? this.#routes : slow
    if (full === undefined) return true
    this.#full.set(full, (this.#full.get(full) ?? new Set()).add(exchange))
    return false
  }

  /**
   * Clients that share a stdio server wait for a slow one only for a limited time. After that the messages
   * for the slow client are queued here, up to a limit.
   */
  #isTooSlow(route: FrontExchange, { bytes }: Frame): boolean {
    route.unread += bytes.length
    return this.kind === 'stateless' && route.unread > maxUnread
  }

  hand(event: HttpEvent): boolean {
    const open = this.#routes.find(event.exchange)
    if (!open) return true
    switch (event.type) {
      case 'head':
        this.#learn(event, open)
        open.reply.head(event)
        if (open.facts.request === 'GET') open.reply.between(opening)
        break
      case 'between':
        open.reply.between(event.lines)
        break
      case 'stream-ended':
        open.reply.streamEnded(event.resumable)
        break
      default:
        event satisfies never
    }
    return this.#isFree(open, event.exchange)
  }

  complete(exchange: Exchange): void {
    this.#routes.find(exchange)?.reply.finish()
  }

  pause(): void {
    this.latch.close()
  }

  resume(): void {
    this.latch.open()
  }

  /** Answers all pending requests with an error, and ends the session. */
  giveUp(reason: string): void {
    for (const exchange of this.#routes.open()) {
      if (!exchange.reply.awaited) continue
      for (const key of exchange.reply.expected) this.#report({ type: 'lost', exchange, key, reason })
    }
    this.end(reason)
  }

  /** Takes no more requests. The gateway closes the session after its last messages. */
  end(reason: string): void {
    if (this.#ended) return
    this.leave()
    this.#report({ type: 'ended', reason })
  }

  leave(): void {
    if (this.#ended) return
    this.#ended = true
    this.hooks.ended()
  }

  close(): Promise<void> {
    if (this.#closed) return Promise.resolve()
    this.#closed = true
    this.leave()
    this.resume()
    for (const { reply } of this.#routes.open()) reply.finish()
    this.#settleClosed()
    return Promise.resolve()
  }

  /** Ends the streams that would never end by themselves; the others end with their last answer. */
  endStreams(): void {
    for (const exchange of this.#routes.open()) {
      const { reply, facts, frame } = exchange
      if (facts.request !== 'GET' && !subscribes(frame)) reply.endWithResponses()
      else {
        // A stream that ends is opened again; an error might not be.
        reply.stream()
        reply.finish()
        // At once, so that its server does not announce a change on it.
        this.#over(exchange)
      }
    }
  }

  get answered(): boolean {
    return this.#answered
  }

  /** See `Reply.keepAlive`. */
  keepAlive(checks: number): void {
    for (const { reply } of this.#routes.open()) reply.keepAlive(checks)
  }

  get idle(): boolean {
    return this.#routes.size === 0
  }

  /** The HTTP response of the exchange is complete or cut off. */
  #over(exchange: FrontExchange): void {
    if (!this.#routes.delete(exchange)) return
    this.#answered ||= exchange.reply.hasHead
    exchange.frame = undefined
    this.#report({ type: 'exchange-ended', exchange })
    this.#drained(exchange)
    if (this.#routes.size > 0) return
    if (this.#endReason !== undefined) this.end(this.#endReason)
    this.hooks.idle(true)
  }

  /** A slow client reads again, or is gone; or the queued messages were sent. */
  #drained(full: FrontExchange | Routes): void {
    const where = this.#full.get(full) ?? []
    this.#full.delete(full)
    for (const exchange of where) this.#report({ type: 'drained', exchange })
  }

  #opened(reply: Reply, facts: RequestFacts): FrontExchange {
    if (this.#routes.size === 0) this.hooks.idle(false)
    const exchange = this.#routes.add(reply, facts)
    const drained = () => {
      exchange.unread = 0
      this.#drained(exchange)
    }
    reply.watch(drained, () => this.#over(exchange))
    this.#routes.flush(exchange)
    if (!this.#routes.isAboveHighWater) this.#drained(this.#routes)
    return exchange
  }

  #learn({ status, headers }: ResponseHead, { facts, frame }: FrontExchange): void {
    const { request, isUnverified } = facts
    if (status < 300) {
      this.#accepted = true
      this.#endReason = request === 'DELETE' ? 'the client ended the session' : undefined
      if (request === 'DELETE') this.hooks.gone()
      // A server may name the session only in its response to initialize (2025-11-25, session management).
      const begins = this.kind === 'upstream' && frame !== undefined && isInitialize(frame)
      const id = begins ? only(headers, 'mcp-session-id') : undefined
      if (id !== undefined) this.hooks.named(id)
    } else if (status === 404 && isUnverified) {
      this.#endReason = 'the server knows no such session'
      this.hooks.gone()
    } else if ((status === 401 || status === 403) && !this.#accepted) {
      // Clients without valid credentials must not use up the places of others.
      this.#endReason = 'the server refused the credentials'
    }
  }

  #report(event: TransportEvent): void {
    if (this.#onEvent) this.#onEvent(event)
    else this.#early.push(event)
  }
}

const subscribes = (frame: Frame | undefined): boolean =>
  frame?.message.kind === 'request' && frame.message.method === 'subscriptions/listen'
