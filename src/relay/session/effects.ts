import type {
  CountAsk, Effect, Entry, Event, Exchange, SharedReply, SharedSession, Side, Timer,
} from '#relay/core/vocabulary.js'
import { ChurnMap } from '#relay/core/memory.js'
import { errorFrame } from '#relay/core/refusal.js'
import { errorCode } from '#relay/protocol/json-rpc.js'
import type { Frame } from '#relay/protocol/frame.js'
import { realTimers } from '#relay/transport/timers.js'
import type { Transport } from '#relay/transport/transport.js'
import type { Backpressure } from './backpressure.js'
import type { RunningChecks } from './checks.js'
import type { Hooks } from './hooks.js'
import { auditErrorFor, type Outbox } from './outbox.js'

export interface EffectsParts extends Pick<Hooks, 'audit' | 'prepare' | 'observer' | 'failed' | 'health'> {
  readonly ends: Readonly<Record<Side, Transport>>
  readonly outbox: Outbox
  readonly backpressure: Backpressure
  readonly checks: RunningChecks
  readonly shared: SharedSession | undefined
  readonly count: ((ask: CountAsk) => Promise<SharedReply>) | undefined
  /** The reason why the session has failed. */
  readonly failure: () => string | undefined
  /** Hands an event to the core, now or later; an exception ends the session. */
  readonly dispatch: (event: Event) => void
  readonly fail: (failure: unknown, reason: string) => void
  /** The session is over. */
  readonly end: (reason: string) => void
}

/** The failure by which the session ends when records cannot be written. */
export const noAudit = 'the audit log cannot be written, so no message is forwarded'

/** Performs the effects of the core. */
export class Effects {
  readonly #timers = new ChurnMap<Timer, () => void>()

  constructor(private readonly parts: EffectsParts) {}

  /** @param startedAt when the core began to handle the event */
  perform(effect: Effect, startedAt: number): void {
    const { outbox, ends, checks, shared, count, observer, dispatch } = this.parts
    switch (effect.type) {
      case 'send':
        this.#reportTimeout(effect.frame)
        return outbox.do(() => this.#send(effect))
      case 'audit':
        return this.#record(effect.entry, startedAt)
      case 'observe':
        return observer?.done(effect.operation)
      case 'check': {
        const { check, subjects } = effect
        return void checks.results(subjects)
          .then(results => dispatch({ type: 'checked', check, results }))
      }
      case 'share': {
        const { share, ask } = effect
        const reply = (ask.kind === 'count' ? count?.(ask) : shared?.ask(ask)) ?? Promise.resolve('none' as const)
        if (share === undefined) return
        return void reply.then(found => dispatch({ type: 'shared', share, reply: found }))
      }
      case 'start-timer':
        return this.#startTimer(effect.timer, effect.ms)
      case 'stop-timer':
        this.#timers.get(effect.timer)?.()
        return void this.#timers.delete(effect.timer)
      case 'abandon':
        return outbox.do(() => ends.server.abandon?.(effect.exchange, effect.key))
      case 'hand':
        return outbox.do(() => this.#hand(effect))
      case 'complete':
        if (effect.isAtServer && ends.server.open) return
        if (effect.failed) outbox.do(() => ends.client.hand?.(badGateway(effect.exchange)))
        return outbox.do(() => ends.client.complete?.(effect.exchange))
      case 'failed':
        return this.parts.failed?.(effect.cause)
      case 'close':
        return this.parts.fail(new Error(effect.reason, { cause: effect.cause }), effect.reason)
      case 'end':
        return this.parts.end(effect.reason)
      default:
        effect satisfies never
    }
  }

  stopTimers(): void {
    for (const stop of this.#timers.values()) stop()
  }

  #reportTimeout({ relayMade, message }: Frame): void {
    if (relayMade === true && message.kind === 'error' && message.error.code === errorCode.late)
      this.parts.health?.failed('silence', message.error.message.replace(/^mcp-customs: /, ''))
  }

  #hand({ exchange, event }: Extract<Effect, { readonly type: 'hand' }>): void {
    const { ends, backpressure } = this.parts
    if (ends.client.hand?.(event) === false) backpressure.pause('server', 'client', exchange)
  }

  /** Sends a frame. If the audit log failed, a response becomes an error, and other messages are not sent. */
  #send({ to, exchange, frame, cause }: Extract<Effect, { readonly type: 'send' }>): void {
    const { failure, ends, backpressure, failed } = this.parts
    const kept = failure() === noAudit ? auditErrorFor(frame, noAudit) : frame
    if (kept === undefined) return
    const refused = to === 'server' ? kept.envelope?.refused : undefined
    try {
      if (refused !== undefined) ends.client.refused?.(exchange, refused)
      if (!ends[to].send(exchange, kept)) backpressure.pause(cause, to, exchange)
    } catch (error) {
      failed?.(error)
      this.#notSent(to, exchange, kept)
    }
  }

  /** After a failed send: a request in the frame is lost, a response is replaced by an error. */
  #notSent(to: Side, exchange: Exchange, { message }: Frame): void {
    const { ends, dispatch } = this.parts
    for (const one of message.kind === 'batch' ? message.members.map(member => member.message) : [message]) {
      if (to === 'server' && one.kind === 'request')
        dispatch({ type: 'request-lost', exchange, key: one.key, reason: notSent })
      if (to === 'client' && (one.kind === 'result' || one.kind === 'error')) {
        ends.client.send(exchange, errorFrame(one, errorCode.blocked, `mcp-customs: ${notSent}`))
      }
    }
  }

  #startTimer(timer: Timer, ms: number): void {
    this.#timers.get(timer)?.()
    this.#timers.set(timer, realTimers.after(ms, () => {
      this.#timers.delete(timer)
      this.parts.dispatch({ type: 'timer-fired', timer })
    }))
  }

  #record(entry: Entry, startedAt: number): void {
    const { health, failure, audit, prepare, outbox, fail } = this.parts
    // The relay's own tools/list was not answered.
    if (entry.event === 'tools/list' && entry.from === 'relay' && entry.reason)
      health?.failed('silence', entry.reason)
    // The core reads the clock once for an event: add the time since then.
    if (entry.ms !== undefined) entry.ms += realTimers.now() - startedAt
    outbox.record(() => {
      if (failure() !== undefined) return
      try {
        const flush = audit(entry)
        if (flush !== undefined) outbox.recorded(flush)
      } catch (cause) {
        fail(cause, noAudit)
      }
    }, prepare?.(entry))
  }
}

/** The head of a response with status 502: a message without an id cannot get a JSON-RPC error. */
const badGateway = (exchange: Exchange) =>
  ({ type: 'head', exchange, status: 502, headers: new Map<string, string[]>() }) as const

const notSent = 'the message could not be sent'
