import {
  type Effect, type Entry, type Event, type Exchange, type Side, type Timer,
} from '#core/event.js'
import { ChurnMap } from '#core/memory.js'
import { errorFrame } from '#core/refusal.js'
import { errorCode } from '#protocol/json-rpc.js'
import type { Frame } from '#protocol/frame.js'
import { realTimers } from '#transport/timers.js'
import type { Transport } from '#transport/transport.js'
import type { Backpressure } from './backpressure.js'
import type { RunningChecks } from './checks.js'
import { type Ending, noAudit } from './ending.js'
import type { Hooks } from './hooks.js'
import { auditErrorFor, type Outbox } from './outbox.js'
import type { Questions } from './questions.js'

export interface EffectsParts extends Pick<Hooks, 'audit' | 'prepare' | 'observer' | 'failed' | 'health'> {
  readonly ends: Readonly<Record<Side, Transport>>
  readonly outbox: Outbox
  readonly backpressure: Backpressure
  readonly checks: RunningChecks
  readonly questions: Questions
  readonly ending: Ending
  /** Hands an event to the core, now or later; an exception ends the session. */
  readonly dispatch: (event: Event) => void
  readonly fail: (failure: unknown, reason: string) => void
}

/** The effects on one exchange while the core handles a client frame of that exchange. */
interface Done {
  readonly exchange: Exchange
  /** The sides that were sent a frame on its exchange. */
  readonly sent: Record<Side, boolean>
  /** True if the shared state was asked on the exchange: frames may follow its reply. */
  isAsked: boolean
}

/** Performs the effects of the core. */
export class Effects {
  readonly #parts: EffectsParts
  readonly #timers = new ChurnMap<Timer, () => void>()
  #current: Done | undefined

  constructor(parts: EffectsParts) {
    this.#parts = parts
  }

  /** Calls `handle`, which gives a client frame to the core. @returns the effects on the frame's exchange */
  during(exchange: Exchange, handle: () => void): Done {
    const done = { exchange, sent: { client: false, server: false }, isAsked: false }
    this.#current = done
    try {
      handle()
    } finally {
      this.#current = undefined
    }
    return done
  }

  /** @param startedAt when the core began to handle the event */
  perform(effect: Effect, startedAt: number): void {
    const { outbox, ends, checks, questions, observer, dispatch } = this.#parts
    switch (effect.type) {
      case 'send':
        if (this.#current?.exchange === effect.exchange) this.#current.sent[effect.to] = true
        this.#reportTimeout(effect.frame)
        return outbox.do(() => this.#send(effect))
      case 'audit':
        return this.#record(effect.entry, startedAt)
      case 'observe':
        return observer?.done(effect.operation)
      case 'check': {
        const { check, subjects, exchange } = effect
        return void checks.begin(check, subjects, exchange)
          .then(results => dispatch({ type: 'checked', check, results }))
      }
      case 'share': {
        const { share, exchange } = effect
        if (share !== undefined && this.#current?.exchange === exchange) this.#current.isAsked = true
        return questions.ask(effect, reply => share !== undefined && dispatch({ type: 'shared', share, reply }))
      }
      case 'hold':
        return effect.isOver ? checks.release(effect.hold) : checks.hold(effect.hold, effect.exchange)
      case 'start-timer':
        return this.#startTimer(effect.timer, effect.ms)
      case 'stop-timer':
        this.#timers.get(effect.timer)?.()
        return void this.#timers.delete(effect.timer)
      case 'abandon':
        return outbox.do(() => ends.server.abandon?.(effect.exchange, effect.key))
      case 'complete':
        if (effect.failed) outbox.do(() => ends.client.hand?.(badGateway(effect.exchange)))
        return effect.isAtServer && ends.server.open ? undefined : this.complete(effect.exchange)
      case 'failed':
        return this.#parts.failed?.(effect.cause)
      case 'close':
        return this.#parts.fail(new Error(effect.reason, { cause: effect.cause }), effect.reason)
      default:
        effect satisfies never
    }
  }

  complete(exchange: Exchange): void {
    const { outbox, ends } = this.#parts
    outbox.do(() => ends.client.complete?.(exchange))
  }

  stopTimers(): void {
    for (const stop of this.#timers.values()) stop()
  }

  #reportTimeout({ relayMade, message }: Frame): void {
    if (relayMade === true && message.kind === 'error' && message.error.code === errorCode.late)
      this.#parts.health?.failed('silence', message.error.message.replace(/^mcp-customs: /, ''))
  }

  /** Sends a frame. If the audit log failed, a response becomes an error, and other messages are not sent. */
  #send({ to, exchange, frame, cause }: Extract<Effect, { readonly type: 'send' }>): void {
    const { ending: { auditFailure }, ends, backpressure, failed } = this.#parts
    const kept = auditFailure === undefined ? frame : auditErrorFor(frame, auditFailure)
    if (kept === undefined) return
    try {
      if (!ends[to].send(exchange, kept)) backpressure.pause(cause, to, exchange)
    } catch (error) {
      failed?.(error)
      this.#notSent(to, exchange, kept)
    }
  }

  /** After a failed send: a request in the frame is lost, a response is replaced by an error. */
  #notSent(to: Side, exchange: Exchange, { message }: Frame): void {
    const { ends, dispatch } = this.#parts
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
      this.#parts.dispatch({ type: 'timer-fired', timer })
    }))
  }

  #record(entry: Entry, startedAt: number): void {
    const { health, ending, audit, prepare, outbox, fail } = this.#parts
    // The relay's own tools/list was not answered.
    if (entry.event === 'tools/list' && entry.from === 'relay' && entry.reason)
      health?.failed('silence', entry.reason)
    // The core reads the clock once for an event: add the time since then.
    if (entry.ms !== undefined) entry.ms += realTimers.now() - startedAt
    outbox.record(() => {
      if (ending.hasFailed) return
      try {
        const flush = audit(entry)
        if (flush !== undefined) outbox.recorded(flush)
      } catch (failure) {
        fail(failure, noAudit)
      }
    }, prepare?.(entry))
  }
}

/** The head of a response with status 502: a message without an id cannot get a JSON-RPC error. */
const badGateway = (exchange: Exchange) =>
  ({ type: 'head', exchange, status: 502, headers: new Map<string, string[]>() }) as const

const notSent = 'the message could not be sent'
