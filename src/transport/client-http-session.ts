import type { Exchange } from '../core/event.js'
import type { Frame } from '../protocol/frame.js'
import type { IdKey } from '../protocol/json-rpc.js'
import { tiesIn, tiesOf, type Ties } from './client-http-message.js'
import type { Reply } from './client-http-reply.js'
import { only } from './http-headers.js'
import type { HttpEvent, Transport, TransportEvent } from './transport.js'

/**
 * Whose exchanges make up the session.
 * `own`: those of one client, which names the session by an id that was minted here for a server that knows none;
 * `upstream`: those of one client, by an id of the server's;
 * `stateless`: those of one authorization context, on a server that speaks HTTP: ids mean nothing outside their exchange;
 * `shared`: the same on a process, where no two requests that are in flight have the same id.
 */
export type SessionKind = 'own' | 'upstream' | 'stateless' | 'shared'

export interface SessionHooks {
  /** The session has no exchange any more, or has one again. */
  readonly idle: (idle: boolean) => void
  /** The server has named the session. */
  readonly named: (id: string) => void
  /** Nothing more is taken in. */
  readonly ended: () => void
}

/** What belongs to one HTTP request while it is open. */
interface Open {
  readonly reply: Reply
  readonly request: 'POST' | 'GET' | 'DELETE'
  /** The request named a session that only the server can know. */
  readonly claims: boolean
  /** What the server says unasked may go with the answer: not before the handshake is over. */
  readonly carries: boolean
  readonly ties: Ties
}

const noTies: Ties = { requests: [], progress: [] }

/** Messages of the server's that wait for a stream to leave by; the oldest is dropped beyond this. */
const mostWaiting = 256
/** Streams opened by GET; the oldest is ended beyond this. */
const mostStreams = 4

/** The HTTP requests of one session, as one transport: each of them is an exchange. */
export class HttpSession implements Transport {
  readonly kind: SessionKind
  /** The `Mcp-Session-Id` that we gave it. */
  readonly id: string | undefined
  readonly #hooks: SessionHooks
  readonly #exchanges = new Map<Exchange, Open>()
  readonly #waiting: Frame[] = []
  /** Of a shared session: ids that the server has not answered, whether or not their exchange is still open. */
  readonly #inFlight = new Set<IdKey>()
  /** What is told before anybody hears. */
  #unheard: TransportEvent[] = []
  #hear: ((event: TransportEvent) => void) | undefined
  #paused: Promise<void> | undefined
  #resume: () => void = () => {}
  #full = false
  #ended = false
  #closed = false
  #lastExchange = 0
  /** The server has accepted something of this session. */
  #accepted = false
  /** Why the session ends with its last exchange. */
  #last: string | undefined
  #settleClosed: () => void = () => {}
  /** Resolves when the gateway has closed it. */
  readonly closed = new Promise<void>(resolve => {
    this.#settleClosed = resolve
  })

  constructor(kind: SessionKind, id: string | undefined, hooks: SessionHooks) {
    this.kind = kind
    this.id = id
    this.#hooks = hooks
  }

  start(hear: (event: TransportEvent) => void): void {
    this.#hear = hear
    const unheard = this.#unheard
    this.#unheard = []
    for (const event of unheard) hear(event)
  }

  /** True once nothing more can be taken in. */
  get ended(): boolean {
    return this.#ended
  }

