import type { Entry, Event, Named, Side } from '../core/event.js'
import type { ToolSetting } from '../core/options.js'
import type { SchemaLimits } from '../core/check.js'
import type { Finding } from '../core/rule.js'
import type { FrameLimits } from '../protocol/frame.js'
import type { NotedFrame } from './noted-frame.js'

/** What a peer may use up, by which a session was judged. */
export interface CaptureLimits extends FrameLimits, SchemaLimits {
  readonly listMs: number
  readonly requestMs: number
  readonly tools: number
}

/** What may change while a session runs. */
export interface Ruling {
  /** The action of each rule. */
  readonly policy: Readonly<Record<string, string>>
  readonly tools: Readonly<Record<string, ToolSetting>>
}

/** What the operator had accepted of the server. */
export interface CapturedLock {
  /** The lock file. */
  readonly text: string
  readonly isFrozen: boolean
  readonly isTrusted: boolean
  /** Of each class of change. */
  readonly actions: Readonly<Record<string, string>>
}

/** By what a session was judged; all of it may be another when it is replayed. */
export interface Settings extends Ruling {
  readonly trusted: boolean
  readonly limits: CaptureLimits
  readonly intent: boolean
  readonly mostFindings: number | undefined
  /** Undefined where there was no lock. */
  readonly lock: CapturedLock | undefined
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
  /** Left out where the session began here. */
  readonly joined?: boolean | undefined
  readonly payloads: 'redacted' | 'full'
  readonly settings: Settings
}

/** A message that left, by the number of the event that brought it where nothing was changed. */
export type Sent = { readonly to: Side; readonly exchange: string } & ({ readonly number: number } | { readonly text: string } | { readonly base64: string })

/** A decision, as the audit log has it; another version may have had other rules. */
export interface Decision extends Pick<Entry, 'event' | 'tool' | 'id' | 'verdict'> {
  readonly findings: readonly (Omit<Finding, 'rule'> & { readonly rule: string })[]
}

/** What happened: an event of the core's, its frame as it is kept; the results of a check are made anew. */
export type Happened =
  | Named<Exclude<Event, { readonly type: 'frame-received' | 'checked' }>>
  | { readonly type: 'frame-received'; readonly from: Side; readonly exchange: string; readonly frame: NotedFrame }
  | { readonly type: 'checked'; readonly check: number }

/** Any other line: an event, and what came of it. */
export interface Happening {
  readonly session: string
  readonly time: string
  /** Counted from 0, within the session. */
  readonly number: number
  /** By the clock of the core, in milliseconds. */
  readonly at: number
  /** By which it was judged, and all that follows, where that had changed. */
  readonly ruling?: Ruling | undefined
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
