import type { Exchange } from '#relay/core/vocabulary.js'
import { stdioExchange } from '#relay/core/event.js'
import { errorFrame } from '#relay/core/refusal.js'
import { errorCode, type IdKey } from '#relay/protocol/json-rpc.js'
import { idOf } from '#relay/protocol/message.js'
import { BriefPause } from '#relay/transport/brief-pause.js'
import { requestKeys } from '#relay/transport/frames.js'
import { realTimers } from '#relay/transport/timers.js'
import type { Transport, TransportEvent } from '#relay/transport/transport.js'
import { messageOf } from '#relay/base/errors.js'
import type { MergedFindings } from './findings.js'
import type { MergeEffect, MergeEvent, MergerOptions, MergerSettings } from './machine.js'
import { Merger } from './merger.js'

export interface MergeSessionOptions extends MergerOptions {
  /** The client's side. */
  readonly client: Transport
  /** Connects a server: a session of its own with that server's relay. */
  readonly connect: (leg: string, inputSchemaOf: (tool: string) => ReturnType<Merger['inputSchemaOf']>) => Transport
  readonly missing: (leg: string, reason: string | undefined) => void
  readonly found: (found: MergedFindings) => void
  /** An exception was contained. */
  readonly failed: (cause: unknown) => void
}

/** The loop of one merged session: events of transports to the merger, and its effects to the transports. */
export class MergeSession {
  /** Resolves when the client and all legs are closed. */
  readonly ended: Promise<void>
  readonly #options: MergeSessionOptions
  readonly #merger: Merger
  readonly #legs = new Map<string, Transport>()
  readonly #timers = new Map<number, () => void>()
  readonly #waiting: MergeEvent[] = []
  readonly #closing = new Set<Promise<unknown>>()
  /** Exchanges of a client that does not read. */
  readonly #slow = new Set<Exchange>()
  /** Several clients share the session: all legs are paused for one that does not read. */
  readonly #shared: BriefPause | undefined
  #fullLegs = new Set<string>()
  #isBusy = false
  #isOver = false
  #grace: (() => void) | undefined
  #tellEnded: () => void = () => undefined

