import { isStop, verdicts } from '../../core/findings.js'
import { isFrom, type LogRecord } from '../record.js'
import { findingText, sentence } from '../sentence.js'
import { shown, shownName } from '../shown.js'
import type { Held, LogRow, OfferRow, Rows, SessionRow, Summary } from '../summary.js'
import { families, Group, removedAnnotations } from './group.js'
import { Newest } from './newest.js'
import { Table } from './table.js'

const mostServers = 50
const mostHeld = 500
const mostSessions = 500
const mostOffers = 300
/** Of a thing that was held back, so many reasons are told. */
const mostReasons = 8
const longestMessage = 300

/** What all the records of logs come to, in a memory that does not grow with them. Records may come in any order. */
export class Totals {
  #records = 0
  #unreadable = 0
  #from = Infinity
  #to = -Infinity
  readonly #servers = new Table(mostServers, () => new Group())
  readonly #held = new Newest<Held>(mostHeld)
  readonly #sessions = new Table(2 * mostSessions, () => new Session())
  readonly #offers = new Table(mostOffers, () => new Offer())

  get isEmpty(): boolean {
    return this.#records === 0
  }

  take(record: LogRecord): void {
    const { time, verdict, server, session, phase } = record
    this.#records += 1
    this.#from = Math.min(this.#from, time)
    this.#to = Math.max(this.#to, time)
    // About the log itself; or of a call that is about to leave, of which another record follows.
    if (verdict === undefined || phase === 'sent') return
    this.#servers.at(shownName(server)).take(record, verdict)
    if (session !== '') this.#sessions.at(JSON.stringify([shownName(server), shownName(session)])).take(record)
    if (isHeld(record)) this.#held.add(heldOf(record, verdict))
    for (const { rule, path, message } of record.findings) {
      if (!aboutOffers.test(rule)) continue
      const place = rule === removedAnnotations ? '' : shown(path, longestMessage)
      const key = JSON.stringify([shownName(server), shownName(rule), place, shown(message, longestMessage)])
      this.#offers.at(key).take(time, verdict)
    }
  }

  /** A line was no record. */
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

  summary(made: number, logs?: readonly LogRow[]): Summary {
    const all = new Group()
    const groups = this.#servers.sorted
    for (const [, group] of groups) all.merge(group)
    if (this.#servers.others) all.merge(this.#servers.others)
    const range = all.range.first <= all.range.last ? all.range : undefined
    return {
      made,
      from: this.#records === 0 ? undefined : this.#from,
      to: this.#records === 0 ? undefined : this.#to,
      records: this.#records,
      unreadable: this.#unreadable,
      verdicts, families,
      all: all.summary(undefined, range),
      servers: groups.map(([server, group]) => group.summary(server, range)),
      held: this.#held.summary(),
      sessions: rowsOf(this.#sessions, mostSessions, (key, session) => session.summary(key), row => row.started ?? row.last),
      offers: rowsOf(this.#offers, mostOffers, (key, offer) => offer.summary(key), row => row.last),
      logs,
    }
  }
}

/** What does not pass, or not as it came. */
const isHeld = ({ verdict, findings }: LogRecord): boolean =>
  verdict !== undefined && isStop(verdict) && (findings.length === 0 || findings.some(({ rule }) => rule !== removedAnnotations))

/** Rules about what a server offers, rather than about what it was asked. */
const aboutOffers = /^(?:tool|list|advice)\//

const heldOf = (record: LogRecord, verdict: string): Held => {
  const { time, server, tool, event, client = '', session, findings, more } = record
  const news = findings.filter(({ rule }) => rule !== removedAnnotations)
  const untold = more + Math.max(0, news.length - mostReasons)
  return {
    time, verdict,
    server: shownName(server),
    subject: shownName(tool ?? event),
    client: shownName(client),
    session: shownName(session),
    reasons: news.length === 0 ? [sentence(record)] : [...news.slice(0, mostReasons).map(findingText), ...(untold > 0 ? [`and ${untold} more`] : [])],
  }
}

const rowsOf = <Kept extends { readonly weight: number; merge(other: Kept): void }, Row>(
  table: Table<Kept>,
  most: number,
  row: (key: string, kept: Kept) => Row,
  time: (row: Row) => number,
): Rows<Row> => {
  const rows = table.sorted.map(([key, kept]) => row(key, kept)).sort((a, b) => time(b) - time(a))
  return { rows: rows.slice(0, most), left: table.left + Math.max(0, rows.length - most) }
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

  /** The oldest are given up first. */
  get weight(): number {
    return this.#last
  }

  take(record: LogRecord): void {
    const { time, event, client, revision, findings, more, reason = 'it ended' } = record
    const isOurs = isFrom(record, 'relay')
    if (isOurs && event === 'session/start') this.#started = time
    if (isOurs && event === 'session/end') this.#ended = shown(reason, longestMessage)
    if (event === 'tools/call' && isFrom(record, 'client')) this.#calls += 1
    if (isHeld(record)) this.#held += 1
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
    return { server, session, client: this.#client, revision: this.#revision, started: this.#started, last: this.#last, ended: this.#ended, calls: this.#calls, held: this.#held, findings: this.#findings }
  }
}

class Offer {
  #times = 0
  #first = Infinity
  #last = -Infinity
  #verdict = ''

  get weight(): number {
    return this.#last
  }

  take(time: number, verdict: string): void {
    this.#times += 1
    this.#first = Math.min(this.#first, time)
    if (time < this.#last) return
    this.#last = time
    this.#verdict = verdict
  }

  merge(other: Offer): void {
    this.#times += other.#times
    this.#first = Math.min(this.#first, other.#first)
    if (other.#last < this.#last) return
    this.#last = other.#last
    this.#verdict = other.#verdict
  }

  summary(key: string): OfferRow {
    const [server = '', rule = '', path = '', message = ''] = JSON.parse(key) as readonly string[]
    return { server, rule, path, message, verdict: this.#verdict, times: this.#times, first: this.#first, last: this.#last }
  }
}
