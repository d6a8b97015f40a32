import type { Frame } from '../protocol/frame.js'
import type { JsonObject } from '../protocol/json.js'
import type { Part } from '../protocol/mcp.js'
import type { Revision } from '../protocol/revision.js'
import type { Tool } from './catalog.js'
import type { Checked } from './check.js'
import type { RuleName } from './rule-name.js'

/** One thing that is wrong. Text from the wire appears in it only through `quote`. */
export interface Finding {
  readonly rule: RuleName
  /** JSON Pointer into the frame. */
  readonly path: string
  readonly message: string
}

/** A tool as it stands in a list: untrusted, possibly no tool at all. */
export interface Listed {
  readonly definition: JsonObject
  /** JSON Pointer of the definition in the frame, such as `/result/tools/3`. */
  readonly path: string
  readonly revision: Revision
  readonly trusted: boolean
  /** What the schemas' inspection found (tool/schema, tool/external-ref, tool/schema-cost). */
  readonly schemas: Checked
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
  /** The arguments against `inputSchema`; undefined when there was nothing to check against. */
  readonly checked: Checked | undefined
}

/** What a model reads: the result of a tool, or prompts, resources, instructions. */
export interface Reading {
  /** The method that was answered: `tools/call`, `prompts/get`, `resources/read`, `initialize`, `server/discover`. */
  readonly method: string
  readonly result: JsonObject
  /** The pieces of content in the result. */
  readonly parts: readonly Part[]
  readonly revision: Revision
  /** No string of the frame holds anything but printable ASCII and white space: nothing can be hidden in it. */
  readonly plain: boolean
}

/** The result of a `tools/call`, wherever it arrived. */
export interface Answer extends Reading {
  readonly name: string
  readonly tool: Tool | undefined
  /** `structuredContent` against `outputSchema`; undefined when there was nothing to check. */
  readonly checked: Checked | undefined
}

/** A request of the server's, or one that it embeds in an `input_required` result. */
export interface ServerRequest {
  readonly method: string
  readonly params: JsonObject | undefined
  /** What the client declared (`initialize`, or `_meta` of the request being answered). */
  readonly clientCapabilities: JsonObject
  readonly path: string
}

/** What a rule can be asked about, by the name of the power that answers. */
export interface Subjects {
  onFrame: Frame
  onTool: Listed
  onCall: Call
  onResult: Answer
  /** Anything else that a model reads. */
  onReading: Reading
  onServerRequest: ServerRequest
}

export type Power = keyof Subjects

/** Each is optional: a rule has those that it needs. */
export type Powers = { readonly [Asked in Power]?: (subject: Subjects[Asked]) => readonly Finding[] }

/** One thing to look for. A rule returns findings and knows nothing of actions; one that throws is a finding of its own. */
export interface Rule extends Powers {
  readonly name: RuleName
}