  constructor(options: MergeSessionOptions) {
    this.#options = options
    this.#merger = new Merger(options)
    this.#shared = options.isStateless
      ? new BriefPause({ timers: realTimers, now: () => realTimers.now(), changed: () => this.#flow() })
      : undefined
    this.ended = new Promise(resolve => (this.#tellEnded = resolve))
  }

  start(): void {
    this.#options.client.start(event => this.#onClient(event))
  }

  /** The configuration was replaced. */
  offer(settings: MergerSettings): void {
    this.#dispatch({ type: 'settings-changed', settings })
  }

  /** Ends it. @param urgency as that of `Transport.close` */
  stop(urgency = 1): void {
    if (urgency > 1) for (const leg of this.#legs.values()) void leg.close(urgency)
    void this.#end()
  }

  #onClient(event: TransportEvent): void {
    switch (event.type) {
      case 'frame': return this.#dispatch({ type: 'client-frame', exchange: event.exchange, frame: event.frame })
      case 'exchange-ended':
        this.#reads(event.exchange)
        return this.#dispatch({ type: 'exchange-ended', exchange: event.exchange })
      case 'drained':
        return this.#reads(event.exchange)
      case 'ended': return this.#clientEnded(event.graceMs)
      // Of server-facing transports, or of HTTP servers.
      case 'lost': case 'renewed': case 'bare-request': case 'head': case 'between': case 'stream-ended':
        return undefined
      default: return event satisfies never
    }
  }

  #onLeg(leg: string, event: TransportEvent): void {
    switch (event.type) {
      case 'frame': return this.#dispatch({ type: 'leg-frame', leg, frame: event.frame })
      case 'lost': return event.isElsewhere === true
        ? undefined
        : this.#dispatch({ type: 'leg-lost', leg, key: event.key, reason: event.reason })
      case 'ended': return this.#dispatch({ type: 'leg-ended', leg, reason: event.reason })
      case 'drained':
        this.#fullLegs.delete(leg)
        return this.#flow()
      // A leg reaches its server through the server's relay, which lists anew for itself.
      case 'renewed': case 'exchange-ended': case 'bare-request': case 'head': case 'between': case 'stream-ended':
        return undefined
      default: return event satisfies never
    }
  }

  /** Events that arrive while one is handled are queued, so that effects are performed in order. */
  #dispatch(event: MergeEvent): void {
    if (this.#isOver) return
    this.#waiting.push(event)
    if (this.#isBusy) return
    this.#isBusy = true
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) this.#handle(next)
    this.#isBusy = false
    if (this.#grace !== undefined && !this.#merger.isAwaited) void this.#end()
  }

  #handle(event: MergeEvent): void {
    try {
      for (const effect of this.#merger.handle(event, realTimers.now())) this.#perform(effect)
    } catch (cause) {
      this.#options.failed(cause)
      if (event.type === 'client-frame') this.#answerAll(event.exchange, requestKeys(event.frame), messageOf(cause))
    }
  }

  #answerAll(exchange: Exchange, keys: readonly IdKey[], reason: string): void {
    for (const key of keys) {
      const text = `mcp-customs failed on this request: ${reason}`
      this.#options.client.send(exchange, errorFrame({ id: idOf(key), key }, errorCode.blocked, text))
    }
  }

  #perform(effect: MergeEffect): void {
    const { client } = this.#options
    switch (effect.type) {
      case 'send':
        if (client.send(effect.exchange, effect.frame)) return
        this.#slow.add(effect.exchange)
        this.#shared?.pause()
        return this.#flow()
      case 'send-to-leg':
        if (this.#legs.get(effect.leg)?.send(effect.exchange, effect.frame) !== false) return
        this.#fullLegs.add(effect.leg)
        return this.#flow()
      case 'abandon': return this.#legs.get(effect.leg)?.abandon?.(effect.exchange, effect.key)
      case 'complete': return client.complete?.(effect.exchange)
      case 'open': return this.#open(effect.leg)
      case 'close': return this.#close(effect.leg)
      case 'start-timer': return void this.#timers.set(effect.timer, realTimers.after(effect.ms, () => {
        this.#timers.delete(effect.timer)
        this.#dispatch({ type: 'timer-fired', timer: effect.timer })
      }))
      case 'stop-timer':
        this.#timers.get(effect.timer)?.()
        return void this.#timers.delete(effect.timer)
      case 'missing': return this.#options.missing(effect.leg, effect.reason)
      case 'found': return this.#options.found(effect)
      default: return effect satisfies never
    }
  }

  #open(name: string): void {
    this.#close(name)
    const leg = this.#options.connect(name, tool => this.#merger.inputSchemaOf(name, tool))
    this.#legs.set(name, leg)
    leg.start(event => {
      if (this.#legs.get(name) === leg) this.#onLeg(name, event)
    })
  }

  #close(name: string): void {
    const leg = this.#legs.get(name)
    this.#legs.delete(name)
    this.#fullLegs.delete(name)
    if (leg === undefined) return
    const closed: Promise<unknown> = leg.close().finally(() => this.#closing.delete(closed))
    this.#closing.add(closed)
  }

  #reads(exchange: Exchange): void {
    this.#slow.delete(exchange)
    if (this.#slow.size === 0) this.#shared?.resume()
    this.#flow()
  }

  /** A client that does not read holds its servers back, and a server that does not read the client. */
  #flow(): void {
    const isHeld = this.#shared?.isPausing ?? this.#slow.size > 0
    for (const leg of this.#legs.values()) {
      if (isHeld) leg.pause(stdioExchange)
      else leg.resume(stdioExchange)
    }
    if (this.#fullLegs.size > 0) this.#options.client.pause(stdioExchange)
    else this.#options.client.resume(stdioExchange)
  }

  /** @param graceMs how long the client still waits for answers */
  #clientEnded(graceMs = 0): void {
    this.#grace?.()
    this.#grace = undefined
    if (graceMs === 0 || !this.#merger.isAwaited) return void this.#end()
    this.#grace = realTimers.after(graceMs, () => void this.#end())
  }

  async #end(): Promise<void> {
    if (this.#isOver) return
    this.#isOver = true
    this.#grace?.()
    for (const stop of this.#timers.values()) stop()
    this.#shared?.resume()
    for (const name of [...this.#legs.keys()]) this.#close(name)
    this.#options.client.leave?.()
    await Promise.all([...this.#closing, this.#options.client.close()])
    this.#tellEnded()
  }
}
