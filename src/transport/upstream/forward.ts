import { ChurnMap } from '../../core/memory.js'
import type { Exchange } from '../../core/event.js'
import type { Frame, FrameLimits } from '../../protocol/frame.js'
import { isCancellation } from '../../protocol/message.js'
import {
  bodiless, borrowedHeaders, forwardedHead, forwardedHeaders, isModernVersion, type HeadSettings, type InputSchemaOf,
} from '../http/headers.js'
import { Latch } from '../timers.js'
import type { HttpRequest, Transport, TransportEvent } from '../transport.js'
import { HttpSide, type Call } from './calls.js'
import { errorBody } from './error-body.js'
import {
  bodyKind, cursor, messageOf, misfit, readMessages, type Between, type Cursor, type Reading,
} from './messages.js'
import { discard, failureOf, type HttpReply, type HttpUpstream } from './pool.js'

export interface HttpServerOptions extends HeadSettings {
  /** Shared by all sessions with the server; closed by whoever made it. */
  readonly upstream: HttpUpstream
  /** The operator's, by lower-case name: they stand in place of the client's. */
  readonly headers: ReadonlyMap<string, string>
  readonly limits: FrameLimits
  readonly inputSchemaOf: InputSchemaOf
  /** How long `close` waits for answers that are under way, in milliseconds. */
  readonly stopMs?: number
}

/**
 * Faces an MCP server over Streamable HTTP, for a client that speaks it too: each of its HTTP requests (`open`) is handed on with
 * its own headers, and what the server makes of it is handed back. The session, if there is one, is the client's.
 */
export const httpServer = (options: HttpServerOptions): Transport => new HttpServer(options)

/** A client's HTTP request, until `shut`. */
interface Opened {
  readonly request: HttpRequest
  /** Closed while the client does not read what it has of the response. */
  readonly latch: Latch
  /** Of a GET or DELETE, while the server answers it. */
  under?: AbortController
}

/** What the relay asks of its own accord is short, and waits for no reader. */
const unheld = new Latch()

/** How long a message that asks nothing may take to be taken in once its client has left, in milliseconds. */
const leftMs = 30_000

class HttpServer extends HttpSide {
  readonly #options: HttpServerOptions
  readonly #opened = new ChurnMap<Exchange, Opened>()
  #hear: (event: TransportEvent) => void = () => {}
  #ended = false

  constructor(options: HttpServerOptions) {
    super(options.stopMs)
    this.#options = options
  }

  start(hear: (event: TransportEvent) => void): void {
    this.#hear = hear
  }

  open(exchange: Exchange, request: HttpRequest): void {
    const opened: Opened = { request, latch: new Latch() }
    this.#opened.set(exchange, opened)
    if (request.method !== 'POST') void this.#bare(exchange, request.method, opened)
  }

  shut(exchange: Exchange): void {
    const opened = this.#opened.get(exchange)
    opened?.under?.abort()
    opened?.latch.open()
    this.#opened.delete(exchange)
    for (const call of this.calls.on(exchange)) {
      // What only tells the server something, or answers it, is none of the client's any more.
      if (call.asks) call.abort()
      else call.limit(leftMs)
    }
  }

  pause(exchange: Exchange): void {
    this.#opened.get(exchange)?.latch.close()
  }

  resume(exchange: Exchange): void {
    this.#opened.get(exchange)?.latch.open()
  }

  protected resumeAll(): void {
    for (const { latch } of this.#opened.values()) latch.open()
  }

  send(exchange: Exchange, frame: Frame): boolean {
    const opened = this.#opened.get(exchange)
    const request = opened?.request
    // A modern server has learnt of it by the closing of the stream (2026-07-28, cancellation).
    const told = isModernVersion(request?.headers.get('mcp-protocol-version')) && isCancellation(frame.message) && frame.bytes !== request?.body
    if (!told) void this.#post(this.calls.start(exchange, frame), opened)
    return true
  }

  protected finish(): void {
    this.#tell({ type: 'ended', reason: 'the connection to the server was closed' })
    this.#ended = true
    for (const exchange of this.#opened.keys()) this.shut(exchange)
    for (const call of this.calls.all()) call.abort()
  }

  /** A frame goes out; what comes back is heard to its end. */
  async #post(call: Call, opened: Opened | undefined): Promise<void> {
    const { exchange, frame } = call
    const request = opened?.request
    // What the relay asks of its own accord borrows the client's credentials; the HTTP side of its response concerns nobody.
    const own = request?.body === frame.bytes
    const { headers: always, inputSchemaOf } = this.#options
    const headers = own
      ? forwardedHeaders(request.headers, frame.envelope?.trace, always)
      : borrowedHeaders(request?.headers ?? new Map(), frame, inputSchemaOf, always)
    const position = cursor()
    const due = !call.isAnswered
    let reason: string | undefined
    try {
      const reply = await this.#options.upstream.request({ method: 'POST', headers, body: frame.bytes, signal: call })
      reason = await this.#answered(call, reply, position, own ? opened?.latch : undefined)
    } catch (error) {
      reason = failureOf(error)
      if (own && !due) this.#unreachable(exchange)
    }
    this.calls.end(call)
    if (reason === undefined) return
    const resumable = own && canResume(request, position)
    if (!resumable) for (const key of call.unanswered) this.#tell({ type: 'lost', exchange, key, reason })
    if (own) this.#tell({ type: 'stream-ended', exchange, resumable })
  }

  /** @returns why there will be no answer to what has none by now; undefined when all of the response is told */
  async #answered(call: Call, reply: HttpReply, position: Cursor, latch: Latch | undefined): Promise<string | undefined> {
    const { exchange, unanswered } = call
    const kind = bodyKind(reply)
    const due = !call.isAnswered
    const own = latch !== undefined
    const { limits } = this.#options
    const reading = { limits, latch: latch ?? unheld, asked: () => [...unanswered] }
    // One JSON text to one request is the usual case, and one event.
    if (own && kind === 'json' && unanswered.size === 1) return this.#sole(call, reply, reading)
    if (own && (kind !== 'other' || !due)) this.#head(exchange, reply)
    if (kind === 'error') {
      await this.#error(exchange, reply, reading)
      return `the server answered HTTP ${reply.status}`
    }
    if (kind === 'other') {
      discard(reply)
      const instead = due ? misfit(reply, [...unanswered]) : ''
      if (typeof instead === 'string') return instead
      this.#tell({ type: 'frame', exchange, frame: instead })
      return 'the response could not be read'
    }
    await readMessages(reply, { ...reading, cursor: position }, heard => {
      if ('bytes' in heard) {
        this.calls.answered(exchange, heard)
        this.#tell({ type: 'frame', exchange, frame: heard })
      } else if (own) this.#between(exchange, heard)
    })
    return endedBefore
  }

