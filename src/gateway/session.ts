import { ChurnMap } from '#core/memory.js'
import {
  type Effect, type Entry, type Event, type Exchange, type Side, type Timer, stdioExchange,
} from '#core/event.js'
import type { Batches } from '#core/batches.js'
import { errorAnswer } from '#core/refusal.js'
import type { SharedSession } from '#core/shared.js'
import { asError } from '#errors.js'
import { errorCode } from '#protocol/json-rpc.js'
import type { Frame } from '#protocol/frame.js'
import type { Exit, HttpHeaders, Transport, TransportEvent } from '#transport/transport.js'
import { Backpressure } from './backpressure.js'
import type { RunningChecks } from './checks.js'
import { Holds } from './holds.js'
import { type Hooks, traced } from './hooks.js'
import { Outbox, auditErrorFor } from './outbox.js'

export interface SessionParts extends Hooks {
  readonly client: Transport
  readonly server: Transport
  readonly relay: Batches
  readonly checks: RunningChecks
  readonly shared?: SharedSession | undefined
}

export interface Ended {
  readonly reason: string
  /** How the server's process ended; undefined when the server is no process of ours. */
  readonly exit: Exit | undefined
  /** The error that stopped the session, if any. */
  readonly failure: Error | undefined
  /** True when the audit log failed, and not the relay. */
  readonly isAuditFailure: boolean
}

