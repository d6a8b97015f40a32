import { createHash } from 'node:crypto'
import { isString, member } from '../protocol/json.js'
import { plainJson } from '../protocol/plain-json.js'
import { ruleNamed, type RuleName } from '../rules/index.js'
import { problemsOf, type Inspection, type Weighed } from './inspection.js'
import { plain } from './plain.js'

const homepage = 'https://www.npmjs.com/package/mcp-customs'

/**
 * The findings as SARIF 2.1.0, for code scanning in CI. Definitions come from a running server and have no line in any file; the
 * place that they are shown at is the file that stands for the server, and the tool is the logical location.
 * @param file where the server is declared or written, relative to the working directory
 */
export const sarifReport = (inspection: Inspection, file: string, version: string): string => {
  const rules = [...new Set(inspection.findings.map(({ rule }) => rule))]
  const { connected: { revision }, lists, target } = inspection
  const server = serverName(inspection)
  const problems = problemsOf(lists)
  return plainJson({
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: { driver: { name: 'mcp-customs', semanticVersion: version, informationUri: homepage, rules: rules.map(descriptor) } },
        automationDetails: { id: `mcp-customs/${server}/` },
        invocations: [
          {
            executionSuccessful: problems.length === 0,
            toolExecutionNotifications: problems.map(({ list, message }) => ({ level: 'error', message: { text: `${list} could not be listed in full: ${message}` } })),
          },
        ],
        properties: { server: plain(target, 300), revision: plain(revision) },
        results: inspection.findings.map(finding => result(finding, rules.indexOf(finding.rule), server, file)),
      },
    ],
  }) + '\n'
}

/** By it the servers of one job are told apart: the operator's name for it, or its own; what its command is called tells little. */
const serverName = ({ name, isNamed, connected }: Inspection): string => {
  const own = member(connected.serverInfo, 'name')
  return (!isNamed && isString(own) && plain(own, 128)) || plain(name, 128)
}

const descriptor = (rule: RuleName) => {
  const { text = rule, help = rule } = ruleNamed(rule) ?? {}
  return {
    id: rule,
    shortDescription: { text },
    fullDescription: { text },
    help: { text: help },
    helpUri: `${homepage}#rules`,
    properties: { tags: rule.startsWith('advice/') ? ['mcp'] : ['mcp', 'security'] },
  }
}

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
