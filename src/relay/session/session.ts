import { stdioExchange } from '#relay/core/event.js'
import type { Relay } from '#relay/core/relay.js'
import type { Event, Exchange, HttpEvent, SharedSession, Side } from '#relay/core/vocabulary.js'
import { asError } from '#relay/base/errors.js'
import { frameCame } from '#relay/base/tier-up.js'
import type { Frame } from '#relay/protocol/frame.js'
import type { IdKey } from '#relay/protocol/json-rpc.js'
import { realTimers } from '#relay/transport/timers.js'
import type { Exit, HttpHeaders, Transport, TransportEvent } from '#relay/transport/transport.js'
import { Backpressure } from './backpressure.js'
import type { RunningChecks } from './checks.js'
import { Effects, type EffectsParts, noAudit } from './effects.js'
import { type Hooks, traced } from './hooks.js'
import { Outbox } from './outbox.js'

export interface SessionParts extends Hooks {
  readonly client: Transport
  readonly server: Transport
  readonly core: Relay
  readonly checks: RunningChecks
  readonly shared?: SharedSession | undefined
  readonly count?: EffectsParts['count']
}

export interface SessionOutcome {
  readonly reason: string
  /** How the server's process ended; undefined when the server is no process of ours. */
  readonly exit: Exit | undefined
  /** The error that stopped the session, if any. */
  readonly failure: Error | undefined
  /** True when the audit log failed, and not the relay. */
  readonly isAuditFailure: boolean
}

const brokenRelay = 'the relay failed on a message, so it ended this session'

/**
 * The loop of one session, until its end: turns transport events into events of the core, and has the effects
 * performed.
 */
