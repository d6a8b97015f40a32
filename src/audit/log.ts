import type { Logger } from 'pino'
import type { Entry } from '../core/effect.js'
import type { Verdict } from '../core/policy.js'

/** Messages for the operator, on stderr: one JSON line each, as pino writes them. */
export interface Log {
  /** Says what was found; a session's start and end at level debug. */
  entry(entry: Entry): void
  warn(message: string): void
  info(message: string): void
  /** Resolves when everything is said. */
  close(): Promise<void>
}

const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']

type Level = 'debug' | 'info' | 'warn'

const levelOf: Readonly<Record<Verdict, Level>> = { pass: 'debug', log: 'info', demote: 'warn', block: 'warn' }

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
    entry({ event, server, session, tool, verdict, findings }) {
      if (findings.length === 0 && !event.startsWith('session/')) return
      say(levelOf[verdict], { event, server, session, tool, verdict, findings }, saidOf(event, tool, verdict))
    },
    warn: message => say('warn', {}, message),
    info: message => say('info', {}, message),
    close: async () => {
      await loading
    },
  }
}

const words: Readonly<Record<Verdict, string>> = { pass: 'passed', log: 'passed, with findings', demote: 'demoted', block: 'blocked' }

const saidOf = (event: string, tool: string | undefined, verdict: Verdict): string =>
  event.startsWith('session/') ? event : `${words[verdict]}: ${event}${tool === undefined ? '' : ` ${JSON.stringify(tool)}`}`
