import { wholePipe, type Exchange } from '../core/event.js'
import { withoutLineEnds } from '../protocol/edit.js'
import type { Frame, FrameLimits } from '../protocol/frame.js'
import { isString, member } from '../protocol/json.js'
import { errorCode, type IdKey } from '../protocol/json-rpc.js'
import { Calls, type Call } from './http-calls.js'
import { agreedBy, HttpHandshake, isInitialize, isInitialized, versionBy, type Agreed } from './http-handshake.js'
import { Latch } from './http-latch.js'
import { listen } from './http-listener.js'
import { bodyKind, messagesOf, misfit, type Dressing } from './http-messages.js'
import { isModern, type InputSchemaOf } from './http-metadata.js'
import { renew } from './http-renewal.js'
import { backoff, cursor, resume, type Backoff, type Cursor } from './http-resume.js'
import { discard, failureOf, HttpUpstream, type HttpReply, type HttpTls } from './http-upstream.js'
import { LegacySse } from './server-http-legacy.js'
import type { Transport, TransportEvent } from './transport.js'

export interface HttpSessionOptions {
  readonly url: URL
  readonly tls?: HttpTls
  /** The operator's, by lower-case name, on every request. */
  readonly headers: ReadonlyMap<string, string>
  readonly limits: FrameLimits
  readonly inputSchemaOf: InputSchemaOf
  readonly backoff?: Backoff
  /** How long `close` waits for answers that are under way, and again for the end of the session, in milliseconds. */
  readonly stopMs?: number
}

/** Requests that change nothing, and may be made again when nobody knows what became of them. */
const reads: ReadonlySet<string> = new Set([
  'ping', 'tools/list', 'resources/list', 'resources/templates/list', 'resources/read', 'prompts/list', 'prompts/get',
  'completion/complete', 'tasks/list', 'tasks/get', 'tasks/result',
])

/** How long a stream is read on when all that was asked by it is answered, in milliseconds: some servers never end theirs. */
const lingerMs = 5000

/**
 * Faces an MCP server over HTTP, for a client that speaks through a pipe: the session is ours to open, to keep and to end. Speaks
 * Streamable HTTP of every revision, and HTTP+SSE (2024-11-05) where the server knows nothing newer.
 */
export const httpSession = (options: HttpSessionOptions): Transport => new HttpSession(options)

class HttpSession implements Transport {
  readonly #options: HttpSessionOptions
  readonly #upstream: HttpUpstream
  readonly #handshake: HttpHandshake
  readonly #calls = new Calls()
  readonly #latch = new Latch()
  readonly #closing = new AbortController()
  /** What goes out next waits for it: a server may refuse whatever overtakes the handshake. */
  #turn: Promise<unknown> = Promise.resolve()
  #renewal: Promise<boolean> | undefined
  #legacy: LegacySse | undefined
  #hear: (event: TransportEvent) => void = () => {}
  #closed: Promise<void> | undefined

  constructor(options: HttpSessionOptions) {
    this.#options = options
    this.#upstream = new HttpUpstream(options.url, options.tls)
    this.#handshake = new HttpHandshake(this.#upstream, options.headers, options.inputSchemaOf)
  }

  start(hear: (event: TransportEvent) => void): void {
    this.#hear = hear
  }

