import { asError } from '#relay/base/errors.js'
import { errorFrame } from '#relay/core/refusal.js'
import type { Exchange, HttpEvent } from '#relay/core/vocabulary.js'
import type { Frame } from '#relay/protocol/frame.js'
import { errorCode, type Request } from '#relay/protocol/json-rpc.js'
import { realTimers } from '#relay/transport/timers.js'
import type { Transport, TransportEvent } from '#relay/transport/transport.js'
import type { EraAction, EraEvent, Translator } from './translator.js'

/** Told when a translation begins, with the revisions of both sides. */
export type Began = (client: string, server: string) => void

/** What the operator and the records are told of a translation. */
export interface Told {
  readonly began: Began
  /** A tool that cannot be translated is left out of the list. */
  readonly leftOut: (tool: string) => void
}

/** The client's transport, as a relay that speaks the server's era sees it. */
export const translated = (client: Transport, translator: Translator, told: Told): Transport =>
  new Stage(client, translator, told)

class Stage implements Transport {
  readonly #client: Transport
  readonly #translator: Translator
  readonly #told: Told
  #report: (event: TransportEvent) => void = () => {}
  readonly #timers = new Map<string, () => void>()
  /** Full exchanges of the client, with the relay's exchanges for which `send` or `hand` was false. */
  readonly #full = new Map<Exchange, Set<Exchange>>()

  constructor(client: Transport, translator: Translator, told: Told) {
    this.#client = client
    this.#translator = translator
    this.#told = told
  }

  start(onEvent: (event: TransportEvent) => void): void {
    this.#report = onEvent
    this.#client.start(event => {
      if (event.type === 'drained') this.#drained(event.exchange)
      else this.#contained({ from: 'client', event }, () => this.#report(event))
    })
  }

  send(exchange: Exchange, frame: Frame): boolean {
    const actions = this.#translator.handle({ from: 'relay', type: 'frame', exchange, frame })
    return actions === undefined ? this.#client.send(exchange, frame) : this.#performFor(exchange, actions)
  }

  hand(event: HttpEvent): boolean {
    const actions = this.#translator.handle({ from: 'relay', type: 'hand', event })
    if (actions === undefined) return this.#client.hand?.(event) ?? true
    return this.#performFor(event.exchange, actions)
  }

  complete(exchange: Exchange): void {
    const actions = this.#translator.handle({ from: 'relay', type: 'complete', exchange })
    if (actions === undefined) this.#client.complete?.(exchange)
    else this.#performFor(exchange, actions)
  }

  refused(exchange: Exchange, request: Request): void {
    const actions = this.#translator.handle({ from: 'refusal', exchange, request })
    if (actions !== undefined) this.#performFor(exchange, actions)
    else this.#client.refused?.(exchange, request)
  }

  pause(exchange: Exchange): void {
    this.#client.pause(exchange)
  }

  resume(exchange: Exchange): void {
    this.#client.resume(exchange)
  }

  leave(): void {
    this.#contained({ from: 'closing' }, () => {})
    this.#client.leave?.()
  }

  close(urgency?: number): Promise<void> {
    this.#contained({ from: 'closing' }, () => {})
    for (const stop of this.#timers.values()) stop()
    this.#timers.clear()
    return this.#client.close(urgency)
  }

  /**
   * An exception reaches neither the client's transport nor the process. Where a client's request caused it,
   * that request fails, because many clients may share the session. Otherwise the session ends.
   */
  #contained(event: EraEvent, pass: () => void): void {
    let actions: readonly EraAction[] | undefined
    try {
      actions = this.#translator.handle(event)
    } catch (error) {
      const reason = `the translation failed: ${asError(error).message}`
      actions = [failed(event, reason)]
    }
    if (actions === undefined) pass()
    else for (const action of actions) this.#perform(action)
  }

  #performFor(cause: Exchange, actions: readonly EraAction[]): boolean {
    let isFree = true
    for (const action of actions) {
      const full = this.#perform(action)
      if (full === undefined) continue
      this.#full.set(full, (this.#full.get(full) ?? new Set()).add(cause))
      isFree = false
    }
    return isFree
  }

  /** @returns the client's exchange that is full now */
  #perform(action: EraAction): Exchange | undefined {
    switch (action.type) {
      case 'report':
        this.#report(action.event)
        break
      case 'send':
        if (!this.#client.send(action.exchange, action.frame)) return action.exchange
        break
      case 'hand':
        if (this.#client.hand?.(action.event) === false) return action.event.exchange
        break
      case 'complete':
        this.#client.complete?.(action.exchange)
        break
      case 'start-timer':
        this.#startTimer(action.timer, action.ms)
        break
      case 'stop-timer':
        this.#stopTimer(action.timer)
        break
      case 'left-out':
        this.#told.leftOut(action.tool)
        break
      case 'began':
        this.#told.began(action.client, action.server)
        break
      default:
        action satisfies never
    }
    return undefined
  }

  #startTimer(timer: string, ms: number): void {
    this.#stopTimer(timer)
    this.#timers.set(timer, realTimers.after(ms, () => {
      this.#timers.delete(timer)
      this.#contained({ from: 'timer', timer }, () => {})
    }))
  }

  #stopTimer(timer: string): void {
    this.#timers.get(timer)?.()
    this.#timers.delete(timer)
  }

  #drained(exchange: Exchange): void {
    const causes = this.#full.get(exchange) ?? new Set<Exchange>()
    this.#full.delete(exchange)
    for (const cause of causes.add(exchange)) this.#report({ type: 'drained', exchange: cause })
  }
}

const failed = (cause: EraEvent, reason: string): EraAction => {
  const event = cause.from === 'client' ? cause.event : undefined
  return event?.type === 'frame' && event.frame.message.kind === 'request'
    ? {
        type: 'send', exchange: event.exchange,
        frame: errorFrame(event.frame.message, errorCode.blocked, `mcp-customs: ${reason}`),
      }
    : { type: 'report', event: { type: 'ended', reason } }
}
