import { randomUUID } from 'node:crypto'
import type { Checked, SchemaChecker, Subject } from '../core/check.js'
import type { Effect, Entry } from '../core/effect.js'
import type { Event, Exchange, Side, Timer } from '../core/event.js'
import { errorAnswer } from '../core/refusal.js'
import type { Relay } from '../core/relay.js'
import type { Frame } from '../protocol/frame.js'
import { errorCode } from '../protocol/json-rpc.js'
import type { Exit, Transport, TransportEvent } from '../transport/transport.js'
import { Judging } from './judging.js'

export interface SessionParts {
  readonly client: Transport
  readonly server: Transport
  readonly relay: Relay
  readonly checker: SchemaChecker
  /** Returns when the record is on its way to the disk; throws when it cannot be written. */
  readonly audit: (entry: Entry) => void
  /** Told of every message that crosses, in bytes; for metrics. */
  readonly moved?: ((from: Side, bytes: number) => void) | undefined
}

export interface Ended {
  readonly reason: string
  /** How the server's process ended, where it is one. */
  readonly exit: Exit | undefined
  /** Why the relay had to stop: a log that cannot be written is an error, never a silence. */
  readonly failure: Error | undefined
}

/** The loop of one session: what the transports tell becomes events, what the relay asks for is done. */
export class Session {
  readonly ended: Promise<Ended>
  readonly #ends: Readonly<Record<Side, Transport>>
  readonly #relay: Relay
  readonly #checker: SchemaChecker
  /** By which the checker tells sessions apart. */
  readonly #name = randomUUID()
  readonly #audit: SessionParts['audit']
  readonly #moved: SessionParts['moved']
  readonly #timers = new Map<Timer, NodeJS.Timeout>()
  /** Sides whose peer does not read, with the sides that are held back for it. */
  readonly #full = new Map<Side, Set<Side>>()
  readonly #waiting: Event[] = []
  readonly #judging = new Judging()
  /** Where the event in hand made the relay send to. */
  readonly #sent = new Set<Side>()
  #busy = false
  #clientIsGone = false
  #stopping = false
  #over = false
  #failure: Error | undefined
  #exit: Exit | undefined
  #resolve: (ended: Ended) => void = () => undefined

  constructor({ client, server, relay, checker, audit, moved }: SessionParts) {
    this.#ends = { client, server }
    this.#relay = relay
    this.#checker = checker
    this.#audit = audit
    this.#moved = moved
    this.ended = new Promise(resolve => {
      this.#resolve = resolve
    })
  }

  start(): void {
    this.#ends.server.start(event => this.#heard('server', event))
    this.#ends.client.start(event => this.#heard('client', event))
  }

  /** Stops politely: the server is asked to end, and what it still answers is passed on. Asked again, it is in a hurry. */
  stop(): void {
    void this.#ends.server.close()
  }

