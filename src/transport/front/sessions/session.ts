import type { IdKey } from '../../../protocol/json-rpc.js'
import type { Exchange } from '../../../core/event.js'
import type { Frame, ResponseHead } from '../../../protocol/frame.js'
import { answerKeys } from '../../frames.js'
import { only } from '../../http/headers.js'
import { Latch } from '../../timers.js'
import type { HttpEvent, Transport, TransportEvent } from '../../transport.js'
import { isInitialize, type Arrival } from '../arrival.js'
import type { Reply } from '../reply.js'
import { Routes, type FrontExchange, type RequestFacts } from './routes.js'

/**
 * Whose exchanges make up the session.
 * `own`: those of one client, which names the session by an id that was minted here for a server that knows none;
 * `upstream`: those of one client, by an id of the server's;
 * `stateless`: those of one authorization context, whose clients know of no session: ids mean nothing outside their exchange.
 */
export type SessionKind = 'own' | 'upstream' | 'stateless'

export interface SessionHooks {
  /** The session has no exchange any more, or has one again. */
  readonly idle: (idle: boolean) => void
  /** The server has named the session. */
  readonly named: (id: string) => void
  /** Nothing more is taken in. */
  readonly ended: () => void
}

/** A reader for whom more than that waits, in bytes, after its share of patience is cut off. */
const mostUnread = 16 * 1024 * 1024

/** The HTTP requests of one session, as one transport: each of them is an exchange. */
export class FrontSession implements Transport {
  readonly kind: SessionKind
  /** The `Mcp-Session-Id` that we gave it. */
  readonly id: string | undefined
  /** By whose token it was begun; empty where none is asked for. */
  readonly owner: string
  readonly #hooks: SessionHooks
  readonly #routes: Routes
  /** What is told before anybody hears. */
  readonly #unheard: TransportEvent[] = []
  #hear: ((event: TransportEvent) => void) | undefined
  /** Closed while the gateway does not want to read. */
  readonly latch = new Latch()
  /** Readers that take nothing, and where that was said. */
  readonly #full = new Map<FrontExchange | Routes, Set<Exchange>>()
  #ended = false
  #closed = false
  /** The server has accepted something of this session. */
  #accepted = false
  /** Why the session ends with its last exchange. */
  #last: string | undefined
  #settleClosed: () => void = () => {}
  /** Resolves when the gateway has closed it. */
  readonly closed = new Promise<void>(resolve => {
    this.#settleClosed = resolve
  })

  constructor(kind: SessionKind, id: string | undefined, owner: string, hooks: SessionHooks) {
    this.kind = kind
    this.id = id
    this.owner = owner
    this.#hooks = hooks
    this.#routes = new Routes(kind === 'own' ? 'one client' : 'as named')
  }

