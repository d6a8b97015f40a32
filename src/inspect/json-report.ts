import { member } from '../protocol/unmetered.js'
import { plainJson } from '../protocol/quote.js'
import { severer, type Verdict } from '../core/findings.js'
import { withDigits } from '../lock/digits.js'
import { ruleNamed } from '../rules/index.js'
import { titleOf } from './claims.js'
import { argumentsOf } from './arguments.js'
import { type Inspection, problemsOf, type Weighed } from './inspection.js'
import type { Listing } from './lists.js'

/** The inspection for programs: the shape is in docs/inspect.md, and grows but does not change. */
export const jsonReport = (inspection: Inspection): string => {
  const { name, target, trusted, connected, lists, tools, annotations, call, findings, more } = inspection
  const { revision, supported, capabilities, serverInfo = null, instructions = null } = connected
  // A number that a double does not hold has all its digits.
  return withDigits(plainJson({
    version: 1,
    server: { name, target, trusted, serverInfo, revision, supportedVersions: supported, capabilities, instructions, annotations },
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
      ...(call.answer && (call.answer.kind === 'error' ? { error: call.answer.error } : { result: call.answer.result })),
      verdict: verdictOf(call.findings),
    },
    findings: findings.map(({ rule, action, event, tool, path, message }) => ({
      rule, action, event, ...(tool !== undefined && { tool }), path, message, ...(ruleNamed(rule)?.mend !== undefined && { mendable: true }),
    })),
    more,
    verdict: verdictOf(findings),
  })) + '\n'
}

const values = ({ items }: Listing) => items.map(({ value }) => value)

export const verdictOf = (findings: readonly Weighed[]): Verdict =>
  findings.reduce<Verdict>((worst, { action }) => severer(worst, action), 'pass')
