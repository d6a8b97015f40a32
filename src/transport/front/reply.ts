import type { Frame, ResponseHead } from '../../protocol/frame.js'
import { errorCode, type IdKey } from '../../protocol/json-rpc.js'
import { answerKeys } from '../frames.js'
import { eventStream, isUtf8, json, mediaType, only } from '../http/headers.js'
import { encodeEvent, keepAlive } from '../sse/event.js'
import type { HttpHeaders } from '../transport.js'
import { refusalBody } from './refusal.js'
import type { FrontResponse } from './request.js'

/** What a request is owed. */
export interface Owed {
  /** The ids of the requests in the client's message, one per answer that is due. */
  readonly due: readonly IdKey[]
  /** The status of answers for which the server has named none. */
  readonly statusOf: (answers: readonly Frame[]) => number
  /** The status when nothing was due, and nothing came. */
  readonly settledStatus: 202 | 400
}

export const nothingOwed: Owed = { due: [], statusOf: () => 200, settledStatus: 202 }

/** From here on a reader counts as slow, in bytes that it has not taken. */
const fullBytes = 256 * 1024

/** What a proxy in between must not do with a stream: keep it back, store it or pack it. */
const streamHeaders = [['cache-control', 'no-cache, no-transform'], ['x-accel-buffering', 'no']] as const

/** So many answers of one response are known, should the client not get them. */
const mostSent = 64

const nothing = () => {}

/**
 * The answer to one HTTP request, as it takes shape: one JSON text when the answer is the first thing to be sent, a stream of
 * events when something else comes first; or what a server that speaks HTTP itself has chosen.
 */
export class Reply {
  readonly #response: FrontResponse
  readonly #owed: Owed
  readonly #follows: boolean
  readonly #session: string | undefined
  #state: 'waiting' | 'streaming' | 'done' = 'waiting'
  #head: ResponseHead | undefined
  /** Answers that are still to come. */
  #due: number
  /** Answers that leave together, as one JSON text. */
  #collected: Frame[] = []
  #lastCall = false
  #full = false
  /** Looks since something was written. */
  #silence = 0
  /** The newest answers in it. */
  readonly #sent: IdKey[] = []
  #onDrained: () => void = nothing
  #onOver: () => void = nothing

