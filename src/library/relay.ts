import { randomUUID } from 'node:crypto'
import type { Limits } from '#relay/config/configuration.js'
import type {
  Checked, DecidedEvent, Effect as CoreEffect, Named, SchemaChecker, Subject,
} from '#relay/core/vocabulary.js'
import { NamedExchanges } from '#relay/core/event.js'
import { Relay as Core } from '#relay/core/relay.js'
import type { Frame } from '#relay/protocol/frame.js'
import { parseFrame as parse } from '#relay/protocol/parse.js'
import { isRecord, isString, field } from '#relay/protocol/unmetered.js'
import { createSchemaChecker as create } from '#relay/schema/index.js'
import { type JudgeOptions, readLimits, readOptions } from './options.js'

/** The input. The embedder names exchanges; `'stdio'` is a stdio connection. */
export type Event = Named<DecidedEvent>

/** The output. */
export type Effect = Named<Exclude<CoreEffect, { readonly type: 'hand' }>>

/** The pure core: takes events and returns effects, in order. */
export interface Relay {
  /** @param now a monotonic clock, in milliseconds */
  handle(event: Event, now: number): readonly Effect[]
  /** True while client frames are queued: the connection to the server must stay open. */
  readonly holding: boolean
}

export interface RelayOptions extends JudgeOptions {
  /** Names the session in the records. Default: a random UUID. */
  readonly session?: string
  /** Ids are unique within an exchange only (HTTP without a session). Default: false. */
  readonly stateless?: boolean
  /** The result of a cheap check. Default: each check is requested by the effect `check`. */
  readonly checkNow?: (subject: Subject) => Checked | undefined
}

/**
 * A relay with every rule and a preset policy. It does no IO and has no clock: the embedder performs the
 * effects.
 * @throws CustomsError BAD_CONFIG, naming the option
 */
export const createRelay = (options: RelayOptions = {}): Relay => {
  const judgement = readOptions(options, { session: 'string', stateless: 'boolean', checkNow: 'function' })
  const { session = randomUUID(), stateless = false, checkNow = () => undefined } = options
  const relay = new Core({ judgement, session, stateless, nonce: randomUUID(), checkNow })
  const exchanges = new NamedExchanges()
  return {
    handle: (event, now) =>
      relay
        .handle('exchange' in event ? { ...event, exchange: exchanges.of(event.exchange) } : event, now)
        .flatMap(effect => {
          if (effect.type === 'hand') return []
          return 'exchange' in effect ? { ...effect, exchange: effect.exchange.name } : effect
        }),
    get holding() {
      return relay.hasQueuedFrames
    },
  }
}

/**
 * Performs the relay's `check` effects. Its checks never throw or reject. Close it after use.
 * @throws CustomsError BAD_CONFIG for an unknown or invalid limit
 */
export const createSchemaChecker = (limits: Partial<Limits> = {}): SchemaChecker => {
  const checker = create(readLimits(limits))
  return {
    check: (subject: unknown) => (isSubject(subject) ? checker.check(subject) : noSubject),
    close: () => checker.close(),
  }
}

const noSubject: Checked = [
  { kind: 'unchecked', path: '', message: 'could not be judged: it is no JSON, or nested too deep' },
]

// JavaScript callers may pass anything. A circular value is too deep.
const isSubject = (subject: unknown): subject is Subject => {
  try {
    if (!isRecord(subject) || !isString(field(subject, 'path')) || !isJson(field(subject, 'schema')))
      return false
    const kind = field(subject, 'kind')
    return kind === 'schema' || (kind === 'value' && isJson(field(subject, 'value')))
  } catch {
    return false
  }
}

/** @throws RangeError for what is nested too deep */
const isJson = (value: unknown): boolean => {
  if (Array.isArray(value)) return value.every(isJson)
  if (isRecord(value)) return Object.values(value).every(inner => inner === undefined || isJson(inner))
  return value === null || isString(value) || typeof value === 'boolean' || Number.isFinite(value)
}

/**
 * Parses the bytes of one message, without line end, for the relay's `frame-received`. Invalid bytes never
 * throw; they are listed in the frame's `faults`.
 * @throws CustomsError BAD_CONFIG for an unknown or invalid limit
 */
export const parseFrame = (bytes: Buffer, limits: Partial<Limits> = {}): Frame =>
  // Parsed completely, so that the embedder can clone the frame.
  parse(bytes, { ...readLimits(limits), judgedBytes: 0 })
