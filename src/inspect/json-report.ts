import { member } from '../protocol/json.js'
import { severer, type Verdict } from '../core/policy.js'
import { ruleNamed } from '../rules/index.js'
import { titleOf } from './claims.js'
import type { Inspection, Weighed } from './inspection.js'
import type { Listing } from './lists.js'
import { plainJson } from './plain.js'

/** The inspection for programs: the shape is in docs/inspect.md, and grows but does not change. */
export const jsonReport = (inspection: Inspection): string => {
  const { name, target, trusted, connected, lists, tools, call, findings } = inspection
  const { revision, supported, capabilities, serverInfo = null, instructions = null } = connected
  return plainJson({
    version: 1,
    server: { name, target, trusted, serverInfo, revision, supportedVersions: supported, capabilities, instructions },
    tools: tools.map(tool => ({
      name: tool.name,
      title: titleOf(tool.definition) ?? null,
      annotations: member(tool.definition, 'annotations') ?? null,
      outputSchema: member(tool.definition, 'outputSchema') !== undefined,
      denied: tool.denied,
      verdict: verdictOf(tool.findings),
    })),
    prompts: values(lists.prompts),
    resources: values(lists.resources),
    resourceTemplates: values(lists.resourceTemplates),
    problems: Object.entries(lists).flatMap(([list, { problem }]: [string, Listing]) =>
      problem === undefined ? [] : [{ list, message: problem }],
    ),
    call: call === undefined ? null : {
      tool: call.tool,
      arguments: call.arguments,
      ...(call.answer.kind === 'error' ? { error: call.answer.error } : { result: call.answer.result }),
      verdict: verdictOf(call.findings),
    },
    findings: findings.map(({ rule, action, event, tool, path, message }) => ({
      rule, action, event, ...(tool !== undefined && { tool }), path, message, ...(ruleNamed(rule)?.mend !== undefined && { mendable: true }),
    })),
    verdict: verdictOf(findings),
  }) + '\n'
}

const values = ({ items }: Listing) => items.map(({ value }) => value)

export const verdictOf = (findings: readonly Weighed[]): Verdict =>
  findings.reduce<Verdict>((worst, { action }) => severer(worst, action), 'pass')
