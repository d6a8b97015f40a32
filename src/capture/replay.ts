import { isUtf8 } from 'node:buffer'
import type { Checked, SchemaChecker, Subject } from '../core/check.js'
import { type Effect, type Event, NamedExchanges, type Side, type Timer } from '../core/event.js'
import type { RelayOptions } from '../core/options.js'
import { membersOf } from '../core/relay.js'
import { Batches } from '../core/batches.js'
import type { Frame, FrameLimits } from '../protocol/frame.js'
import type { IdKey } from '../protocol/json-rpc.js'
import { keysOf } from '../protocol/message.js'
import { parseFrame } from '../protocol/parse.js'
import type { Decision, Happening, Opening, Ruling } from './line.js'
import { bytesOf, revived } from './noted-frame.js'
import type { CapturedSession } from './read.js'
import { decisionOf, payloadOf } from './recorder.js'

/** By what a session is judged again. */
export type Judgement = Pick<RelayOptions, 'trusted' | 'accepted' | 'rules' | 'listMs' | 'requestMs' | 'maxTools' | 'maxFindings' | 'intent'> & {
  /** What the rules do, and what is said of tools, where they once did and said that. */
  readonly ruling: (captured: Ruling) => Pick<RelayOptions, 'policy' | 'tools'>
  readonly limits: FrameLimits
  readonly checker: SchemaChecker
}

export interface Message {
  readonly to: Side
  readonly exchange: string
  readonly frame: Frame
}

/** What came of a session: what left, and what was decided, in order. */
export interface Course {
  readonly messages: readonly Message[]
  readonly decisions: readonly (Decision & { readonly time: string })[]
}

/** As it was. */
export const recorded = ({ happenings }: CapturedSession, limits: FrameLimits): Course => {
  const frames = new Map<number, Frame>()
  for (const { number, event } of happenings) if (event.type === 'frame-received') frames.set(number, revived(event.frame, limits))
  return {
    messages: happenings.flatMap(({ sent = [] }) => sent.flatMap((one): Message[] => {
      const frame = 'number' in one ? frames.get(one.number) : parseFrame(bytesOf(one), limits)
      return frame === undefined ? [] : [{ to: one.to, exchange: one.exchange, frame }]
    })),
    decisions: happenings.flatMap(({ time, decisions = [] }) => decisions.map(one => ({ ...one, time }))),
  }
}

/** As it would be. @param was the same session, as it was */
export const replayed = async (session: CapturedSession, was: Course, judgement: Judgement): Promise<Course> =>
  new Replay(session.opening, was, judgement).run(session.happenings)

/**
 * One session again, in the order in which it happened. What the engine answered late comes late, and what was never asked of a peer
 * is not answered by it: by other settings a request may stay here that once went on, or go on that once stayed.
 */
class Replay {
  readonly #relay: Batches
  readonly #judgement: Judgement
  readonly #payload
  readonly #exchanges = new NamedExchanges()
  readonly #messages: Message[] = []
  readonly #decisions: (Decision & { readonly time: string })[] = []
  /** What came, as it came: by its bytes it is known again where it passes. */
  readonly #came = new WeakSet<Buffer>()
  readonly #promised = new Map<Subject, Promise<Checked> | Checked>()
  /** Of checks that are to come at a recorded moment, by the number that they had then. */
  readonly #due = new Map<number, { readonly check: number; readonly subjects: readonly Subject[] }>()
  readonly #timers = new Set<Timer>()
  /** Requests that went to a peer, then and now. */
  readonly #asked: Readonly<Record<Side, ReadonlySet<string>>>
  readonly #asks: Readonly<Record<Side, Set<string>>> = { client: new Set(), server: new Set() }
  readonly #stateless: boolean
  #ruling: Pick<RelayOptions, 'policy' | 'tools'>
  #now: Happening | undefined
  #questions = 0
  #checks = 0

