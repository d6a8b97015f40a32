import { ChurnMap } from '../core/memory.js'
import {
  type Effect, type Entry, type Event, type Exchange, type Side, type Timer, stdioExchange,
} from '../core/event.js'
import type { Batches } from '../core/batches.js'
import { errorAnswer } from '../core/refusal.js'
import { errorCode } from '../protocol/json-rpc.js'
import type { Frame } from '../protocol/frame.js'
import type { Exit, Transport, TransportEvent } from '../transport/transport.js'
import type { Flush } from '../audit/chain.js'
import { Held, Leaving, withheld } from './leaving.js'
import type { Judging } from './open.js'
import { followed, type Observer } from './observer.js'

export interface SessionParts {
  readonly client: Transport
  readonly server: Transport
  readonly relay: Batches
  readonly judging: Judging
  /** @returns waits until the record is written, where it is not yet; throws when it cannot be */
  readonly audit: (entry: Entry) => Flush | undefined
  readonly observer?: Observer | undefined
  readonly recorder?: Recorder | undefined
  /** Hears of each exception that was contained: the session goes on. */
  readonly failed?: ((cause: unknown) => void) | undefined
}

/** Told of all that the relay is told, and of what it asks for. */
export interface Recorder {
  /** The engine was asked. @param isLate it did not answer at once */
  asked(isLate: boolean): void
  handled(event: Event, now: number, effects: readonly Effect[]): void
}

export interface Ended {
  readonly reason: string
  /** How the server's process ended, where it is one. */
  readonly exit: Exit | undefined
  /** Why the relay had to stop: a log that cannot be written is an error, never a silence. */
  readonly failure: Error | undefined
  /** True when the audit log has failed, and not the relay. */
  readonly isAuditFailure: boolean
}

/** The loop of one session: what the transports tell becomes events, what the relay asks for is done. */
export class Session {
  readonly ended: Promise<Ended>
  readonly #ends: Readonly<Record<Side, Transport>>
  readonly #relay: Batches
  readonly #audit: SessionParts['audit']
  readonly #observer: SessionParts['observer']
  readonly #recorder: SessionParts['recorder']
  readonly #timers = new ChurnMap<Timer, NodeJS.Timeout>()
  readonly #held: Held
  readonly #leaving = new Leaving(failure => this.#fail(failure, noAudit), cause => this.#fail(cause, brokenRelay))
  readonly #waiting: Event[] = []
  readonly #judging: Judging
  /** The exchange of the client's frame in hand, and whether the relay has sent anything on it to either side. */
  #inHand: { readonly exchange: Exchange; readonly sent: Record<Side, boolean> } | undefined
  #busy = false
  #clientIsGone = false
  /** Runs while the client, which says nothing more, still waits for answers. */
  #grace: NodeJS.Timeout | undefined
  #stops = 0
  /** Resolves when nothing of the server is left. */
  #serverClosed: Promise<void> | undefined
  #over = false
  #failure: Error | undefined
  /** Why nothing may leave any more, as those who wait are told: records cannot be written. */
  #withheld: string | undefined
  readonly #contained: (cause: unknown) => void
  #exit: Exit | undefined
  #resolve: (ended: Ended) => void = () => undefined

  constructor({ client, server, relay, judging, audit, observer, recorder, failed }: SessionParts) {
    this.#ends = { client, server }
    this.#held = new Held(this.#ends)
    this.#relay = relay
    this.#judging = judging
    this.#audit = audit
    this.#observer = observer
    this.#recorder = recorder
    this.#contained = failed ?? (() => undefined)
    this.ended = new Promise(resolve => {
      this.#resolve = resolve
    })
  }

  start(): void {
    for (const side of ['server', 'client'] as const) this.#ends[side].start(event => this.#guarded(() => this.#heard(side, event)))
  }