  start(hear: (event: TransportEvent) => void): void {
    for (let event = this.#unheard.shift(); event; event = this.#unheard.shift()) hear(event)
    this.#hear = hear
  }

  /** Takes in an HTTP request that carries a message. */
  post(reply: Reply, frame: Frame, how: Pick<RequestFacts, 'claims' | 'carries' | 'arrival'>): void {
    const exchange = this.#opened(reply, { request: 'POST', frame, ...how })
    this.#tell({ type: 'frame', exchange, frame })
  }

  /** Takes in an HTTP request for the server to answer. */
  bare(reply: Reply, method: 'GET' | 'DELETE', headers: ReadonlyMap<string, string>, how: Pick<RequestFacts, 'claims' | 'arrival'>): void {
    const exchange = this.#opened(reply, { request: method, carries: false, ...how })
    this.#tell({ type: 'bare-request', exchange, method, headers })
  }

  /** Takes in a GET whose stream is ours to fill: with what the server says unasked. */
  listen(reply: Reply, arrival: Arrival): void {
    reply.stream()
    this.#opened(reply, { request: 'GET', claims: false, carries: false, arrival })
  }

  send(exchange: Exchange, frame: Frame): boolean {
    const response = frame.envelope?.response
    const open = response && this.#routes.find(exchange)
    if (open) this.#learn(response, open)
    const route = this.#routes.route(exchange, frame)
    if (route?.reply.full === true && this.#isTooSlow(route, frame)) route.reply.destroy()
    route?.reply.send(frame)
    // Only an HTTP server keeps what it has sent, and only in a session of its own.
    if (route === undefined && this.kind === 'upstream') answerKeys(frame).forEach(this.#undelivered)
    return this.#isFree(route, exchange)
  }

  #isFree(route: FrontExchange | undefined, exchange: Exchange): boolean {
    // What waits for a stream is held back as what waits for a reader is.
    const full = route === undefined && this.#routes.isCrowded ? this.#routes : route?.reply.full === true ? route : undefined
    if (full === undefined) return true
    this.#full.set(full, (this.#full.get(full) ?? new Set()).add(exchange))
    return false
  }

  /** Clients that share a server wait for each other a while only: then what is for a slow one piles up here, to an extent. */
  #isTooSlow(route: FrontExchange, { bytes }: Frame): boolean {
    route.unread += bytes.length
    return this.kind === 'stateless' && route.unread > mostUnread
  }

  hand(event: HttpEvent): boolean {
    const open = this.#routes.find(event.exchange)
    if (!open) return true
    switch (event.type) {
      case 'head':
        this.#learn(event, open)
        open.reply.head(event)
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

  /** Nothing is waited for any more: who still waits for an answer is told so, and the session ends. */
  giveUp(reason: string): void {
    for (const exchange of this.#routes.open()) {
      for (const key of exchange.reply.awaited ? exchange.reply.due : []) this.#tell({ type: 'lost', exchange, key, reason })
    }
    this.end(reason)
  }

  /** The session is over from the client's side, or for want of use; the gateway closes it when it has said its last. */
  end(reason: string): void {
    if (this.#ended) return
    this.#ended = true
    this.#hooks.ended()
    this.#tell({ type: 'ended', reason })
  }

  close(): Promise<void> {
    if (this.#closed) return Promise.resolve()
    this.#closed = true
    if (!this.#ended) this.#hooks.ended()
    this.#ended = true
    this.resume()
    for (const { reply } of this.#routes.open()) reply.finish()
    this.#settleClosed()
    return Promise.resolve()
  }

  /** Ends the streams that would never end by themselves; the others end with the last answer, whatever the server means to add. */
  endStreams(): void {
    for (const { reply, facts, frame } of this.#routes.open()) {
      if (facts.request === 'GET' || subscribes(frame)) reply.finish()
      else reply.lastCall()
    }
  }

  /** Called again and again: each answer that was silent since so many looks shows that it lives. */
  look(looks: number): void {
    for (const { reply } of this.#routes.open()) reply.look(looks)
  }

  get idle(): boolean {
    return this.#routes.size === 0
  }

  /** The HTTP response of the exchange is over, whole or cut. */
  #over(exchange: FrontExchange): void {
    if (!this.#routes.delete(exchange)) return
    exchange.frame = undefined
    this.#tell({ type: 'exchange-ended', exchange })
    this.#drained(exchange)
    if (this.#routes.size > 0) return
    if (this.#last !== undefined) this.end(this.#last)
    this.#hooks.idle(true)
  }

  /** A reader takes more again, or is gone; or what waited for one has left. */
  #drained(full: FrontExchange | Routes): void {
    const where = this.#full.get(full) ?? []
    this.#full.delete(full)
    for (const exchange of where) this.#tell({ type: 'drained', exchange })
  }

  /** Kept after the response is over: it must not hold the exchange. */
  readonly #undelivered = (key: IdKey): void => this.#tell({ type: 'undelivered', key })

  #opened(reply: Reply, facts: RequestFacts): FrontExchange {
    if (this.#routes.size === 0) this.#hooks.idle(false)
    const exchange = this.#routes.add(reply, facts)
    const drained = () => {
      exchange.unread = 0
      this.#drained(exchange)
    }
    reply.watch(drained, () => this.#over(exchange))
    if (this.kind === 'upstream') reply.watchDelivery(this.#undelivered)
    this.#routes.flush(exchange)
    if (!this.#routes.isCrowded) this.#drained(this.#routes)
    return exchange
  }

  #learn({ status, headers }: ResponseHead, { facts: { request, claims }, frame }: FrontExchange): void {
    if (status < 300) {
      this.#accepted = true
      this.#last = request === 'DELETE' ? 'the client ended the session' : undefined
      // The server names a session where it begins (2025-11-25, session management), and nowhere else.
      const id = this.kind === 'upstream' && frame !== undefined && isInitialize(frame) ? only(headers, 'mcp-session-id') : undefined
      if (id !== undefined) this.#hooks.named(id)
    } else if (status === 404 && claims) this.#last = 'the server knows no such session'
    // Whom the server lets in with nothing must not fill the place of others.
    else if ((status === 401 || status === 403) && !this.#accepted) this.#last = 'the server refused the credentials'
  }

  #tell(event: TransportEvent): void {
    if (this.#hear) this.#hear(event)
    else this.#unheard.push(event)
  }
}

const subscribes = (frame: Frame | undefined): boolean =>
  frame?.message.kind === 'request' && frame.message.method === 'subscriptions/listen'
