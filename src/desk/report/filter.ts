import type { Verdict } from '#relay/core/vocabulary.js'
import { isNoise, type LogRecord } from '#relay/audit/read/record.js'

/** Selects records: of each list, one entry has to match; an empty list matches all. */
export interface WantedRecords {
  /** Names, in which `*` stands for any characters. */
  readonly servers: readonly string[]
  readonly tools: readonly string[]
  readonly sessions: readonly string[]
  /** Names of rules, or of families of rules such as `result`. A record matches by any of its findings. */
  readonly rules: readonly string[]
  readonly verdicts: readonly Verdict[]
  /** Milliseconds since 1970; `since` is included, `until` is not. */
  readonly since: number
  readonly until: number
}

export const everything: WantedRecords = {
  servers: [], tools: [], sessions: [], rules: [], verdicts: [], since: -Infinity, until: Infinity,
}

export const filterFor = (wanted: WantedRecords): ((record: LogRecord) => boolean) => {
  const { servers, tools, sessions, verdicts, since, until } = wanted
  const rules = wanted.rules.map(name => (name.includes('/') ? name : `${name}/*`))
  const [server, tool, session, rule] = [servers, tools, sessions, rules].map(matcher)
  return record =>
    record.time >= since
    && record.time < until
    && (verdicts.length === 0 || (verdicts.some(verdict => verdict === record.verdict) && !isNoise(record)))
    && (server === undefined || server(record.server))
    && (tool === undefined || [record.tool, record.shown].some(name => name !== undefined && tool(name)))
    && (session === undefined || session(record.session))
    && (rule === undefined || record.findings.some(finding => rule(finding.rule)))
}

/** @returns undefined when everything matches */
const matcher = (patterns: readonly string[]): ((name: string) => boolean) | undefined => {
  if (patterns.length === 0) return undefined
  const plain = new Set(patterns.filter(pattern => !pattern.includes('*')))
  const wild = patterns.filter(pattern => pattern.includes('*'))
    .map(pattern => new RegExp(`^${pattern.split(/\*+/).map(escape).join('.*')}$`, 's'))
  return name => plain.has(name) || wild.some(pattern => pattern.test(name))
}

const escape = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')

const units = new Map([
  ['s', 1000], ['m', 60_000], ['h', 3_600_000], ['d', 86_400_000], ['w', 7 * 86_400_000],
])
const dateTime = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:?\d\d)?)?$/

/**
 * Reads a time: a duration before now (`2h`, `30m`, `1d`), or an ISO 8601 date with or without a time, in the
 * local zone unless it names one.
 * @returns milliseconds since 1970; undefined when the text is not a time
 */
export const readTime = (text: string, now: number): number | undefined => {
  const [, amount, unit = ''] = /^(\d{1,6})([smhdw])$/.exec(text) ?? []
  if (amount !== undefined) return now - Number(amount) * (units.get(unit) ?? 0)
  if (!dateTime.test(text)) return undefined
  // Date.parse takes a date without a time as UTC.
  const time = Date.parse(text.length === 10 ? `${text}T00:00` : text)
  return Number.isNaN(time) ? undefined : time
}
