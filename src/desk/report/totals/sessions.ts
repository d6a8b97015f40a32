import { isFrom, type LogRecord } from '#relay/audit/read/record.js'
import { shownText, shownName } from '../sentence.js'
import type { Rows, SessionRow } from '../summary.js'
import { type Counted, type Counter, latest, nameOf, partsOf, sum, TableOf, addedUp } from './counters.js'

/** Rows that the page shows. */
const maxSessions = 500
const maxReason = 300

/** The first value that is known. */
const known = <Value>(): Counter<Value | undefined> =>
  ({ empty: () => undefined, merge: (one, other) => one ?? other })

const session = addedUp({
  started: known<number>(), last: latest, ended: known<string>(), client: known<string>(),
  revision: known<string>(), calls: sum, held: sum, findings: sum,
})
/** The oldest are dropped first. */
export const sessions = new TableOf(2 * maxSessions, session, ({ last }) => last)

export const takeSession = (into: Counted<typeof sessions>, record: LogRecord, isHeld: boolean): void => {
  const { time, event, client, revision, findings, more, reason = 'it ended' } = record
  const one = sessions.at(into, nameOf(shownName(record.server), shownName(record.session)))
  const isFromRelay = isFrom(record, 'relay')
  if (isFromRelay && event === 'session/start') one.started = time
  if (isFromRelay && event === 'session/end') one.ended = shownText(reason, maxReason)
  if (event === 'tools/call' && isFrom(record, 'client')) one.calls += 1
  if (isHeld) one.held += 1
  one.findings += findings.length + more
  one.last = Math.max(one.last, time)
  if (client !== undefined) one.client = shownName(client)
  if (revision !== undefined) one.revision = shownName(revision)
}

/** The newest first. */
export const sessionRows = (of: Counted<typeof sessions>): Rows<SessionRow> => {
  const rows = sessions.sorted(of).map(([key, one]): SessionRow => {
    const [server = '', name = ''] = partsOf(key)
    return { server, session: name, ...one, client: one.client ?? '', revision: one.revision ?? '' }
  }).sort((a, b) => (b.started ?? b.last) - (a.started ?? a.last))
  return { rows: rows.slice(0, maxSessions), left: of.left + Math.max(0, rows.length - maxSessions) }
}
