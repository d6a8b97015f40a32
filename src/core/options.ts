import type { JsonObject } from '../protocol/json.js'
import type { Accepted } from './accepted.js'
import type { Checked, Subject } from './check.js'
import type { Entry } from './event.js'
import type { Ledger } from './memory.js'
import type { Policy } from './findings.js'
import type { Rule } from './rule.js'

/** What the operator says of one tool. */
export interface ToolSetting {
  readonly denied: boolean
  /** Replaces the server's, in the client's list too. */
  readonly outputSchema: JsonObject | boolean | undefined
  /** What each of its results must be as a whole: the operator's word, for no client to see. */
  readonly resultSchema?: JsonObject | boolean | undefined
  /** The JSON object in the one text block of a result becomes its structured content, where it fits the output schema. */
  readonly structured?: 'from-text' | undefined
  /** Stand over the server's, or in their place. */
  readonly annotations: JsonObject | undefined
}

/** `policy` and `tools` are read when they are needed, and never kept: the operator may replace them while the session runs. */
export interface RelayOptions {
  /** The server's name in the configuration; never `serverInfo.name`, which the server chooses itself. */
  readonly server: string
  readonly session: string
  /** Who began the session, where that is known. */
  readonly peer?: Entry['peer']
  /** Unguessable: what the relay's own ids are made from. */
  readonly nonce: string
  /** Each exchange has ids of its own, and what the client declared may have been said elsewhere (HTTP without a session). */
  readonly stateless: boolean
  /** The session began before this relay knew of it (another replica, a restart): its handshake is not known. */
  readonly joined?: boolean
  /** The account of the process, to which what this session keeps is added; undefined: one for all sessions. */
  readonly ledger?: Ledger | undefined
  readonly policy: Policy
  /** In the order in which findings are reported. */
  readonly rules: readonly Rule[]
  readonly trusted: boolean
  readonly tools: ReadonlyMap<string, ToolSetting>
  /** Undefined where there is no lock. */
  readonly accepted?: Accepted | undefined
  /** Longest wait for a list of the relay's own, in milliseconds. */
  readonly listMs: number
  /** Longest wait for an answer, in milliseconds; 0: as long as the server likes. */
  readonly requestMs: number
  /** More tools than that are no catalogue. */
  readonly maxTools: number
  /** Findings that are kept of one frame; undefined: as many as fit into a record. */
  readonly maxFindings?: number | undefined
  /** A call goes on record before it goes to the server, so that a crash leaves none unrecorded. */
  readonly intent: boolean
  /** Somebody wants to know of each request when it is over, for metrics or traces. */
  readonly observed?: boolean
  /** The engine's verdict, where it is provably cheap; undefined: it is asked for by the effect `check`. */
  readonly checkNow: (subject: Subject) => Checked | undefined
}
