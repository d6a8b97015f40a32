import type { Action } from '#relay/core/vocabulary.js'
import { byDanger, dangerOf } from '#relay/core/danger.js'
import { isStop, verdicts } from '#relay/core/findings.js'
import { isNoise, type LoggedFinding, type LogRecord } from '#relay/audit/read/record.js'
import { version } from '#relay/base/version.js'
import { ruleNamed } from '#relay/rules/index.js'
import { removedAnnotations, shownName } from '../sentence.js'
import type { RuleWords, Summary } from '../summary.js'
import { type Counted, earliest, latest, newest, sum, TableOf, addedUp } from './counters.js'
import { goodResults, group, groupSummary, outcomes, takeIn, weightOf } from './group.js'
import { health, healthRows, takeHealth } from './health.js'
import { held, heldSummary, takeHeld } from './held.js'
import { offerName, offerRows, offers, takeOffers } from './offers.js'
import { periodsOf } from './series.js'
import { sessionRows, sessions, takeSession } from './sessions.js'

const maxServers = 50

const groups = new TableOf(maxServers, group, weightOf)
const failures = new TableOf(maxServers, health, ({ newest }) => newest?.time ?? -Infinity)
/** Name and version that servers give themselves. */
const programs = new TableOf(
  maxServers, newest<{ readonly time: number; readonly name: string }>(), one => one?.time ?? -Infinity)
/** Lines on stdout that are no messages, by server. */
const noises = new TableOf(maxServers, sum, lines => lines)

/** The totals of all records of logs, in bounded memory. Records may come in any order. */
export const totals = addedUp({
  records: sum, from: earliest, to: latest,
  servers: groups, held, refused: held, sessions, health: failures, offers, programs, noise: noises,
})
export type Totals = Counted<typeof totals>

export const take = (into: Totals, record: LogRecord): void => {
  const { time, verdict, server, session, phase } = record
  into.records += 1
  into.from = Math.min(into.from, time)
  into.to = Math.max(into.to, time)
  // Skips records about the log itself, and those of phase `sent`: another record of the same call follows.
  if (verdict === undefined || phase === 'sent') return
  const name = shownName(server)
  if (isNoise(record)) {
    into.noise.rows.set(name, noises.at(into.noise, name) + 1)
    return
  }
  const relevant = withoutRemovedAnnotations(record)
  const missing = verdict === 'block' ? relevant.findings.filter(isOfMissing(relevant)) : []
  // Where only elements of a list were blocked, the list itself was sent.
  const isHeld = isStop(verdict) && missing.length === 0
    && (relevant === record || relevant.findings.length > 0)
  takeIn(groups.at(into.servers, name), relevant, isHeld)
  if (isHeld) takeHeld(into.held, relevant, verdict, decisive(relevant.findings))
  else if (verdict === 'log') {
    const refused = relevant.findings.find(isRefused)
    if (refused !== undefined) takeHeld(into.refused, relevant, verdict, refused)
  }
  if (session !== '') takeSession(into.sessions, relevant, isHeld)
  if (record.serverMs !== undefined || record.health !== undefined) {
    takeHealth(failures.at(into.health, name), record)
  }
  takeOffers(into.offers, relevant, missing)
  if (record.serverInfo !== undefined) {
    const program = { time, name: shownName(record.serverInfo) }
    into.programs.rows.set(name, newest<typeof program>().merge(programs.at(into.programs, name), program))
  }
}

/** @param places files and folders that were read */
export const summaryOf = (of: Totals, made: number, places: readonly string[] = []): Summary => {
  const all = group.empty()
  const servers = groups.sorted(of.servers)
  for (const [, one] of servers) group.merge(all, one)
  if (of.servers.others) group.merge(all, of.servers.others)
  const periods = periodsOf(of.from, of.to)
  const good = (server: string, tool: string) => goodResults(of.servers.rows.get(server), server, tool)
  const heldRows = heldSummary(of.held, periods, places, good)
  const refused = heldSummary(of.refused, periods, places, good)
  const total = groupSummary(all, undefined, periods)
  const offered = offerRows(of.offers, periods)
  const named = [heldRows, refused, total.rules, offered].flatMap(({ rows }) => rows.map(({ rule }) => rule))
  const isEmpty = of.records === 0
  return {
    made, from: isEmpty ? undefined : of.from, to: isEmpty ? undefined : of.to,
    records: of.records, unreadable: 0, version: version(),
    verdicts: outcomes, periods, places,
    rules: wordsOf(new Set(named)),
    all: total,
    servers: servers.map(([server, one]) => groupSummary(one, server, periods)),
    held: heldRows, refused,
    health: failures.sorted(of.health).flatMap(([server, row]) => healthRows(row, server, periods)),
    sessions: sessionRows(of.sessions),
    offers: offered,
    programs: programs.sorted(of.programs)
      .flatMap(([server, one]) => (one === undefined ? [] : [[server, one.name] as const])),
    noise: noises.sorted(of.noise).map(([server, lines]) => ({ server, lines })),
    logs: undefined,
  }
}

/** Strict clients refuse such a result when it passes as it is. */
const isRefused = ({ rule, mended }: LoggedFinding): boolean =>
  rule.startsWith('result/') && mended === undefined && ruleNamed(rule)?.relaxed === true

/** Leaves out the findings about removed annotations, which are not worth reporting for each tool. */
const withoutRemovedAnnotations = (record: LogRecord): LogRecord =>
  record.findings.some(({ rule }) => rule === removedAnnotations)
    ? { ...record, findings: record.findings.filter(({ rule }) => rule !== removedAnnotations) }
    : record

/**
 * The finding that a message was most likely held back for; records do not say which it was. The most
 * dangerous one comes first, then that which the standard preset takes for the severest.
 */
const decisive = (findings: readonly LoggedFinding[]): LoggedFinding | undefined => {
  const severity = ({ rule }: LoggedFinding) => verdicts.findIndex(one => one === standardAction(rule))
  return findings.toSorted((a, b) =>
    byDanger(dangerOf(a), dangerOf(b)) || severity(b) - severity(a))[0]
}

/** What the standard preset does about the findings of a rule; undefined for a rule of another version. */
const standardAction = (rule: string): Action | undefined => {
  const standard = ruleNamed(rule)?.standard
  if (typeof standard !== 'object') return standard
  return 'locked' in standard ? standard.locked : standard.relay
}

const wordsOf = (names: Iterable<string>): Readonly<Record<string, RuleWords>> =>
  Object.fromEntries([...names].flatMap(name => {
    const { means, next, help } = ruleNamed(name) ?? {}
    const isKnown = means !== undefined && next !== undefined && help !== undefined
    return isKnown ? [[name, { means, next, help }]] : []
  }))

/** True for a finding about an element of a list that was blocked, so that clients do not get the element. */
const isOfMissing = ({ tools, moreTools }: LogRecord) => (finding: LoggedFinding): boolean => {
  const { tool } = finding
  if (tool !== undefined && tools !== undefined && moreTools === 0) return !tools.includes(tool)
  return offerName(finding) !== undefined
    && (standardAction(finding.rule) === 'block' || finding.rule.startsWith('resource/'))
}
