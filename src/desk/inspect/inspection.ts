import { severer } from '#relay/core/findings.js'
import type { Action, Finding, Verdict } from '#relay/core/vocabulary.js'
import { withDigits } from '#relay/lock/digits.js'
import { plainJson } from '#relay/protocol/quote.js'
import { type DataObject, field } from '#relay/protocol/unmetered.js'
import { ruleNamed } from '#relay/rules/index.js'
import type { ServerResponse } from './client.js'
import type { Connected } from './connect.js'
import { argumentsOf, titleOf } from './definition.js'
import type { Item, ListedItems, Lists } from './lists.js'
import { type ProfiledTools, profilesJson } from './profiles.js'
import type { Saved } from './saved.js'

/** The result of an inspection, from which the reports are made. */
export interface Inspection {
  /** The server's name in the configuration, or a name derived from its command or URL. */
  readonly name: string
  /** True when the operator gave the server its name. */
  readonly isNamed: boolean
  /** The command line or URL, without secrets. */
  readonly target: string
  readonly trusted: boolean
  /** The saved list that was read instead of connecting. */
  readonly saved: Saved | undefined
  readonly connected: Connected
  readonly lists: Lists
  readonly tools: readonly InspectedTool[]
  readonly call: InspectedCall | undefined
  /** What becomes of the tools under the profiles that were asked for. */
  readonly profiles: readonly ProfiledTools[]
  /**
   * What a relay does about annotations. They are not reported as findings: an untrusted server may have
   * them.
   */
  readonly annotations: {
    /** How many tools have annotations. */
    readonly tools: number
    readonly kept: boolean
  }
  /** All other findings, weighed by the operator's policy; rules that are off are omitted. */
  readonly findings: readonly Weighed[]
  /** How many findings were dropped beyond the limit. */
  readonly more: number
}

/** Nothing is blocked, and all lists and findings are complete. */
export const isFine = ({ findings, more, lists }: Inspection): boolean =>
  !findings.some(({ action }) => action === 'block') && more === 0 && inspectionProblems(lists).length === 0

/** Incomplete lists, and why. */
export const inspectionProblems = (
  lists: Lists,
): readonly { readonly list: string; readonly message: string }[] =>
  Object.entries(lists).flatMap(
    ([list, { problem }]: [string, ListedItems]) =>
      (problem === undefined ? [] : [{ list, message: problem }]),
  )

/** An element of the tool list, which may be malformed. */
export interface InspectedTool {
  /** For an element without a name, its place in the list. */
  readonly name: string
  readonly definition: DataObject | undefined
  readonly denied: boolean
  readonly findings: readonly Weighed[]
}

export interface InspectedCall {
  readonly tool: string
  readonly arguments: DataObject
  /** Undefined when the tool was not called because it is missing from an incomplete list. */
  readonly response: ServerResponse | undefined
  readonly findings: readonly Weighed[]
}

/** A finding, and its action by the operator's policy. */
export interface Weighed extends Finding {
  readonly action: Exclude<Action, 'off'>
  /** The MCP method, or `wire`. */
  readonly event: string
  /** The tool, and its element of the list when the finding is about the definition. */
  readonly tool: string | undefined
  readonly item: Item | undefined
  /** Path within the tool's definition for findings about one, else `path`. */
  readonly within: string
}

/** The inspection as JSON; docs/inspect.md describes the shape, which only grows. */
export const jsonReport = (inspection: Inspection): string => {
  const { name, target, trusted, connected, lists, tools, annotations, call, findings, more, profiles } =
    inspection
  const { revision, supported, capabilities, serverInfo = null, instructions = null } = connected
  // Numbers beyond a double keep all their digits.
  return withDigits(plainJson({
    version: 1,
    server: {
      name, target, trusted, serverInfo, revision, supportedVersions: supported, capabilities, instructions,
      annotations,
    },
    tools: tools.map((tool, index) => ({
      name: tool.name,
      title: titleOf(tool.definition) ?? null,
      annotations: field(tool.definition, 'annotations') ?? null,
      arguments: argumentsOf(field(tool.definition, 'inputSchema')),
      outputSchema: field(tool.definition, 'outputSchema') !== undefined,
      denied: tool.denied,
      verdict: verdictOf(tool.findings),
      definition: lists.tools.items[index]?.value ?? null,
    })),
    prompts: values(lists.prompts),
    resources: values(lists.resources),
    resourceTemplates: values(lists.resourceTemplates),
    problems: inspectionProblems(lists),
    call: call === undefined ? null : {
      tool: call.tool,
      arguments: call.arguments,
      ...(call.response && (call.response.kind === 'error'
        ? { error: call.response.error }
        : { result: call.response.result })),
      verdict: verdictOf(call.findings),
    },
    ...(profiles.length > 0 && { profiles: profilesJson(profiles) }),
    // A member that is undefined is left out of the JSON.
    findings: findings.map(({ rule, action, event, tool, prompt, resource, path, message }) => ({
      rule, action, event, tool, prompt, resource, path, message,
      ...(ruleNamed(rule)?.mend !== undefined && { mendable: true }),
    })),
    more,
    verdict: verdictOf(findings),
  })) + '\n'
}

const values = ({ items }: ListedItems) => items.map(({ value }) => value)

export const verdictOf = (findings: readonly Weighed[]): Verdict =>
  findings.reduce<Verdict>((worst, { action }) => severer(worst, action), 'pass')