  /** @returns as `#answered` */
  async #sole(call: Call, reply: HttpReply, reading: Omit<Reading, 'cursor'>): Promise<string | undefined> {
    const { exchange } = call
    const heard = await messageOf(reply, reading)
    if (heard === undefined) return endedBefore
    this.calls.answered(exchange, heard)
    if (!call.isAnswered) {
      this.#head(exchange, reply)
      this.#tell({ type: 'frame', exchange, frame: heard })
      return endedBefore
    }
    const { bytes, message, faults, facts, otherKeys } = heard
    const response = forwardedHead(reply, this.#options)
    // Spelt out, as in `received`.
    this.#tell({ type: 'frame', exchange, whole: true, frame: { bytes, message, faults, facts, otherKeys, envelope: { response } } })
    return undefined
  }

  async #error(exchange: Exchange, reply: HttpReply, reading: Omit<Reading, 'cursor'>): Promise<void> {
    const frame = await errorBody(reply, reading)
    if (frame === undefined) return
    this.calls.answered(exchange, frame)
    this.#tell({ type: 'frame', exchange, frame })
  }

  /** GET for a stream, or DELETE for the end of the session: without a message. */
  async #bare(exchange: Exchange, method: 'GET' | 'DELETE', opened: Opened): Promise<void> {
    const position = cursor()
    const { signal } = (opened.under = new AbortController())
    try {
      const headers = forwardedHeaders(opened.request.headers, undefined, this.#options.headers)
      const reply = await this.#options.upstream.request({ method, headers, signal })
      await this.#heardBare(exchange, method, reply, position, opened.latch)
    } catch {
      this.#unreachable(exchange)
    }
    delete opened.under
    this.#tell({ type: 'stream-ended', exchange, resumable: position.lastEventId !== undefined })
  }

  async #heardBare(exchange: Exchange, method: 'GET' | 'DELETE', reply: HttpReply, position: Cursor, latch: Latch): Promise<void> {
    const kind = bodyKind(reply)
    if (method === 'GET' && kind !== 'sse' && reply.status < 400) {
      discard(reply)
      return this.#unreachable(exchange)
    }
    this.#head(exchange, reply)
    if (kind === 'other') return discard(reply)
    const reading = { limits: this.#options.limits, latch, asked: () => [] }
    if (kind === 'error') return this.#error(exchange, reply, reading)
    await readMessages(reply, { ...reading, cursor: position }, heard => {
      if ('bytes' in heard) this.#tell({ type: 'frame', exchange, frame: heard })
      else this.#between(exchange, heard)
    })
  }

  #head(exchange: Exchange, reply: HttpReply): void {
    const { status, headers } = forwardedHead(reply, this.#options)
    this.#tell({ type: 'head', exchange, status, headers: bodyKind(reply) === 'other' ? bodiless(headers) : headers })
  }

  /** There is no response to hand on, and nobody to whom the core could answer in its place. After a head it changes nothing. */
  #unreachable(exchange: Exchange): void {
    this.#tell({ type: 'head', exchange, status: 502, headers: new Map() })
  }

  #between(exchange: Exchange, { lines }: Between): void {
    if (lines !== '') this.#tell({ type: 'between', exchange, lines })
  }

  #tell(event: TransportEvent): void {
    if (!this.#ended) this.#hear(event)
  }
}

const endedBefore = 'the response ended before the answer'

/** In a legacy session the answer may be fetched with `Last-Event-ID`, once the client has an id to go on from. */
const canResume = ({ headers }: HttpRequest, { lastEventId }: Cursor): boolean =>
  lastEventId !== undefined && headers.has('mcp-session-id') && !isModernVersion(headers.get('mcp-protocol-version'))
