import type { Logger } from 'pino'
import { ranked } from '#relay/core/danger.js'
import { noise } from '#relay/core/event.js'
import type { Entry, Finding, Verdict } from '#relay/core/vocabulary.js'
import { visible } from '#relay/base/errors.js'
import { clip, quote } from '#relay/protocol/quote.js'
import type { Position } from './record.js'
import { declaredBy, redactedPath } from './redaction.js'
import { safeName } from '#relay/protocol/text/secrets.js'

/** Messages for the operator on stderr: JSON lines written by pino, or text where stderr is a terminal. */
export interface Log {
  /** Logs a decision with findings. The start and end of a session are logged at level debug. */
  decision(entry: Entry): void
  warn(message: string): void
  info(message: string): void
  /**
   * Logs the sequence number and hash of the last record, at level info. A copy kept elsewhere proves later
   * that no record was removed.
   */
  checkpoint(file: string | undefined, position: Position): void
  /** Logs a finished HTTP request, at level info. */
  httpRequest(request: object): void
  /** Resolves when every message is written. */
  close(): Promise<void>
}

/** Most findings logged for one decision; the audit log has all. */
const maxFindings = 5

const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']

type Level = 'debug' | 'info' | 'warn'

const levelOf: Readonly<Record<Verdict, Level>> =
  { pass: 'debug', log: 'info', mend: 'info', demote: 'warn', block: 'warn' }

/** Explains a rule: its findings, and what to do. */
type Explain = (rule: string, server: string, tool?: string) =>
  { readonly means: string; readonly next: readonly string[] } | undefined

type Say = (severity: Level, fields: object, message: string, details?: readonly string[]) => void

/**
 * @param level least severe message that is logged (pino's names)
 * @param terminal gets text in the place of the JSON lines
 */
export const openLog = (
  level: string, explain: Explain,
  terminal: { write(text: string): unknown } | undefined = process.stderr.isTTY ? process.stderr : undefined,
): Log => {
  let loading: Promise<Logger> | undefined
  // Pino is loaded with the first message: most relays log nothing while they start.
  const log: Say = (severity, fields, message) => {
    loading ??= import('pino').then(({ pino }) =>
      pino({ level, name: 'mcp-customs' }, pino.destination({ dest: 2, sync: true })))
    loading = loading.then(logger => {
      logger[severity](fields, message)
      return logger
    })
  }
  const print: Say = (_severity, _fields, message, details = []) =>
    terminal?.write(
      [`mcp-customs: ${visible(message)}`, ...details.map(line => `  ${visible(line)}`), ''].join('\n'),
    )
  const say: Say = (severity, ...rest) => {
    if (levels.indexOf(severity) >= levels.indexOf(level)) (terminal ? print : log)(severity, ...rest)
  }
  return {
    decision({ called, event, from, server, session, tool, verdict, findings, reason }) {
      if (findings.length === 0 && !event.startsWith('session/')) return
      // Each tool of an untrusted server that has annotations has this finding: it alone is no warning.
      const all = ranked(findings)
      const firstOther = all.find(({ rule }) => rule !== 'tool/annotations')
      const shownFindings = all.slice(0, maxFindings).map(finding => scrubbed(finding, called))
      const explained = firstOther && explain(firstOther.rule, server, firstOther.tool ?? tool)
      const fields = {
        event, from, server, session,
        tool: nameIn(tool),
        verdict, findings: shownFindings, of: findings.length, ...explained,
      }
      const details = shownFindings.map(lineOf)
      if (explained) details.push(explained.means, ...explained.next.map(step => `→ ${step}`))
      const subject = subjectOf(event, tool, server)
      // The transport tells of noise once; nothing was blocked.
      if (reason === noise) return say('debug', fields, `noise: ${subject}`, details)
      say(
        findings.length > 0 && firstOther === undefined ? 'info' : levelOf[verdict], fields,
        event.startsWith('session/') ? subject : `${words[verdict]}: ${subject}`, details,
      )
    },
    warn: message => say('warn', {}, message),
    httpRequest: request => say('info', request, 'request'),
    info: message => say('info', {}, message),
    checkpoint: (file, { seq, hash }) => say('info', { file, seq, head: hash }, 'audit checkpoint'),
    close: async () => {
      await loading
    },
  }
}

/** Paths and messages quote names from the wire. A server may put the operator's secrets into names. */
const scrubbed = (
  { rule, path, message, tool, prompt, resource }: Finding, called: Entry['called'],
): Finding => ({
  rule,
  path: redactedPath(path, declaredBy(called)),
  message: safeName(message),
  tool: nameIn(tool), prompt: nameIn(prompt), resource: nameIn(resource),
})

const nameIn = (name: string | undefined) => (name === undefined ? undefined : safeName(clip(name)))

const lineOf = ({ rule, path, message, tool, prompt, resource }: Finding): string => {
  const named = Object.entries({ tool, prompt, resource })
    .flatMap(([kind, name]) => (name === undefined ? [] : [`${kind} ${quote(name)}: `]))
  return `${named.join('')}${rule} at ${path || '/'}: ${message}`
}

const words: Readonly<Record<Verdict, string>> =
  { pass: 'passed', log: 'passed, with findings', mend: 'mended', demote: 'demoted', block: 'blocked' }

const subjectOf = (event: string, tool: string | undefined, server: string): string =>
  `${event}${tool === undefined ? '' : ` ${safeName(quote(tool))}`} of ${server}`
