import { createHash } from 'node:crypto'
import type { Inspection, Weighed } from './inspection.js'
import { plain, plainJson } from './plain.js'
import { ruleNamed, type RuleName } from '../rules/index.js'

/**
 * The findings as SARIF 2.1.0, for code scanning in CI. Definitions come from a running server and have no line in any file; the
 * place that they are shown at is the file that stands for the server, and the tool is the logical location.
 * @param file where the server is declared or written, relative to the working directory
 */
export const sarifReport = (inspection: Inspection, file: string, version: string): string => {
  const rules = [...new Set(inspection.findings.map(({ rule }) => rule))]
  const { connected: { revision }, target } = inspection
  return plainJson({
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: { driver: { name: 'mcp-customs', semanticVersion: version, rules: rules.map(rule => descriptor(rule, ruleNamed(rule)?.text ?? rule)) } },
        automationDetails: { id: `mcp-customs/${inspection.name}/` },
        properties: { server: plain(target, 300), revision: plain(revision) },
        results: inspection.findings.map(finding => result(finding, rules.indexOf(finding.rule), inspection.name, file)),
      },
    ],
  }) + '\n'
}

const descriptor = (rule: RuleName, text: string) => ({
  id: rule,
  shortDescription: { text },
  fullDescription: { text },
  help: { text },
  properties: { tags: rule.startsWith('advice/') ? ['mcp'] : ['mcp', 'security'] },
})

const levels = { block: 'error', demote: 'error', mend: 'warning', log: 'warning' } as const

const result = ({ rule, action, event, tool, within, message }: Weighed, ruleIndex: number, server: string, file: string) => {
  const place = plain(within, 300)
  const subject = tool === undefined ? plain(event) : `tool ${plain(tool, 128)}`
  return {
    ruleId: rule,
    ruleIndex,
    level: rule.startsWith('advice/') && action === 'log' ? 'note' : levels[action],
    message: { text: `${subject}${place === '' ? '' : ` at ${place}`}: ${plain(message, 500)}` },
    locations: [
      {
        physicalLocation: { artifactLocation: { uri: file }, region: { startLine: 1 } },
        logicalLocations: [{ fullyQualifiedName: `${server}/${tool === undefined ? plain(event) : plain(tool, 128)}`, kind: tool === undefined ? 'module' : 'function' }],
      },
    ],
    // All results are at one line of one file: by this they are told apart, and found again in the next run.
    partialFingerprints: { primaryLocationLineHash: `${digest(server, event, tool ?? '', rule, within)}:1` },
    properties: { action, event, ...(tool !== undefined && { tool: plain(tool, 128) }) },
  }
}

const digest = (...parts: readonly string[]): string => createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32)
