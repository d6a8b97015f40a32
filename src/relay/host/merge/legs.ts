import { isObject, isString, member, type JsonObject } from '#relay/protocol/json.js'
import type { Frame } from '#relay/protocol/frame.js'
import { errorCode } from '#relay/protocol/json-rpc.js'
import { quote } from '#relay/protocol/quote.js'
import { changedRequest, request, type RequestFrame } from './frames.js'
import { firstPauseMs, inSeconds, Leg, type LegAnswer, longestPauseMs, pauseMs } from './leg.js'
import { LegRequests } from './leg-requests.js'
import type { Host } from './machine.js'
import type { MergedServer } from './names.js'

interface LegEvents {
  /** A server can be used that could not be used when the client last heard of it. */
  arrived(leg: Leg): void
  /** A server has gone, or has refused. @param wasReady it could be used before */
  departed(leg: Leg, wasReady: boolean): void
}

/** Opens the legs of a session, and opens them again. */
export class Legs {
  readonly #host: Host
  readonly #events: LegEvents
  #legs = new Map<string, Leg>()
  readonly requests: LegRequests
  /** The legacy client's; undefined for a modern client. */
  #initialize: RequestFrame | undefined
  /** JSON text of the first `_meta` of a modern client. */
  #meta: string | undefined
  #initialized: Frame | undefined
  /** The client knows what the servers can do: changes from now on are reported. */
  hasAnswered = false

  constructor(host: Host, events: LegEvents) {
    this.#host = host
    this.#events = events
    this.requests = new LegRequests(host, () => this.isLegacy)
  }

