import type { Accepted, DecidedEvent, Effect, Entry, Event } from '#relay/core/vocabulary.js'
import type { RelayOptions, Ruling } from '#relay/core/options.js'
import { isString, unmetered } from '#relay/protocol/unmetered.js'
import type {
  CapturedLock, CaptureLimits, CapturedDecision, CapturedEvent, Captured, CaptureLine, Opening,
  CapturedRuling, Sent,
} from './line.js'
import { capturedFrame, capturedText } from './captured-frame.js'
import { findingOf, keyInCapture, type Redaction, redaction, wholeCapture } from './redaction.js'

export interface RecorderOptions {
  readonly payloads: Opening['payloads']
  readonly limits: CaptureLimits
  readonly write: (line: CaptureLine) => void
  /** The wall clock. */
  readonly now: () => Date
}

/** Captures one session: the events that the core received, and their effects. */
export class CaptureRecorder {
  readonly #write: (line: CaptureLine) => void
  readonly #now: () => Date
  readonly #redaction: Redaction
  readonly #numbers = new WeakMap<Buffer, number>()
  /** The last one that was written. */
  #ruling: Ruling
  #number = 0
  #asked = 0
  #late: number[] = []

  constructor(private readonly options: RelayOptions, { payloads, limits, write, now }: RecorderOptions) {
    const { session, nonce, stateless, joined, agreed, shared, sharedCounts } = options
    const { server, ruling, trusted, accepted, intent, maxFindings, minRevision } = options.judgement
    this.#ruling = ruling
    this.#write = write
    this.#now = now
    this.#redaction = redactionOf(payloads)
    write({
      capture: 1, session, time: now().toISOString(), server, nonce, stateless, joined, payloads,
      agreed: agreed && unmetered(agreed), shared: shared && {}, sharedCounts,
      settings: {
        ...capturedRuling(ruling), minRevision, trusted, limits, intent, mostFindings: maxFindings,
        lock: accepted && lockOf(accepted),
      },
    })
  }

  /** The core asked the schema engine. @param isLate whether its verdict comes in a later event */
  asked(isLate: boolean): void {
    if (isLate) this.#late.push(this.#asked)
    this.#asked++
  }

  /** @param now by the core's clock */
  handled(event: Event, now: number, effects: readonly Effect[]): void {
    if (!isDecided(event)) return
    const number = this.#number++
    if (event.type === 'frame-received') this.#numbers.set(event.frame.bytes, number)
    const checks = effects.flatMap(effect => (effect.type === 'check' ? [effect.check] : []))
    const sent = effects.flatMap(effect => (effect.type === 'send' ? [this.#sent(effect)] : []))
    const decisions =
      effects.flatMap(effect => (effect.type === 'audit' ? [decisionOf(effect.entry, this.#redaction)] : []))
    const line: Captured = {
      session: this.options.session, time: this.#now().toISOString(), number, at: now,
      ruling: this.#changed(), event: this.#happened(event),
      late: listed(this.#late),
      checks: listed(checks), sent: listed(sent), decisions: listed(decisions),
    }
    this.#asked = 0
    this.#late = []
    this.#write(line)
  }

  #changed(): CapturedRuling | undefined {
    const { ruling } = this.options.judgement
    if (ruling === this.#ruling) return undefined
    this.#ruling = ruling
    return capturedRuling(ruling)
  }

  #happened(event: DecidedEvent): CapturedEvent {
    if (event.type === 'checked') return { type: event.type, check: event.check }
    const redaction = this.#redaction
    const exchange = 'exchange' in event ? event.exchange.name : ''
    switch (event.type) {
      case 'frame-received':
        return { type: event.type, from: event.from, exchange, frame: capturedFrame(event.frame, redaction) }
      case 'request-lost':
        return {
          ...event, exchange, key: keyInCapture(event.key, redaction), reason: redaction.text(event.reason),
        }
      case 'server-gone':
      case 'session-ended':
        return { ...event, reason: redaction.text(event.reason) }
      case 'exchange-ended':
      case 'resumable':
        return { ...event, exchange }
      case 'shared':
        return { ...event, reply: isString(event.reply) ? event.reply : unmetered(event.reply) }
      case 'timer-fired':
      case 'server-renewed':
        return event
    }
  }

  #sent({ to, exchange: { name: exchange }, frame }: Extract<Effect, { readonly type: 'send' }>): Sent {
    const number = this.#numbers.get(frame.bytes)
    if (number !== undefined) return { to, exchange, number }
    return { to, exchange, ...capturedText(frame, this.#redaction) }
  }
}

const undecided: ReadonlySet<Event['type']> = new Set<Event['type']>(['head', 'between', 'stream-ended', 'whole'])

const isDecided = (event: Event): event is DecidedEvent => !undecided.has(event.type)

const capturedRuling = ({ policy, tools, names, shapes }: Ruling): CapturedRuling =>
  ({ policy: Object.fromEntries(policy), tools: Object.fromEntries(tools), names, profiles: shapes?.names })

const lockOf = ({ written, isFrozen, isTrusted, actions, program }: Accepted): CapturedLock =>
  ({ text: written(), isFrozen, isTrusted, actions, program })

export const redactionOf = (payloads: Opening['payloads']): Redaction =>
  payloads === 'full' ? wholeCapture : redaction()

export const decisionOf = (
  { event, tool, id, verdict, findings }: Entry, redaction: Redaction,
): CapturedDecision => ({
  event: redaction.text(event), tool: tool && redaction.text(tool),
  id: isString(id) ? redaction.text(id) : id,
  verdict, findings: findings.map(one => findingOf(one, redaction)),
})

const listed = <One>(list: readonly One[]): readonly One[] | undefined =>
  (list.length === 0 ? undefined : list)
