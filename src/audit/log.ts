import type { Logger } from 'pino'
import type { Entry } from '../core/event.js'
import type { Verdict } from '../core/findings.js'
import type { Finding } from '../core/rule.js'
import { clip, quote } from '../protocol/quote.js'
import type { Position } from './record.js'
import { withoutSecrets } from './secrets.js'

/** Messages for the operator, on stderr: one JSON line each, as pino writes them. */
export interface Log {
  /** Says what was found; a session's start and end at level debug. */
  entry(entry: Entry): void
  warn(message: string): void
  info(message: string): void
  /** Says how far an audit log has come, at level info: who keeps this elsewhere can prove later that nothing was taken back. */
  checkpoint(file: string | undefined, position: Position): void
  /** A request that is over, at level info. */
  access(request: object): void
  /** Resolves when everything is said. */
  close(): Promise<void>
}

/** Findings told of one decision; the audit log has all. */
const most = 5

const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']

type Level = 'debug' | 'info' | 'warn'

const levelOf: Readonly<Record<Verdict, Level>> = { pass: 'debug', log: 'info', mend: 'info', demote: 'warn', block: 'warn' }

/**
 * @param level least severe message that is said (pino's names). The logger itself is loaded with the first such message:
 *   most relays have nothing to say while they start.
 */
export const openLog = (level: string): Log => {
  let loading: Promise<Logger> | undefined
  const say = (severity: Level, fields: object, message: string): void => {
    if (levels.indexOf(severity) < levels.indexOf(level)) return
    loading ??= import('pino').then(({ pino }) => pino({ level, name: 'mcp-customs' }, pino.destination({ dest: 2, sync: true })))
    loading = loading.then(logger => {
      logger[severity](fields, message)
      return logger
    })
  }
  return {
    entry({ event, from, server, session, tool, verdict, findings }) {
      if (findings.length === 0 && !event.startsWith('session/')) return
      // Annotations are taken from every tool of every server that is not trusted: no news.
      const news = findings.length === 0 || findings.some(({ rule }) => rule !== 'tool/annotations')
      const told = { event, from, server, session, tool: tool === undefined ? undefined : withoutSecrets(clip(tool)), verdict, findings: findings.slice(0, most).map(scrubbed), of: findings.length }
      say(news ? levelOf[verdict] : 'info', told, saidOf(event, tool, verdict))
    },
    warn: message => say('warn', {}, message),
    access: request => say('info', request, 'request'),
    info: message => say('info', {}, message),
    checkpoint: (file, { seq, hash }) => say('info', { file, seq, head: hash }, 'audit checkpoint'),
    close: async () => {
      await loading
    },
  }
}

/** Paths and messages quote names from the wire, and a name may be a secret that the operator gave the server. */
const scrubbed = ({ rule, path, message }: Finding): Finding => ({
  rule,
  path: withoutSecrets(path),
  message: withoutSecrets(message),
})

const words: Readonly<Record<Verdict, string>> = { pass: 'passed', log: 'passed, with findings', mend: 'mended', demote: 'demoted', block: 'blocked' }

const saidOf = (event: string, tool: string | undefined, verdict: Verdict): string =>
  event.startsWith('session/') ? event : `${words[verdict]}: ${event}${tool === undefined ? '' : ` ${withoutSecrets(quote(tool))}`}`
