import type { Exchange } from '#relay/core/vocabulary.js'
import { stdioExchange } from '#relay/core/event.js'
import type { Frame, FrameLimits } from '#relay/protocol/frame.js'
import { parseFrame } from '#relay/protocol/parse.js'
import { isString, member, valueAt } from '#relay/protocol/json.js'
import { isCancellation, notificationBytes } from '#relay/protocol/message.js'
import { isModernRequest, type InputSchemaOf } from '../../http/headers.js'
import { machine } from '../../machine.js'
import { Latch, limited } from '../../timers.js'
import type { Transport } from '../../transport.js'
import { AuthorizedUpstream, type Authorizer } from '../authorized.js'
import { HttpSide, type UpstreamCall } from '../calls.js'
import { bodyKind, cursor } from '../messages.js'
import { failureOf, HttpUpstream, type HttpReply, type HttpRequests, type HttpTls } from '../pool.js'
import {
  agreedBy, HttpHandshake, beginsHandshake, isInitialized, renew, versionBy, type Agreed,
} from './handshake.js'
import { LegacySse, mayBeLegacy } from './legacy.js'
import { losesSession } from './lost-session.js'
import { Patience, patienceMs } from './patience.js'
import { backoff, exchangeFor, HttpResponses, refusedWith, saidBy, type Backoff } from './responses.js'

export interface HttpSessionOptions {
  readonly url: URL
  readonly tls?: HttpTls
  /** Connections that others use as well: they have the tokens, and are not closed with the session. */
  readonly upstream?: HttpRequests | undefined
  /** Gets tokens, where the server asks for them. */
  readonly authorizer?: Authorizer | undefined
  /** The operator's headers, by lower-case name, for every request. */
  readonly headers: ReadonlyMap<string, string>
  readonly limits: FrameLimits
  readonly inputSchemaOf: InputSchemaOf
  readonly backoff?: Backoff
  /** How long a request waits for a server that is restarting, in milliseconds. */
  readonly patienceMs?: number
  /** How long `close` waits for pending answers, and again for the end of the session, in milliseconds. */
  readonly stopMs?: number
  /** How long a stream is read after its last response, in milliseconds: some servers never end it. */
  readonly lingerMs?: number
}

/**
 * Faces an MCP server over HTTP for a stdio client: opens, keeps and ends the session. Uses Streamable HTTP
 * of every revision, and HTTP+SSE (2024-11-05) where the server supports nothing newer.
 */
export const httpSession = (options: HttpSessionOptions): Transport => new UpstreamSession(options)

class UpstreamSession extends HttpSide {
  readonly #upstream: HttpRequests
  readonly #handshake: HttpHandshake
  readonly #responses: HttpResponses
  /** Backpressure for all streams: the client has a single pipe. */
  readonly #latch = new Latch()
  readonly #closing = new AbortController()
  /**
   * Resolves at the end of the handshake or of a renewal. Frames wait for it, because a server may refuse a
   * frame that arrives earlier.
   */
  #turn: Promise<unknown> = Promise.resolve()
  #renewal: Promise<boolean> | undefined
  #legacy: LegacySse | undefined
  readonly #stopWaiting: (() => void) | undefined
  #waits = 0
  readonly #limits: FrameLimits

