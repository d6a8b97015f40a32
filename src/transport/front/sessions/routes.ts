import { ChurnSet } from '../../../core/memory.js'
import type { Exchange } from '../../../core/event.js'
import type { Frame } from '../../../protocol/frame.js'
import type { Arrival } from '../arrival.js'
import { type Ties, tiesIn, tiesOf } from '../message.js'
import type { Reply } from '../reply.js'

/** What a session goes by, of an HTTP request. */
export interface RequestFacts {
  readonly request: 'POST' | 'GET' | 'DELETE'
  /** What came with it; undefined when there is no message in it. */
  readonly frame?: Frame | undefined
  /** It names a session that only the server can know. */
  readonly claims: boolean
  /** What the server says unasked may go with its answer: not before the handshake is over. */
  readonly carries: boolean
  /** The head of the request. */
  readonly arrival: Arrival
}

/** One HTTP request and its response. */
export class FrontExchange implements Exchange, RequestFacts {
  readonly request: RequestFacts['request']
  /** Undefined also when the response is over. */
  frame: Frame | undefined
  readonly claims: boolean
  readonly carries: boolean
  readonly arrival: Arrival
  /** Bytes that came for the reader while it was slow. */
  unread = 0

  constructor(
    readonly name: string,
    readonly reply: Reply,
    { request, frame, claims, carries, arrival }: RequestFacts,
  ) {
    this.request = request
    this.frame = frame
    this.claims = claims
    this.carries = carries
    this.arrival = arrival
  }

  get context(): string {
    return this.arrival.context('server')
  }

  get resumed(): boolean {
    return this.request === 'GET' && this.arrival.headers.has('last-event-id')
  }

  get ties(): Ties {
    return this.frame ? tiesOf(this.frame) : { requests: [], progress: [] }
  }
}

/** From so many messages of the server's on that wait for a stream to leave by, or so many bytes of them, the server is held back. */
const manyWaiting = 256
const manyWaitingBytes = 1024 * 1024
/**
 * The oldest are dropped beyond this. It is reached by a server that cannot be held back, for its answer to a request that carries
 * nothing else comes by the same pipe; what was read of it when it was told to hold back is far less.
 */
const mostWaiting = 4096
const mostWaitingBytes = 16 * 1024 * 1024
/** Streams opened by GET; the oldest is ended beyond this. */
const mostStreams = 4

/** The open HTTP requests of a session, and by which of them a message leaves that names none: a process has one pipe for all. */
export class Routes {
  readonly #open = new ChurnSet<FrontExchange>()
  readonly #waiting: Frame[] = []
  #waitingBytes = 0
  readonly #whose: 'one client' | 'as named'
  #last = 0

  /** @param whose exchanges these are; `as named`: every message names the exchange that it belongs to */
  constructor(whose: 'one client' | 'as named') {
    this.#whose = whose
  }

  get size(): number {
    return this.#open.size
  }

  /** So much waits for a stream that the server is not to be read before there is one, or something of which it owes the answer. */
  get isCrowded(): boolean {
    if (this.#waiting.length < manyWaiting && this.#waitingBytes < manyWaitingBytes) return false
    return !this.open().some(({ reply }) => reply.awaited)
  }

  open(): readonly FrontExchange[] {
    return this.#open.values()
  }

  find(exchange: Exchange): FrontExchange | undefined {
    return exchange instanceof FrontExchange && this.#open.has(exchange) ? exchange : undefined
  }

  add(reply: Reply, facts: RequestFacts): FrontExchange {
    if (facts.request === 'GET' && this.#whose === 'one client') this.#endOldestStream()
    const exchange = new FrontExchange(`http-${++this.#last}`, reply, facts)
    this.#open.add(exchange)
    return exchange
  }

  /** What waited for an exchange like this leaves by it. */
  flush({ reply, request, carries }: FrontExchange): void {
    if (request !== 'GET' && !carries) return
    this.#waitingBytes = 0
    for (const frame of this.#waiting.splice(0)) reply.send(frame)
  }

  /** @returns false when it was gone before */
  delete(exchange: FrontExchange): boolean {
    return this.#open.delete(exchange)
  }

  /** By which exchange a message leaves; undefined when there is none, or none yet. */
  route(exchange: Exchange, frame: Frame): FrontExchange | undefined {
    const answers = frame.message.kind === 'result' || frame.message.kind === 'error'
    const named = this.find(exchange)
    // An answer belongs to its request, and to nothing else when that is gone.
    if (named || answers || this.#whose === 'as named') return named
    // On another stream than its request's, it might come after the answer.
    return this.#tied(frame) ?? this.#anyOfOne(frame)
  }

  #tied(frame: Frame): FrontExchange | undefined {
    const named = tiesIn(frame)
    if (named === undefined) return undefined
    return this.open().find(
      ({ reply, ties }) =>
        reply.awaited &&
        (ties.progress.some(key => named.progress.includes(key)) || ties.requests.some(key => named.requests.includes(key))),
    )
  }

  /** The newest stream that was opened for this; else that of a request that still waits; else whichever comes next. */
  #anyOfOne(frame: Frame): FrontExchange | undefined {
    const open = this.open().filter(({ reply }) => !reply.done).reverse()
    const chosen = open.find(({ request }) => request === 'GET') ?? open.find(({ reply, carries }) => carries && reply.awaited)
    if (chosen) return chosen
    this.#waiting.push(frame)
    this.#waitingBytes += frame.bytes.length
    while (this.#waiting.length > mostWaiting || (this.#waitingBytes > mostWaitingBytes && this.#waiting.length > 1)) {
      this.#waitingBytes -= this.#waiting.shift()?.bytes.length ?? 0
    }
    return undefined
  }

  #endOldestStream(): void {
    const streams = this.open().filter(({ request }) => request === 'GET')
    if (streams.length >= mostStreams) streams[0]?.reply.finish()
  }
}
