import { type Action, severer, type Verdict } from '../core/findings.js'
import type { Finding } from '../core/rule.js'
import { withDigits } from '../lock/digits.js'
import { plainJson } from '../protocol/quote.js'
import { type JsonObject, member } from '../protocol/unmetered.js'
import { ruleNamed } from '../rules/index.js'
import type { Answer } from './client.js'
import type { Connected } from './connect.js'
import { argumentsOf, titleOf } from './definition.js'
import type { Item, Listing, Lists } from './lists.js'
import type { Saved } from './saved.js'

/** Everything that an inspection has seen; what it is shown as is the reports' affair. */
export interface Inspection {
  /** The server's name in the configuration, or what it is called for want of one. */
  readonly name: string
  /** True when the operator gave it that name. */
  readonly isNamed: boolean
  /** As the operator gave it, a command line or a URL, without the secrets in it. */
  readonly target: string
  readonly trusted: boolean
  /** The file that stands for the server, where there was none to connect to. */
  readonly saved: Saved | undefined
  readonly connected: Connected
  readonly lists: Lists
  readonly tools: readonly InspectedTool[]
  readonly call: InspectedCall | undefined
  /**
   * What a relay does about annotations. To have some is no fault of a server that nobody trusts, and so no
   * finding here.
   */
  readonly annotations: {
    /** How many tools have some. */
    readonly tools: number
    readonly kept: boolean
  }
  /** All others, as the operator's policy weighs them; those that it turns off are left out. */
  readonly findings: readonly Weighed[]
  /** How many there were beyond those; more than anybody reads, but nobody knows what they are. */
  readonly more: number
}

/** Nothing is blocked, and everything could be listed and told. */
export const isFine = ({ findings, more, lists }: Inspection): boolean =>
  !findings.some(({ action }) => action === 'block') && more === 0 && problemsOf(lists).length === 0

/** Lists that could not be read to their end, and why. */
export const problemsOf = (lists: Lists): readonly { readonly list: string; readonly message: string }[] =>
  Object.entries(lists).flatMap(
    ([list, { problem }]: [string, Listing]) => (problem === undefined ? [] : [{ list, message: problem }]),
  )

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
  /** Undefined where it was not made, because the tool is not in a list that is not whole. */
  readonly answer: Answer | undefined
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

/** The inspection for programs: the shape is in docs/inspect.md, and grows but does not change. */
export const jsonReport = (inspection: Inspection): string => {
  const { name, target, trusted, connected, lists, tools, annotations, call, findings, more } = inspection
  const { revision, supported, capabilities, serverInfo = null, instructions = null } = connected
  // A number that a double does not hold has all its digits.
  return withDigits(plainJson({
    version: 1,
    server: {
      name, target, trusted, serverInfo, revision, supportedVersions: supported, capabilities, instructions,
      annotations,
    },
    tools: tools.map((tool, index) => ({
      name: tool.name,
      title: titleOf(tool.definition) ?? null,
      annotations: member(tool.definition, 'annotations') ?? null,
      arguments: argumentsOf(member(tool.definition, 'inputSchema')),
      outputSchema: member(tool.definition, 'outputSchema') !== undefined,
      denied: tool.denied,
      verdict: verdictOf(tool.findings),
      definition: lists.tools.items[index]?.value ?? null,
    })),
    prompts: values(lists.prompts),
    resources: values(lists.resources),
    resourceTemplates: values(lists.resourceTemplates),
    problems: problemsOf(lists),
    call: call === undefined ? null : {
      tool: call.tool,
      arguments: call.arguments,
      ...(call.answer && (call.answer.kind === 'error'
        ? { error: call.answer.error }
        : { result: call.answer.result })),
      verdict: verdictOf(call.findings),
    },
    findings: findings.map(({ rule, action, event, tool, path, message }) => ({
      rule, action, event, ...(tool !== undefined && { tool }), path, message,
      ...(ruleNamed(rule)?.mend !== undefined && { mendable: true }),
    })),
    more,
    verdict: verdictOf(findings),
  })) + '\n'
}

const values = ({ items }: Listing) => items.map(({ value }) => value)

export const verdictOf = (findings: readonly Weighed[]): Verdict =>
  findings.reduce<Verdict>((worst, { action }) => severer(worst, action), 'pass')
