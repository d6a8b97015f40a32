import { type Action, isStop, verdicts } from '#relay/core/findings.js'
import { ruleNamed } from '#relay/rules/index.js'
import { isFrom, isNoise, type LoggedFinding, type LogRecord } from '#relay/audit/read/record.js'
import { removedAnnotations, shown, shownName } from '../sentence.js'
import type { OfferRow, Periods, Rows, RuleWords, SessionRow, Summary } from '../summary.js'
import { Group } from './group.js'
import { ServerHealth } from './health.js'
import { faultOf, faults, HeldGroups } from './held.js'
import { periodsOf, Series } from './series.js'
import { nameOf, partsOf, type Row, Table } from './table.js'

const maxServers = 50
const maxSessions = 500
const maxOffers = 300
const maxMessage = 300

/** The totals of all records of logs, in bounded memory. Records may come in any order. */
export class Totals {
  #records = 0
  #from = Infinity
  #to = -Infinity
  readonly #servers = new Table(maxServers, () => new Group())
  readonly #held = new HeldGroups()
  readonly #sessions = new Table(2 * maxSessions, () => new Session())
  readonly #health = new Table(maxServers, () => new ServerHealth())
  readonly #offers = new Table(maxOffers, () => new Offer())

  take(record: LogRecord): void {
    const { time, verdict, server, session, phase } = record
    this.#records += 1
    this.#from = Math.min(this.#from, time)
    this.#to = Math.max(this.#to, time)
    // Skips records about the log itself, and those of phase `sent`: another record of the same call follows.
    if (verdict === undefined || phase === 'sent') return
    const name = shownName(server)
    const relevant = withoutRemovedAnnotations(record)
    const missing = verdict === 'block' ? relevant.findings.filter(isOfMissing(relevant)) : []
    // Where only elements of a list were blocked, the list itself was sent.
    const isHeld = isStop(verdict) && !isNoise(record) && missing.length === 0
      && (relevant === record || relevant.findings.length > 0)
    this.#servers.at(name).take(relevant, verdict, isHeld)
    if (isHeld) this.#held.take(relevant, verdict, decisive(relevant.findings))
    if (session !== '') {
      this.#sessions.at(nameOf(name, shownName(session))).take(relevant, isHeld)
    }
    if (record.serverMs !== undefined || record.health !== undefined) this.#health.at(name).take(record)
    for (const finding of relevant.findings) {
      if (aboutOffers.test(finding.rule)) this.#takeOffer(name, relevant, finding, missing.includes(finding))
    }
  }

