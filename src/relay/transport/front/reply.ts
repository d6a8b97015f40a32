import type { Frame, ResponseHead } from '#relay/protocol/frame.js'
import { errorCode, type IdKey } from '#relay/protocol/json-rpc.js'
import { release, responseKeys } from '../frames.js'
import { eventStream, headersOf, jsonType, mediaType, only } from '../http/headers.js'
import { encodeEvent, keepAlive } from '../sse/event.js'
import type { HttpHeaders } from '../transport.js'
import { writeHead } from './head.js'
import { refusalBody, type Refusal } from './refusal.js'
import { onceOver, type FrontResponse } from './request.js'

/** The responses that an HTTP request needs. */
export interface ExpectedReply {
  /** The ids of the JSON-RPC requests in the client's message. */
  readonly keys: readonly IdKey[]
  /** The one form that the client accepts; undefined: both. */
  readonly form?: 'json' | 'stream' | undefined
  /** The HTTP status of responses for which the server has chosen none. */
  readonly statusOf: (responses: readonly Frame[]) => number
  /** The status when the message has no requests, and the server has sent nothing. */
  readonly emptyStatus: 202 | 400
  /** The response to a call that the relay refuses because its client lacks scopes. */
  readonly challenge?: (scopes: readonly string[]) => Refusal | undefined
}

export const nothingExpected: ExpectedReply = { keys: [], statusOf: () => 200, emptyStatus: 202 }

/** The high-water mark: a client with more unread bytes counts as slow. */
const fullBytes = 256 * 1024

/** Proxies must not buffer, store or compress a stream. */
const streamHeaders = [['cache-control', 'no-cache, no-transform'], ['x-accel-buffering', 'no']] as const

const nothing = () => {}

/**
 * The HTTP response to one HTTP request. It is one JSON text when the first message that is sent is a
 * response. It is a stream of events when another message is sent first. In front of an HTTP server, the
 * headers of that server choose between the two.
 */
export class Reply {
  readonly #expected: ExpectedReply
  readonly #change: ((head: ResponseHead) => ResponseHead) | undefined
  #state: 'waiting' | 'streaming' | 'done' = 'waiting'
  #head: ResponseHead | undefined
  /** The number of responses that are still to come. */
  #pending: number
  /** Responses that are sent together, as one JSON text. */
  #collected: Frame[] = []
  /** True when the server sends only responses from now on: the last response ends the stream. */
  #endsWithResponses = false
  #full = false
  /** The number of calls of `keepAlive` since bytes were written. */
  #silence = 0
  /** The response that was sent as a whole. */
  #whole: Frame | undefined
  #onDrained: () => void = nothing
  #onOver: () => void = nothing

  /**
   * @param follows true for an HTTP server, which chooses the form: nothing is sent before that server's head
   * @param session the session id that the front has created
   * @param change changes the head of an HTTP server's response
   */
  constructor(
    private readonly response: FrontResponse,
    expected: ExpectedReply,
    private readonly follows: boolean,
    private readonly session: string | undefined,
    change?: (head: ResponseHead) => ResponseHead,
  ) {
    this.#change = change
    this.#expected = expected
    this.#pending = expected.keys.length
    response.setPending?.(expected.keys)
  }

