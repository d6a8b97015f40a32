import { createHash } from 'node:crypto'
import { plainJson } from '#relay/protocol/quote.js'
import { isString, field } from '#relay/protocol/unmetered.js'
import { explained, inText, type RuleName, ruleNamed } from '#relay/rules/index.js'
import { type Inspection, inspectionProblems, type Weighed } from './inspection.js'
import { plain } from '#relay/base/plain.js'
import type { ProfiledTools } from './profiles.js'
import { taxonomies as catalogues } from './taxa.js'

/**
 * The findings as SARIF 2.1.0. Definitions have no line in any file: the location is the file that stands for
 * the server, the tool is the logical location.
 * @param file where the server is declared or written, relative to the working directory
 */
export const sarifReport = (inspection: Inspection, file: string, version: string): string => {
  const { connected: { revision }, lists, target, findings } = inspection
  const server = serverName(inspection)
  const run = {
    category: server,
    problems: inspectionProblems(lists).map(({ list, message }) => `${list} could not be listed in full: ${message}`),
    properties: { server: plain(target, 300), revision: plain(revision) },
    results: [
      ...findings.map(finding => result(finding, server, file)),
      ...inspection.profiles.flatMap(one => profileResults(one, server, file)),
    ],
  }
  return sarifLog([run], version)
}

/** Tells the servers of one job apart: the operator's name, else the server's own, else the derived one. */
const serverName = ({ name, isNamed, connected }: Inspection): string => {
  const own = field(connected.serverInfo, 'name')
  return (!isNamed && isString(own) && plain(own, 128)) || plain(name, 128)
}

const levels = { block: 'error', demote: 'error', mend: 'warning', log: 'warning' } as const

const result = (
  { rule, action, event, tool, prompt, resource, within, message }: Weighed, server: string, file: string,
): SarifResult => {
  const place = plain(within, 300)
  const [kind, name] =
    Object.entries({ tool, prompt, resource }).find(([, name]) => name !== undefined) ?? ['', undefined]
  const subject = name === undefined ? plain(event) : plain(name, 128)
  return {
    rule,
    level: rule.startsWith('advice/') && action === 'log' ? 'note' : levels[action],
    text: `${`${kind} ${subject}`.trim()}${place === '' ? '' : ` at ${place}`}: ${plain(message, 500)}`,
    file,
    line: 1,
    subject: { name: `${server}/${subject}`, kind: name === undefined ? 'module' : 'function' },
    fingerprint: [server, event, name ?? '', rule, within],
    properties: { action, event, ...(name !== undefined && { [kind]: subject }) },
  }
}

/** One result for each reason why a client refuses a tool. */
const profileResults = (
  { profile, tools }: ProfiledTools, server: string, file: string,
): readonly SarifResult[] =>
  tools.flatMap(({ name, verdict, reasons }) => reasons.map(({ path, message }): SarifResult => {
    const subject = plain(name, 128)
    return {
      rule: 'tool/profile',
      level: verdict === 'refused' ? 'error' : 'warning',
      text: `tool ${subject} at ${plain(path, 300)}: ${profile.title} ${plain(message, 500)}`,
      file,
      line: 1,
      subject: { name: `${server}/${subject}`, kind: 'function' },
      fingerprint: [server, profile.name, name, path, message],
      properties: { profile: profile.name, verdict, tool: subject },
    }
  }))

const homepage = 'https://www.npmjs.com/package/mcp-customs'

/** The report about one server. */
interface SarifRun {
  /** Distinguishes the servers of one job, and kinds of runs. */
  readonly category: string
  /** Why the inspection is incomplete. */
  readonly problems: readonly string[]
  readonly properties: Readonly<Record<string, string>>
  readonly results: readonly SarifResult[]
}

export interface SarifResult {
  readonly rule: RuleName
  readonly level: 'error' | 'warning' | 'note'
  /** Safe to be shown. */
  readonly text: string
  /** A relative URI and a line. */
  readonly file: string
  readonly line: number
  /** The logical location. */
  readonly subject: { readonly name: string; readonly kind: 'module' | 'function' }
  /** Identifies the result across runs. */
  readonly fingerprint: readonly string[]
  readonly properties: Readonly<Record<string, string>>
}

/** A SARIF 2.1.0 log, for code scanning in CI. @param version ours */
export const sarifLog = (runs: readonly SarifRun[], version: string): string =>
  plainJson({
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json', version: '2.1.0',
    runs: runs.map(one => run(one, version)),
  }) + '\n'

/** The catalogues, with what rules meet. */
const taxonomies = catalogues.map(one => ({ ...one, taxa: one.taxa.filter(({ rules }) => rules.length > 0) }))

const run = ({ category, problems, properties, results }: SarifRun, version: string) => {
  const rules = [...new Set(results.map(({ rule }) => rule))]
  return {
    tool: { driver: {
      name: 'mcp-customs', semanticVersion: version, informationUri: homepage, rules: rules.map(descriptor),
      supportedTaxonomies: taxonomies.map(({ name }, index) => ({ name, index })),
    } },
    taxonomies: taxonomies.map(({ name, version, uri, taxa }) => ({
      name, version, informationUri: uri, organization: 'OWASP',
      shortDescription: { text: 'the part that rules of mcp-customs meet, in our words' },
      taxa: taxa.map(({ id, text }) => ({ id, shortDescription: { text } })),
    })),
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
  const { title = rule, means = rule, next = [] } = ruleNamed(rule) ?? {}
  return {
    id: rule,
    shortDescription: { text: inText(title) },
    fullDescription: { text: means },
    help: {
      text: [means, ...(explained(rule)?.next ?? []).map(step => `${step}.`)].join('\n'),
      markdown: [means, '', ...next.map(step => `- ${step}.`)].join('\n'),
    },
    helpUri: `${homepage}#rules`,
    relationships: relationshipsOf(rule),
    properties: { tags: rule.startsWith('advice/') ? ['mcp'] : ['mcp', 'security'] },
  }
}

const relationshipsOf = (rule: RuleName) =>
  taxonomies.flatMap(({ name, taxa }, index) => taxa.flatMap(({ id, rules }, place) => (
    rules.includes(rule)
      ? [{ target: { id, index: place, toolComponent: { name, index } }, kinds: ['relevant'] }]
      : []
  )))

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
