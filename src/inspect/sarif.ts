import { isString, member } from '../protocol/unmetered.js'
import { problemsOf, type Inspection, type Weighed } from './inspection.js'
import { plain } from './plain.js'
import { sarifLog, type SarifResult } from './sarif-log.js'

/**
 * The findings as SARIF 2.1.0. Definitions come from a running server and have no line in any file; the place that they are shown
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

/** By it the servers of one job are told apart: the operator's name for it, or its own; what its command is called tells little. */
const serverName = ({ name, isNamed, connected }: Inspection): string => {
  const own = member(connected.serverInfo, 'name')
  return (!isNamed && isString(own) && plain(own, 128)) || plain(name, 128)
}

const levels = { block: 'error', demote: 'error', mend: 'warning', log: 'warning' } as const

const result = ({ rule, action, event, tool, within, message }: Weighed, server: string, file: string): SarifResult => {
  const place = plain(within, 300)
  const subject = tool === undefined ? plain(event) : plain(tool, 128)
  return {
    rule,
    level: rule.startsWith('advice/') && action === 'log' ? 'note' : levels[action],
    text: `${tool === undefined ? '' : 'tool '}${subject}${place === '' ? '' : ` at ${place}`}: ${plain(message, 500)}`,
    file,
    line: 1,
    subject: { name: `${server}/${subject}`, kind: tool === undefined ? 'module' : 'function' },
    fingerprint: [server, event, tool ?? '', rule, within],
    properties: { action, event, ...(tool !== undefined && { tool: subject }) },
  }
}
