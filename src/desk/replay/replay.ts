import { isUtf8 } from 'node:buffer'
import { digestOf } from '#relay/base/canonical.js'
import type { Checked, Effect, Event, SchemaChecker, Side, Subject, Timer } from '#relay/core/vocabulary.js'
import { NamedExchanges } from '#relay/core/event.js'
import type { Judgement, Ruling } from '#relay/core/options.js'
import { Relay } from '#relay/core/relay.js'
import type { Frame, FrameLimits } from '#relay/protocol/frame.js'
import type { IdKey } from '#relay/protocol/json-rpc.js'
import { idKeysOf, membersOf } from '#relay/protocol/message.js'
import { parseFrame } from '#relay/protocol/parse.js'
import type { CapturedDecision, Captured, Opening, CapturedRuling } from '#relay/capture/line.js'
import { bytesOf, restoredFrame } from '#relay/capture/captured-frame.js'
import type { CapturedSession } from '#relay/capture/read.js'
import { decisionOf, redactionOf } from '#relay/capture/recorder.js'

/** The settings of a replay. */
export interface ReplaySettings {
  readonly judgement: Omit<Judgement, 'ruling'>
  /** Gives the policy and tool settings of the replay that replace those of the capture. */
  readonly ruling: (captured: CapturedRuling) => Ruling
  readonly limits: FrameLimits
  readonly checker: SchemaChecker
}

export interface ReplayMessage {
  readonly to: Side
  readonly exchange: string
  readonly frame: Frame
}

/** The messages that the relay sent in a session and its decisions, in order. */
export interface Course {
  readonly messages: readonly ReplayMessage[]
  readonly decisions: readonly (CapturedDecision & { readonly time: string })[]
}

/** What the relay sent and decided in the capture. */
export const recorded = ({ events }: CapturedSession, limits: FrameLimits): Course => {
  const frames = new Map<number, Frame>()
  for (const { number, event } of events) {
    if (event.type === 'frame-received') frames.set(number, restoredFrame(event.frame, limits))
  }
  return {
    messages: events.flatMap(({ sent = [] }) => sent.flatMap((one): ReplayMessage[] => {
      const frame = one.number === undefined ? parseFrame(bytesOf(one), limits) : frames.get(one.number)
      return frame === undefined ? [] : [{ to: one.to, exchange: one.exchange, frame }]
    })),
    decisions: events.flatMap(({ time, decisions = [] }) => decisions.map(one => ({ ...one, time }))),
  }
}

/**
 * What the relay sends and decides when the captured events are replayed under the settings of now.
 * @param was the messages and decisions of the capture
 */
export const replayed =
  async (session: CapturedSession, was: Course, settings: ReplaySettings): Promise<Course> =>
    new Replay(session.opening, was, settings).run(session.events)

/**
 * Replays a session's events in their order. A check whose result came in a later event in the capture gets
 * its result in that event again. Under other settings the replay may block a request that the capture
 * forwarded: then the captured response is left out. It may forward a request that the capture blocked: then
 * the request is reported as lost, because the capture has no response to it.
 */
class Replay {
  readonly #relay: Relay
  readonly #redaction
  readonly #exchanges = new NamedExchanges()
  readonly #messages: ReplayMessage[] = []
  readonly #decisions: (CapturedDecision & { readonly time: string })[] = []
  /** The bytes of received frames: a frame that is sent with the same bytes was forwarded unchanged. */
  readonly #received = new WeakSet<Buffer>()
  readonly #promised = new Map<Subject, Promise<Checked> | Checked>()
  /**
   * Checks of the replay that wait for the captured event with their results, by the check's number in the
   * capture.
   */
  readonly #due = new Map<number, { readonly check: number; readonly subjects: readonly Subject[] }>()
  readonly #timers = new Set<Timer>()
  /**
   * The names of the requests that were sent to each side: `#asked` in the capture, `#asks` in the replay.
   */
  readonly #asked: Readonly<Record<Side, ReadonlySet<string>>>
  readonly #asks: Readonly<Record<Side, Set<string>>> = { client: new Set(), server: new Set() }
  readonly #stateless: boolean
  #ruling: Ruling
  #now: Captured | undefined
  #questions = 0
  #checks = 0

