import { isStop, verdicts } from '#core/findings.js'
import { isFrom, type LogRecord } from '../record.js'
import { findingText, removedAnnotations, sentence, shown, shownName } from '../sentence.js'
import type { Held, LogRow, OfferRow, Rows, SessionRow, Summary } from '../summary.js'
import { families, Group } from './group.js'
import { Newest, type Row, Table } from './table.js'

const maxServers = 50
const maxHeld = 500
const maxSessions = 500
const maxOffers = 300
/** Reasons that are listed for one message. */
const maxReasons = 8
const maxMessage = 300

/** The totals of all records of logs, in bounded memory. Records may come in any order. */
export class Totals {
  #records = 0
  #unreadable = 0
  #from = Infinity
  #to = -Infinity
  readonly #servers = new Table(maxServers, () => new Group())
  readonly #held = new Newest<Held>(maxHeld)
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
    this.#servers.at(name).take(record, verdict)
    if (session !== '') this.#sessions.at(JSON.stringify([name, shownName(session)])).take(record)
    if (isHeld(record)) this.#held.add(heldOf(record, verdict))
    for (const { rule, path, message } of record.findings) {
      if (!aboutOffers.test(rule)) continue
      const place = rule === removedAnnotations ? '' : shown(path, maxMessage)
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
      sessions: rowsOf(this.#sessions, maxSessions, row => row.started ?? row.last),
      offers: rowsOf(this.#offers, maxOffers, row => row.last),
      logs,
    }
  }
}

/** Whether the message was blocked or demoted. A removed annotation alone does not count. */
const isHeld = ({ verdict, findings }: LogRecord): boolean =>
  verdict !== undefined && isStop(verdict) &&
  (findings.length === 0 || findings.some(({ rule }) => rule !== removedAnnotations))

/** Rules about the lists of a server, as opposed to those about single messages. */
const aboutOffers = /^(?:tool|list|advice)\//

const heldOf = (record: LogRecord, verdict: string): Held => {
  const { time, server, tool, event, client = '', session, findings, more } = record
  const news = findings.filter(({ rule }) => rule !== removedAnnotations)
  const unlisted = more + Math.max(0, news.length - maxReasons)
  const reasons = news.slice(0, maxReasons).map(findingText)
  if (reasons.length === 0) reasons.push(sentence(record))
  else if (unlisted > 0) reasons.push(`and ${unlisted} more`)
  return {
    time, verdict, reasons,
    server: shownName(server),
    subject: shownName(tool ?? event),
    client: shownName(client),
    session: shownName(session),
  }
}

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

  take(record: LogRecord): void {
    const { time, event, client, revision, findings, more, reason = 'it ended' } = record
    const isFromRelay = isFrom(record, 'relay')
    if (isFromRelay && event === 'session/start') this.#started = time
    if (isFromRelay && event === 'session/end') this.#ended = shown(reason, maxMessage)
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