  #heard(side: Side, event: TransportEvent): void {
    switch (event.type) {
      case 'frame':
        return side === 'client' ? this.#clientFrame(event.exchange, event.frame) : this.#frame(side, event)
      case 'bare-request':
        return this.#ends.server.open?.(event.exchange, event)
      case 'head':
      case 'dressing':
      case 'stream-ended':
        // The end of a response must not overtake an answer in it that is still being judged.
        return this.#judging.after(event.exchange, () => this.#ends.client.hand?.(event))
      case 'lost':
        return this.#dispatch({ type: 'request-lost', exchange: event.exchange, key: event.key, reason: event.reason })
      case 'exchange-ended':
        this.#dispatch({ type: 'exchange-ended', exchange: event.exchange })
        return this.#ends.server.shut?.(event.exchange)
      case 'drained':
        return this.#drained(side)
      case 'ended':
        if (side === 'server') {
          this.#dispatch({ type: 'server-gone', reason: event.reason })
          this.#exit = event.exit
          return this.#judging.afterAll(() => this.#dispatch({ type: 'session-ended', reason: event.reason }))
        }
        this.#clientEnded()
        return
      default:
        event satisfies never
    }
  }

  #frame(from: Side, { exchange, frame }: { readonly exchange: Exchange; readonly frame: Frame }): void {
    this.#moved?.(from, frame.bytes.length)
    this.#dispatch({ type: 'frame-received', from, exchange, frame })
  }

  /** A message of the client's; by HTTP it comes in a request, which needs an end even where no answer is owed. */
  #clientFrame(exchange: Exchange, frame: Frame): void {
    const { server, client } = this.#ends
    const headers = frame.envelope?.headers
    if (headers) server.open?.(exchange, { method: 'POST', headers, body: frame.bytes })
    this.#sent.clear()
    this.#frame('client', { exchange, frame })
    if (owesAnswer(frame) || this.#sent.has('client') || (server.open && this.#sent.has('server'))) return
    client.settle?.(exchange)
  }

  #clientEnded(): void {
    // A request that the relay holds back is not yet at the server: its input stays open for it.
    this.#clientIsGone = true
    this.#stopIfAlone()
  }

  /** Events that arrive while one is being handled wait for their turn: effects are performed in order. */
  #dispatch(event: Event): void {
    this.#waiting.push(event)
    if (this.#busy) return
    this.#busy = true
    try {
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) this.#handle(next)
    } finally {
      this.#busy = false
    }
    this.#stopIfAlone()
  }

  #stopIfAlone(): void {
    if (!this.#clientIsGone || this.#stopping || this.#relay.holding) return
    this.#stopping = true
    this.stop()
  }

  /** @param exchange of the message in hand, where there is one */
  #handle(event: Event, exchange = this.#exchangeOf(event)): void {
    if (this.#over) return
    const cause = event.type === 'frame-received' ? event.from : 'server'
    const failed = this.#failure !== undefined
    for (const effect of this.#relay.handle(event, performance.now())) {
      const unrecorded = !failed && this.#failure !== undefined
      const kept = unrecorded ? withheld(effect) : effect
      if (kept !== undefined) this.#perform(kept, cause, exchange)
    }
    if (event.type === 'checked') this.#judging.ended(event.check)
    if (event.type === 'session-ended') this.#finish(event.reason)
  }

  #exchangeOf(event: Event): Exchange | undefined {
    if (event.type === 'checked') return this.#judging.exchangeOf(event.check)
    return event.type === 'frame-received' ? event.exchange : undefined
  }

  #perform(effect: Effect, cause: Side, exchange: Exchange | undefined): void {
    switch (effect.type) {
      case 'send':
        this.#sent.add(effect.to)
        if (!this.#ends[effect.to].send(effect.exchange, effect.frame)) this.#hold(effect.to, cause)
        break
      case 'audit':
        this.#record(effect.entry)
        break
      case 'check':
        this.#check(effect.check, effect.subjects, exchange)
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

  #check(check: number, subjects: readonly Subject[], exchange: Exchange | undefined): void {
    const results = subjects.map(subject => this.#checker.check(subject, this.#name))
    if (results.every(isDone)) return this.#handle({ type: 'checked', check, results }, exchange)
    this.#judging.began(check, exchange)
    // A check that crashed is no verdict: fail closed.
    const safe = results.map(async (result, index) => {
      try {
        return await result
      } catch {
        return [{ kind: 'unchecked', path: subjects[index]?.path ?? '', message: 'the engine failed' } as const]
      }
    })
    void Promise.all(safe).then(done => this.#dispatch({ type: 'checked', check, results: done }))
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
      this.#failure = failure instanceof Error ? failure : new Error(String(failure))
      this.#waiting.unshift({ type: 'server-gone', reason: noAudit })
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

  #finish(reason: string): void {
    this.#over = true
    for (const timer of this.#timers.values()) clearTimeout(timer)
    void Promise.all([this.#ends.client.close(), this.#ends.server.close()]).then(() =>
      this.#resolve({ reason, exit: this.#exit, failure: this.#failure }),
    )
  }
}

const noAudit = 'the audit log cannot be written, so nothing may pass'

/** What would leave without its record does not; who waits for an answer is told so. */
const withheld = (effect: Effect): Effect | undefined => {
  if (effect.type !== 'send') return effect
  const { message } = effect.frame
  if (message.kind !== 'result' && message.kind !== 'error') return undefined
  return { ...effect, frame: errorAnswer(message, errorCode.gone, `mcp-customs: ${noAudit}`) }
}

const owesAnswer = ({ message }: Frame): boolean =>
  message.kind === 'request' ||
  (message.kind === 'batch' && message.members.some(({ message: { kind } }) => kind === 'request'))

const isDone = (result: Checked | Promise<Checked>): result is Checked => !(result instanceof Promise)