  /**
   * Stops: the server is asked to end, and what it still answers is passed on.
   * @param urgency 1 is polite; with each more the server is in more of a hurry
   */
  stop(urgency = 1): void {
    if (urgency <= this.#stops) return
    this.#stops = urgency
    this.#leaving.do(() => {
      this.#serverClosed = this.#ends.server.close(urgency)
    })
  }

  /** The net under what no flow holds: an exception ends this session, and nothing else. */
  #guarded(act: () => void): void {
    try {
      act()
    } catch (error) {
      this.#fail(error, brokenRelay)
    }
  }

  #heard(side: Side, event: TransportEvent): void {
    switch (event.type) {
      case 'frame':
        if (side === 'client') return this.#clientFrame(event.exchange, this.#followed(event.frame))
        this.#frame(side, event)
        // Should nobody wait for it any more, there is nothing else to wait for.
        if (event.whole) this.#judging.after(event.exchange, () => this.#complete(event.exchange))
        return
      case 'bare-request':
        return this.#leaving.do(() => this.#ends.server.open?.(event.exchange, event))
      case 'head':
      case 'between':
      case 'stream-ended':
        // The end of a response must not overtake an answer in it that is still being judged.
        return this.#judging.after(event.exchange, () => this.#leaving.do(() => {
          if (this.#ends.client.hand?.(event) === false) this.#held.hold('server', 'client', event.exchange)
        }))
      case 'lost':
        return this.#dispatch({ type: 'request-lost', exchange: event.exchange, key: event.key, reason: event.reason })
      case 'undelivered':
        return this.#dispatch({ type: 'undelivered', key: event.key })
      case 'exchange-ended':
        this.#dispatch({ type: 'exchange-ended', exchange: event.exchange })
        return this.#leaving.do(() => this.#ends.server.shut?.(event.exchange))
      case 'drained':
        return this.#held.release(side, event.exchange)
      case 'ended':
        if (side === 'server') {
          this.#dispatch({ type: 'server-gone', reason: event.reason })
          this.#exit = event.exit
          return this.#judging.afterAll(() => this.#dispatch({ type: 'session-ended', reason: event.reason }))
        }
        return this.#clientEnded(event.graceMs)
      default:
        event satisfies never
    }
  }

  #followed(frame: Frame): Frame {
    const begun = this.#observer?.begun
    return begun === undefined ? frame : followed(frame, begun)
  }

  #frame(from: Side, { exchange, frame }: { readonly exchange: Exchange; readonly frame: Frame }): void {
    this.#observer?.moved?.(from, frame.bytes.length)
    this.#dispatch({ type: 'frame-received', from, exchange, frame })
  }

  /** A message of the client's; by HTTP it comes in a request, which needs an end even where no answer is owed. */
  #clientFrame(exchange: Exchange, frame: Frame): void {
    const { server } = this.#ends
    const headers = frame.envelope?.headers
    if (headers) this.#leaving.do(() => server.open?.(exchange, { method: 'POST', headers, body: frame.bytes }))
    const sent = { client: false, server: false }
    this.#inHand = { exchange, sent }
    this.#frame('client', { exchange, frame })
    this.#inHand = undefined
    if (owesAnswer(frame) || sent.client || (server.open && sent.server)) return
    this.#complete(exchange)
  }

  #complete(exchange: Exchange): void {
    this.#leaving.do(() => this.#ends.client.complete?.(exchange))
  }

  #clientEnded(graceMs = 0): void {
    this.#clientIsGone = true
    clearTimeout(this.#grace)
    this.#grace = undefined
    if (graceMs > 0) this.#grace = setTimeout(() => this.#clientEnded(), graceMs)
    this.#stopIfAlone()
  }

  /** Events that arrive while one is being handled wait for their turn: effects are performed in order. */
  #dispatch(event: Event): void {
    this.#waiting.push(event)
    this.#handleWaiting()
  }

  #handleWaiting(): void {
    if (this.#busy) return
    this.#busy = true
    try {
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) this.#handle(next)
    } finally {
      this.#busy = false
    }
    if (this.#relay.isCrowded) this.#held.hold('client', 'queue', stdioExchange)
    else this.#held.release('queue', stdioExchange)
    this.#stopIfAlone()
  }

  #stopIfAlone(): void {
    // A request that the relay holds back is not yet at the server: its input stays open for it.
    if (!this.#clientIsGone || this.#relay.holding) return
    if (this.#grace === undefined || !this.#relay.isAwaited) this.stop()
  }

  #handle(event: Event): void {
    if (this.#over) return
    const heardAt = performance.now()
    const effects = this.#relay.handle(event, heardAt)
    this.#recorder?.handled(event, heardAt, effects)
    for (const effect of effects) {
      try {
        this.#perform(effect, heardAt)
      } catch (error) {
        this.#fail(error, brokenRelay)
      }
    }
    if (event.type === 'checked') this.#judging.ended(event.check)
    if (event.type === 'session-ended') this.#finish(event.reason)
  }

  #perform(effect: Effect, heardAt: number): void {
    switch (effect.type) {
      case 'send':
        if (this.#inHand?.exchange === effect.exchange) this.#inHand.sent[effect.to] = true
        this.#leaving.do(() => this.#send(effect))
        break
      case 'audit':
        // For the core no time passes while it handles an event.
        if (effect.entry.ms !== undefined) effect.entry.ms += performance.now() - heardAt
        this.#record(effect.entry)
        break
      case 'observe':
        this.#observer?.done(effect.operation)
        break
      case 'check':
        void this.#judging
          .begin(effect.check, effect.subjects, effect.exchange)
          .then(results => this.#guarded(() => this.#dispatch({ type: 'checked', check: effect.check, results })))
        break
      case 'start-timer':
        this.#startTimer(effect.timer, effect.ms)
        break
      case 'stop-timer':
        clearTimeout(this.#timers.get(effect.timer))
        this.#timers.delete(effect.timer)
        break
      case 'abandon':
        this.#leaving.do(() => this.#ends.server.abandon?.(effect.exchange, effect.key))
        break
      case 'complete':
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

  /** What would leave without its record does not. */
  #send({ to, exchange, frame, cause }: Extract<Effect, { readonly type: 'send' }>): void {
    const kept = this.#withheld === undefined ? frame : withheld(frame, this.#withheld)
    if (kept === undefined) return
    try {
      if (!this.#ends[to].send(exchange, kept)) this.#held.hold(cause, to, exchange)
    } catch (error) {
      this.#contained(error)
      this.#notSent(to, exchange, kept)
    }
  }

  /** A transport failed on one frame: whoever waits for that frame, or for an answer to it, is told so. */
  #notSent(to: Side, exchange: Exchange, { message }: Frame): void {
    for (const one of message.kind === 'batch' ? message.members.map(member => member.message) : [message]) {
      if (to === 'server' && one.kind === 'request') this.#dispatch({ type: 'request-lost', exchange, key: one.key, reason: notSent })
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
      if (flush !== undefined) this.#leaving.recorded(flush)
    } catch (failure) {
      this.#fail(failure, noAudit)
    }
  }

  /** The session ends: those who wait are told why. */
  #fail(failure: unknown, reason: string): void {
    if (this.#failure !== undefined) return
    this.#failure = failure instanceof Error ? failure : new Error(String(failure))
    if (reason === noAudit) this.#withheld = reason
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
    this.#leaving.do(() => {
      const clientClosed = this.#ends.client.close()
      // A server may say that it has ended while it is being told to: only then is there what to wait for.
      void Promise.resolve().then(() => Promise.all([clientClosed, this.#serverClosed])).then(() =>
        this.#resolve({ reason, exit: this.#exit, failure: this.#failure, isAuditFailure: this.#withheld !== undefined }),
      )
    })
  }
}

const notSent = 'the message could not be sent'
const brokenRelay = 'the relay failed on a message of this session, which is over'
const noAudit = 'the audit log cannot be written, so nothing may pass'

const owesAnswer = ({ message }: Frame): boolean =>
  message.kind === 'request' ||
  (message.kind === 'batch' && message.members.some(({ message: { kind } }) => kind === 'request'))