  /**
   * @param drained called when the client reads again, or is gone, after `full`
   * @param over called once, when the response is complete or cut off
   */
  watch(drained: () => void, over: () => void): void {
    this.#onDrained = drained
    this.#onOver = over
    // No listener stays: a connection keeps its last response, and a listener of that response would keep
    // this reply in memory.
    onceOver(this.response, () => this.#over())
  }

  get done(): boolean {
    return this.#state === 'done'
  }

  /** Once it is over: the client got the head. */
  get hasHead(): boolean {
    return this.response.headersSent
  }

  get full(): boolean {
    return this.#full
  }

  /** The ids of the requests that this HTTP response answers. */
  get expected(): readonly IdKey[] {
    return this.#expected.keys
  }

  /** Whether responses are still to come. */
  get awaited(): boolean {
    return this.#pending > 0
  }

  /** Opens the stream at once. */
  stream(): void {
    if (this.#state !== 'waiting') return
    this.#state = 'streaming'
    const headers = this.#head?.headers
    const own = streamHeaders.flatMap(header => (headers?.has(header[0]) === true ? [] : header))
    this.#writeHead(this.#carrying(this.#head?.status ?? 200), eventStream, own)
    // The head and the events of this turn are sent in one segment.
    const { socket } = this.response
    socket?.cork()
    process.nextTick(() => socket?.uncork())
    // Node's `flushHeaders` writes the head as UTF-8, and would encode Latin-1 a second time.
    if (this.response.sendHead) this.response.sendHead()
    else this.response.write(noBytes)
    for (const frame of this.#collected) this.#writeEvent(frame)
    this.#collected = []
  }

  head(head: ResponseHead): void {
    if (this.#state !== 'waiting' || this.#head) return
    this.#head = this.#change?.(head) ?? head
    if (mediaType(head.headers) === eventStream) this.stream()
  }

  /** Writes lines of an event stream that hold no message: comments, and events without data. */
  between(lines: string): void {
    if (this.#state === 'streaming') this.#write(Buffer.from(lines))
  }

  send(frame: Frame): void {
    if (this.#state === 'done') return
    const { response, neededScopes } = frame.envelope ?? {}
    const challenge = neededScopes && this.#expected.challenge?.(neededScopes)
    const head = challenge ? { ...challenge, headers: headersOf(challenge.headers ?? {}) } : response
    if (head) this.head(head)
    // The body of an HTTP error answers all pending requests, although the body names none of them.
    const isWhole = frame.message.kind === 'page' && frame.message.key === undefined
    const responses = isWhole ? this.#pending : responsesIn(frame)
    this.#pending -= responses
    if (this.#state === 'waiting') {
      if (responses > 0 || this.#head) {
        this.#collected.push(frame)
        if (this.#pending <= 0) this.#endCollected()
        return
      }
      // A client that reads JSON only gets its responses and nothing before them.
      if (this.#expected.form === 'json') return
      this.stream()
    }
    this.#writeEvent(frame)
    release(frame)
    // A stream that an HTTP server has opened normally ends when that server ends it.
    if (responses > 0 && this.#pending <= 0 && (!this.#head || this.#endsWithResponses)) this.finish()
  }

  /** Ends the stream after its last response, without waiting for further messages. */
  endWithResponses(): void {
    this.#endsWithResponses = true
    if (this.#state === 'streaming' && this.expected.length > 0 && this.#pending <= 0) this.finish()
  }

  /**
   * Called when the server's HTTP response is over. Pending responses are awaited, unless the client can
   * fetch them later.
   */
  streamEnded(resumable: boolean): void {
    this.#endsWithResponses = true
    if (resumable || this.#pending <= 0) this.finish()
  }

  /**
   * Ends the HTTP response. A stream is closed; collected responses are sent. Where there is none, the client
   * gets the status of the server, 202 or an error.
   */
  finish(): void {
    if (this.#state === 'done') return
    if (this.#state === 'streaming') {
      this.#state = 'done'
      this.response.end()
    } else if (this.#collected.length > 0) this.#endCollected()
    else if (this.#head?.status === 502 && this.#head.headers.size === 0) this.#endWith(unanswered)
    else if (this.#head) this.#end(this.#head.status)
    else if (this.#expected.emptyStatus === 400) this.#endWith(unreadable)
    else if (this.expected.length > 0) this.#endWith(unanswered)
    else this.#end(202)
  }

  /** Cuts the response off. */
  destroy(): void {
    this.response.destroy()
  }

  #endCollected(): void {
    const status = this.#statusOf(this.#collected)
    if (this.#expected.form === 'stream' && status < 300) {
      this.stream()
      return this.finish()
    }
    const [first, ...more] = this.#collected
    if (first === undefined || more.length > 0) return this.#end(status, joined(this.#collected))
    this.#whole = first
    const isPage = first.message.kind === 'page'
    // The page of an HTTP error keeps the content type that the server has sent.
    const type = isPage ? only(this.#head?.headers ?? noHeaders, 'content-type') ?? '' : jsonType
    this.#end(status, first.bytes, type)
  }

  #endWith(refused: Pick<Refusal, 'status' | 'code' | 'message'>): void {
    this.#end(refused.status, refusalBody(refused, this.#onlyId()))
  }

  /**
   * The status of an HTTP response with responses. Where the relay made all of them, the relay chooses the
   * status too: with the server's status (such as 202) a client may not read the body.
   */
  #statusOf(responses: readonly Frame[]): number {
    const status = this.#head?.status
    const isOurs = responses.every(({ relayMade, message }) => relayMade === true || message.kind === 'batch')
    if (status === undefined || (isOurs && status < 400)) return this.#expected.statusOf(responses)
    return this.#carrying(status)
  }

  /**
   * The status; 200 in place of a status with which clients read no body, when responses are expected.
   */
  #carrying(status: number): number {
    return this.expected.length > 0 && bodiless.has(status) ? 200 : status
  }

  #end(status: number, body?: Buffer, type: string | undefined = jsonType): void {
    this.#state = 'done'
    // A 204 has no length (RFC 9110, section 8.6).
    const own = status === 204 ? [] : ['content-length', String(body?.length ?? 0)]
    this.#writeHead(status, body && type !== '' ? type : undefined, own)
    this.response.end(body)
  }

  #writeHead(status: number, type: string | undefined, own: readonly string[]): void {
    const headers = this.#head?.headers ?? noHeaders
    writeHead(this.response, { status, headers, type, own, session: this.session })
  }

  #writeEvent(frame: Frame): void {
    this.#write(encodeEvent(frame))
    if (responsesIn(frame) === 0) return
    this.response.setAnswered?.(this.#pending > 0 ? responseKeys(frame) : this.expected)
  }

  #write(bytes: Buffer): void {
    this.#silence = 0
    const free = this.response.write(bytes)
    if (free || this.#full || this.response.writableLength < fullBytes) return
    this.#full = true
    this.response.once('drain', () => this.#onDrain())
  }

  #onDrain(): void {
    if (!this.#full) return
    this.#full = false
    this.#onDrained()
  }

  /**
   * Called at equal intervals. After `checks` calls without a byte written, a stream gets a comment, so that
   * nobody closes it as idle. A response that waits for a slow call becomes a stream first.
   */
  keepAlive(checks: number): void {
    if (++this.#silence < checks) return
    this.#silence = 0
    const mayStream = !this.follows && this.#expected.form !== 'json'
    if (this.#state === 'waiting' && mayStream && this.#pending > 0) this.stream()
    if (this.#state === 'streaming' && !this.response.writableNeedDrain) this.response.write(keepAlive)
  }

  #over(): void {
    this.#state = 'done'
    const { writableFinished, isWrittenLater } = this.response
    if (this.#whole && writableFinished === true && isWrittenLater !== true) release(this.#whole)
    this.#onDrain()
    this.#onOver()
  }

  #onlyId(): IdKey | undefined {
    return this.expected.length === 1 ? this.expected[0] : undefined
  }
}

const noBytes = Buffer.alloc(0)
const noHeaders: HttpHeaders = new Map()

/**
 * Clients of MCP do not read a body with 202. HTTP clients do not read one with 204, 205 and 304 (RFC 9110,
 * sections 15.3 and 15.4.5).
 */
const bodiless: ReadonlySet<number> = new Set([202, 204, 205, 304])

/** The responses to a batch, as one batch. */
const joined = (frames: readonly Frame[]): Buffer =>
  Buffer.concat([...frames.flatMap(({ bytes }, index) => [index === 0 ? opening : comma, bytes]), closing])
const [opening, comma, closing] = [Buffer.from('['), Buffer.from(','), Buffer.from(']')]

/** The number of responses in a frame. An unparsable frame that passes counts as one to its first id. */
const responsesIn = (frame: Frame): number =>
  frame.message.kind === 'unusable' ? Math.min(1, frame.message.keys.length) : responseKeys(frame).length

const unanswered = { status: 502, code: errorCode.gone, message: 'The server gave no answer' }
const unreadable = {
  status: 400, code: errorCode.blocked, message: 'The body is no message that can be passed on',
}