/** The loop of one session: turns transport events into relay events, and performs the effects. */
export class Session {
  readonly ended: Promise<Ended>
  readonly #ends: Readonly<Record<Side, Transport>>
  readonly #relay: Batches
  readonly #audit: Hooks['audit']
  readonly #observer: Hooks['observer']
  readonly #recorder: SessionParts['recorder']
  readonly #health: Hooks['health']
  readonly #timers = new ChurnMap<Timer, NodeJS.Timeout>()
  readonly #backpressure: Backpressure
  readonly #outbox = new Outbox(
    failure => this.#fail(failure, noAudit), cause => this.#fail(cause, brokenRelay),
  )
  readonly #waiting: Event[] = []
  readonly #checks: RunningChecks
  readonly #shared: SharedSession | undefined
  /** The questions to the shared state in progress. */
  readonly #shares = new Holds<number>()
  /**
   * The exchange of the client frame that is handled now, and the sides that were sent a frame on it.
   * `later`: the shared state decides what is sent.
   */
  #current: { readonly exchange: Exchange; readonly sent: Record<Side | 'later', boolean> } | undefined
  #busy = false
  #clientIsGone = false
  /** Runs while a client that closed its input still waits for responses. */
  #grace: NodeJS.Timeout | undefined
  #urgency = 0
  /** Resolves when the server is closed. */
  #serverClosed: Promise<void> | undefined
  #over = false
  #failure: Error | undefined
  /** Set when records cannot be written: the reason that waiting requests get. */
  #auditFailure: string | undefined
  readonly #contained: (cause: unknown) => void
  #exit: Exit | undefined
  #resolve: (ended: Ended) => void = () => undefined

  constructor(
    { client, server, relay, checks, shared, audit, observer, recorder, failed, health }: SessionParts,
  ) {
    this.#ends = { client, server }
    this.#backpressure = new Backpressure(this.#ends)
    this.#relay = relay
    this.#checks = checks
    this.#shared = shared
    this.#audit = audit
    this.#observer = observer
    this.#recorder = recorder
    this.#health = health
    this.#contained = failed ?? (() => undefined)
    this.ended = new Promise(resolve => {
      this.#resolve = resolve
    })
  }

  start(): void {
    for (const side of ['server', 'client'] as const)
      this.#ends[side].start(event => this.#guarded(() => this.#onEvent(side, event)))
  }

  /**
   * Asks the server to end; its last responses are forwarded.
   * @param urgency from 1; each step ends the server faster
   */
  stop(urgency = 1): void {
    if (urgency <= this.#urgency) return
    this.#urgency = urgency
    this.#outbox.do(() => {
      this.#serverClosed = this.#ends.server.close(urgency)
    })
  }

  /** Calls a function; an exception in it ends this session only, not the process. */
  #guarded(act: () => void): void {
    try {
      act()
    } catch (error) {
      this.#fail(error, brokenRelay)
    }
  }

  #onEvent(side: Side, event: TransportEvent): void {
    switch (event.type) {
      case 'frame':
        if (side === 'client') return this.#clientFrame(event.exchange, this.#traced(event.frame))
        if (this.#shared === undefined) return this.#serverFrame(event)
        this.#noteHead(this.#shared, event.frame.envelope?.response?.headers)
        if (event.frame.envelope?.event === undefined) return this.#serverFrame(event)
        this.#dispatch({ type: 'resumable', exchange: event.exchange })
        return this.#shares.after(event.exchange, () => this.#serverFrame(event))
      case 'bare-request':
        this.#shared?.touch()
        return this.#outbox.do(() => this.#ends.server.open?.(event.exchange, event))
      case 'head':
      case 'between':
      case 'stream-ended':
        if (event.type === 'head' && event.status >= 500)
          this.#health?.failed('refusal', `the server answered with HTTP ${event.status}`)
        if (this.#shared !== undefined) {
          if (event.type === 'head') this.#noteHead(this.#shared, event.headers)
          if (event.type === 'between' && /^id:/m.test(event.lines))
            this.#dispatch({ type: 'resumable', exchange: event.exchange })
        }
        // The end of a stream must not overtake a response in it that is still being judged.
        return this.#shares.after(event.exchange, () => this.#checks.after(event.exchange, () =>
          this.#outbox.do(() => {
            if (this.#ends.client.hand?.(event) === false)
              this.#backpressure.pause('server', 'client', event.exchange)
          }),
        ))
      case 'lost':
        if (side === 'server' && this.#urgency === 0) this.#health?.failed('refusal', event.reason)
        return this.#dispatch({
          type: 'request-lost', exchange: event.exchange, key: event.key, reason: event.reason,
        })
      case 'undelivered':
        return this.#dispatch({ type: 'undelivered', key: event.key })
      case 'exchange-ended':
        this.#dispatch({ type: 'exchange-ended', exchange: event.exchange })
        return this.#outbox.do(() => this.#ends.server.shut?.(event.exchange))
      case 'drained':
        return this.#backpressure.resume(side, event.exchange)
      case 'ended':
        if (side === 'server') {
          this.#dispatch({ type: 'server-gone', reason: event.reason })
          this.#exit = event.exit
          return this.#checks.afterAll(() => this.#dispatch({ type: 'session-ended', reason: event.reason }))
        }
        return this.#clientEnded(event.graceMs)
      default:
        event satisfies never
    }
  }

  #serverFrame(event: Extract<TransportEvent, { readonly type: 'frame' }>): void {
    if (event.frame.message.kind === 'result') this.#health?.answered()
    this.#frame('server', event)
    // If the request was already answered, close the HTTP response now.
    if (event.whole) this.#checks.after(event.exchange, () => this.#complete(event.exchange))
  }

  /** The server names the session in a response's head. */
  #noteHead(shared: SharedSession, headers: HttpHeaders | undefined): void {
    const [id] = headers?.get('mcp-session-id') ?? []
    if (id !== undefined) shared.named(id)
  }

  #traced(frame: Frame): Frame {
    const begun = this.#observer?.begun
    return begun === undefined ? frame : traced(frame, begun)
  }

  #frame(from: Side, { exchange, frame }: { readonly exchange: Exchange; readonly frame: Frame }): void {
    this.#observer?.moved?.(from, frame.bytes.length)
    this.#dispatch({ type: 'frame-received', from, exchange, frame })
  }

  /** Handles a client message. Its HTTP request must be completed even when no response is due. */
  #clientFrame(exchange: Exchange, frame: Frame): void {
    const { server } = this.#ends
    const headers = frame.envelope?.headers
    if (headers)
      this.#outbox.do(() => server.open?.(exchange, { method: 'POST', headers, body: frame.bytes }))
    this.#shared?.touch()
    const sent = { client: false, server: false, later: false }
    this.#current = { exchange, sent }
    this.#frame('client', { exchange, frame })
    this.#current = undefined
    if (expectsResponse(frame) || sent.client || sent.later || (server.open && sent.server)) return
    this.#complete(exchange)
  }

  #complete(exchange: Exchange): void {
    this.#outbox.do(() => this.#ends.client.complete?.(exchange))
  }

  #clientEnded(graceMs = 0): void {
    this.#clientIsGone = true
    clearTimeout(this.#grace)
    this.#grace = undefined
    if (graceMs > 0) this.#grace = setTimeout(() => this.#clientEnded(), graceMs)
    this.#stopIfAlone()
  }

  /** Events that arrive while one is handled are queued, so that effects are performed in order. */
  #dispatch(event: Event): void {
    this.#waiting.push(event)
    this.#handleWaiting()
  }

  #handleWaiting(): void {
    if (this.#busy) return
    this.#busy = true
    try {
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift())
        this.#handle(next)
    } finally {
      this.#busy = false
    }
    if (this.#relay.isAboveHighWater) this.#backpressure.pause('client', 'queue', stdioExchange)
    else this.#backpressure.resume('queue', stdioExchange)
    this.#stopIfAlone()
  }

  #stopIfAlone(): void {
    // The server's input stays open for queued requests.
    if (!this.#clientIsGone || this.#relay.hasQueuedFrames) return
    if (this.#grace === undefined || !this.#relay.hasAwaitedRequest) this.stop()
  }

  #handle(event: Event): void {
    if (this.#over) return
    const startedAt = performance.now()
    const effects = this.#relay.handle(event, startedAt)
    this.#recorder?.handled(event, startedAt, effects)
    for (const effect of effects) {
      try {
        this.#perform(effect, startedAt)
      } catch (error) {
        this.#fail(error, brokenRelay)
      }
    }
    if (event.type === 'checked') this.#checks.release(event.check)
    if (event.type === 'session-ended') this.#finish(event.reason)
  }

  #perform(effect: Effect, startedAt: number): void {
    switch (effect.type) {
      case 'send':
        if (this.#current?.exchange === effect.exchange) this.#current.sent[effect.to] = true
        this.#noteLate(effect.frame)
        this.#outbox.do(() => this.#send(effect))
        break
      case 'audit':
        // The relay's own tools/list was not answered.
        if (effect.entry.event === 'tools/list' && effect.entry.from === 'relay' && effect.entry.reason)
          this.#health?.failed('silence', effect.entry.reason)
        // The core's clock stands still while it handles an event: add the time since.
        if (effect.entry.ms !== undefined) effect.entry.ms += performance.now() - startedAt
        this.#record(effect.entry)
        break
      case 'observe':
        this.#observer?.done(effect.operation)
        break
      case 'check':
        void this.#checks
          .begin(effect.check, effect.subjects, effect.exchange)
          .then(results =>
            this.#guarded(() => this.#dispatch({ type: 'checked', check: effect.check, results })),
          )
        break
      case 'share':
        this.#share(effect)
        break
      case 'hold':
        if (effect.isOver) this.#checks.release(effect.hold)
        else this.#checks.hold(effect.hold, effect.exchange)
        break
      case 'start-timer':
        this.#startTimer(effect.timer, effect.ms)
        break
      case 'stop-timer':
        clearTimeout(this.#timers.get(effect.timer))
        this.#timers.delete(effect.timer)
        break
      case 'abandon':
        this.#outbox.do(() => this.#ends.server.abandon?.(effect.exchange, effect.key))
        break
      case 'complete':
        if (effect.failed) this.#outbox.do(() => this.#ends.client.hand?.(unanswered(effect.exchange)))
        this.#complete(effect.exchange)
        break
      case 'failed':
        this.#contained(effect.cause)
        break
      case 'close':
        this.#fail(new Error(effect.reason, { cause: effect.cause }), effect.reason)
        break
      default:
        effect satisfies never
    }
  }

  #share({ share, ask, exchange }: Extract<Effect, { readonly type: 'share' }>): void {
    const reply = this.#shared?.ask(ask) ?? Promise.resolve('none' as const)
    if (share === undefined) return
    if (this.#current?.exchange === exchange) this.#current.sent.later = true
    this.#shares.hold(share, exchange)
    void reply.then(found => this.#guarded(() => {
      this.#dispatch({ type: 'shared', share, reply: found === 'others' ? 'none' : found })
      this.#shares.release(share)
    }))
  }

  #noteLate({ relayMade, message }: Frame): void {
    if (relayMade === true && message.kind === 'error' && message.error.code === errorCode.late)
      this.#health?.failed('silence', message.error.message.replace(/^mcp-customs: /, ''))
  }

  /** Sends a frame, unless its record could not be written. */
  #send({ to, exchange, frame, cause }: Extract<Effect, { readonly type: 'send' }>): void {
    const kept = this.#auditFailure === undefined ? frame : auditErrorFor(frame, this.#auditFailure)
    if (kept === undefined) return
    try {
      if (!this.#ends[to].send(exchange, kept)) this.#backpressure.pause(cause, to, exchange)
    } catch (error) {
      this.#contained(error)
      this.#notSent(to, exchange, kept)
    }
  }

  /** After a failed send: a request in the frame is lost, a response is replaced by an error. */
  #notSent(to: Side, exchange: Exchange, { message }: Frame): void {
    for (const one of message.kind === 'batch' ? message.members.map(member => member.message) : [message]) {
      if (to === 'server' && one.kind === 'request')
        this.#dispatch({ type: 'request-lost', exchange, key: one.key, reason: notSent })
      if (to === 'client' && (one.kind === 'result' || one.kind === 'error')) {
        this.#ends.client.send(exchange, errorAnswer(one, errorCode.blocked, `mcp-customs: ${notSent}`))
      }
    }
  }

  #startTimer(timer: Timer, ms: number): void {
    clearTimeout(this.#timers.get(timer))
    this.#timers.set(
      timer,
      setTimeout(() => {
        this.#timers.delete(timer)
        this.#guarded(() => this.#dispatch({ type: 'timer-fired', timer }))
      }, ms),
    )
  }

  #record(entry: Entry): void {
    if (this.#failure !== undefined) return
    try {
      const flush = this.#audit(entry)
      if (flush !== undefined) this.#outbox.recorded(flush)
    } catch (failure) {
      this.#fail(failure, noAudit)
    }
  }

  /** Ends the session; waiting requests get the reason. */
  #fail(failure: unknown, reason: string): void {
    if (this.#failure !== undefined) return
    this.#failure = asError(failure)
    if (reason === noAudit) this.#auditFailure = reason
    this.#waiting.unshift({ type: 'server-gone', reason, isFailure: reason !== noAudit })
    this.stop()
    this.#handleWaiting()
  }

  #finish(reason: string): void {
    this.#over = true
    for (const timer of this.#timers.values()) clearTimeout(timer)
    clearTimeout(this.#grace)
    this.stop()
    this.#observer?.ended?.(this.#failure !== undefined)
    this.#outbox.do(() => {
      const clientClosed = this.#ends.client.close()
      // A server transport may report `ended` while `stop` still waits for `close` to return. `#serverClosed`
      // is set only after that, so it is read later.
      void Promise.resolve()
        .then(() => Promise.all([clientClosed, this.#serverClosed]))
        .then(() =>
          this.#resolve({
            reason, exit: this.#exit, failure: this.#failure,
            isAuditFailure: this.#auditFailure !== undefined,
          }),
        )
    })
  }
}

/** HTTP 502. */
const unanswered = (exchange: Exchange) =>
  ({ type: 'head', exchange, status: 502, headers: new Map<string, string[]>() }) as const

const notSent = 'the message could not be sent'
const brokenRelay = 'the relay failed on a message of this session, which is over'
const noAudit = 'the audit log cannot be written, so nothing may pass'

const expectsResponse = ({ message }: Frame): boolean =>
  message.kind === 'request' ||
  (message.kind === 'batch' && message.members.some(({ message: { kind } }) => kind === 'request'))
