import type { Frame } from '#relay/protocol/frame.js'
import type { Json, JsonObject, Meter } from '#relay/protocol/json.js'
import type { Link, Part } from '#relay/protocol/places.js'
import type { Revision } from '#relay/protocol/revisions/index.js'
import type { Drift } from './accepted.js'
import type { Tool } from './catalog.js'
import type { Checked } from './check.js'
import type { Side } from './event.js'
import type { ClientShape } from './shape.js'
import type { Promotion } from './tool-results.js'

/** The core knows few rules by name. The table of all rules is in `rules/index.ts`. */
export type RuleName =
  `${'wire' | 'tool' | 'list' | 'call' | 'result' | 'content' | 'server' | 'advice'}/${string}`

/** The element of a list that a finding is about: a tool or prompt by name, a resource or template by URI. */
export interface About {
  readonly tool?: string | undefined
  readonly prompt?: string | undefined
  readonly resource?: string | undefined
}

/** One problem. Text from the wire must be quoted by `quote` or `clip`. */
export interface Problem extends About {
  /** JSON Pointer into the frame. */
  readonly path: string
  readonly message: string
  /** True when this problem alone stops nothing, whatever the policy says. */
  readonly isMinor?: boolean
  /** What stands there, and what the schema declares for it: for the record, which redacts them. */
  readonly value?: Json
  readonly declared?: Json
}

export interface Finding extends Problem {
  readonly rule: RuleName
  /** Describes the change that mended it. */
  readonly mended?: string
}

/** A frame as it arrives. */
export interface Arrival {
  readonly frame: Frame
  readonly from: Side
  /** The revision of the session or request. */
  readonly revision: Revision
}

/** A request id that is in flight already or exceeds a limit, or an id or a token without a request. */
export interface IdUse {
  /** `progress`: a progress token that no request of the client gave. */
  readonly use: 'repeated' | 'unasked' | 'no-room' | 'unknown' | 'progress'
  readonly from: Side
}

/** A revision older than the operator allows. */
export interface OldRevision {
  /** Who speaks it. */
  readonly from: Side
  readonly revision: Revision
  /** The oldest that is allowed. */
  readonly least: Revision
  /** JSON Pointer of the revision in the frame. */
  readonly path: string
}

/** An element of `result.tools`: untrusted, and possibly no tool. */
export interface ListedTool {
  /** The server's definition; undefined when it is no object. */
  readonly sent: JsonObject | undefined
  /** The same without its output schema if the operator replaces that. */
  readonly definition: JsonObject | undefined
  /** JSON Pointer of the definition in the frame, such as `/result/tools/3`. */
  readonly path: string
  readonly revision: Revision
  readonly trusted: boolean
  /** The problems of its schemas (tool/schema, tool/external-ref, tool/schema-cost). */
  readonly schemas: Checked
  /** True when the name is in the list twice, on any pages. */
  readonly repeated: boolean
  /** The first definition of the name in this session. */
  readonly first: JsonObject | undefined
  /** True when it differs from the first definition of the name, which another replica has seen. */
  readonly isChanged?: boolean
  /** True when the session has seen a whole list, so that a new name was added. */
  readonly settled: boolean
  /** True when the operator denies the tool. */
  readonly denied: boolean
}

/** A tool as its client gets it, or what the core itself changes for the client. */
export interface Shown {
  /** With the mends and the operator's words. */
  readonly definition: JsonObject | undefined
  /** The core's changes, where there is no definition. */
  readonly changes: readonly Problem[]
  readonly path: string
  readonly shape: ClientShape
}

/** A difference from the lock. */
export interface Drifted {
  /** The kind of the definition, for people. */
  readonly kind: string
  readonly drift: Drift
  readonly path: string
  readonly about?: About
}

/** Tools of a page beyond the limits. */
export interface ToolsOverLimit {
  readonly count: number
  readonly reason: string
}

/** The result of a method that lists something. */
export interface List {
  readonly method: string
  readonly result: JsonObject
  readonly revision: Revision
  /** Its cursor for the next page came before. */
  readonly repeats?: boolean
}

/** A `tools/call` on its way to the server. */
export interface Call {
  readonly name: string
  readonly arguments: JsonObject | undefined
  /** Undefined when the tool is in no list. */
  readonly tool: Tool | undefined
  /** True when the operator denies the tool. */
  readonly denied: boolean
  /** False when the relay could not get a list, so that an undefined `tool` may exist. */
  readonly listed: boolean
  readonly revision: Revision
  /** The difference between the HTTP headers and the call, if any. */
  readonly mismatch: string | undefined
  /** The limit that it exceeds, if any, and the milliseconds until the client may make it. */
  readonly rate: { readonly perMinute: number; readonly waitMs: number } | undefined
}