  send(exchange: Exchange, frame: Frame): boolean {
    if (this.#cancels(exchange, frame)) return true
    const call = this.#calls.start(exchange, frame)
    const turn = this.#turn
    if (isInitialize(frame) || isInitialized(frame)) this.#turn = turn.then(() => call.settled)
    void turn.then(() => this.#deliver(call))
    return true
  }

  abandon(exchange: Exchange, key: IdKey): void {
    this.#calls.abandon(exchange, key)
  }

  pause(): void {
    this.#latch.close()
  }

  resume(): void {
    this.#latch.open()
  }

  /** Called again, it waits for no answer any more. */
  close(): Promise<void> {
    if (this.#closed) this.#calls.hurry()
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    const stopMs = this.#options.stopMs ?? 1500
    this.#latch.open()
    await this.#calls.rest(stopMs)
    this.#end('the connection to the server was closed')
    await this.#handshake.leave(AbortSignal.timeout(stopMs))
    await this.#upstream.close()
  }

  #end(reason: string): void {
    this.#tell({ type: 'ended', reason })
    this.#closing.abort()
    this.#legacy?.close()
    for (const call of this.#calls.all()) call.abort()
  }

  /** @returns true when the server need not be told: a modern one learns of it by the closing of the stream */
  #cancels(exchange: Exchange, { message }: Frame): boolean {
    if (message.kind !== 'notification' || message.method !== 'notifications/cancelled') return false
    const id = member(message.params, 'requestId')
    const call = isString(id) || typeof id === 'number' ? this.#calls.find(exchange, id) : undefined
    // Who cancels does not wait any more: that no answer comes is no loss.
    call?.forget()
    if (!call) return this.#handshake.agreed === undefined && !this.#legacy
    if (isModern(call.frame)) call.abort()
    return isModern(call.frame)
  }

  async #deliver(call: Call): Promise<void> {
    const { exchange, unanswered, signal } = call
    const linger = call.settled.then(() => setTimeout(() => call.abort(), lingerMs))
    let reason: string
    try {
      signal.throwIfAborted()
      reason = await (this.#legacy ? this.#legacy.post(call) : this.#post(call, true))
    } catch (error) {
      reason = failureOf(error)
    }
    this.#calls.end(call)
    void linger.then(clearTimeout)
    for (const key of unanswered) this.#tell({ type: 'lost', exchange, key, reason })
  }

  /** @returns why there will be no answer to what has none by now */
  async #post(call: Call, first: boolean): Promise<string> {
    const { frame, signal } = call
    const { agreed } = this.#handshake
    const reply = await this.#handshake.post(frame, signal)
    if (isInitialize(frame)) {
      if (reply.status >= 400) return this.#refused(call, reply)
      this.#handshake.enter(agreedBy(frame, reply))
    } else if (reply.status === 404 && agreed?.id !== undefined && !isModern(frame)) {
      discard(reply)
      return this.#sessionLost(call, agreed, first)
    }
    return this.#answered(call, reply)
  }

  async #answered(call: Call, reply: HttpReply): Promise<string> {
    const { exchange, frame, unanswered } = call
    const kind = bodyKind(reply)
    const due = unanswered.size > 0
    if (reply.status < 300) this.#accepted(frame)
    if (!due) call.settle()
    if (kind === 'other') {
      discard(reply)
      const instead = due ? misfit(reply, [...unanswered]) : ''
      if (isString(instead)) return instead
      this.#told(exchange, instead)
      return 'the response could not be read'
    }
    const position = cursor()
    let reason = reply.status >= 400 ? `the server answered HTTP ${reply.status}` : 'the response ended before the answer'
    try {
      await this.#read(reply, position, call)
    } catch (error) {
      reason = failureOf(error)
    }
    const resumable = kind === 'sse' && position.lastEventId !== undefined && !isModern(frame)
    return resumable && unanswered.size > 0 ? this.#resumed(call, position) : reason
  }

