import { byDanger, type Danger, dangerOf, ranked } from '#relay/core/danger.js'
import type { LoggedFinding, LogRecord } from '#relay/audit/read/record.js'
import { ruleNamed } from '#relay/rules/index.js'
import { changesIn, findingText, shownText, shownName } from '../sentence.js'
import type { OfferRow, Periods, Rows } from '../summary.js'
import {
  type Counted, type Counter, earliest, nameOf, newest, partsOf, sum, TableOf, addedUp,
} from './counters.js'
import { faultOf } from './held.js'
import { addTo, series, seriesSummary } from './series.js'

const maxOffers = 300
const maxClients = 300
const maxMessage = 300
/** Findings of an element that are told. */
const maxFindings = 8

/** An element of a list with findings, as it was when they were last found. */
interface Found {
  readonly time: number
  readonly record: Pick<LogRecord, 'event' | 'from' | 'revision'>
  readonly findings: readonly LoggedFinding[]
  readonly isMissing: boolean
}

/** When a client found it last. */
interface Sight {
  readonly time: number
  readonly session: string
  readonly event: string
}

/** By client. */
const sights: Counter<Map<string, Sight>> = {
  empty: () => new Map(),
  merge: (into, other) => {
    for (const [client, one] of other) {
      if (one.time > (into.get(client)?.time ?? -Infinity) && (into.has(client) || into.size < maxClients)) {
        into.set(client, one)
      }
    }
    return into
  },
}

const offer = addedUp({
  /** How many lists had it, and in how many of them clients did not get it. */
  lists: sum, missing: sum, first: earliest, series, newest: newest<Found>(), sights,
})
const rows = new TableOf(maxOffers, offer, ({ newest: found }) => found?.time ?? -Infinity)

/** The last time that a client listed the tools of a server. Its pages are records of one session. */
interface Listing {
  readonly session: string
  readonly began: number
  readonly time: number
}

/** Pages of one listing follow each other within this time. */
const pageMs = 60_000

const listing: Counter<Listing | undefined> = {
  empty: () => undefined,
  merge: (one, other) => {
    if (one === undefined || other === undefined) return one ?? other
    const [before, after] = one.time <= other.time ? [one, other] : [other, one]
    const isSame = before.session === after.session && after.began - before.time < pageMs
    return isSame ? { ...after, began: Math.min(before.began, after.began) } : after
  },
}
const listings = new TableOf(maxClients, listing, one => one?.time ?? -Infinity)

/** What servers offer, and what was found about it: one row for each tool, prompt or resource. */
export const offers = addedUp({ rows, listings })
type Offers = Counted<typeof offers>

/** Rules about the lists of a server, as opposed to those about single messages. */
export const aboutOffers = /^(?:tool|list|resource|advice)\//

export const takeOffers = (
  into: Offers, record: LogRecord, missing: readonly LoggedFinding[],
): void => {
  const { event, time, session, tools, findings: all } = record
  if (all.length === 0 && event !== 'tools/list') return
  const server = shownName(record.server)
  const client = shownName(record.clientName ?? '')
  if (event === 'tools/list' && tools !== undefined) {
    const name = nameOf(server, client)
    const before = listings.at(into.listings, name)
    into.listings.rows.set(name, listing.merge(before, { session, began: time, time }))
  }
  const elements = new Map<string, LoggedFinding[]>()
  for (const finding of all) {
    if (!aboutOffers.test(finding.rule)) continue
    const name = shownName(offerName(finding) ?? '')
    elements.set(name, [...(elements.get(name) ?? []), finding])
  }
  for (const [name, findings] of elements) {
    const row = rows.at(into.rows, nameOf(server, name))
    const isMissing = findings.some(one => missing.includes(one))
    row.lists += 1
    if (isMissing) row.missing += 1
    row.first = Math.min(row.first, time)
    addTo(row.series, time)
    row.sights = sights.merge(row.sights, new Map([[client, { time, session, event }]]))
    row.newest = newest<Found>().merge(row.newest, {
      time, isMissing, findings: ranked(findings).slice(0, maxFindings),
      record: { event, from: record.from, revision: record.revision },
    })
  }
}

export const offerName = ({ tool, prompt, resource }: LoggedFinding): string | undefined =>
  tool ?? prompt ?? resource

/** @returns the rows, the most dangerous first */
export const offerRows = (of: Offers, periods: Periods): Rows<OfferRow> => {
  const all = rows.sorted(of.rows).flatMap(([key, row]): readonly OfferRow[] => {
    const [server = '', name = ''] = partsOf(key)
    const { newest: found, lists, missing, first } = row
    const [finding] = found?.findings ?? []
    if (found === undefined || finding === undefined) return []
    const { record, findings, isMissing } = found
    const within = name === '' ? finding.path : finding.path.replace(/^\/result\/\w+\/\d+/, '')
    return [{
      server, name, rule: shownName(finding.rule), path: shownText(within, maxMessage),
      message: shownText(finding.mended ?? finding.message, maxMessage),
      kind: finding.prompt !== undefined ? 'prompt' : finding.resource !== undefined ? 'resource' : 'tool',
      fault: faultOf(record, finding),
      danger: dangerOfOffer(finding, isMissing), isMissing, isNew: isNewTool(finding),
      isResolved: [...row.sights].every(([client, sight]) =>
        isOver(sight, of.listings.rows.get(nameOf(server, client)))),
      changes: changesIn(finding), findings: findings.map(findingText),
      revision: record.revision && shownName(record.revision),
      count: lists, missing, first, last: found.time, series: seriesSummary(row.series, periods),
    }]
  })
  return {
    rows: all.toSorted((a, b) => byDanger(a.danger, b.danger) || b.last - a.last),
    left: of.rows.left,
  }
}

/** The client has listed the tools since, in another session or much later, without such a finding. */
const isOver = (sight: Sight, listed: Listing | undefined): boolean =>
  listed !== undefined && listed.began > sight.time
  && (listed.session !== sight.session || sight.event === 'tools/list')

const isNewTool = ({ rule, message }: LoggedFinding): boolean =>
  rule === 'tool/drift' && /\((?:added|renamed)\b|not in this session's first list/.test(message)

const dangerOfOffer = (finding: LoggedFinding, isMissing: boolean): Danger => {
  const danger = dangerOf(finding)
  // A new tool waits for a person, but says nothing else than before.
  if (isNewTool(finding)) return isMissing ? 'held' : 'passed'
  // Where nothing that a model reads has changed, the client still gets what was accepted.
  if (danger === 'changed' && !isMissing && finding.value === undefined) return 'passed'
  if (danger !== 'held' || isMissing) return danger
  return ruleNamed(finding.rule)?.standard === 'off' ? 'nothing' : 'passed'
}