  #takeOffer(server: string, record: LogRecord, finding: LoggedFinding, isMissing: boolean): void {
    const { rule, path, message } = finding
    const subject = nameIn(finding)
    const within = subject === undefined ? path : path.replace(/^\/result\/\w+\/\d+/, '')
    const key = nameOf(
      server, shownName(subject ?? ''), shownName(rule), faultOf(record, finding) ?? '',
      shown(within, maxMessage), shown(message, maxMessage), isMissing ? 'missing' : '',
    )
    this.#offers.at(key).take(record.time)
  }

  /** All that was counted, as data that can be sent to another thread. It must not be changed. */
  get state() {
    return {
      records: this.#records, from: this.#from, to: this.#to,
      servers: this.#servers.state, held: this.#held.state, sessions: this.#sessions.state,
      health: this.#health.state, offers: this.#offers.state,
    }
  }

  merge(other: Totals['state']): void {
    this.#records += other.records
    this.#from = Math.min(this.#from, other.from)
    this.#to = Math.max(this.#to, other.to)
    this.#servers.merge(other.servers)
    this.#held.merge(other.held)
    this.#sessions.merge(other.sessions)
    this.#health.merge(other.health)
    this.#offers.merge(other.offers)
  }

  /** @param places files and folders that were read */
  summary(made: number, places: readonly string[] = []): Summary {
    const all = new Group()
    const groups = this.#servers.sorted
    for (const [, group] of groups) all.merge(group.state)
    if (this.#servers.others) all.merge(this.#servers.others.state)
    const periods = periodsOf(this.#from, this.#to)
    const held = this.#held.summary(periods, places)
    const total = all.summary(undefined, periods)
    const named = new Set([...held.rows, ...total.rules.rows].map(({ rule }) => rule))
    const health = this.#health.sorted.flatMap(([server, row]) => row.summary(server, periods))
    return {
      made,
      from: this.#records === 0 ? undefined : this.#from,
      to: this.#records === 0 ? undefined : this.#to,
      records: this.#records,
      unreadable: 0,
      verdicts, periods, places,
      rules: wordsOf(named),
      all: total,
      servers: groups.map(([server, group]) => group.summary(server, periods)),
      held, health,
      sessions: rowsOf(this.#sessions, maxSessions, row => row.started ?? row.last, periods),
      offers: rowsOf(this.#offers, maxOffers, row => row.last, periods),
      logs: undefined,
    }
  }
}

/** Leaves out the findings about removed annotations, which are not worth reporting for each tool. */
const withoutRemovedAnnotations = (record: LogRecord): LogRecord =>
  record.findings.some(({ rule }) => rule === removedAnnotations)
    ? { ...record, findings: record.findings.filter(({ rule }) => rule !== removedAnnotations) }
    : record

/** The finding that a message was most likely held back for; records do not say which it was. */
const decisive = (findings: readonly LoggedFinding[]): LoggedFinding | undefined => {
  const severities = findings.map(({ rule }) => verdicts.findIndex(one => one === standardAction(rule)))
  return findings[severities.indexOf(Math.max(...severities))]
}

/** What the standard preset does about the findings of a rule; undefined for a rule of another version. */
const standardAction = (rule: string): Action | undefined => {
  const standard = ruleNamed(rule)?.standard
  if (typeof standard !== 'object') return standard
  return 'locked' in standard ? standard.locked : standard.relay
}

const wordsOf = (names: Iterable<string>): Readonly<Record<string, RuleWords>> =>
  Object.fromEntries([...names].flatMap(name => {
    const { means, next } = ruleNamed(name) ?? {}
    return means === undefined || next === undefined ? [] : [[name, { means, next }]]
  }))

/** Rules about the lists of a server, as opposed to those about single messages. */
const aboutOffers = /^(?:tool|list|advice)\//

const nameIn = ({ tool, prompt, resource }: LoggedFinding): string | undefined => tool ?? prompt ?? resource

/** True for a finding about an element of a list that was blocked, so that clients do not get the element. */
const isOfMissing = ({ tools, moreTools }: LogRecord) => (finding: LoggedFinding): boolean => {
  const { tool } = finding
  if (tool !== undefined && tools !== undefined && moreTools === 0) return !tools.includes(tool)
  return nameIn(finding) !== undefined && standardAction(finding.rule) === 'block'
}

/** The rows of a table by time, the newest first. */
const rowsOf = <Summary, Kept extends Row<Kept> & { summary(key: string, periods: Periods): Summary }>(
  table: Table<Kept>, max: number, time: (row: Summary) => number, periods: Periods,
): Rows<Summary> => {
  const rows = table.sorted.map(([key, kept]) => kept.summary(key, periods)).sort((a, b) => time(b) - time(a))
  return { rows: rows.slice(0, max), left: table.left + Math.max(0, rows.length - max) }
}

class Session {
  #started: number | undefined
  #last = -Infinity
  #ended: string | undefined
  #client = ''
  #revision = ''
  #calls = 0
  #held = 0
  #findings = 0

  /** The table drops the oldest first. */
  get weight(): number {
    return this.#last
  }

  take(record: LogRecord, isHeld: boolean): void {
    const { time, event, client, revision, findings, more, reason = 'it ended' } = record
    const isFromRelay = isFrom(record, 'relay')
    if (isFromRelay && event === 'session/start') this.#started = time
    if (isFromRelay && event === 'session/end') this.#ended = shown(reason, maxMessage)
    if (event === 'tools/call' && isFrom(record, 'client')) this.#calls += 1
    if (isHeld) this.#held += 1
    this.#findings += findings.length + more
    this.#last = Math.max(this.#last, time)
    if (client !== undefined) this.#client = shownName(client)
    if (revision !== undefined) this.#revision = shownName(revision)
  }

  get state() {
    return {
      started: this.#started, last: this.#last, ended: this.#ended, client: this.#client,
      revision: this.#revision, calls: this.#calls, held: this.#held, findings: this.#findings,
    }
  }

  merge(other: Session['state']): void {
    this.#started ??= other.started
    this.#ended ??= other.ended
    this.#calls += other.calls
    this.#held += other.held
    this.#findings += other.findings
    this.#last = Math.max(this.#last, other.last)
    this.#client ||= other.client
    this.#revision ||= other.revision
  }

  summary(key: string): SessionRow {
    const [server = '', session = ''] = partsOf(key)
    return {
      server, session,
      client: this.#client, revision: this.#revision,
      started: this.#started, last: this.#last, ended: this.#ended,
      calls: this.#calls, held: this.#held, findings: this.#findings,
    }
  }
}

class Offer {
  #first = Infinity
  #last = -Infinity
  #count = 0
  readonly #series = new Series(1)

  get weight(): number {
    return this.#last
  }

  take(time: number): void {
    this.#count += 1
    this.#first = Math.min(this.#first, time)
    this.#last = Math.max(this.#last, time)
    this.#series.add(time, 0)
  }

  get state() {
    return { count: this.#count, first: this.#first, last: this.#last, series: this.#series.state }
  }

  merge({ count, first, last, series }: Offer['state']): void {
    this.#count += count
    this.#first = Math.min(this.#first, first)
    this.#last = Math.max(this.#last, last)
    this.#series.merge(series)
  }

  summary(key: string, periods: Periods): OfferRow {
    const [server = '', name = '', rule = '', fault = '', path = '', message = '', missing = ''] =
      partsOf(key)
    return {
      server, name, rule, path, message,
      fault: faults.find(one => one === fault),
      isMissing: missing !== '', count: this.#count, first: this.#first, last: this.#last,
      series: this.#series.summary(periods),
    }
  }
}
