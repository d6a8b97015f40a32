import type { Frame } from '../protocol/frame.js'
import type { JsonObject, Meter } from '../protocol/json.js'
import type { Link, Part } from '../protocol/places.js'
import type { Revision } from '../protocol/revisions/index.js'
import type { Drift } from './accepted.js'
import type { Tool } from './catalog.js'
import type { Checked } from './check.js'
import type { Side } from './event.js'
import type { Promotion } from './tool-results.js'

/** The core knows of no rule but by what it is asked, and of few by name; which there are is the table's to say (`rules/index.ts`). */
export type RuleName = `${'wire' | 'tool' | 'list' | 'call' | 'result' | 'content' | 'server' | 'advice'}/${string}`

/** One thing that is wrong. Text from the wire appears in it only through `quote` and `clip`. */
export interface Problem {
  /** JSON Pointer into the frame. */
  readonly path: string
  readonly message: string
  /** Whatever the policy does about the rule: this one alone keeps nothing from passing. */
  readonly isMinor?: boolean
}

export interface Finding extends Problem {
  readonly rule: RuleName
  /** What was changed so that it passes, in words of ours. */
  readonly mended?: string
}

/** A frame as it arrives. */
export interface Arrival {
  readonly frame: Frame
  readonly from: Side
  /** That the session is known to speak. */
  readonly revision: Revision
}

/** An id that cannot be what it should be: of a request, in flight already; of an answer, that of nothing asked; or one too many. */
export interface IdUse {
  readonly use: 'repeated' | 'unasked' | 'too-many' | 'unknown'
  readonly from: Side
}

/** A tool as it stands in a list: untrusted, possibly no tool at all. */
export interface ListedTool {
  /** As the server sent it; undefined when it is no object. */
  readonly sent: JsonObject | undefined
  /** The same without an output schema in whose place the operator has put one. */
  readonly definition: JsonObject | undefined
  /** JSON Pointer of the definition in the frame, such as `/result/tools/3`. */
  readonly path: string
  readonly revision: Revision
  readonly trusted: boolean
  /** What the schemas' inspection found (tool/schema, tool/external-ref, tool/schema-cost). */
  readonly schemas: Checked
  /** True when the list, on whichever page, has had the name before. */
  readonly repeated: boolean
  /** How the session listed the name first; undefined when it did not. */
  readonly first: JsonObject | undefined
  /** True when the session has seen a whole list before: a name that it has not seen was added. */
  readonly settled: boolean
  /** True when the operator denies the tool. */
  readonly denied: boolean
}

/** What is not what the operator has accepted. */
export interface Drifted {
  /** Of what, for people. */
  readonly kind: string
  readonly drift: Drift
  readonly path: string
}

/** Tools of a page that there is no room for. */
export interface ToolsOverLimit {
  readonly count: number
  readonly reason: string
}

/** The result of a method that lists something. */
export interface List {
  readonly method: string
  readonly result: JsonObject
  readonly revision: Revision
}

/** A `tools/call` on its way to the server. */
export interface Call {
  readonly name: string
  readonly arguments: JsonObject | undefined
  /** The declaration; undefined when the tool is in no list. */
  readonly tool: Tool | undefined
  /** True when the operator denies the tool. */
  readonly denied: boolean
  /** False when no list could be had, so that `tool` being undefined says nothing. */
  readonly listed: boolean
  readonly revision: Revision
  /** In what the HTTP headers disagree with the call; undefined when in nothing. */
  readonly mismatch: string | undefined
}

/** The arguments of a call against `inputSchema`. */
export interface CheckedArguments {
  readonly checked: Checked
}

/** What a model reads: the result of a tool, or prompts, resources, instructions, errors, requests of the server's. */
export interface Reading {
  readonly method: string
  /** The members that are read. */
  readonly value: JsonObject
  /** JSON Pointer of the value in the frame, such as `/result`. */
  readonly path: string
  /** The pieces of content in it. */
  readonly parts: readonly Part[]
  /** Icons, websites and URIs in it. */
  readonly links: readonly Link[]
  readonly revision: Revision
  /** No string of the frame holds a character that may be hidden. */
  readonly plain: boolean
}

/** The result of a `tools/call`, wherever it arrived. */
export interface Answer extends Reading {
  readonly name: string
  readonly tool: Tool | undefined
  /** `structuredContent` against `outputSchema`; undefined when there was nothing to check. */
  readonly checked: Checked | undefined
  /** The whole result against the operator's `resultSchema`; undefined where there is none. */
  readonly contract: Checked | undefined
  /** The JSON text of `structuredContent`, as it crosses the wire. */
  readonly structuredText: () => string | undefined
  /** Text blocks, by index, that are known to repeat it. */
  readonly repeats: readonly number[]
  /** What its text could become; undefined where that could be nothing. */
  readonly promotion: () => Promotion | undefined
}

/** A request of the server's, or one that it embeds in a result, an error or a notification. */
export interface ServerRequest {
  readonly method: string
  readonly params: JsonObject | undefined
  /** What the client declared (`initialize`, or `_meta` of the request being answered); undefined where that was not seen. */
  readonly clientCapabilities: JsonObject | undefined
  /** JSON Pointers into the frame; the same where only params were embedded. */
  readonly methodPath: string
  readonly paramsPath: string
}

/** What a rule can be asked about, by the name of the power that answers. */
export interface Subjects {
  onFrame: Arrival
  onId: IdUse
  onTool: ListedTool
  onDrift: Drifted
  onOverLimit: ToolsOverLimit
  onList: List
  onCall: Call
  onArguments: CheckedArguments
  onResult: Answer
  /** Anything else that a model reads. */
  onReading: Reading
  onServerRequest: ServerRequest
}

export type Power = keyof Subjects

/** Each is optional: a rule has those that it needs. A rule that walks what was sent pays the meter. */
export type Powers = { readonly [Asked in Power]?: (subject: Subjects[Asked], meter: Meter) => readonly Problem[] }

/** What rules can mend, by the power that finds it: the tool's definition, the list's result, the result of the tool, all else that is read. */
export type MendPower = 'onTool' | 'onList' | 'onResult' | 'onReading'

/** How a rule makes right what it finds: the value with as little changed as it takes; undefined where this case cannot be mended. */
export interface Mend {
  readonly onTool?: (tool: ListedTool, meter: Meter) => JsonObject | undefined
  readonly onList?: (list: List, meter: Meter) => JsonObject | undefined
  readonly onResult?: (answer: Answer, meter: Meter) => JsonObject | undefined
  readonly onReading?: (reading: Reading, meter: Meter) => JsonObject | undefined
  /** What is done about a case that cannot be mended; without it, it is blocked. */
  readonly otherwise?: 'log' | 'demote'
  /** To block is to mend: what is wrong is taken from the tool, and the tool stays. */
  readonly isBlock?: true
  /** Rules whose findings are of the same cause, and may be gone afterwards. */
  readonly heals?: readonly RuleName[]
}

/** One thing to look for. A rule says what is wrong and knows nothing of actions; one that throws is a finding of its own. */
export interface Rule extends Powers {
  readonly name: RuleName
  readonly mend?: Mend
  /** Asked of results that were checked against their schema: where no such rule is on, that check is spared. */
  readonly needsCheck?: true
}
