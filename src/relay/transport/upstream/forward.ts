import { ChurnMap } from '#relay/core/memory.js'
import type { Exchange } from '#relay/core/vocabulary.js'
import type { Frame, FrameLimits } from '#relay/protocol/frame.js'
import { isCancellation } from '#relay/protocol/message.js'
import { owning } from '../frames.js'
import {
  bodiless, borrowedHeaders, changedHeaders, forwardedHead, forwardedHeaders, isModernVersion,
  type HeadSettings, type InputSchemaOf,
} from '../http/headers.js'
import { requestKeys, responseKeys } from '../frames.js'
import { fieldLines } from '../sse/event.js'
import { Latch } from '../timers.js'
import type { HttpRequest, Transport } from '../transport.js'
import { endedEarly, readAnswer } from './answer.js'
import { HttpSide, type UpstreamCall } from './calls.js'
import {
  bodyKind, cursor, readJson, type BodyReading, type EventWithoutMessage, type StreamCursor,
} from './messages.js'
import { RefusedByServer } from './guarded.js'
import { discard, failureOf, type HttpReply, type HttpRequests } from './pool.js'

export interface HttpServerOptions extends HeadSettings {
  /** Shared by all sessions with the server; not closed by the transport. */
  readonly upstream: HttpRequests
  /** The operator's headers, by lower-case name: they replace the client's. */
  readonly headers: ReadonlyMap<string, string>
  readonly limits: FrameLimits
  readonly inputSchemaOf: InputSchemaOf
  /** How long `close` waits for pending answers, in milliseconds. */
  readonly stopMs?: number
}

/**
 * The transport to an HTTP server, for a client that uses HTTP too. Each HTTP request (`open`) and its
 * response are forwarded with their headers. The server's session id reaches the client unchanged.
 */
export const httpServer = (options: HttpServerOptions): Transport => new HttpServer(options)

/** A client's HTTP request, from `open` to `shut`. */
interface OpenRequest {
  readonly request: HttpRequest
  /** Backpressure: closed while the client does not read the response. */
  readonly latch: Latch
  /** Aborts a GET or DELETE; absent while none is in progress. */
  controller?: AbortController
}

/** Never closed: responses to relay-made requests are short, and no client reads them. */
const alwaysOpen = new Latch()

/** How long a POST without requests may take once its client has left, in milliseconds. */
const afterClientLeftMs = 30_000

class HttpServer extends HttpSide {
  readonly #opened = new ChurnMap<Exchange, OpenRequest>()

  constructor(private readonly options: HttpServerOptions) {
    super(options.limits, options.stopMs)
  }

  open(exchange: Exchange, request: HttpRequest): void {
    const opened: OpenRequest = { request, latch: new Latch() }
    this.#opened.set(exchange, opened)
    if (request.method !== 'POST') void this.#forwardBare(exchange, request.method, opened)
  }

  shut(exchange: Exchange): void {
    const opened = this.#opened.get(exchange)
    opened?.controller?.abort()
    opened?.latch.open()
    this.#opened.delete(exchange)
    for (const call of this.calls.on(exchange)) {
      // Notifications and responses to the server are delivered although their client has left.
      // An answer that may come on another stream of the session is waited for.
      if (call.elsewhere !== undefined) continue
      if (call.hasRequests) call.abort()
      else call.limit(afterClientLeftMs)
    }
  }

  protected latchOf(exchange: Exchange): Latch | undefined {
    return this.#opened.get(exchange)?.latch
  }