  constructor(
    {
      session, nonce, stateless, joined = false, agreed, shared, sharedCounts, payloads,
      settings: then,
    }: Opening,
    was: Course,
    private readonly settings: ReplaySettings,
  ) {
    this.#redaction = redactionOf(payloads)
    this.#stateless = stateless
    this.#ruling = settings.ruling(then)
    const ruling = () => this.#ruling
    this.#relay = new Relay({
      shared: shared && { digestOf }, sharedCounts,
      session, nonce, stateless, joined, agreed,
      judgement: { ...settings.judgement, get ruling() { return ruling() } },
      checkNow: subject => this.#checkNow(subject),
    })
    const askedOf = (side: Side) => new Set(was.messages.filter(({ to }) => to === side)
      .flatMap(({ exchange, frame }) => requestsIn(frame).map(key => this.#named(exchange, key))))
    this.#asked = { client: askedOf('client'), server: askedOf('server') }
  }

  async run(events: readonly Captured[]): Promise<Course> {
    for (const one of events) {
      this.#now = one
      if (one.ruling !== undefined) this.#ruling = this.settings.ruling(one.ruling)
      this.#questions = 0
      this.#checks = 0
      const event = await this.#eventOf(one)
      if (event !== undefined) await this.#handle(event, one.at)
    }
    return { messages: this.#messages, decisions: this.#decisions }
  }

  /** Undefined for an event that cannot happen in the replay. */
  async #eventOf({ event }: Captured): Promise<Event | undefined> {
    switch (event.type) {
      case 'frame-received': {
        const frame = restoredFrame(event.frame, this.settings.limits)
        this.#received.add(frame.bytes)
        this.#redaction.seen(frame)
        if (this.#isUnasked(event.from, event.exchange, frame)) return undefined
        return { ...event, exchange: this.#exchanges.of(event.exchange), frame }
      }
      case 'checked': {
        const due = this.#due.get(event.check)
        this.#due.delete(event.check)
        return due && { type: 'checked', check: due.check, results: await this.#results(due.subjects) }
      }
      case 'timer-fired':
        return this.#timers.delete(event.timer) ? event : undefined
      case 'request-lost':
      case 'resumable':
      case 'exchange-ended':
        return { ...event, exchange: this.#exchanges.of(event.exchange) }
      case 'shared':
      case 'server-renewed':
      case 'server-gone':
      case 'session-ended':
        return event
    }
  }

  /** Whether the frame responds to a request that was sent in the capture but not in the replay. */
  #isUnasked(from: Side, exchange: string, frame: Frame): boolean {
    const answers = membersOf(frame).map(({ message }) => message)
    return answers.every(message => {
      if (message.kind !== 'result' && message.kind !== 'error') return false
      const name = this.#named(exchange, message.key)
      return this.#asked[from].has(name) && !this.#asks[from].has(name)
    })
  }

  async #handle(event: Event, at: number): Promise<void> {
    const more: Event[] = []
    for (const effect of this.#relay.handle(event, at)) {
      const next = await this.#perform(effect)
      if (next !== undefined) more.push(next)
    }
    for (const one of more) await this.#handle(one, at)
  }

  /** @returns an event that follows at once */
  async #perform(effect: Effect): Promise<Event | undefined> {
    switch (effect.type) {
      case 'send':
        return this.#sent(effect)
      case 'audit':
        this.#decisions.push({ ...decisionOf(effect.entry, this.#redaction), time: this.#now?.time ?? '' })
        return undefined
      case 'check': {
        const then = this.#now?.checks?.[this.#checks++]
        if (then === undefined) {
          return { type: 'checked', check: effect.check, results: await this.#results(effect.subjects) }
        }
        this.#due.set(then, effect)
        return undefined
      }
      case 'start-timer':
        this.#timers.add(effect.timer)
        return undefined
      case 'stop-timer':
        this.#timers.delete(effect.timer)
        return undefined
      // Its response is an event of the capture.
      case 'share':
      case 'hand':
      case 'observe':
      case 'abandon':
      case 'complete':
      case 'failed':
      case 'close':
      case 'end':
        return undefined
    }
  }

  #sent({ to, exchange, frame }: Extract<Effect, { readonly type: 'send' }>): Event | undefined {
    const bytes = this.#received.has(frame.bytes) ? frame.bytes : this.#redaction.bytes(frame)
    this.#messages.push({ to, exchange: exchange.name, frame: { ...frame, bytes } })
    for (const key of requestsIn(frame)) {
      const name = this.#named(exchange.name, key)
      this.#asks[to].add(name)
      if (to !== 'server' || this.#asked.server.has(name)) continue
      return { type: 'request-lost', exchange, key, reason: notCaptured }
    }
    return undefined
  }

  #checkNow(subject: Subject): Checked | undefined {
    const isLate = this.#now?.late?.includes(this.#questions++) === true
    const checked = this.settings.checker.check(subject)
    if (!isLate && !(checked instanceof Promise)) return checked
    this.#promised.set(subject, checked)
    return undefined
  }

  async #results(subjects: readonly Subject[]): Promise<readonly Checked[]> {
    const results = await Promise.all(
      subjects.map(async subject => this.#promised.get(subject) ?? this.settings.checker.check(subject)),
    )
    for (const subject of subjects) this.#promised.delete(subject)
    return results
  }

  /**
   * The name of a request. Without a session, ids are unique only within their exchange, so the name includes
   * it.
   */
  #named(exchange: string, key: IdKey): string {
    return this.#stateless ? `${exchange} ${key}` : key
  }
}

/** The reason when a request that only the replay sends has no response. */
const notCaptured = 'its answer is not in the capture'

const requestsIn = (frame: Frame): readonly IdKey[] =>
  membersOf(frame).flatMap(one => (one.message.kind === 'request' ? idKeysOf(one).slice(0, 1) : []))

/** The message as text. The texts of two messages are equal only if all their bytes are. */
export const textOfMessage = ({ to, exchange, frame: { bytes } }: ReplayMessage): string =>
  `${to} ${exchange} ${isUtf8(bytes) ? bytes.toString() : bytes.toString('latin1')}`