/** The arguments of a call against `inputSchema`. */
export interface CheckedArguments {
  readonly checked: Checked
}

/** Text that a model reads: tool results, prompts, resources, instructions, errors, server requests. */
export interface Reading {
  readonly method: string
  /** The members that are read. */
  readonly value: JsonObject
  /** JSON Pointer of the value in the frame, such as `/result`. */
  readonly path: string
  /** Its pieces of content. */
  readonly parts: readonly Part[]
  /** Its icons, websites and URIs. */
  readonly links: readonly Link[]
  readonly revision: Revision
  /** True when no string of the frame holds a character that may be hidden. */
  readonly plain: boolean
}

/** The result of a `tools/call`, also that of a task. */
export interface CallResult extends Reading {
  readonly name: string
  readonly tool: Tool | undefined
  /** `structuredContent` against `outputSchema`; undefined when either is missing. */
  readonly checked: Checked | undefined
  /** The whole result against the operator's `resultSchema`; undefined without one. */
  readonly contract: Checked | undefined
  /** The length of the result, in bytes, and the limit that it exceeds, if any. */
  readonly size: { readonly bytes: number; readonly limit: number } | undefined
  /** The JSON text of `structuredContent` on the wire. */
  readonly structuredText: () => string | undefined
  /** Indices of text blocks that are known to repeat it. */
  readonly repeats: readonly number[]
  /** The structured content that its text holds, if any. */
  readonly promotion: () => Promotion | undefined
}

/** A server request, or one embedded in a result, an error or a notification. */
export interface ServerRequest {
  readonly method: string
  readonly params: JsonObject | undefined
  /** From `initialize`, or from `_meta` of the answered request; undefined when not seen. */
  readonly clientCapabilities: JsonObject | undefined
  /** JSON Pointers into the frame; equal when only params were embedded. */
  readonly methodPath: string
  readonly paramsPath: string
}

/** The subject of each power of a rule. */
export interface Subjects {
  onFrame: Arrival
  onId: IdUse
  onRevision: OldRevision
  onTool: ListedTool
  onShown: Shown
  onDrift: Drifted
  onOverLimit: ToolsOverLimit
  onList: List
  onCall: Call
  onArguments: CheckedArguments
  onResult: CallResult
  /** Any other text that a model reads. */
  onReading: Reading
  onServerRequest: ServerRequest
}

export type Power = keyof Subjects

/** A rule has the powers that it needs. It pays the meter for loops over wire data. */
export type Powers = {
  readonly [Asked in Power]?: (subject: Subjects[Asked], meter: Meter) => readonly Problem[]
}

/** The powers whose values can be mended. */
export type MendPower = 'onTool' | 'onShown' | 'onList' | 'onResult' | 'onReading'

/** The mend of a rule: the value with the smallest change; undefined when it cannot be mended. */
export interface Mend {
  readonly onTool?: (tool: ListedTool, meter: Meter) => JsonObject | undefined
  readonly onShown?: (shown: Shown, meter: Meter) => JsonObject | undefined
  readonly onList?: (list: List, meter: Meter) => JsonObject | undefined
  readonly onResult?: (result: CallResult, meter: Meter) => JsonObject | undefined
  readonly onReading?: (reading: Reading, meter: Meter) => JsonObject | undefined
  /** Further attempts while the finding remains: each time, the rule sees a part of what is wrong. */
  readonly rounds?: number
  /** The client is shown the tool without its output schema; the relay goes on checking by it. */
  readonly hidesSchema?: true
  /** The action when it cannot be mended. Default: block. */
  readonly otherwise?: 'log' | 'demote'
  /** The action `block` mends too: it removes the problem from the tool, and the tool stays. */
  readonly isBlock?: true
  /** Rules whose findings have the same cause, and may disappear. */
  readonly heals?: readonly RuleName[]
}

/** A rule reports problems and knows no actions. A rule that throws is a finding of its own. */
export interface Rule extends Powers {
  readonly name: RuleName
  readonly mend?: Mend
  /** Results are validated by their schema only if such a rule is on. */
  readonly needsCheck?: true
  /** Mended for a tool or server that the operator has relaxed: honest servers break it, and work. */
  readonly relaxed?: true
}