export class Session {
  readonly ended: Promise<SessionOutcome>
  readonly #ends: Readonly<Record<Side, Transport>>
  readonly #core: Relay
  readonly #shared: SharedSession | undefined
  readonly #hooks: Hooks
  readonly #backpressure: Backpressure
  readonly #outbox = new Outbox(
    failure => this.#fail(failure, noAudit), cause => this.#fail(cause, brokenRelay),
  )
  readonly #waiting: Event[] = []
  readonly #checks: RunningChecks
  readonly #effects: Effects
  #isBusy = false
  #isFinished = false
  /** The exchange of the newest `initialize`. */
  #beginning: Exchange | undefined
  #isClientGone = false
  /** Runs while a client that closed its input still waits for responses. */
  #grace: (() => void) | undefined
  /** How fast the server was asked to end; 0: it was not. */
  #urgency = 0
  /** Resolves when the server is closed. */
  #serverClosed: Promise<void> | undefined
  #failure: { readonly error: Error; readonly reason: string } | undefined
  /** How the server's process ended. */
  #exit: Exit | undefined
  #resolve: (outcome: SessionOutcome) => void = () => undefined

  constructor({ client, server, core, checks, shared, count, ...hooks }: SessionParts) {
    this.#ends = { client, server }
    this.#core = core
    this.#checks = checks
    this.#shared = shared
    this.#hooks = hooks
    this.#backpressure = new Backpressure(this.#ends)
    this.#effects = new Effects({
      ...hooks, ends: this.#ends, outbox: this.#outbox, backpressure: this.#backpressure,
      checks, shared, count,
      failure: () => this.#failure?.reason,
      dispatch: event => this.#guarded(() => this.#dispatch(event)),
      fail: (failure, reason) => this.#fail(failure, reason),
      end: reason => this.#finish(reason),
    })
    this.ended = new Promise(resolve => {
      this.#resolve = resolve
    })
  }

  start(): void {
    for (const side of ['server', 'client'] as const) {
      this.#ends[side].start(event => this.#guarded(() => this.#onEvent(side, event)), this.#expected)
    }
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

  readonly #expected = (exchange: Exchange, key: IdKey, length: number): Buffer | undefined => {
    try {
      const schema = this.#core.outputSchemaFor(exchange, key)
      return schema === undefined ? undefined : this.#checks.tableOf(schema, length)
    } catch {
      // The value is checked after it was read.
      return undefined
    }
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
        if (side === 'client') return this.#clientFrame(event.exchange, event.frame)
        return this.#serverFrame(event)
      case 'bare-request':
        this.#shared?.touch()
        return this.#outbox.do(() => this.#ends.server.open?.(event.exchange, event))
      case 'head':
      case 'between':
      case 'stream-ended':
        // The head for a server that cannot be reached is ours, and has no headers.
        if (event.type === 'head' && event.status >= 500 && event.headers.size > 0)
          this.#hooks.health?.failed('refusal', `the server answered with HTTP ${event.status}`)
        if (this.#shared !== undefined) this.#learn(event, this.#shared)
        return this.#dispatch(event)
      case 'lost': {
        const { exchange, key, reason, isElsewhere } = event
        if (side === 'server' && isElsewhere !== true && this.#urgency === 0) this.#hooks.health?.failed('refusal', reason)
        return this.#dispatch({ type: 'request-lost', exchange, key, reason, isElsewhere })
      }
      case 'exchange-ended':
        this.#dispatch({ type: 'exchange-ended', exchange: event.exchange })
        return this.#outbox.do(() => this.#ends.server.shut?.(event.exchange))
      case 'renewed':
        return this.#dispatch({ type: 'server-renewed' })
      case 'drained':
        return this.#backpressure.resume(side, event.exchange)
      case 'ended':
        if (side === 'client') return this.#clientEnded(event.graceMs)
        this.#exit = event.exit
        this.#dispatch({ type: 'server-gone', reason: event.reason })
        return this.#dispatch({ type: 'session-ended', reason: event.reason })
      default:
        event satisfies never
    }
  }

  #clientFrame(exchange: Exchange, given: Frame): void {
    const begun = this.#hooks.observer?.begun
    const frame = begun === undefined ? given : traced(given, begun)
    const headers = frame.envelope?.headers
    if (headers) {
      const { server } = this.#ends
      this.#outbox.do(() => server.open?.(exchange, { method: 'POST', headers, body: frame.bytes }))
    }
    this.#shared?.touch()
    if (frame.message.kind === 'request' && frame.message.method === 'initialize') this.#beginning = exchange
    this.#hooks.observer?.moved?.('client', frame.bytes.length)
    this.#dispatch({ type: 'frame-received', from: 'client', exchange, frame })
  }

  #serverFrame(event: Extract<TransportEvent, { readonly type: 'frame' }>): void {
    const { exchange, frame, whole } = event
    if (this.#shared !== undefined) this.#learn(event, this.#shared)
    frameCame()
    if (frame.message.kind === 'result') this.#hooks.health?.answered()
    this.#hooks.observer?.moved?.('server', frame.bytes.length)
    this.#dispatch({ type: 'frame-received', from: 'server', exchange, frame })
    if (whole === true) this.#dispatch({ type: 'whole', exchange })
  }

  /** Takes the session id and event ids, which replicas share, from an event of the server. */
  #learn(event: HttpEvent | Extract<TransportEvent, { readonly type: 'frame' }>, shared: SharedSession): void {
    // A server names the session in the response to `initialize` (2025-11-25, Session Management).
    const [id] = (event.exchange === this.#beginning ? headersIn(event)?.get('mcp-session-id') : undefined) ?? []
    if (id !== undefined) shared.named(id)
    const lines = event.type === 'between' ? event.lines : event.type === 'frame' ? event.frame.envelope?.event : ''
    // The client gets an event id, and may resume the stream at another replica.
    if (lines !== undefined && /^id: ./m.test(lines))
      this.#dispatch({ type: 'resumable', exchange: event.exchange })
  }

  /** Events that arrive while one is handled are queued, so that effects are performed in order. */
  #dispatch(event: Event): void {
    this.#waiting.push(event)
    this.#handleWaiting()
  }

  #handleWaiting(): void {
    if (this.#isBusy) return
    this.#isBusy = true
    try {
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift())
        this.#handle(next)
    } finally {
      this.#isBusy = false
    }
    if (this.#core.isAboveHighWater) this.#backpressure.pause('client', 'queue', stdioExchange)
    else this.#backpressure.resume('queue', stdioExchange)
    this.#stopWithoutClient()
  }

  #handle(event: Event): void {
    if (this.#isFinished) return
    const startedAt = realTimers.now()
    const effects = this.#core.handle(event, startedAt)
    this.#hooks.recorder?.handled(event, startedAt, effects)
    for (const effect of effects) {
      try {
        this.#effects.perform(effect, startedAt)
      } catch (error) {
        this.#fail(error, brokenRelay)
      }
    }
  }

  /** @param graceMs how long the client still waits for responses */
  #clientEnded(graceMs = 0): void {
    this.#isClientGone = true
    this.#grace?.()
    this.#grace = undefined
    if (graceMs > 0) this.#grace = realTimers.after(graceMs, () => this.#clientEnded())
    this.#stopWithoutClient()
  }

  /** Stops once nothing is left to do for a client that is gone. */
  #stopWithoutClient(): void {
    // The server's input stays open for queued requests.
    if (!this.#isClientGone || this.#core.hasQueuedFrames) return
    if (this.#grace === undefined || !this.#core.hasAwaitedRequest) this.stop()
  }

  /** Ends the session by its first failure; waiting requests get the reason. */
  #fail(failure: unknown, reason: string): void {
    if (this.#failure !== undefined) return
    this.#failure = { error: asError(failure), reason }
    this.#waiting.unshift({ type: 'server-gone', reason, isFailure: reason !== noAudit })
    this.stop()
    this.#handleWaiting()
  }

  /** Closes both transports after the session's last event, then resolves the outcome. */
  #finish(reason: string): void {
    this.#isFinished = true
    this.#effects.stopTimers()
    this.#grace?.()
    this.#hooks.observer?.ended?.(this.#failure !== undefined)
    // The outbox may wait for records. A request that arrives meanwhile would have no session to judge it.
    this.#ends.client.leave?.()
    this.stop()
    this.#outbox.do(() => {
      const clientClosed = this.#ends.client.close()
      // A server transport may report `ended` inside its `close`, before `stop` has set `#serverClosed`. The
      // promise is therefore read one microtask later.
      void Promise.resolve()
        .then(() => Promise.all([clientClosed, this.#serverClosed]))
        .then(() => this.#resolve({
          reason, exit: this.#exit, failure: this.#failure?.error,
          isAuditFailure: this.#failure?.reason === noAudit,
        }))
    })
  }
}

const headersIn = (event: HttpEvent | Extract<TransportEvent, { readonly type: 'frame' }>): HttpHeaders | undefined =>
  event.type === 'head' ? event.headers : event.type === 'frame' ? event.frame.envelope?.response?.headers : undefined