  /** Resolves when the gateway wants to read. */
  async readable(): Promise<void> {
    while (this.#paused) await this.#paused
  }

  /** Takes in an HTTP request that carries a message. */
  post(reply: Reply, frame: Frame, { claims, carries }: Pick<Open, 'claims' | 'carries'>): void {
    const ties = tiesOf(frame)
    if (this.kind === 'shared') for (const key of ties.requests) this.#inFlight.add(key)
    const exchange = this.#opened({ reply, request: 'POST', claims, carries, ties })
    if (carries) this.#flush(reply)
    this.#tell({ type: 'frame', exchange, frame })
  }

  /** Takes in an HTTP request for the server to answer. */
  bare(reply: Reply, method: 'GET' | 'DELETE', headers: ReadonlyMap<string, string>, claims: boolean): void {
    const exchange = this.#opened({ reply, request: method, claims, carries: false, ties: noTies })
    this.#tell({ type: 'bare-request', exchange, method, headers })
  }

  /** Takes in a GET whose stream is ours to fill: with what the server says unasked. */
  listen(reply: Reply): void {
    const streams = [...this.#exchanges.values()].filter(open => open.request === 'GET')
    if (streams.length >= mostStreams) streams[0]?.reply.finish()
    this.#opened({ reply, request: 'GET', claims: false, carries: false, ties: noTies })
    reply.stream()
    this.#flush(reply)
  }

  /** Whether a message would meet one of another client's in which an id is the same. */
  collides(frame: Frame): boolean {
    const { requests, progress } = tiesOf(frame)
    return (
      requests.some(key => this.#inFlight.has(key)) ||
      [...this.#exchanges.values()].some(({ ties }) => ties.progress.some(key => progress.includes(key)))
    )
  }

  send(exchange: Exchange, frame: Frame): boolean {
    if (frame.message.kind === 'result' || frame.message.kind === 'error') this.#inFlight.delete(frame.message.key)
    const reply = this.#exchanges.get(exchange)?.reply ?? this.#replyFor(frame)
    reply?.send(frame)
    this.#full ||= reply?.full === true
    return !this.#full
  }

  hand(event: HttpEvent): void {
    const open = this.#exchanges.get(event.exchange)
    if (!open) return
    switch (event.type) {
      case 'head':
        this.#learn(event, open)
        return open.reply.head(event)
      case 'dressing':
        return open.reply.dressing(event.lines)
      case 'stream-ended':
        return open.reply.streamEnded(event.resumable)
      default:
        return event satisfies never
    }
  }

  settle(exchange: Exchange): void {
    this.#exchanges.get(exchange)?.reply.finish()
  }

  pause(): void {
    this.#paused ??= new Promise(resolve => {
      this.#resume = resolve
    })
  }

  resume(): void {
    this.#paused = undefined
    this.#resume()
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
    for (const { reply } of this.#exchanges.values()) reply.finish()
    this.#settleClosed()
    return Promise.resolve()
  }

  /** Ends the streams that would never end by themselves. */
  endStreams(): void {
    for (const { reply, request } of this.#exchanges.values()) if (request === 'GET') reply.finish()
  }

  /** The HTTP response of the exchange is over, whole or cut. */
  #over(exchange: Exchange): void {
    if (!this.#exchanges.delete(exchange)) return
    this.#tell({ type: 'exchange-ended', exchange })
    this.#drained()
    if (this.#exchanges.size > 0) return
    if (this.#last !== undefined) this.end(this.#last)
    this.#hooks.idle(true)
  }

  /** A reader takes more again, or is gone. */
  #drained(): void {
    if (!this.#full || [...this.#exchanges.values()].some(({ reply }) => reply.full)) return
    this.#full = false
    this.#tell({ type: 'drained' })
  }

  #opened(open: Open): Exchange {
    const exchange = `http-${++this.#lastExchange}`
    if (this.#exchanges.size === 0) this.#hooks.idle(false)
    this.#exchanges.set(exchange, open)
    open.reply.watch(() => this.#drained(), () => this.#over(exchange))
    return exchange
  }

  #learn({ status, headers }: Extract<HttpEvent, { type: 'head' }>, { request, claims }: Open): void {
    if (status < 300) {
      this.#accepted = true
      this.#last = request === 'DELETE' ? 'the client ended the session' : undefined
      const id = only(headers, 'mcp-session-id')
      if (id !== undefined) this.#hooks.named(id)
    } else if (status === 404 && claims) this.#last = 'the server knows no such session'
    // Whom the server lets in with nothing must not fill the place of others.
    else if ((status === 401 || status === 403) && !this.#accepted) this.#last = 'the server refused the credentials'
  }

  /** Where a message goes whose exchange is not, or no more, among ours: a process has but one for all that it says. */
  #replyFor(frame: Frame): Reply | undefined {
    // An answer belongs to its request, and that is gone.
    if (frame.message.kind === 'result' || frame.message.kind === 'error') return undefined
    if (this.kind === 'own') return this.#ownReply(frame)
    return this.kind === 'shared' ? this.#tiedReply(frame) : undefined
  }

  /** All exchanges are one client's: the newest stream that was opened for this; else that of a request that still waits. */
  #ownReply(frame: Frame): Reply | undefined {
    const open = [...this.#exchanges.values()].filter(({ reply }) => !reply.done).reverse()
    const chosen = open.find(({ request }) => request === 'GET') ?? open.find(({ reply, carries }) => carries && reply.awaited)
    if (chosen) return chosen.reply
    this.#waiting.push(frame)
    if (this.#waiting.length > mostWaiting) this.#waiting.shift()
    return undefined
  }

  /** The exchanges may be many clients': a message goes to the one that it names, or to the only one. */
  #tiedReply(frame: Frame): Reply | undefined {
    const open = [...this.#exchanges.values()].filter(({ reply }) => reply.awaited)
    const tied = tiesIn(frame)
    if (tied === undefined) return open.length === 1 ? open[0]?.reply : undefined
    return open.find(
      ({ ties }) =>
        ties.progress.some(key => tied.progress.includes(key)) || ties.requests.some(key => tied.requests.includes(key)),
    )?.reply
  }

  #flush(reply: Reply): void {
    for (const frame of this.#waiting.splice(0)) reply.send(frame)
  }

  #tell(event: TransportEvent): void {
    if (this.#hear) this.#hear(event)
    else this.#unheard.push(event)
  }
}
