import type { Checked, SchemaChecker, Subject } from '../core/check.js'
import type { Effect, Entry } from '../core/effect.js'
import type { Event, Side, Timer } from '../core/event.js'
import type { Relay } from '../core/relay.js'
import type { Exit, Transport, TransportEvent } from '../transport/transport.js'

export interface SessionParts {
  readonly client: Transport
  readonly server: Transport
  readonly relay: Relay
  readonly checker: SchemaChecker
  /** Returns when the record is on its way to the disk; throws when it cannot be written. */
  readonly audit: (entry: Entry) => void
}

export interface Ended {
  readonly reason: string
  /** How the server's process ended, where it is one. */
  readonly exit: Exit | undefined
  /** Why the relay had to stop: a log that cannot be written is an error, never a silence. */
  readonly failure: unknown
}

type Without<Union, Key extends PropertyKey> = Union extends unknown ? Omit<Union, Key> : never

/** The loop of one session: what the transports tell becomes events, what the relay asks for is done. */
export class Session {
  readonly ended: Promise<Ended>
  readonly #ends: Readonly<Record<Side, Transport>>
  readonly #relay: Relay
  readonly #checker: SchemaChecker
  readonly #audit: SessionParts['audit']
  readonly #timers = new Map<Timer, NodeJS.Timeout>()
  /** Sides whose peer does not read, with the sides that are held back for it. */
  readonly #full = new Map<Side, Set<Side>>()
  readonly #waiting: Without<Event, 'at'>[] = []
  #busy = false
  #state: 'running' | 'closing' | 'over' = 'running'
  #failure: unknown
  #resolve: (ended: Ended) => void = () => undefined

  constructor({ client, server, relay, checker, audit }: SessionParts) {
    this.#ends = { client, server }
    this.#relay = relay
    this.#checker = checker
    this.#audit = audit
    this.ended = new Promise(resolve => {
      this.#resolve = resolve
    })
  }

  start(): void {
    this.#ends.server.start(event => this.#heard('server', event))
    this.#ends.client.start(event => this.#heard('client', event))
  }

  /** Stops politely: the server is asked to end, and what it still answers is passed on. */
  stop(): void {
    if (this.#state !== 'running') return
    this.#state = 'closing'
    void this.#ends.server.close()
  }

  #heard(side: Side, event: TransportEvent): void {
    switch (event.type) {
      case 'frame':
        return this.#dispatch({ type: 'frame-received', from: side, exchange: event.exchange, frame: event.frame })
      case 'lost':
        return this.#dispatch({ type: 'request-lost', exchange: event.exchange, key: event.key, reason: event.reason })
      case 'exchange-ended':
        return this.#dispatch({ type: 'exchange-ended', exchange: event.exchange })
      case 'drained':
        return this.#drained(side)
      case 'ended':
        if (side === 'server') {
          this.#dispatch({ type: 'server-gone', reason: event.reason })
          return this.#finish(event.reason, event.exit)
        }
        this.#clientEnded()
        return
      default:
        event satisfies never
    }
  }

  #clientEnded(): void {
    // A request that the relay holds back is not yet at the server: its input stays open for it.
    if (this.#relay.holding) this.#clientIsGone = true
    else this.stop()
  }

  #clientIsGone = false

  /** Events that arrive while one is being handled wait for their turn: effects are performed in order. */
  #dispatch(event: Without<Event, 'at'>): void {
    this.#waiting.push(event)
    if (this.#busy) return
    this.#busy = true
    try {
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) this.#handle(next)
    } finally {
      this.#busy = false
    }
    if (this.#clientIsGone && !this.#relay.holding) this.stop()
  }

  #handle(event: Without<Event, 'at'>): void {
    if (this.#state === 'over') return
    const cause = event.type === 'frame-received' ? event.from : 'server'
    for (const effect of this.#relay.handle({ ...event, at: performance.now() })) this.#perform(effect, cause)
  }

  #perform(effect: Effect, cause: Side): void {
    switch (effect.type) {
      case 'send':
        if (!this.#ends[effect.to].send(effect.exchange, effect.frame)) this.#hold(effect.to, cause)
        break
      case 'audit':
        this.#record(effect.entry)
        break
      case 'check':
        this.#check(effect.check, effect.subjects)
        break
      case 'start-timer':
        this.#startTimer(effect.timer, effect.ms)
        break
      case 'stop-timer':
        clearTimeout(this.#timers.get(effect.timer))
        this.#timers.delete(effect.timer)
        break
      case 'abandon':
        this.#ends.server.abandon?.(effect.exchange, effect.key)
        break
      default:
        effect satisfies never
    }
  }

  #check(check: number, subjects: readonly Subject[]): void {
    const results = subjects.map(subject => this.#checker.check(subject))
    if (results.every(isDone)) return this.#handle({ type: 'checked', check, results })
    void Promise.all(results).then(done => this.#dispatch({ type: 'checked', check, results: done }))
  }

  #startTimer(timer: Timer, ms: number): void {
    clearTimeout(this.#timers.get(timer))
    this.#timers.set(
      timer,
      setTimeout(() => {
        this.#timers.delete(timer)
        this.#dispatch({ type: 'timer-fired', timer })
      }, ms),
    )
  }

  #record(entry: Entry): void {
    if (this.#failure !== undefined) return
    try {
      this.#audit(entry)
    } catch (failure) {
      this.#failure = failure
      this.#waiting.length = 0
      this.#waiting.push({ type: 'server-gone', reason: 'the audit log cannot be written, so nothing may pass' })
      this.stop()
    }
  }

  /** A side whose peer does not read holds back the side that feeds it, so that nothing piles up here. */
  #hold(full: Side, cause: Side): void {
    const held = this.#full.get(full) ?? new Set()
    this.#full.set(full, held.add(cause))
    this.#ends[cause].pause()
  }

  #drained(side: Side): void {
    const held = this.#full.get(side) ?? []
    this.#full.delete(side)
    for (const one of held) {
      if (![...this.#full.values()].some(others => others.has(one))) this.#ends[one].resume()
    }
  }

  #finish(reason: string, exit: Exit | undefined): void {
    if (this.#state === 'over') return
    this.#dispatch({ type: 'session-ended', reason })
    this.#state = 'over'
    for (const timer of this.#timers.values()) clearTimeout(timer)
    void Promise.all([this.#ends.client.close(), this.#ends.server.close()]).then(() =>
      this.#resolve({ reason, exit, failure: this.#failure }),
    )
  }
}

const isDone = (result: Checked | Promise<Checked>): result is Checked => !(result instanceof Promise)
