import { verdicts } from '#relay/core/findings.js'
import { badUsage } from '#relay/base/errors.js'
import { quote } from '#relay/protocol/quote.js'
import { readTime, type WantedRecords } from '#desk/report/filter.js'
import { about, valuesOf, type Given, type Values } from '../flag.js'

const pattern = <const Of extends string>(of: Of) =>
  ({
    type: 'string', value: 'NAME', multiple: true, describe: `only ${of}; * stands for any letters`,
  }) as const

const keyFlags = {
  key: {
    type: 'string', value: 'FILE', multiple: true,
    describe: 'public key that signed the checkpoints: Ed25519, PEM',
  },
} as const

const verifyFlags = {
  head: {
    type: 'string', value: 'HASH', multiple: true,
    describe: 'hash of a record that must be there, as the relay told the operator',
  },
} as const

const periodFlags = {
  since: {
    type: 'string', value: 'TIME',
    describe:
      'only what is as late as this: 30m, 2h or 7d ago, or a date like 2026-11-21 or 2026-11-21T08:30',
  },
  until: { type: 'string', value: 'TIME', describe: 'only what is earlier than this' },
  server: pattern('of this server'),
} as const

const showFlags = {
  tool: pattern('calls of this tool'),
  rule: {
    type: 'string', value: 'RULE', multiple: true,
    describe: 'only with a finding of this rule, or of a rule of this family: result/schema, result',
  },
  verdict: {
    type: 'string', value: 'VERDICT', multiple: true, choices: verdicts, describe: 'only with this verdict',
  },
  session: pattern('of this session'),
  last: {
    type: 'string', value: 'NUMBER',
    describe: 'the number of newest records to show (with --follow: 10, unless --since is given)',
  },
  follow: {
    type: 'boolean', short: 'f',
    describe: 'go on with what comes, also in files that rotation begins and in new ones',
  },
  json: { type: 'boolean', describe: 'the records themselves, one JSON object a line' },
  long: {
    type: 'boolean',
    describe: 'more lines of each record: session, client, id, times, every finding, file and line',
  },
} as const

const reportFlags = {
  output: {
    type: 'string', value: 'FILE', short: 'o', default: 'report.html',
    describe: 'the page to write; - for stdout',
  },
} as const

export const auditFlags = {
  ...about('verify', verifyFlags),
  ...about('verify, report', keyFlags),
  ...about('show, report', periodFlags),
  ...about('show', showFlags),
  ...about('report', reportFlags),
}

const known: ReadonlyMap<string, readonly string[]> = new Map([
  ['verify', Object.keys({ ...keyFlags, ...verifyFlags })],
  ['show', Object.keys({ ...periodFlags, ...showFlags })],
  ['report', Object.keys({ ...keyFlags, ...periodFlags, ...reportFlags })],
])

/** @throws CustomsError BAD_USAGE for an unknown action, and for a flag of another action */
export const checkAction = (action: string, given: Given): void => {
  const flags = known.get(action)
    ?? badUsage(`audit ${quote(action)}: no such action (there is: ${[...known.keys()].join(', ')})`)
  const others = [...given.keys()].filter(name => !flags.includes(name))
  if (others.length > 0) badUsage(`audit ${action} knows no --${others.join(', --')}`)
}

export type VerifyFlags = Values<typeof verifyFlags & typeof keyFlags>

/** @throws CustomsError BAD_USAGE */
export const readVerifyFlags = (given: Given): VerifyFlags => {
  const { head, key } = valuesOf({ ...verifyFlags, ...keyFlags }, given)
  return { head: head.map(readHead), key }
}

export interface ShowFlags extends Pick<Values<typeof showFlags>, 'follow' | 'json' | 'long'> {
  readonly wanted: WantedRecords
  /** Infinity: all. */
  readonly last: number
}

/** @throws CustomsError BAD_USAGE */
export const readShowFlags = (given: Given, now: number): ShowFlags => {
  const { json, long, follow, tool, rule, session, verdict, last: asked } = valuesOf(showFlags, given)
  if (json && long) badUsage('give either --json or --long, not both')
  const last = asked ?? (follow && !given.has('since') ? '10' : undefined)
  if (last !== undefined && !/^\d{1,9}$/.test(last)) badUsage(`--last ${quote(last)}: must be a whole number`)
  return {
    wanted: { ...readPeriod(given, now), tools: tool, rules: rule, sessions: session, verdicts: verdict },
    follow, json, long,
    last: last === undefined ? Infinity : Number(last),
  }
}

export interface ReportFlags extends Values<typeof keyFlags & typeof reportFlags> {
  readonly wanted: Pick<WantedRecords, 'servers' | 'since' | 'until'>
}

/** @throws CustomsError BAD_USAGE */
export const readReportFlags = (given: Given, now: number): ReportFlags =>
  ({ wanted: readPeriod(given, now), ...valuesOf({ ...keyFlags, ...reportFlags }, given) })

const readPeriod = (given: Given, now: number): Pick<WantedRecords, 'servers' | 'since' | 'until'> => {
  const { server, since, until } = valuesOf(periodFlags, given)
  return {
    servers: server, since: readPoint('since', since, now) ?? -Infinity,
    until: readPoint('until', until, now) ?? Infinity,
  }
}

const readPoint = (name: string, written: string | undefined, now: number): number | undefined =>
  written === undefined ? undefined : readTime(written, now)
    ?? badUsage(`--${name} ${quote(written)}: neither a time before now (30m, 2h, 7d) nor a date (2026-11-21, ` +
      '2026-11-21T08:30)')

const readHead = (text: string): string => {
  const head = text.toLowerCase()
  return /^[0-9a-f]{64}$/.test(head)
    ? head
    : badUsage(`--head ${quote(text)}: no hash of a record (64 hex digits)`)
}

export const toolsFlags = {
  logs: {
    type: 'string', value: 'FILE|FOLDER', multiple: true,
    describe: 'the audit logs to read (default: those of this user\'s relays)',
  },
  all: { type: 'boolean', describe: 'every tool of every server, also those that nobody has to do anything about' },
  json: { type: 'boolean', describe: 'as JSON' },
} as const

export type ToolsFlags = Values<typeof toolsFlags>

export const uiFlags = {
  port: {
    type: 'string', value: 'PORT', describe: 'where to listen, on loopback (default: 7411, or else one that is free)',
  },
  window: {
    type: 'string', value: 'TIME', default: '24h', describe: 'how far back the page goes: 1h, 24h, 7d',
  },
} as const

export interface UiFlags {
  /** 0 picks one; undefined: the usual one, or else any. */
  readonly port: number | undefined
  readonly windowMs: number
}

/** @throws CustomsError BAD_USAGE */
export const readUiFlags = (given: Given): UiFlags => {
  const { port, window } = valuesOf(uiFlags, given)
  if (port !== undefined && (!/^\d{1,5}$/.test(port) || Number(port) > 65_535)) {
    badUsage(`--port ${quote(port)}: must be a number up to 65535`)
  }
  const windowMs = -(/^\d+[smhdw]$/.test(window) ? (readTime(window, 0) ?? 0) : 0)
  if (windowMs < 60_000) {
    badUsage(`--window ${quote(window)}: must be a time of a minute or more, such as 1h, 24h or 7d`)
  }
  return { port: port === undefined ? undefined : Number(port), windowMs }
}
