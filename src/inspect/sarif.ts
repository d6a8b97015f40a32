import { createHash } from 'node:crypto'
import { plainJson } from '../protocol/quote.js'
import { isString, member } from '../protocol/unmetered.js'
import { type RuleName, ruleNamed } from '../rules/index.js'
import { type Inspection, problemsOf, type Weighed } from './inspection.js'
import { plain } from './plain.js'

/**
 * The findings as SARIF 2.1.0. Definitions come from a running server and have no line in any file; the place
 * that they are shown
 * at is the file that stands for the server, and the tool is the logical location.
 * @param file where the server is declared or written, relative to the working directory
 */
export const sarifReport = (inspection: Inspection, file: string, version: string): string => {
  const { connected: { revision }, lists, target, findings } = inspection
  const server = serverName(inspection)
  const run = {
    category: server,
    problems: problemsOf(lists).map(({ list, message }) => `${list} could not be listed in full: ${message}`),
    properties: { server: plain(target, 300), revision: plain(revision) },
    results: findings.map(finding => result(finding, server, file)),
  }
  return sarifLog([run], version)
}

/**
 * By it the servers of one job are told apart: the operator's name for it, or its own; what its command is
 * called tells little.
 */
const serverName = ({ name, isNamed, connected }: Inspection): string => {
  const own = member(connected.serverInfo, 'name')
  return (!isNamed && isString(own) && plain(own, 128)) || plain(name, 128)
}

const levels = { block: 'error', demote: 'error', mend: 'warning', log: 'warning' } as const

const result = (
  { rule, action, event, tool, within, message }: Weighed, server: string, file: string,
): SarifResult => {
  const place = plain(within, 300)
  const subject = tool === undefined ? plain(event) : plain(tool, 128)
  return {
    rule,
    level: rule.startsWith('advice/') && action === 'log' ? 'note' : levels[action],
    text: `${tool === undefined ? '' : 'tool '}${subject}${place === '' ? '' : ` at ${place}`}: ` +
      plain(message, 500),
    file,
    line: 1,
    subject: { name: `${server}/${subject}`, kind: tool === undefined ? 'module' : 'function' },
    fingerprint: [server, event, tool ?? '', rule, within],
    properties: { action, event, ...(tool !== undefined && { tool: subject }) },
  }
}

const homepage = 'https://www.npmjs.com/package/mcp-customs'

/** What one server is reported for. */
export interface SarifRun {
  /** By it the servers of one job are told apart, and runs of other kinds. */
  readonly category: string
  /** Why not everything could be looked at. */
  readonly problems: readonly string[]
  readonly properties: Readonly<Record<string, string>>
  readonly results: readonly SarifResult[]
}

export interface SarifResult {
  readonly rule: RuleName
  readonly level: 'error' | 'warning' | 'note'
  /** Fit to be shown. */
  readonly text: string
  /** A relative URI, and a line of it. */
  readonly file: string
  readonly line: number
  /** What it is about, where it has no line of its own in any file. */
  readonly subject: { readonly name: string; readonly kind: 'module' | 'function' }
  /** By which it is told from others of the same line, and found again in the next run. */
  readonly fingerprint: readonly string[]
  readonly properties: Readonly<Record<string, string>>
}

/** SARIF 2.1.0, for code scanning in CI. @param version ours */
export const sarifLog = (runs: readonly SarifRun[], version: string): string =>
  plainJson({
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json', version: '2.1.0',
    runs: runs.map(one => run(one, version)),
  }) + '\n'

const run = ({ category, problems, properties, results }: SarifRun, version: string) => {
  const rules = [...new Set(results.map(({ rule }) => rule))]
  return {
    tool: { driver: {
      name: 'mcp-customs', semanticVersion: version, informationUri: homepage, rules: rules.map(descriptor),
    } },
    automationDetails: { id: `mcp-customs/${category}/` },
    invocations: [
      {
        executionSuccessful: problems.length === 0,
        toolExecutionNotifications: problems.map(text => ({ level: 'error', message: { text } })),
      },
    ],
    properties,
    results: results.map(one => resultValue(one, rules.indexOf(one.rule))),
  }
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

const resultValue = (
  { rule, level, text, file, line, subject, fingerprint, properties }: SarifResult, ruleIndex: number,
) => ({
  ruleId: rule,
  ruleIndex,
  level,
  message: { text },
  locations: [
    {
      physicalLocation: { artifactLocation: { uri: file }, region: { startLine: line } },
      logicalLocations: [{ fullyQualifiedName: plain(subject.name, 300), kind: subject.kind }],
    },
  ],
  partialFingerprints: { primaryLocationLineHash: `${digest(fingerprint)}:1` },
  properties,
})

const digest = (parts: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32)