  all(): readonly Leg[] {
    return [...this.#legs.values()]
  }

  get(name: string): Leg | undefined {
    return this.#legs.get(name)
  }

  get isLegacy(): boolean {
    return this.#initialize !== undefined
  }

  /** Replaces the servers. Legs of servers that stay go on. */
  offer(servers: readonly MergedServer[]): void {
    const before = this.#legs
    this.#legs = new Map(servers.map(server => {
      const leg = before.get(server.name) ?? new Leg(server)
      leg.server = server
      return [server.name, leg]
    }))
    for (const leg of before.values()) {
      if (!this.#legs.has(leg.name)) this.#close(leg)
    }
    if (this.hasAnswered) this.openAll()
  }

  #close(leg: Leg): void {
    const wasReady = leg.state === 'ready'
    leg.state = 'closed'
    this.requests.lose(leg, 'the server is no longer configured')
    this.#events.departed(leg, wasReady)
    this.#host.emit({ type: 'close', leg: leg.name })
  }

  /** Opens all legs with the client's `initialize`, side by side. */
  begin(initialize: RequestFrame): void {
    this.#initialize = initialize
    this.hasAnswered = false
    // A client of both eras has asked for server/discover before, on the same connection.
    for (const leg of this.all()) {
      if (leg.state === 'ready' || leg.state === 'opening' || leg.isOfOtherEra) this.#greet(leg)
    }
    this.openAll()
  }

  /** Opens all legs for a modern client. @param meta the `_meta` of its request */
  beginModern(meta: string | undefined): void {
    if (this.#meta === undefined) this.#host.after(firstPauseMs, () => (this.hasAnswered ||= !this.isLegacy))
    this.#meta ??= meta
    this.openAll()
  }

  openAll(): void {
    for (const leg of this.all()) if (leg.state === 'closed') this.#open(leg)
  }

  initialized(frame: Frame): void {
    this.#initialized = frame
    for (const leg of this.all()) this.#tell(leg)
  }

  #open(leg: Leg): void {
    leg.openedAt = this.#host.now()
    leg.isTold = false
    this.#host.emit({ type: 'open', leg: leg.name })
    this.#greet(leg)
  }

  /** Asks what the server can do, and so whether it speaks the client's era. */
  #greet(leg: Leg): void {
    const [initialize, meta] = [this.#initialize, this.#meta]
    leg.state = 'opening'
    leg.isOfOtherEra = false
    const params = meta === undefined ? undefined : `{"_meta":${meta}}`
    const greeting = this.requests.ask(leg, number => initialize === undefined
      ? request(number, 'server/discover', params)
      : changedRequest(initialize, number, []), {
      answered: answer => {
        if (leg.state === 'opening' && leg.greeting === greeting) this.#opened(leg, answer)
      },
    })
    leg.greeting = greeting
  }

  #opened(leg: Leg, answer: LegAnswer): void {
    if (isString(answer)) return this.#fail(leg, answer)
    const { message } = answer
    if (message.kind === 'error') {
      const { code, message: text } = message.error
      // An error of its relay says nothing of its era.
      leg.isOfOtherEra = this.isLegacy ? code === errorCode.unsupportedVersion : !ours.has(code)
      return this.#fail(leg, `it refuses the session: ${quote(text)}${leg.isOfOtherEra ? otherEra : ''}`)
    }
    this.#learn(leg, message.result)
    const version = member(message.result, 'protocolVersion')
    if (isString(version)) leg.version = version
    leg.state = 'ready'
    this.#tell(leg)
    this.#ready(leg)
  }

  #learn(leg: Leg, result: JsonObject): void {
    const [capabilities, instructions] = [member(result, 'capabilities'), member(result, 'instructions')]
    leg.capabilities = isObject(capabilities) ? capabilities : {}
    leg.instructions = isString(instructions) ? instructions : undefined
  }

  #ready(leg: Leg): void {
    const isNews = this.hasAnswered
    this.#host.emit({ type: 'missing', leg: leg.name, reason: undefined })
    this.#wake(leg)
    if (isNews) this.#events.arrived(leg)
  }

  /** A server may be asked once it was told that the session has begun (2025-11-25, lifecycle). */
  #tell(leg: Leg): void {
    if (this.#initialized === undefined || leg.isTold || leg.state !== 'ready') return
    leg.isTold = true
    this.requests.notify(leg, this.#initialized)
  }

  /** A leg that cannot be used is opened again, after a pause that grows. */
  #fail(leg: Leg, reason: string): void {
    const now = this.#host.now()
    const wasReady = leg.state === 'ready'
    if (wasReady && now - leg.openedAt > longestPauseMs) leg.failures = 0
    leg.state = 'down'
    leg.reason = reason
    leg.failures += 1
    this.#host.emit({ type: 'missing', leg: leg.name, reason })
    this.#host.after(pauseMs(leg), () => {
      if (leg.state === 'down' && this.#legs.get(leg.name) === leg) this.#open(leg)
    })
    this.#wake(leg)
    this.requests.lose(leg, reason)
    this.#events.departed(leg, wasReady)
  }

  #wake(leg: Leg): void {
    const waiting = [...leg.waiting]
    leg.waiting.clear()
    for (const act of waiting) act()
  }

  /** Acts when the leg can be used or has failed, after `ms` at the latest; at once if it is late already. */
  whenKnown(leg: Leg, ms: number, act: () => void): void {
    if (leg.state === 'closed') this.#open(leg)
    const left = leg.openedAt + Math.max(ms, this.#host.options.listMs) - this.#host.now()
    if (leg.state !== 'opening' || left <= 0) return act()
    const once = () => {
      leg.waiting.delete(once)
      stop()
      act()
    }
    const stop = this.#host.after(Math.min(ms, left), once)
    leg.waiting.add(once)
  }

  /** Why a leg cannot be used now; undefined: it can. */
  whyNot({ state, reason, openedAt }: Leg): string | undefined {
    if (state === 'ready') return undefined
    if (state !== 'opening') return reason
    return `it has not begun the session for ${inSeconds(this.#host.now() - openedAt)} s`
  }

  ended(leg: Leg, reason: string): void {
    if (leg.state !== 'down' && leg.state !== 'closed') this.#fail(leg, reason)
  }
}

const ours: ReadonlySet<number> = new Set([errorCode.blocked, errorCode.gone, errorCode.late])
const otherEra = ' (it speaks revisions of another era, and translate does not cover that)'