  protected resumeAll(): void {
    for (const { latch } of this.#opened.values()) latch.open()
  }

  send(exchange: Exchange, frame: Frame): boolean {
    const opened = this.#opened.get(exchange)
    // What the relay asks has the credentials of the client's request, which is over.
    if (opened === undefined && frame.relayMade === true && requestKeys(frame).length > 0) {
      for (const key of requestKeys(frame)) this.report({ type: 'lost', exchange, key, reason: 'the client has left' })
      return true
    }
    // The closed stream tells a modern server (2026-07-28, cancellation), so a cancellation that the relay
    // made is not sent.
    const isToldByClose = isModernVersion(opened?.request.headers.get('mcp-protocol-version'))
      && isCancellation(frame.message) && frame.relayMade === true
    if (!isToldByClose) void this.#post(this.calls.start(exchange, frame), opened)
    return true
  }

  protected finish(): void {
    this.end('the connection to the server was closed')
    for (const exchange of this.#opened.keys()) this.shut(exchange)
  }

  /** Sends a frame and reads the response to its end. */
  async #post(call: UpstreamCall, opened: OpenRequest | undefined): Promise<void> {
    const { exchange, frame } = call
    const request = opened?.request
    // Relay-made requests borrow the client's credentials; the status and headers of their responses are
    // dropped.
    const isClientFrame = request !== undefined && frame.relayMade !== true
    const { upstream } = this.options
    const headers = this.#headersFor(frame, request)
    const position = cursor()
    const expectsResponse = !call.isAnswered
    let reason: string | undefined
    let session: string | undefined
    try {
      const reply = await upstream.request({ method: 'POST', headers, body: frame.bytes, signal: call })
      if (reply.status === 202) session = this.#sessionWithStream(request)
      reason = await this.#read(call, reply, position, isClientFrame ? opened?.latch : undefined, session)
      // The client may have opened its stream meanwhile.
      if (bodyKind(reply) === 'sse') session = this.#sessionWithStream(request)
    } catch (error) {
      reason = failureOf(error)
      session = undefined
      const isOver = !expectsResponse || error instanceof RefusedByServer
      if (isClientFrame && isOver) this.#reportFailure(exchange, error)
    }
    call.elsewhere = call.isAnswered ? undefined : session
    const isElsewhere = call.elsewhere !== undefined
    if (isElsewhere) void call.settled.then(() => this.calls.end(call))
    else this.calls.end(call)
    if (reason === undefined) return
    const resumable = isClientFrame && inSession(request) && hasPlace(position)
    if (!resumable) this.lose(call, reason)
    if (isClientFrame) this.report({ type: 'stream-ended', exchange, resumable: resumable || isElsewhere })
  }

  /** The legacy session of a request, if it has a stream that answers no request. */
  #sessionWithStream(request: HttpRequest | undefined): string | undefined {
    const session = sessionOf(request)
    const hasStream = session !== undefined && !isModernVersion(request?.headers.get('mcp-protocol-version'))
      && this.#opened.values().some(({ request: opened, controller }) =>
        opened.method === 'GET' && controller !== undefined && sessionOf(opened) === session)
    return hasStream ? session : undefined
  }

  /** An answer on the stream of a session, to a request of another exchange. */
  #answeredElsewhere(session: string | undefined, frame: Frame): void {
    const keys = session === undefined ? [] : responseKeys(frame)
    if (keys.length === 0) return
    for (const call of this.calls.all()) {
      if ((call.elsewhere ?? sessionOf(this.#opened.get(call.exchange)?.request)) !== session) continue
      for (const key of keys) call.answered(key)
    }
  }

  /** The last stream of a session is over, so that its answers are lost. The client gets errors on it. */
  #streamOver(exchange: Exchange, { request }: OpenRequest): void {
    if (this.#sessionWithStream(request) !== undefined) return
    for (const call of this.calls.all()) {
      if (call.elsewhere === undefined || call.elsewhere !== sessionOf(request)) continue
      call.elsewhere = undefined
      this.lose(call, 'the stream ended on which the answer could come', exchange)
      call.forget()
    }
  }

  #headersFor(frame: Frame, request: HttpRequest | undefined): ReadonlyMap<string, string> {
    const { headers: operatorHeaders, inputSchemaOf } = this.options
    if (request === undefined || frame.relayMade === true)
      return borrowedHeaders(request?.headers ?? new Map(), frame, inputSchemaOf, operatorHeaders)
    return request.body === frame.bytes && frame.envelope?.translatedFrom === undefined
      ? forwardedHeaders(request.headers, frame.envelope?.trace, operatorHeaders)
      : changedHeaders(request.headers, frame, inputSchemaOf, operatorHeaders)
  }

  /**
   * @param latch of the client's exchange; undefined for a relay-made request
   * @param session where another stream of it may bring the answer
   * @returns the reason for requests that are still unanswered; undefined if one frame was the whole response
   */
  async #read(
    call: UpstreamCall, reply: HttpReply, position: StreamCursor, latch: Latch | undefined,
    session: string | undefined,
  ): Promise<string | undefined> {
    const { exchange, unanswered } = call
    const kind = bodyKind(reply)
    const isClientFrame = latch !== undefined
    const limits = this.limitsFor(exchange)
    const reading = { limits, latch: latch ?? alwaysOpen, asked: () => [...unanswered], cursor: position }
    if (isClientFrame && kind === 'json' && unanswered.size === 1)
      return this.#readResponse(call, reply, reading)
    const isAccepted = reply.status === 202 && session !== undefined
    if (isClientFrame && (kind !== 'other' || call.isAnswered || isAccepted)) this.#reportHead(exchange, reply)
    return readAnswer(reply, reading, received => {
      // The client cannot resume the stream of a request of the relay: it gets no event ids of it.
      if ('bytes' in received) this.reportFrame(exchange, isClientFrame ? received : withoutEvent(received))
      else if (isClientFrame) this.#reportBetween(exchange, received)
    })
  }

  /** The usual case, one JSON answer to one request, is a single event. @returns as `#read` */
  async #readResponse(
    call: UpstreamCall, reply: HttpReply, reading: BodyReading,
  ): Promise<string | undefined> {
    const { exchange } = call
    const received = await readJson(reply, reading)
    if (received === undefined) return endedEarly
    this.calls.answered(exchange, received)
    if (!call.isAnswered) {
      this.#reportHead(exchange, reply)
      this.report({ type: 'frame', exchange, frame: received })
      return endedEarly
    }
    const { bytes, message, faults, facts, otherKeys } = received
    const envelope = { response: forwardedHead(reply, this.options) }
    // No spread: V8 gives each object made by one a shape of its own, which makes its readers slow.
    const frame = { bytes, message, faults, facts, otherKeys, envelope }
    this.report({ type: 'frame', exchange, whole: true, frame: owning(frame) })
    return undefined
  }

  /** Forwards a request without a message: GET for a stream, or DELETE for the end of the session. */
  async #forwardBare(exchange: Exchange, method: 'GET' | 'DELETE', opened: OpenRequest): Promise<void> {
    const position = cursor()
    const { signal } = (opened.controller = new AbortController())
    try {
      const headers = forwardedHeaders(opened.request.headers, undefined, this.options.headers)
      const reply = await this.options.upstream.request({ method, headers, signal })
      if (method === 'GET' && bodyKind(reply) !== 'sse' && reply.status < 400) {
        discard(reply)
        this.#reportFailure(exchange)
      } else await this.#readBare(exchange, reply, position, opened.latch)
    } catch (error) {
      if (!signal.aborted) this.#reportFailure(exchange, error)
    }
    delete opened.controller
    // A client that has an event id can ask for what is missing.
    const resumable = hasPlace(position)
    if (!resumable) this.#streamOver(exchange, opened)
    this.report({ type: 'stream-ended', exchange, resumable })
  }

  async #readBare(exchange: Exchange, reply: HttpReply, position: StreamCursor, latch: Latch): Promise<void> {
    // Until something comes on a stream that is resumed, the client can resume it as before.
    if (bodyKind(reply) === 'sse')
      position.lastEventId = this.#opened.get(exchange)?.request.headers.get('last-event-id')
    this.#reportHead(exchange, reply)
    const reading = { limits: this.limitsFor(exchange), latch, asked: () => [], cursor: position }
    await readAnswer(reply, reading, received => {
      if ('bytes' in received) {
        this.#answeredElsewhere(sessionOf(this.#opened.get(exchange)?.request), received)
        this.report({ type: 'frame', exchange, frame: received })
      } else this.#reportBetween(exchange, received)
    })
  }

  #reportHead(exchange: Exchange, reply: HttpReply): void {
    const { status, headers: all } = forwardedHead(reply, this.options)
    const headers = bodyKind(reply) === 'other' ? bodiless(all) : all
    this.report({ type: 'head', exchange, status, headers })
  }

  /** Status 502 for a client whose request the core does not track. Ignored after a head. */
  #reportFailure(exchange: Exchange, error?: unknown): void {
    const head = error instanceof RefusedByServer ? error.head : { status: 502, headers: new Map() }
    this.report({ type: 'head', exchange, ...head })
  }

  #reportBetween(exchange: Exchange, { lines }: EventWithoutMessage): void {
    if (lines !== '') this.report({ type: 'between', exchange, lines })
  }
}

const withoutEvent = (frame: Frame): Frame =>
  (frame.envelope === undefined ? frame : { ...frame, envelope: {} })

const sessionOf = (request: HttpRequest | undefined): string | undefined =>
  request?.headers.get('mcp-session-id')

/** In a legacy session, a client that has an event id can fetch the answer with `Last-Event-ID`. */
const inSession = ({ headers }: HttpRequest): boolean =>
  headers.has('mcp-session-id') && !isModernVersion(headers.get('mcp-protocol-version'))

/** Whether the client has an event id: one that cannot be encoded did not reach it. */
const hasPlace = ({ lastEventId: id }: StreamCursor): boolean => id !== undefined && fieldLines({ id }) !== ''