  constructor({ server, session, nonce, stateless, joined = false, payloads, settings }: Opening, was: Course, judgement: Judgement) {
    this.#judgement = judgement
    this.#payload = payloadOf(payloads)
    this.#stateless = stateless
    const { trusted, accepted, rules, listMs, requestMs, maxTools, maxFindings, intent } = judgement
    this.#ruling = judgement.ruling(settings)
    const ruling = () => this.#ruling
    this.#relay = new Batches({
      server, session, nonce, stateless, joined, trusted, accepted, rules, listMs, requestMs, maxTools, maxFindings, intent,
      get policy() { return ruling().policy },
      get tools() { return ruling().tools },
      checkNow: subject => this.#checkNow(subject),
    })
    const askedOf = (side: Side) =>
      new Set(was.messages.flatMap(({ to, exchange, frame }) => (to === side ? requestsIn(frame).map(key => this.#named(exchange, key)) : [])))
    this.#asked = { client: askedOf('client'), server: askedOf('server') }
  }

  async run(happenings: readonly Happening[]): Promise<Course> {
    for (const one of happenings) {
      this.#now = one
      if (one.ruling !== undefined) this.#ruling = this.#judgement.ruling(one.ruling)
      this.#questions = 0
      this.#checks = 0
      const event = await this.#eventOf(one)
      if (event !== undefined) await this.#handle(event, one.at)
    }
    return { messages: this.#messages, decisions: this.#decisions }
  }

  /** Undefined where by these settings there is nothing of which it could happen. */
  async #eventOf({ event }: Happening): Promise<Event | undefined> {
    switch (event.type) {
      case 'frame-received': {
        const frame = revived(event.frame, this.#judgement.limits)
        this.#came.add(frame.bytes)
        return this.#isUnasked(event.from, event.exchange, frame) ? undefined : { ...event, exchange: this.#exchanges.of(event.exchange), frame }
      }
      case 'checked': {
        const due = this.#due.get(event.check)
        this.#due.delete(event.check)
        return due && { type: 'checked', check: due.check, results: await this.#results(due.subjects) }
      }
      case 'timer-fired':
        return this.#timers.delete(event.timer) ? event : undefined
      case 'request-lost':
      case 'exchange-ended':
        return { ...event, exchange: this.#exchanges.of(event.exchange) }
      case 'undelivered':
      case 'server-gone':
      case 'session-ended':
        return event
    }
  }

  /** An answer to what was asked then, and is not asked now. */
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

  /** @returns what happens at once because of it */
  async #perform(effect: Effect): Promise<Event | undefined> {
    switch (effect.type) {
      case 'send':
        return this.#sent(effect)
      case 'audit':
        this.#decisions.push({ ...decisionOf(effect.entry, this.#payload), time: this.#now?.time ?? '' })
        return undefined
      case 'check': {
        const then = this.#now?.checks?.[this.#checks++]
        if (then === undefined) return { type: 'checked', check: effect.check, results: await this.#results(effect.subjects) }
        this.#due.set(then, effect)
        return undefined
      }
      case 'start-timer':
        this.#timers.add(effect.timer)
        return undefined
      case 'stop-timer':
        this.#timers.delete(effect.timer)
        return undefined
      case 'observe':
      case 'abandon':
      case 'complete':
      case 'failed':
      case 'close':
        return undefined
    }
  }

  #sent({ to, exchange, frame }: Extract<Effect, { readonly type: 'send' }>): Event | undefined {
    const bytes = this.#came.has(frame.bytes) ? frame.bytes : this.#payload.bytes(frame)
    this.#messages.push({ to, exchange: exchange.name, frame: { ...frame, bytes } })
    for (const key of requestsIn(frame)) {
      const name = this.#named(exchange.name, key)
      this.#asks[to].add(name)
      if (to === 'server' && !this.#asked.server.has(name)) return { type: 'request-lost', exchange, key, reason: notCaptured }
    }
    return undefined
  }

  #checkNow(subject: Subject): Checked | undefined {
    const isLate = this.#now?.late?.includes(this.#questions++) === true
    const checked = this.#judgement.checker.check(subject)
    if (!isLate && !(checked instanceof Promise)) return checked
    this.#promised.set(subject, checked)
    return undefined
  }

  async #results(subjects: readonly Subject[]): Promise<readonly Checked[]> {
    const results = await Promise.all(subjects.map(async subject => this.#promised.get(subject) ?? this.#judgement.checker.check(subject)))
    for (const subject of subjects) this.#promised.delete(subject)
    return results
  }

  /** Without a session each exchange has ids of its own. */
  #named(exchange: string, key: IdKey): string {
    return this.#stateless ? `${exchange} ${key}` : key
  }
}

/** Why a request that is sent by these settings alone has no answer. */
export const notCaptured = 'its answer is not in the capture'

const requestsIn = (frame: Frame): readonly IdKey[] =>
  membersOf(frame).flatMap(one => (one.message.kind === 'request' ? keysOf(one).slice(0, 1) : []))

/** What left, as one line of text: the same only where every byte is. */
export const told = ({ to, exchange, frame: { bytes } }: Message): string => `${to} ${exchange} ${isUtf8(bytes) ? bytes.toString() : bytes.toString('latin1')}`
