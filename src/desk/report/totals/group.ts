import { verdicts } from '#relay/core/findings.js'
import { isFrom, type LogRecord } from '#relay/audit/read/record.js'
import { errorCode } from '#relay/protocol/json-rpc.js'
import { shownText, shownName } from '../sentence.js'
import type { GroupSummary, Periods, Quantiles, Rows, RuleRow, ToolRow } from '../summary.js'
import { sumOf } from '../units.js'
import {
  addAt, type Counted, earliest, latest, nameOf, newest, partsOf, sum, TableOf, tally, times, addedUp,
} from './counters.js'
import { type Histogram, histogram, observe, spreadOf } from './histogram.js'
import { addTo, series, seriesSummary } from './series.js'

const lastName = newest<{ readonly time: number; readonly name: string }>()

const maxTools = 400
const maxRules = 200
const maxRuleName = 60
/** Rows that the page shows. */
const shownTools = 200

/** How calls end: by verdict, or without an answer. */
export const outcomes = [...verdicts, 'lost'] as const

/** True where the server gave no answer, and the error is the relay's. */
export const isLost = ({ error }: LogRecord): boolean => error === errorCode.gone || error === errorCode.late

const tool = addedUp({
  calls: tally(outcomes.length), findings: sum, errors: sum,
  relay: histogram, upstream: histogram, response: histogram,
  /** When it gave its first and last good result. */
  firstGood: earliest, lastGood: newest<{ readonly time: number; readonly session: string }>(),
  /** When a result passed although it breaks a rule, by the rule. */
  passed: times,
  /** Its name at the merged endpoint. */
  shown: lastName,
})
const tools = new TableOf(maxTools, tool, ({ calls }) => sumOf(calls))

const rule = addedUp({ findings: sum, records: tally(outcomes.length), last: latest })
const rules = new TableOf(maxRules, rule, ({ findings }) => findings)

/** The counts of one server, or of several together. */
export const group = addedUp({
  calls: tally(outcomes.length), messages: sum, errors: sum, findings: sum, sessions: sum,
  /** Calls by outcome, then other messages that were held back. */
  series, relay: histogram, upstream: histogram, request: histogram, response: histogram, tools, rules,
})
export type Group = Counted<typeof group>

export const weightOf = ({ calls, messages }: Group): number => sumOf(calls) + messages

export const takeIn = (into: Group, record: LogRecord, isHeld: boolean): void => {
  const { event, time, findings, more, error, request, response, verdict = 'pass' } = record
  const isCall = event === 'tools/call' && isFrom(record, 'client')
  const outcome = outcomes.indexOf(isCall && !isHeld && isLost(record) ? 'lost' : verdict)
  into.findings += findings.length + more
  for (const [name, times] of timesOf(findings)) {
    const row = rules.at(into.rules, shownText(name, maxRuleName))
    row.findings += times
    addAt(row.records, outcome, 1)
    row.last = Math.max(row.last, time)
  }
  const isOfSession = event.startsWith('session/') && isFrom(record, 'relay')
  if (isOfSession && event === 'session/start') into.sessions += 1
  if (!isCall) {
    if (!isOfSession) into.messages += 1
    if (isHeld) addTo(into.series, time, outcomes.length)
    return
  }
  addTo(into.series, time, outcome)
  observe(into.request, request)
  // Tools of several servers may have the same name.
  const row = record.tool === undefined
    ? undefined
    : tools.at(into.tools, nameOf(shownName(record.server), shownName(record.tool)))
  const { relay, upstream } = timesIn(record)
  for (const one of row === undefined ? [into] : [into, row]) {
    addAt(one.calls, outcome, 1)
    if (error !== undefined) one.errors += 1
    observe(one.relay, relay)
    observe(one.upstream, upstream)
    observe(one.response, response)
  }
  if (row === undefined) return
  row.findings += findings.length + more
  const { shown } = record
  if (shown !== undefined) row.shown = lastName.merge(row.shown, { time, name: shownName(shown) })
  if (isHeld || error !== undefined) return
  // The names of rules are few: a log of another program has no room for more.
  if (findings.length > 0 && row.passed.size < maxRules) {
    row.passed = times.merge(row.passed, new Map(findings.map(({ rule: name }) => [name, time])))
  }
  row.firstGood = Math.min(row.firstGood, time)
  if (time >= (row.lastGood?.time ?? -Infinity)) row.lastGood = { time, session: record.session }
}

/** When a tool gave good results. */
export const goodResults = (
  of: Group | undefined, server: string, name: string,
): Pick<Counted<typeof tool>, 'firstGood' | 'lastGood' | 'passed'> | undefined =>
  of?.tools.rows.get(nameOf(server, name))

export const groupSummary = (of: Group, server: string | undefined, periods: Periods): GroupSummary => ({
  server,
  calls: [...of.calls], errors: of.errors, findings: of.findings, sessions: of.sessions,
  series: seriesSummary(of.series, periods, outcomes.length + 1),
  relay: spreadOf(of.relay), upstream: spreadOf(of.upstream),
  request: spreadOf(of.request), response: spreadOf(of.response),
  tools: toolRows(of),
  rules: {
    rows: rules.sorted(of.rules).map(([name, row]): RuleRow => ({ rule: name, ...row })),
    left: of.rules.left,
  },
})

const toolRows = (of: Group): Rows<ToolRow> => {
  const named = tools.sorted(of.tools)
  const rows = named.slice(0, shownTools).map(([key, row]): ToolRow => {
    const [server = '', name = ''] = partsOf(key)
    const { calls, findings, errors, relay, upstream, response, shown } = row
    return {
      server, tool: name, shown: shown?.name, calls, findings, errors,
      relay: quantiles(relay), upstream: quantiles(upstream), response: quantiles(response),
    }
  })
  return { rows, left: Math.max(0, named.length - shownTools) + of.tools.left }
}

const timesOf = (findings: LogRecord['findings']): ReadonlyMap<string, number> => {
  const times = new Map<string, number>()
  for (const { rule: name } of findings) times.set(name, (times.get(name) ?? 0) + 1)
  return times
}

/** The relay's time and the server's. Logs of earlier versions hold only their sum. */
const timesIn = (
  { ms, serverMs, response }: LogRecord,
): { readonly relay?: number; readonly upstream?: number } => {
  if (ms === undefined || (serverMs === undefined && response !== undefined)) return {}
  return serverMs === undefined ? { relay: ms } : { relay: Math.max(0, ms - serverMs), upstream: serverMs }
}

const quantiles = (of: Histogram): Quantiles => {
  const { count, p50, p95, p99, most } = spreadOf(of)
  return { count, p50, p95, p99, most }
}
