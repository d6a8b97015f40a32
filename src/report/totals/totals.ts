import { type Action, isStop, verdicts } from '#core/findings.js'
import { ruleNamed } from '#rules/index.js'
import { isFrom, type LoggedFinding, type LogRecord } from '../record.js'
import { removedAnnotations, shown, shownName } from '../sentence.js'
import type { LogRow, OfferRow, Rows, RuleWords, SessionRow, Summary } from '../summary.js'
import { Group } from './group.js'
import { HeldGroups } from './held.js'
import { periodsOf } from './series.js'
import { type Row, Table } from './table.js'

const maxServers = 50
const maxSessions = 500
const maxOffers = 300
const maxMessage = 300

/** The totals of all records of logs, in bounded memory. Records may come in any order. */
export class Totals {
  #records = 0
  #unreadable = 0
  #from = Infinity
  #to = -Infinity
  readonly #servers = new Table(maxServers, () => new Group())
  readonly #held = new HeldGroups()
  readonly #sessions = new Table(2 * maxSessions, () => new Session())
  readonly #offers = new Table(maxOffers, () => new Offer())

  take(record: LogRecord): void {
    const { time, verdict, server, session, phase } = record
    this.#records += 1
    this.#from = Math.min(this.#from, time)
    this.#to = Math.max(this.#to, time)
    // Records about the log itself; and records of calls being sent, each followed by another record.
    if (verdict === undefined || phase === 'sent') return
    const name = shownName(server)
    const news = withoutRemoved(record)
    const isHeld = isStop(verdict) && (news === record || news.findings.length > 0)
    this.#servers.at(name).take(news, verdict, isHeld)
    if (isHeld) this.#held.take(news, verdict, decisive(news.findings))
    if (session !== '') {
      this.#sessions.at(JSON.stringify([name, shownName(session)])).take(news, isHeld)
    }
    for (const { rule, path, message } of news.findings) {
      if (!aboutOffers.test(rule)) continue
      const place = shown(path, maxMessage)
      this.#offers.at(JSON.stringify([name, shownName(rule), place, shown(message, maxMessage)])).take(time)
    }
  }

  /** Counts a line that is not a record. */
  takeUnreadable(): void {
    this.#unreadable += 1
  }

  merge(other: Totals): void {
    this.#records += other.#records
    this.#unreadable += other.#unreadable
    this.#from = Math.min(this.#from, other.#from)
    this.#to = Math.max(this.#to, other.#to)
    this.#servers.merge(other.#servers)
    this.#held.merge(other.#held)
    this.#sessions.merge(other.#sessions)
    this.#offers.merge(other.#offers)
  }

  /** @param places files and folders that were read */
  summary(made: number, places: readonly string[] = [], logs?: readonly LogRow[]): Summary {
    const all = new Group()
    const groups = this.#servers.sorted
    for (const [, group] of groups) all.merge(group)
    if (this.#servers.others) all.merge(this.#servers.others)
    const periods = periodsOf(this.#from, this.#to)
    const held = this.#held.summary(periods, places)
    const total = all.summary(undefined, periods)
    const named = new Set([...held.rows, ...total.rules.rows].map(({ rule }) => rule))
    return {
      made,
      from: this.#records === 0 ? undefined : this.#from,
      to: this.#records === 0 ? undefined : this.#to,
      records: this.#records,
      unreadable: this.#unreadable,
      verdicts, periods, places,
      rules: wordsOf(named),
      all: total,
      servers: groups.map(([server, group]) => group.summary(server, periods)),
      held,
      sessions: rowsOf(this.#sessions, maxSessions, row => row.started ?? row.last),
      offers: rowsOf(this.#offers, maxOffers, row => row.last),
      logs,
    }
  }
}

/** An untrusted server loses the annotations of every tool: nobody has to hear of it. */
const withoutRemoved = (record: LogRecord): LogRecord =>
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

/** The rows of a table by time, the newest first. */
const rowsOf = <Summary, Kept extends Row<Kept> & { summary(key: string): Summary }>(
  table: Table<Kept>, max: number, time: (row: Summary) => number,
): Rows<Summary> => {
  const rows = table.sorted.map(([key, kept]) => kept.summary(key)).sort((a, b) => time(b) - time(a))
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

  merge(other: Session): void {
    this.#started ??= other.#started
    this.#ended ??= other.#ended
    this.#calls += other.#calls
    this.#held += other.#held
    this.#findings += other.#findings
    this.#last = Math.max(this.#last, other.#last)
    this.#client ||= other.#client
    this.#revision ||= other.#revision
  }

  summary(key: string): SessionRow {
    const [server = '', session = ''] = JSON.parse(key) as readonly string[]
    return {
      server, session,
      client: this.#client, revision: this.#revision,
      started: this.#started, last: this.#last, ended: this.#ended,
      calls: this.#calls, held: this.#held, findings: this.#findings,
    }
  }
}

class Offer {
  #times = 0
  #last = -Infinity

  get weight(): number {
    return this.#last
  }

  take(time: number): void {
    this.#times += 1
    this.#last = Math.max(this.#last, time)
  }

  merge(other: Offer): void {
    this.#times += other.#times
    this.#last = Math.max(this.#last, other.#last)
  }

  summary(key: string): OfferRow {
    const [server = '', rule = '', path = '', message = ''] = JSON.parse(key) as readonly string[]
    return { server, rule, path, message, times: this.#times, last: this.#last }
  }
}
