import type { LogRecord } from '#relay/audit/read/record.js'
import { shownText } from '../sentence.js'
import type { HealthRow, Periods } from '../summary.js'
import { type Counted, earliest, latest, newest, sum, addedUp } from './counters.js'
import { isLost } from './group.js'
import { addTo, series, seriesSummary } from './series.js'

const maxText = 300
/** Lines of stderr that are kept. */
const maxLines = 5

/** What happened to a server: failures, and whether it has answered since. */
export const health =
  addedUp({ failures: sum, series, first: earliest, newest: newest<LogRecord>(), answered: latest })
type Health = Counted<typeof health>

export const takeHealth = (into: Health, record: LogRecord): void => {
  const { time, health: kind, serverMs } = record
  // A lost request has a `serverMs` too, but the error is the relay's and the server has not answered.
  if ((serverMs !== undefined && !isLost(record)) || kind === 'restored') {
    into.answered = Math.max(into.answered, time)
  }
  if (kind === undefined || kind === 'restored') return
  into.failures += 1
  into.first = Math.min(into.first, time)
  addTo(into.series, time)
  if (time >= (into.newest?.time ?? -Infinity)) into.newest = record
}

/** @returns nothing for a server that did not fail */
export const healthRows = (of: Health, server: string, periods: Periods): readonly HealthRow[] => {
  if (of.newest === undefined) return []
  const { time, health: kind = '', reason = '', stderr } = of.newest
  return [{
    server, health: kind, isDown: time >= of.answered, isProcess: stderr !== undefined,
    reason: shownText(reason, maxText),
    stderr: (stderr ?? []).slice(-maxLines).map(line => shownText(line, maxText)),
    count: of.failures, first: of.first, last: time, series: seriesSummary(of.series, periods),
  }]
}
