import { type Event, type Exchange, type Side, stdioExchange } from '#core/event.js'
import type { Batches } from '#core/batches.js'
import type { SharedSession } from '#core/shared.js'
import type { Frame } from '#protocol/frame.js'
import type { IdKey } from '#protocol/json-rpc.js'
import { realTimers } from '#transport/timers.js'
import type { Transport, TransportEvent } from '#transport/transport.js'
import { Backpressure } from './backpressure.js'
import type { RunningChecks } from './checks.js'
import { Effects } from './effects.js'
import { brokenRelay, Ending, noAudit, type SessionOutcome } from './ending.js'
import { type Hooks, traced } from './hooks.js'
import { Outbox } from './outbox.js'
import { Questions } from './questions.js'

export interface SessionParts extends Hooks {
  readonly client: Transport
  readonly server: Transport
  readonly core: Batches
  readonly checks: RunningChecks
  readonly shared?: SharedSession | undefined
}

/** The loop of one session: turns transport events into events of the core, and has the effects performed. */
export class Session {
  readonly ended: Promise<SessionOutcome>
  readonly #ends: Readonly<Record<Side, Transport>>
  readonly #core: Batches
  readonly #observer: Hooks['observer']
  readonly #recorder: Hooks['recorder']
  readonly #health: Hooks['health']
  readonly #backpressure: Backpressure
  readonly #outbox = new Outbox(
    failure => this.#fail(failure, noAudit), cause => this.#fail(cause, brokenRelay),
  )
  readonly #waiting: Event[] = []
  readonly #checks: RunningChecks
  readonly #questions: Questions
  readonly #effects: Effects
  readonly #ending: Ending
  #isBusy = false
  #isFinished = false

  constructor({ client, server, core, checks, shared, ...hooks }: SessionParts) {
    this.#ends = { client, server }
    this.#core = core
    this.#checks = checks
    this.#observer = hooks.observer
    this.#recorder = hooks.recorder
    this.#health = hooks.health
    this.#backpressure = new Backpressure(this.#ends)
    this.#questions = new Questions(shared, checks, act => this.#guarded(act))
    this.#ending = new Ending(this.#ends, core, this.#outbox)
    this.#effects = new Effects({
      ...hooks, ends: this.#ends, outbox: this.#outbox, backpressure: this.#backpressure, checks,
      questions: this.#questions, ending: this.#ending,
      dispatch: event => this.#guarded(() => this.#dispatch(event)),
      fail: (failure, reason) => this.#fail(failure, reason),
    })
    this.ended = this.#ending.outcome
  }

  start(): void {
    for (const side of ['server', 'client'] as const) {
      this.#ends[side].start(event => this.#guarded(() => this.#onEvent(side, event)), this.#expected)
    }
  }

  /** Ends the session. @param urgency how fast, see `Ending` */
  stop(urgency = 1): void {
    this.#ending.stop(urgency)
  }

  readonly #expected = (exchange: Exchange, key: IdKey): Buffer | undefined => {
    try {
      const schema = this.#core.outputSchemaFor(exchange, key)
      return schema === undefined ? undefined : this.#checks.tableOf(schema)
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
        if (side === 'client') return this.#clientFrame(event.exchange, this.#traced(event.frame))
        this.#learn(event, event.exchange)
        return this.#questions.after(event.exchange, () => this.#serverFrame(event))
      case 'bare-request':
        this.#questions.touch()
        return this.#outbox.do(() => this.#ends.server.open?.(event.exchange, event))
      case 'head':
      case 'between':
      case 'stream-ended':
        if (event.type === 'head' && event.status >= 500)
          this.#health?.failed('refusal', `the server answered with HTTP ${event.status}`)
        this.#learn(event, event.exchange)
        // The end of a stream must not overtake a response in it that is still being judged.
        return this.#afterAll(event.exchange, () => this.#outbox.do(() => {
          if (this.#ends.client.hand?.(event) === false)
            this.#backpressure.pause('server', 'client', event.exchange)
        }))
      case 'lost':
        if (side === 'server' && !event.isElsewhere && !this.#ending.isStopping) this.#health?.failed('refusal', event.reason)
        return this.#questions.after(event.exchange, () => this.#dispatch({
          type: 'request-lost', exchange: event.exchange, key: event.key, reason: event.reason,
          isElsewhere: event.isElsewhere,
        }))
      case 'undelivered':
        return this.#dispatch({ type: 'undelivered', key: event.key })
      case 'exchange-ended':
        this.#dispatch({ type: 'exchange-ended', exchange: event.exchange })
        return this.#outbox.do(() => this.#ends.server.shut?.(event.exchange))
      case 'drained':
        return this.#backpressure.resume(side, event.exchange)
      case 'ended':
        if (side === 'client') return this.#ending.clientEnded(event.graceMs)
        this.#ending.exit = event.exit
        // A response that still waits for the shared state arrived before the end, so it is handled first.
        return this.#questions.afterAll(() => {
          this.#dispatch({ type: 'server-gone', reason: event.reason })
          this.#checks.afterAll(() => this.#dispatch({ type: 'session-ended', reason: event.reason }))
        })
      default:
        event satisfies never
    }
  }

  /** Takes the session id and event ids, which replicas share, from an event of the server. */
  #learn(event: TransportEvent, exchange: Exchange): void {
    this.#questions.learnSessionId(event, exchange)
    if (this.#questions.isResumable(event)) this.#dispatch({ type: 'resumable', exchange })
  }

  /** Runs an action when the earlier frames of the exchange are judged; at once if none is being judged. */
  #afterAll(exchange: Exchange, act: () => void): void {
    this.#questions.after(exchange, () => this.#checks.after(exchange, act))
  }

  #serverFrame(event: Extract<TransportEvent, { readonly type: 'frame' }>): void {
    if (event.frame.message.kind === 'result') this.#health?.answered()
    this.#frame('server', event)
    // The frame is the whole HTTP response, without `stream-ended`: the exchange is completed here.
    if (event.whole) this.#afterAll(event.exchange, () => this.#effects.complete(event.exchange))
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
    this.#questions.touch()
    if (frame.message.kind === 'request' && frame.message.method === 'initialize')
      this.#questions.beginsOn(exchange)
    const { sent, isAsked } = this.#effects.during(exchange, () => this.#frame('client', { exchange, frame }))
    // In these cases a response, the shared state or the server's HTTP response completes the exchange later.
    if (expectsResponse(frame) || sent.client || isAsked || (server.open && sent.server)) return
    this.#effects.complete(exchange)
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
    this.#ending.stopWithoutClient()
  }

  #handle(event: Event): void {
    if (this.#isFinished) return
    const startedAt = realTimers.now()
    const effects = this.#core.handle(event, startedAt)
    this.#recorder?.handled(event, startedAt, effects)
    for (const effect of effects) {
      try {
        this.#effects.perform(effect, startedAt)
      } catch (error) {
        this.#fail(error, brokenRelay)
      }
    }
    if (event.type === 'checked') this.#checks.release(event.check)
    if (event.type === 'session-ended') this.#finish(event.reason)
  }

  /** Ends the session; waiting requests get the reason. */
  #fail(failure: unknown, reason: string): void {
    if (this.#ending.hasFailed) return
    this.#waiting.unshift({ type: 'server-gone', reason, isFailure: reason !== noAudit })
    this.#ending.fail(failure, reason)
    this.#handleWaiting()
  }

  #finish(reason: string): void {
    this.#isFinished = true
    this.#effects.stopTimers()
    this.#observer?.ended?.(this.#ending.hasFailed)
    this.#ending.finish(reason)
  }
}

const expectsResponse = ({ message }: Frame): boolean =>
  message.kind === 'request' ||
  (message.kind === 'batch' && message.members.some(({ message: { kind } }) => kind === 'request'))
