import type { Entry } from '../core/effect.js'
import type { Event, Exchange, Side } from '../core/event.js'
import type { ToolSetting } from '../core/options.js'
import type { SchemaLimits } from '../core/check.js'
import type { FrameLimits } from '../protocol/frame.js'
import { isObject, isString, member, parseJson, type Json, type JsonObject } from '../protocol/json.js'
import type { NotedFrame } from './noted-frame.js'

/** What a peer may use up, by which a session was judged. */
export interface CaptureLimits extends FrameLimits, SchemaLimits {
  readonly listMs: number
  readonly requestMs: number
  readonly tools: number
}

/** By what a session was judged; all of it may be another when it is replayed. */
export interface Settings {
  readonly policy: Readonly<Record<string, string>>
  readonly trusted: boolean
  readonly tools: Readonly<Record<string, ToolSetting>>
  readonly limits: CaptureLimits
  readonly intent: boolean
}

/** The first line of a session. */
export interface Opening {
  /** Of this format. */
  readonly capture: 1
  readonly session: string
  /** ISO 8601. */
  readonly time: string
  readonly server: string
  /** What the relay's own ids are made from. */
  readonly nonce: string
  readonly stateless: boolean
  readonly payloads: 'redacted' | 'full'
  readonly settings: Settings
}

/** A message that left, by the number of the event that brought it where nothing was changed. */
export type Sent = { readonly to: Side; readonly exchange: Exchange } & ({ readonly number: number } | { readonly text: string } | { readonly base64: string })

/** A decision, as the audit log has it. */
export type Decision = Pick<Entry, 'event' | 'tool' | 'id' | 'verdict' | 'findings'>

type Without<Kind, Key extends PropertyKey> = Kind extends unknown ? Omit<Kind, Key> : never

/** What happened: an event of the core's, its frame as it is kept; the results of a check are made anew. */
export type Happened = Without<Exclude<Event, { readonly type: 'frame-received' | 'checked' }>, never>
  | { readonly type: 'frame-received'; readonly from: Side; readonly exchange: Exchange; readonly frame: NotedFrame }
  | { readonly type: 'checked'; readonly check: number }

/** Any other line: an event, and what came of it. */
export interface Happening {
  readonly session: string
  readonly time: string
  /** Counted from 0, within the session. */
  readonly number: number
  /** By the clock of the core, in milliseconds. */
  readonly at: number
  readonly event: Happened
  /** Which of the questions to the engine, counted within this event, it did not answer at once. */
  readonly late?: readonly number[] | undefined
  /** The checks that were asked for, by their numbers. */
  readonly checks?: readonly number[] | undefined
  readonly sent?: readonly Sent[] | undefined
  readonly decisions?: readonly Decision[] | undefined
}

export type Line = Opening | Happening

export const isOpening = (line: Line): line is Opening => 'capture' in line

/**
 * @returns undefined for what is no line of a capture: the half of one that a crash left
 * @throws Error for a capture of another version
 */
export const readLine = (text: string): Line | undefined => {
  let value: Json
  try {
    value = parseJson(text)
  } catch {
    return undefined
  }
  if (!isObject(value) || !isString(member(value, 'session'))) return undefined
  const version = member(value, 'capture')
  if (version !== undefined && version !== 1) throw new Error(`it is a capture of version ${JSON.stringify(version)}, which this relay does not know`)
  return version === 1 ? (isOpen(value) ? (value as unknown as Opening) : undefined) : hasHappened(value) ? (value as unknown as Happening) : undefined
}

// The members by which anything is decided; the rest was written by ourselves, and is read as it stands.
const isOpen = (value: JsonObject): boolean => isString(member(value, 'nonce')) && isObject(member(value, 'settings'))

const hasHappened = (value: JsonObject): boolean => {
  const event = member(value, 'event')
  return typeof member(value, 'number') === 'number' && typeof member(value, 'at') === 'number' && isObject(event) && isString(member(event, 'type'))
}
