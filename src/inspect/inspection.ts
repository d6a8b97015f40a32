import type { Action } from '../core/policy.js'
import type { Finding } from '../core/rule.js'
import type { JsonObject } from '../protocol/json.js'
import type { Answer } from './client.js'
import type { Connected } from './connect.js'
import type { Item, Lists } from './lists.js'

/** Everything that an inspection has seen; what it is shown as is the reports' affair. */
export interface Inspection {
  /** The server's name in the configuration, or what it is called for want of one. */
  readonly name: string
  /** As the operator gave it, a command line or a URL, without the secrets in it. */
  readonly target: string
  readonly trusted: boolean
  readonly connected: Connected
  readonly lists: Lists
  readonly tools: readonly InspectedTool[]
  readonly call: InspectedCall | undefined
  /** All of them, as the operator's policy weighs them; those that it turns off are left out. */
  readonly findings: readonly Weighed[]
}

/** A tool as it was listed; possibly no tool at all. */
export interface InspectedTool {
  /** For an element without a name: where it stands in the list. */
  readonly name: string
  readonly definition: JsonObject | undefined
  readonly denied: boolean
  readonly findings: readonly Weighed[]
}

export interface InspectedCall {
  readonly tool: string
  readonly arguments: JsonObject
  readonly answer: Answer
  readonly findings: readonly Weighed[]
}

/** A finding, and what the operator's policy makes of it. */
export interface Weighed extends Finding {
  readonly action: Exclude<Action, 'off'>
  /** What was going on: the MCP method, or `wire`. */
  readonly event: string
  /** The name of the tool that it is about, and its place in the list when it is about the definition. */
  readonly tool: string | undefined
  readonly item: Item | undefined
  /** Within the tool's definition, for those about one; else as `path`. */
  readonly within: string
}
