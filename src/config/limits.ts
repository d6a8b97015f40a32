import type { SchemaLimits } from '../core/check.js'
import type { FrameLimits } from '../protocol/frame.js'
import type { Range, Setting } from './setting.js'

/** What a peer may use up (contract section 3). Sizes in bytes, times in milliseconds. */
export interface Limits extends FrameLimits, SchemaLimits {
  /** Most tools of a catalogue. */
  readonly tools: number
  /** Longest wait for a list that the relay asks for itself. */
  readonly listMs: number
  /** Longest wait for an answer; 0: no limit of ours. */
  readonly requestMs: number
}

/** How many sessions `serve` keeps, and for how long. */
export interface SessionLimits {
  /** More at a time are refused. */
  readonly maxSessions: number
  /** A session in which nothing happens, and no stream is open, ends after this long. */
  readonly idleMs: number
  /** How long running requests may go on when the relay is told to stop. */
  readonly graceMs: number
}

export interface Bound extends Range {
  readonly usual: number
}

// Longest delay that a Node timer takes.
const longestTimer = 2 ** 31 - 1

/** Each limit's default, and what may be asked for: nesting stays clear of the stack, times fit a timer. */
export const limitBounds: Readonly<Record<keyof Limits, Bound>> = {
  messageBytes: { usual: 16 * 1024 * 1024, least: 1024, most: 256 * 1024 * 1024 },
  depth: { usual: 128, least: 8, most: 1000 },
  schemaBytes: { usual: 256 * 1024, least: 1, most: 16 * 1024 * 1024 },
  schemaDepth: { usual: 64, least: 1, most: 500 },
  subschemas: { usual: 5000, least: 1, most: 100_000 },
  validationMs: { usual: 100, least: 1, most: 60_000 },
  tools: { usual: 5000, least: 1, most: 50_000 },
  listMs: { usual: 10_000, least: 1, most: longestTimer },
  requestMs: { usual: 0, least: 0, most: longestTimer },
}

export const sessionBounds: Readonly<Record<keyof SessionLimits, Bound>> = {
  maxSessions: { usual: 1000, least: 1, most: 1_000_000 },
  idleMs: { usual: 30 * 60_000, least: 1000, most: longestTimer },
  graceMs: { usual: 10_000, least: 0, most: longestTimer },
}

export const defaultLimits: Limits = {
  messageBytes: limitBounds.messageBytes.usual,
  depth: limitBounds.depth.usual,
  schemaBytes: limitBounds.schemaBytes.usual,
  schemaDepth: limitBounds.schemaDepth.usual,
  subschemas: limitBounds.subschemas.usual,
  validationMs: limitBounds.validationMs.usual,
  tools: limitBounds.tools.usual,
  listMs: limitBounds.listMs.usual,
  requestMs: limitBounds.requestMs.usual,
}

export const defaultSessionLimits: SessionLimits = {
  maxSessions: sessionBounds.maxSessions.usual,
  idleMs: sessionBounds.idleMs.usual,
  graceMs: sessionBounds.graceMs.usual,
}

/** The defaults, with what the setting says in their place. */
export const readBounded = <Name extends string>(
  setting: Setting | undefined,
  bounds: Readonly<Record<Name, Bound>>,
  defaults: Readonly<Record<Name, number>>,
): Readonly<Record<Name, number>> => {
  const names = Object.keys(bounds).filter((name): name is Name => Object.hasOwn(bounds, name))
  const at = setting?.known(names)
  const limits: Record<Name, number> = { ...defaults }
  for (const name of names) {
    const value = at?.(name)
    if (value) limits[name] = value.integer(bounds[name])
  }
  return limits
}