  async #resumed(call: Call, position: Cursor): Promise<string> {
    const { signal, unanswered } = call
    const outcome = await resume({
      cursor: position,
      backoff: this.#backoff,
      signal,
      open: () => this.#handshake.get(position.lastEventId, signal),
      read: reply => this.#read(reply, position, call),
      done: () => unanswered.size === 0,
    })
    if (outcome === undefined || isString(outcome)) return outcome ?? ''
    discard(outcome)
    return `the stream was cut, and the server does not resume it (HTTP ${outcome.status})`
  }

  /** Every message of a body goes to the client, whichever stream it is. */
  async #read(reply: HttpReply, position: Cursor, call?: Call): Promise<void> {
    for await (const heard of this.#messagesOf(reply, position, call)) {
      // An error's page may be JSON as well; its status says more than that it is no message.
      if ('bytes' in heard && !(reply.status >= 400 && heard.message.kind === 'unusable')) this.#told(call?.exchange ?? wholePipe, heard)
    }
  }

  #messagesOf(reply: HttpReply, position = cursor(), call?: Call): AsyncIterable<Frame | Dressing> {
    const asked = () => [...(call?.unanswered ?? [])]
    return messagesOf(reply, { limits: this.#options.limits, latch: this.#latch, asked, cursor: position })
  }

  /** The server works: what hangs on the handshake goes on. */
  #accepted(frame: Frame): void {
    const { agreed } = this.#handshake
    if (agreed && isInitialized(frame)) agreed.initialized = frame
    if (agreed?.initialized && agreed.stream === 'closed') void this.#listen(agreed)
  }

  async #listen(agreed: Agreed): Promise<void> {
    const read = (reply: HttpReply, position: Cursor) => this.#read(reply, position)
    const lost = await listen({ handshake: this.#handshake, agreed, backoff: this.#backoff, read })
    if (lost) await this.#renewed(agreed)
  }

  async #sessionLost(call: Call, lost: Agreed, first: boolean): Promise<string> {
    if (!(await this.#renewed(lost))) return 'the server has ended the session, and a new one could not be begun'
    const { message } = call.frame
    if (first && message.kind === 'request' && reads.has(message.method)) return this.#post(call, false)
    return 'the server has ended the session; a new one was begun, but the request was not repeated: it may have been carried out'
  }

  /** Once for each session that is lost, whoever finds out first. @returns false when there is no new one */
  #renewed(lost: Agreed): Promise<boolean> {
    if (this.#handshake.agreed !== lost) return Promise.resolve(true)
    if (this.#renewal) return this.#renewal
    const renewal = renew({
      handshake: this.#handshake,
      lost,
      closing: this.#closing.signal,
      messagesOf: reply => this.#messagesOf(reply),
      told: frame => this.#told(wholePipe, frame),
    }).catch(() => false).then(renewed => {
      this.#renewal = undefined
      if (renewed && lost.initialized) this.#accepted(lost.initialized)
      return renewed
    })
    this.#renewal = renewal
    // What the client sends meanwhile goes to the new session.
    this.#turn = Promise.all([this.#turn, renewal])
    return renewal
  }

  /** A server that knows no Streamable HTTP may know HTTP+SSE (2025-11-25, backwards compatibility). */
  async #refused(call: Call, reply: HttpReply): Promise<string> {
    const { status } = reply
    const frames: Frame[] = []
    if (bodyKind(reply) === 'json') {
      for await (const heard of this.#messagesOf(reply)) if ('bytes' in heard && heard.message.kind === 'error') frames.push(heard)
    } else discard(reply)
    if ([400, 404, 405].includes(status) && !frames.some(frame => isModernRefusal(frame, status))) {
      const legacy = new LegacySse({
        upstream: this.#upstream,
        headers: this.#options.headers,
        reading: { limits: this.#options.limits, latch: this.#latch },
        told: frame => this.#told(wholePipe, frame),
        ended: reason => this.#end(reason),
      })
      if (await legacy.open()) {
        this.#legacy = legacy
        return legacy.post(call)
      }
    }
    for (const frame of frames) this.#told(call.exchange, frame)
    return `the server answered HTTP ${status}`
  }

  get #backoff(): Backoff {
    return this.#options.backoff ?? backoff
  }

  #told(exchange: Exchange, frame: Frame): void {
    const { agreed } = this.#handshake
    if (agreed?.version === undefined && agreed) agreed.version = versionBy(agreed, frame)
    this.#calls.answered(exchange, frame)
    this.#tell({ type: 'frame', exchange, frame: inOneLine(frame) })
  }

  #tell(event: TransportEvent): void {
    if (!this.#closing.signal.aborted) this.#hear(event)
  }
}

/** Modern errors (2026-07-28, error codes), and the modern answer to a method that is not known. */
const isModernRefusal = ({ message }: Frame, status: number): boolean =>
  message.kind === 'error' && (modernErrors.has(message.error.code) || (status === 404 && message.error.code === errorCode.methodNotFound))
const modernErrors: ReadonlySet<number> = new Set([errorCode.headerMismatch, -32021, -32022])

/** On a pipe a line end ends the message. */
const inOneLine = (frame: Frame): Frame => {
  const bytes = withoutLineEnds(frame.bytes)
  return bytes === frame.bytes ? frame : { ...frame, bytes }
}