  /**
   * @param follows the server speaks HTTP: the form of the answer is its choice, and is waited for
   * @param session the id that we gave it
   */
  constructor(response: FrontResponse, owed: Owed, follows: boolean, session: string | undefined) {
    this.#response = response
    this.#owed = owed
    this.#follows = follows
    this.#session = session
    this.#due = owed.due.length
    response.owes?.(this.#onlyId())
    // Not `on`: a connection keeps its last response, which must not hold this reply and its frames.
    response.once('close', () => this.#over())
  }

  /**
   * @param drained the reader takes more again, or is gone, after `full`
   * @param over the response is over, whole or cut; said once
   */
  watch(drained: () => void, over: () => void): void {
    this.#onDrained = drained
    this.#onOver = over
  }

  /** @param told for each answer that the client may not have got, once the connection is gone */
  watchDelivery(told: (key: IdKey) => void): void {
    // Kept after the response is over: it must not hold this reply, and the frames with it.
    const sent = this.#sent
    this.#response.onUnread = () => sent.forEach(told)
  }

  get done(): boolean {
    return this.#state === 'done'
  }

  get full(): boolean {
    return this.#full
  }

  /** The ids of the requests that are answered by it, or were. */
  get due(): readonly IdKey[] {
    return this.#owed.due
  }

  /** Whether answers are still to come. */
  get awaited(): boolean {
    return this.#due > 0
  }

  /** Opens the stream at once. */
  stream(): void {
    if (this.#state !== 'waiting') return
    this.#state = 'streaming'
    const headers = this.#head?.headers
    this.#writeHead(this.#carrying(this.#head?.status ?? 200), eventStream, streamHeaders.flatMap(header => (headers?.has(header[0]) === true ? [] : header)))
    // What else is written in this turn leaves with it.
    const { socket } = this.#response
    socket?.cork()
    process.nextTick(() => socket?.uncork())
    // Node's `flushHeaders` writes the head as UTF-8, and would encode what a server said in Latin-1 a second
    // time.
    if (this.#response.sendHead) this.#response.sendHead()
    else this.#response.write(noBytes)
    for (const frame of this.#collected) this.#write(encodeEvent(frame))
    this.#collected = []
  }

  head(head: ResponseHead): void {
    if (this.#state !== 'waiting' || this.#head) return
    this.#head = head
    if (mediaType(head.headers) === eventStream) this.stream()
  }

  between(lines: string): void {
    if (this.#state === 'streaming') this.#write(Buffer.from(lines))
  }

  send(frame: Frame): void {
    if (this.#state === 'done') return
    if (frame.envelope?.response) this.head(frame.envelope.response)
    // The body of an HTTP error is the response to all that is due, also where it answers no single request.
    const isWhole = frame.message.kind === 'page' && frame.message.key === undefined
    const answers = isWhole ? this.#due : answersIn(frame)
    this.#due -= answers
    if (answers > 0) {
      this.#sent.push(...answerKeys(frame).slice(-mostSent))
      this.#sent.splice(0, this.#sent.length - mostSent)
    }
    if (this.#state === 'waiting') {
      if (answers > 0 || this.#head) {
        this.#collected.push(frame)
        if (this.#due <= 0) this.#endCollected()
        return
      }
      this.stream()
    }
    this.#write(encodeEvent(frame))
    if (this.#due <= 0) this.#response.owes?.(undefined)
    // Where the server chose a stream, it also says when that is over.
    if (answers > 0 && this.#due <= 0 && (!this.#head || this.#lastCall)) this.finish()
  }

  /** Nothing is waited for any more that is not an answer. */
  lastCall(): void {
    this.#lastCall = true
    if (this.#state === 'streaming' && this.#owed.due.length > 0 && this.#due <= 0) this.finish()
  }

  /** The server's response is over; the answers that are due follow, unless the client can fetch them later. */
  streamEnded(resumable: boolean): void {
    this.#lastCall = true
    if (resumable || this.#due <= 0) this.finish()
  }

  /** Nothing more will come: ends the answer in the form that it has. */
  finish(): void {
    if (this.#state === 'done') return
    if (this.#state === 'streaming') {
      this.#state = 'done'
      this.#response.end()
    } else if (this.#collected.length > 0) this.#endCollected()
    else if (this.#head?.status === 502 && this.#head.headers.size === 0) this.#end(502, refusalBody(unanswered, this.#onlyId()))
    else if (this.#head) this.#end(this.#head.status)
    else if (this.#owed.settledStatus === 400) this.#end(400, refusalBody(unreadable, this.#onlyId()))
    else if (this.#owed.due.length > 0) this.#end(502, refusalBody(unanswered, this.#onlyId()))
    else this.#end(202)
  }

  /** Cuts the answer off where it is. */
  destroy(): void {
    this.#response.destroy()
  }

  #endCollected(): void {
    const status = this.#statusOf(this.#collected)
    const [first, ...more] = this.#collected
    if (first === undefined || more.length > 0) return this.#end(status, joined(this.#collected))
    // A page is of the type that the server gave it.
    this.#end(status, first.bytes, first.message.kind === 'page' ? only(this.#head?.headers ?? noHeaders, 'content-type') ?? '' : json)
  }

  /** An answer of ours has a status of ours: the server's may say that there is none. */
  #statusOf(answers: readonly Frame[]): number {
    const status = this.#head?.status
    const isOurs = answers.every(({ relayMade, message }) => relayMade === true || message.kind === 'batch')
    return status === undefined || (isOurs && status < 400) ? this.#owed.statusOf(answers) : this.#carrying(status)
  }

  /** A status by which a client reads no body cannot be that of answers. */
  #carrying(status: number): number {
    return this.#owed.due.length > 0 && bodiless.has(status) ? 200 : status
  }

  #end(status: number, body?: Buffer, type: string | undefined = json): void {
    this.#state = 'done'
    // A 204 has no length (RFC 9110, section 8.6).
    this.#writeHead(status, body && type !== '' ? type : undefined, status === 204 ? [] : ['content-length', String(body?.length ?? 0)])
    this.#response.end(body)
  }

  #writeHead(status: number, type: string | undefined, own: readonly string[]): void {
    writeHead(this.#response, { status, headers: this.#head?.headers ?? noHeaders, type, own, session: this.#session })
  }

  #write(bytes: Buffer): void {
    this.#silence = 0
    const free = this.#response.write(bytes)
    if (free || this.#full || this.#response.writableLength < fullBytes) return
    this.#full = true
    this.#response.once('drain', () => this.#onDrain())
  }

  #onDrain(): void {
    if (!this.#full) return
    this.#full = false
    this.#onDrained()
  }

  /**
   * Called again and again: a stream that was silent since so many looks gets a comment, and a long call
   * becomes a stream for it.
   */
  look(looks: number): void {
    if (++this.#silence < looks) return
    this.#silence = 0
    if (this.#state === 'waiting' && !this.#follows && this.#due > 0) this.stream()
    if (this.#state === 'streaming' && !this.#response.writableNeedDrain) this.#response.write(keepAlive)
  }

  #over(): void {
    this.#state = 'done'
    this.#onDrain()
    this.#onOver()
  }

  #onlyId(): IdKey | undefined {
    return this.#owed.due.length === 1 ? this.#owed.due[0] : undefined
  }
}

const noBytes = Buffer.alloc(0)
const noHeaders: HttpHeaders = new Map()

/** With 202 a client of Streamable HTTP reads no answer; with the others nobody does (RFC 9110, sections 15.3 and 15.4.5). */
const bodiless: ReadonlySet<number> = new Set([202, 204, 205, 304])

/** Answers to a batch, as one. */
const joined = (frames: readonly Frame[]): Buffer =>
  Buffer.concat([Buffer.from('['), ...frames.flatMap(({ bytes }, index) => (index === 0 ? [bytes] : [Buffer.from(','), bytes])), Buffer.from(']')])

/** An unparsable frame that passes counts as the answer to its first id. */
const answersIn = (frame: Frame): number =>
  frame.message.kind === 'unusable' ? Math.min(1, frame.message.keys.length) : answerKeys(frame).length

const unanswered = { code: errorCode.gone, message: 'The server gave no answer' }
const unreadable = { code: errorCode.blocked, message: 'The body is no message that can be passed on' }

interface Head extends ResponseHead {
  /** Of the body; the server's type stands where it is of the same kind: it may carry parameters. */
  readonly type: string | undefined
  /** Further names and values, in turn. */
  readonly own: readonly string[]
  /** The id that we gave the session. */
  readonly session: string | undefined
}

/**
 * Writes all of it at once: header by header costs more. Headers for browsers, which were set before, stay.
 */
const writeHead = (response: FrontResponse, { status, headers, type, own, session }: Head): void => {
  const raw: (string | string[])[] = [...own]
  const theirs = type === mediaType(headers) && isUtf8(headers)
  if (type !== undefined && !theirs) raw.push('content-type', type)
  for (const [name, values] of headers) {
    if (name === 'vary' && response.hasHeader(name)) response.appendHeader(name, values)
    else if (name === 'mcp-session-id') nameSession(response, raw, valueOf(values))
    else if (name === 'content-type' ? theirs : !isOurs(name)) raw.push(name, valueOf(values))
  }
  if (session !== undefined) nameSession(response, raw, session)
  response.writeHead(status, raw)
}

const nameSession = (response: FrontResponse, raw: (string | string[])[], id: string | string[]): void => {
  // The access log takes the id of a session that has just begun from the response.
  if (response.req.headers['mcp-session-id'] === id) raw.push('mcp-session-id', id)
  else response.setHeader('mcp-session-id', id)
}

const valueOf = (values: readonly string[]): string | string[] => (values.length === 1 ? values[0] ?? '' : [...values])

/** The relay alone says which pages may read what it answers, and how long it is. */
const isOurs = (name: string): boolean => name === 'content-length' || name.startsWith('access-control-')