  constructor(private readonly options: HttpSessionOptions) {
    super(options.limits, options.stopMs)
    this.#limits = this.limitsFor(stdioExchange)
    const { authorizer } = options
    this.#upstream = options.upstream ?? ownUpstream(options)
    this.#stopWaiting = authorizer?.waiting(message => this.#tellWaiting(message))
    this.#handshake = new HttpHandshake(this.#upstream, options.headers, options.inputSchemaOf)
    this.#responses = new HttpResponses({
      limits: this.#limits,
      latch: this.#latch,
      backoff: options.backoff ?? backoff,
      get: (lastEventId, signal) => this.#handshake.get(lastEventId, signal),
      elsewhere: (call, reason) => this.#elsewhere(call, reason),
      onMessage: (exchange, frame) => this.#onMessage(exchange, frame),
    })
  }

  send(exchange: Exchange, frame: Frame): boolean {
    if (this.#cancels(exchange, frame)) return true
    const call = this.calls.start(exchange, frame)
    const turn = this.#turn
    if (beginsHandshake(frame) || isInitialized(frame)) this.#turn = turn.then(() => call.settled)
    void turn.then(() => this.#deliver(call))
    return true
  }

  protected latchOf(): Latch {
    return this.#latch
  }

  protected resumeAll(): void {
    this.#latch.open()
  }

  protected async finish(): Promise<void> {
    this.end('the connection to the server was closed')
    const limit = limited(this.stopMs)
    await this.#handshake.leave(limit.signal)
    limit.stop()
    if (this.options.upstream === undefined) await this.#upstream.close()
  }

  protected override end(reason: string): void {
    super.end(reason)
    this.#closing.abort()
    this.#stopWaiting?.()
    this.#legacy?.close()
  }

  /** @returns true when the cancellation is not sent: closing the stream tells a modern server */
  #cancels(exchange: Exchange, { message }: Frame): boolean {
    if (!isCancellation(message)) return false
    const id = member(message.params, 'requestId')
    const call = isString(id) || typeof id === 'number' ? this.calls.find(exchange, id) : undefined
    // A cancelled request is not reported as lost.
    call?.forget()
    if (!call) return this.#handshake.agreed === undefined && !this.#legacy
    if (isModernRequest(call.frame)) call.abort()
    return isModernRequest(call.frame)
  }

  /** A user has to log in: requests that asked for progress hear of it, so that the client is patient. */
  #tellWaiting(message: string): void {
    this.#waits += 1
    if (this.#waits % secondsPerProgress !== 1) return
    for (const { exchange, frame } of this.calls.all()) {
      const { message: asked } = frame
      const progressToken = asked.kind === 'request' ? valueAt(asked.params, ['_meta', 'progressToken']) : undefined
      if (!isString(progressToken) && typeof progressToken !== 'number') continue
      const params = { progressToken, progress: this.#waits, message }
      const told = notificationBytes('notifications/progress', params)
      this.report({ type: 'frame', exchange, frame: parseFrame(told, this.options.limits) })
    }
  }

  async #deliver(call: UpstreamCall): Promise<void> {
    call.linger(this.options.lingerMs ?? 5000)
    let reason: string
    try {
      if (call.aborted) reason = failureOf(undefined)
      else reason = await (this.#legacy ? this.#legacy.post(call) : this.#post(call, true))
    } catch (error) {
      reason = failureOf(error)
    }
    this.calls.end(call)
    this.lose(call, reason)
  }

  /**
   * @param first false after the server has lost the session once
   * @returns why the requests that are still unanswered get no answer
   */
  async #post(call: UpstreamCall, first: boolean): Promise<string> {
    const { frame } = call
    const { agreed } = this.#handshake
    const lost = first && agreed?.id !== undefined && !isModernRequest(frame) && !beginsHandshake(frame)
      ? agreed : undefined
    const patience = this.#patience(frame, call.signal)
    for (;;) {
      const reply = await patience.send(() => this.#handshake.post(frame, call))
      if (reply.status < 400 || (bodyKind(reply) !== 'error' && !beginsHandshake(frame)))
        return this.#answered(call, reply, lost)
      const refusal = await this.#responses.refusal(reply, call)
      const error = refusal.frame
      if (lost !== undefined && losesSession(refusal) && (isPlainlyLost(reply) || !namesSession(frame)))
        return this.#sessionLost(call, lost, error)
      if (await patience.after(reply, refusal.text) && isWanted(call)) continue
      if (beginsHandshake(frame)) return this.#refused(call, reply, error)
      if (error !== undefined) this.#onMessage(exchangeFor(call, error), error)
      return refusedWith(reply)
    }
  }

  async #answered(call: UpstreamCall, reply: HttpReply, lost: Agreed | undefined): Promise<string> {
    const { frame, unanswered } = call
    if (beginsHandshake(frame)) this.#handshake.enter(agreedBy(frame, reply))
    if (reply.status < 300) this.#accepted(frame)
    if (unanswered.size === 0) call.settle()
    let count = 0
    // A server that has said anything before has begun the request.
    const outcome = await this.#responses.answer(call, reply, received =>
      count++ === 0 && lost !== undefined && received.message.kind === 'error'
      && unanswered.has(received.message.key) && losesSession({ ...reply, ...saidBy(received) })
      && (isPlainlyLost(reply) || !namesSession(frame)))
    if (isString(outcome)) return outcome
    return lost === undefined ? '' : this.#sessionLost(call, lost, outcome)
  }

  #patience(frame: Frame, signal: AbortSignal): Patience {
    return new Patience({ frame, signal, ms: this.options.patienceMs ?? patienceMs })
  }

  /** The server has accepted a frame: opens the stream of unsolicited messages after the handshake. */
  #accepted(frame: Frame): void {
    const { agreed } = this.#handshake
    if (agreed && isInitialized(frame)) agreed.initialized = frame
    if (agreed?.initialized && agreed.stream === 'closed') void this.#listen(agreed)
  }

  async #listen(agreed: Agreed): Promise<void> {
    const lost = await this.#responses.listen(agreed)
    for (const call of this.calls.all()) if (call.elsewhere !== undefined) call.settle()
    if (lost) await this.#renewed(agreed)
  }

  async #elsewhere(call: UpstreamCall, reason: string): Promise<string> {
    const { agreed } = this.#handshake
    if (call.isAnswered || agreed?.stream !== 'open' || isModernRequest(call.frame)) return reason
    call.elsewhere = agreed.id ?? ''
    this.lose(call, reason)
    await call.settled
    call.elsewhere = undefined
    return reason
  }

  /** @param error that says so: for the client, where no new session helps */
  async #sessionLost(call: UpstreamCall, lost: Agreed, error: Frame | undefined): Promise<string> {
    const renewed = await this.#renewed(lost)
    // A server that does not know the session has not executed the request: it can be sent again.
    if (renewed && call.hasRequests && isWanted(call)) return this.#post(call, false)
    if (error !== undefined) this.#onMessage(exchangeFor(call, error), error)
    return `the server has ended the session${renewed ? '' : ', and a new one could not be begun'}`
  }

  /**
   * Renews a lost session once, however many calls report the loss.
   * @returns false when there is no new one
   */
  #renewed(lost: Agreed): Promise<boolean> {
    if (this.#handshake.agreed !== lost) return Promise.resolve(true)
    if (this.#renewal) return this.#renewal
    const limit = limited(renewMs)
    const renewal = renew({
      handshake: this.#handshake,
      lost,
      signal: AbortSignal.any([this.#closing.signal, limit.signal]),
      patience: (frame, signal) => this.#patience(frame, signal),
      read: (reply, onMessage) => this.#responses.read(reply, cursor(), undefined, onMessage),
      onMessage: frame => this.#onMessage(stdioExchange, frame),
    }).catch(() => false).then(renewed => {
      limit.stop()
      this.#renewal = undefined
      if (renewed) this.report({ type: 'renewed' })
      if (renewed && lost.initialized) this.#accepted(lost.initialized)
      return renewed
    })
    this.#renewal = renewal
    // Frames that the client sends meanwhile wait for the new session.
    this.#turn = Promise.all([this.#turn, renewal])
    return renewal
  }

  /** The server has refused `initialize`: it may support HTTP+SSE only. */
  async #refused(call: UpstreamCall, reply: HttpReply, error: Frame | undefined): Promise<string> {
    if (mayBeLegacy(reply.status, error)) {
      const { headers } = this.options
      const legacy = new LegacySse({
        upstream: this.#upstream, headers, limits: this.#limits, latch: this.#latch,
        onMessage: frame => this.#onMessage(stdioExchange, frame),
        ended: ended => this.end(ended),
      })
      if (await legacy.open()) {
        this.#legacy = legacy
        return legacy.post(call)
      }
    }
    if (error !== undefined) this.#onMessage(call.exchange, error)
    return refusedWith(reply)
  }

  #onMessage(exchange: Exchange, frame: Frame): void {
    const { agreed } = this.#handshake
    if (agreed) agreed.version ??= versionBy(agreed, frame)
    this.reportFrame(exchange, frame)
  }
}

const ownUpstream = ({ url, tls, authorizer }: HttpSessionOptions): HttpRequests => {
  const upstream = machine.httpServer?.(url) ?? new HttpUpstream(url, tls)
  return authorizer ? new AuthorizedUpstream(upstream, authorizer) : upstream
}

const secondsPerProgress = 5

/** Longest wait for a new session, in milliseconds. */
const renewMs = 30_000

/** HTTP says it by itself (2025-11-25, session management); other forms may be a tool's own words. */
const isPlainlyLost = ({ status }: HttpReply): boolean => status === 404 || status === 410

/** A call that was cancelled, or answered, while it waited is not sent again. */
const isWanted = ({ hasRequests, unanswered }: UpstreamCall): boolean => !hasRequests || unanswered.size > 0

const namesSession = ({ bytes }: Frame): boolean => /session/i.test(bytes.toString('latin1'))
