import { verdicts } from '../../core/findings.js'
import { CustomsError } from '../../errors.js'
import { quote } from '../../protocol/quote.js'
import { readTime, type Wanted } from '../../report/filter.js'
import { about, type Flag, type Flags, type Given, text, texts } from '../flag.js'

const key: Flag = { type: 'string', value: 'FILE', multiple: true, describe: 'public key that signed the checkpoints: Ed25519, PEM' }
const pattern = (of: string): Flag => ({ type: 'string', value: 'NAME', multiple: true, describe: `only ${of}; * stands for any letters` })

const verifyFlags: Flags = {
  head: { type: 'string', value: 'HASH', multiple: true, describe: 'hash of a record that must be there, as the relay told the operator' },
}

const periodFlags: Flags = {
  since: { type: 'string', value: 'TIME', describe: 'only what is as late as this: 30m, 2h or 7d ago, or a date like 2026-11-21 or 2026-11-21T08:30' },
  until: { type: 'string', value: 'TIME', describe: 'only what is earlier than this' },
  server: pattern('of this server'),
}

const showFlags: Flags = {
  tool: pattern('calls of this tool'),
  rule: { type: 'string', value: 'RULE', multiple: true, describe: 'only with a finding of this rule, or of a rule of this family: result/schema, result' },
  verdict: { type: 'string', value: 'VERDICT', multiple: true, choices: verdicts, describe: 'only with this verdict' },
  session: pattern('of this session'),
  last: { type: 'string', value: 'NUMBER', describe: 'only the last so many (with --follow: 10 before those that come, unless --since is given)' },
  follow: { type: 'boolean', short: 'f', describe: 'go on with what comes, also in files that rotation begins and in new ones' },
  json: { type: 'boolean', describe: 'the records themselves, one JSON object a line' },
  long: { type: 'boolean', describe: 'more lines of each record: session, client, id, times, every finding, file and line' },
}

const reportFlags: Flags = {
  output: { type: 'string', value: 'FILE', short: 'o', describe: 'the page to write (default: report.html); - for stdout' },
}

export const auditFlags: Flags = {
  ...about('verify', verifyFlags),
  ...about('verify, report', { key }),
  ...about('show, report', periodFlags),
  ...about('show', showFlags),
  ...about('report', reportFlags),
}

const known: ReadonlyMap<string, readonly string[]> = new Map([
  ['verify', ['key', ...Object.keys(verifyFlags)]],
  ['show', [...Object.keys(periodFlags), ...Object.keys(showFlags)]],
  ['report', ['key', ...Object.keys(periodFlags), ...Object.keys(reportFlags)]],
])

/** @throws CustomsError BAD_USAGE where there is no such action, or a flag that is another's */
export const checkAction = (action: string, given: Given): void => {
  const flags = known.get(action)
  if (flags === undefined) throw usage(`audit ${quote(action)}: no such action (there is: ${[...known.keys()].join(', ')})`)
  const others = [...given.keys()].filter(name => !flags.includes(name))
  if (others.length > 0) throw usage(`audit ${action} knows no --${others.join(', --')}`)
}

export interface VerifyFlags {
  readonly heads: readonly string[]
  readonly keyFiles: readonly string[]
}

/** @throws CustomsError BAD_USAGE */
export const readVerifyFlags = (given: Given): VerifyFlags => ({ heads: texts(given, 'head').map(readHead), keyFiles: texts(given, 'key') })

export interface ShowFlags {
  readonly wanted: Wanted
  readonly follow: boolean
  readonly json: boolean
  readonly long: boolean
  /** Infinity: all. */
  readonly last: number
}

/** @throws CustomsError BAD_USAGE */
export const readShowFlags = (given: Given, now: number): ShowFlags => {
  const [json, long, follow] = ['json', 'long', 'follow'].map(name => given.get(name) === true)
  if (json === true && long === true) throw usage('give either --json or --long, not both')
  const last = text(given, 'last') ?? (follow === true && !given.has('since') ? '10' : undefined)
  if (last !== undefined && !/^\d{1,9}$/.test(last)) throw usage(`--last ${quote(last)}: must be a whole number`)
  return {
    wanted: {
      ...readPeriod(given, now),
      tools: texts(given, 'tool'),
      rules: texts(given, 'rule'),
      sessions: texts(given, 'session'),
      verdicts: verdicts.filter(verdict => texts(given, 'verdict').includes(verdict)),
    },
    follow: follow === true,
    json: json === true,
    long: long === true,
    last: last === undefined ? Infinity : Number(last),
  }
}

export interface ReportFlags {
  readonly wanted: Pick<Wanted, 'servers' | 'since' | 'until'>
  readonly keyFiles: readonly string[]
  /** `-`: stdout. */
  readonly output: string
}

/** @throws CustomsError BAD_USAGE */
export const readReportFlags = (given: Given, now: number): ReportFlags => ({
  wanted: readPeriod(given, now),
  keyFiles: texts(given, 'key'),
  output: text(given, 'output') ?? 'report.html',
})

const readPeriod = (given: Given, now: number): Pick<Wanted, 'servers' | 'since' | 'until'> => ({
  servers: texts(given, 'server'),
  since: readPoint(given, 'since', now) ?? -Infinity,
  until: readPoint(given, 'until', now) ?? Infinity,
})

const readPoint = (given: Given, name: string, now: number): number | undefined => {
  const written = text(given, name)
  if (written === undefined) return undefined
  const time = readTime(written, now)
  if (time === undefined) throw usage(`--${name} ${quote(written)}: neither so long ago (30m, 2h, 7d) nor a date (2026-11-21, 2026-11-21T08:30)`)
  return time
}

const readHead = (text: string): string => {
  const head = text.toLowerCase()
  if (!/^[0-9a-f]{64}$/.test(head)) throw usage(`--head ${quote(text)}: no hash of a record (64 hex digits)`)
  return head
}

const usage = (reason: string): CustomsError => new CustomsError('BAD_USAGE', reason)

export const uiFlags: Flags = {
  port: { type: 'string', value: 'PORT', describe: 'where to listen, on loopback (default: one that is free)' },
  window: { type: 'string', value: 'TIME', describe: 'how far back the page goes: 1h, 24h, 7d (default: 24h)' },
}

export interface UiFlags {
  /** 0 picks one. */
  readonly port: number
  readonly windowMs: number
}

/** @throws CustomsError BAD_USAGE */
export const readUiFlags = (given: Given): UiFlags => {
  const [port = '0', window = '24h'] = [text(given, 'port'), text(given, 'window')]
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) throw new CustomsError('BAD_USAGE', `--port ${quote(port)}: must be a number up to 65535`)
  const windowMs = -(/^\d+[smhdw]$/.test(window) ? (readTime(window, 0) ?? 0) : 0)
  if (windowMs < 60_000) throw new CustomsError('BAD_USAGE', `--window ${quote(window)}: must be a time of a minute or more, such as 1h, 24h or 7d`)
  return { port: Number(port), windowMs }
}
