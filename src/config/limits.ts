import { defaults } from './generated/defaults.js'
import type * as Written from './generated/types.js'

/** What a peer may use up (contract section 3). Sizes in bytes, times in milliseconds; each is described in the schema. */
export type Limits = Readonly<Required<Written.Limits>>

/** How many sessions `serve` keeps, for how long, and how long running requests may go on at the end. Times in milliseconds. */
export type SessionLimits = Readonly<Required<Written.Sessions>>

export const defaultLimits: Limits = defaults.limits

export const defaultSessionLimits: SessionLimits = defaults.sessions

export { limitBounds } from './generated/defaults.js'
