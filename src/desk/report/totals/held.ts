import { dangerOf } from '#relay/core/danger.js'
import type { Verdict } from '#relay/core/vocabulary.js'
import { isFrom, type LoggedFinding, type LogRecord } from '#relay/audit/read/record.js'
import { ruleNamed } from '#relay/rules/index.js'
import { findingText, sentence, shownText, shownName } from '../sentence.js'
import type { FaultSummary, HeldGroup, Periods, RecordSummary, Rows } from '../summary.js'
import { duration, sizeText } from '../units.js'
import {
  type Counted, type Counter, earliest, nameOf, names, newest, partsOf, several, sum, TableOf, addedUp,
} from './counters.js'
import type { goodResults } from './group.js'
import { addTo, series, seriesSummary } from './series.js'

/** Groups of all servers, of one server, and of one tool and rule: one noisy tool leaves room for others. */
const maxGroups = 1000
const maxOfServer = 200
const maxPaths = 10
const maxClients = 5
/** Findings of the newest record that are kept. */
const maxFindings = 20
const maxPath = 120

/** The newest message of a group, with the finding that it was held back for. */
interface Newest {
  readonly time: number
  readonly record: LogRecord
  readonly reason: LoggedFinding | undefined
}

const group = addedUp({
  count: sum, first: earliest, series, clients: names(maxClients), newest: newest<Newest>(),
})
const groups = new TableOf(maxGroups, group, ({ count }) => count)

export interface Held {
  readonly groups: Counted<typeof groups>
  /** The number of groups of each server, and of each tool and rule. */
  readonly sizes: Map<string, number>
  left: number
}

/** Messages that were held back, grouped by server, tool, verdict, rule and path. */
export const held: Counter<Held> = {
  empty: () => ({ groups: groups.empty(), sizes: new Map(), left: 0 }),
  merge: (into, other) => {
    for (const [key, one] of groups.sorted(other.groups)) group.merge(groupAt(into, partsOf(key)), one)
    into.left += leftIn(other)
    return into
  },
}

/** How many messages are in groups that were dropped. */
const leftIn = ({ left, groups: { others } }: Held): number => left + (others?.count ?? 0)

export const takeHeld = (
  into: Held, record: LogRecord, verdict: Verdict, reason: LoggedFinding | undefined,
): void => {
  const subject = shownName(record.tool ?? record.event)
  const rule = shownName(reason?.rule ?? '')
  const path = shownText((reason?.path ?? '').replace(/\/\d+(?=\/|$)/g, '/*'), maxPath)
  const fault = faultOf(record, reason)
  const one = groupAt(into, [shownName(record.server), subject, verdict, rule, fault ?? '', path])
  const { time } = record
  one.count += 1
  one.first = Math.min(one.first, time)
  addTo(one.series, time)
  one.clients = names(maxClients).merge(one.clients, new Set([shownName(record.client ?? '')]))
  if (time < (one.newest?.time ?? -Infinity)) return
  const findings = record.findings.slice(0, maxFindings)
  const more = record.more + record.findings.length - findings.length
  one.newest = { time, record: { ...record, findings, more }, reason }
}

const groupAt = (
  into: Held,
  [server = '', subject = '', verdict = '', rule = '', fault = '', path = '']: readonly string[],
): Counted<typeof group> => {
  const existing = (parts: readonly string[]) => into.groups.rows.get(nameOf(...parts))
  const made = (parts: readonly string[], [ofServer = '', ofTool]: readonly string[]) => {
    const { sizes } = into
    // The table drops rows of servers with many names: their numbers are forgotten now and then.
    if (sizes.size > 4 * maxGroups) sizes.clear()
    const [groupsOfServer, groupsOfTool] = [sizes.get(ofServer) ?? 0, sizes.get(ofTool ?? '') ?? 0]
    if (groupsOfServer >= maxOfServer || groupsOfTool >= maxPaths) return undefined
    sizes.set(ofServer, groupsOfServer + 1)
    if (ofTool !== undefined) sizes.set(ofTool, groupsOfTool + 1)
    return groups.at(into.groups, nameOf(...parts))
  }
  const ofTool = [server, subject, verdict, rule, fault]
  return existing([...ofTool, path])
    ?? made([...ofTool, path], [server, nameOf(...ofTool)])
    ?? existing([...ofTool, several])
    ?? made([...ofTool, several], [server])
    ?? groups.at(into.groups, nameOf(server, several, verdict, rule, fault, several))
}

/** After this time without another block, a good result in the same session counts as well. */
const hourMs = 3_600_000

/**
 * The groups, the newest first. `left` is a number of messages.
 * @param good when a tool gave good results
 */
export const heldSummary = (
  of: Held, periods: Periods, places: readonly string[],
  good: (server: string, tool: string) => ReturnType<typeof goodResults>,
): Rows<HeldGroup> => {
  const rows = groups.sorted(of.groups).flatMap(([key, one]): readonly HeldGroup[] => {
    const [server = '', subject = '', verdict = '', rule = '', fault = '', path = ''] = partsOf(key)
    if (one.newest === undefined) return []
    const { time, record, reason } = one.newest
    const { firstGood = Infinity, lastGood, passed } = good(server, subject) ?? {}
    // What happens now and then is not over when it has not happened for as long as before.
    const calmMs = lastGood === undefined ? -1 : lastGood.time - time
    const isCalm = calmMs > 0 && calmMs > (2 * (time - one.first)) / Math.max(1, one.count - 1)
    const danger = verdict === 'log' ? 'passed' : reason === undefined ? 'held' : dangerOf(reason)
    return [{
      server, subject, verdict, rule, path,
      fault: heldFaults.find(known => known === fault),
      danger: danger === 'held' && fault === 'server' && firstGood < one.first ? 'worsened' : danger,
      isResolved: (passed?.get(reason?.rule ?? '') ?? 0) > time
        || (isCalm && (lastGood?.session !== record.session || calmMs > hourMs)),
      got: reason?.value && shownText(reason.value, maxText),
      declared: reason?.declared && shownText(reason.declared, maxText),
      count: one.count, first: one.first, last: time,
      series: seriesSummary(one.series, periods),
      clients: [...one.clients],
      newest: recordSummary(record, reason, places),
    }]
  })
  return { rows: rows.sort((a, b) => b.last - a.last), left: leftIn(of) }
}

export const heldFaults: readonly FaultSummary[] = ['server', 'client', 'configuration']

/** Whose mistake a finding is. */
export const faultOf = (
  { event, from }: Pick<LogRecord, 'event' | 'from'>, finding: LoggedFinding | undefined,
): FaultSummary | undefined => {
  if (finding === undefined) return event === 'http/refused' ? 'client' : undefined
  const fault = ruleNamed(finding.rule)?.fault
  if (fault !== 'sender') return heldFaults.find(one => one === fault)
  const isOfClient =
    event === 'wire' ? from === 'client' : /^\/(?:params|method)(?:\/|$)/.test(finding.path)
  return isOfClient ? 'client' : 'server'
}

const maxText = 300

/** A record with the finding that decided, which comes first. */
const recordSummary = (
  record: LogRecord, reason: LoggedFinding | undefined, places: readonly string[],
): RecordSummary => {
  const { time, event, from, session, client, revision, id, error, peer, ms, serverMs, more, shown } = record
  const { request, response, digests } = record
  const facts: readonly (readonly [string, string | number | undefined])[] = [
    ['method', event], ['shown as', shown], ['asked by', isFrom(record, 'client') ? undefined : from], ['id', id],
    ['session', session || undefined], ['client', client], ['revision', revision], ['address', peer],
    ['JSON-RPC error', error],
    ['time', ms === undefined ? undefined : duration(ms)],
    ['of it, in the server', serverMs === undefined ? undefined : duration(serverMs)],
    ['request', request === undefined ? undefined : sizeText(request)],
    ['response', response === undefined ? undefined : sizeText(response)],
    ['digest of the arguments', digests?.arguments], ['digest of the result', digests?.result],
  ]
  const others = record.findings.filter(finding => finding !== reason).map(findingText)
  return {
    time,
    reason: reason === undefined ? sentence(record) : shownText(reason.message, maxText),
    findings: [
      ...(reason === undefined ? [] : [findingText(reason)]), ...others,
      ...(more > 0 ? [`and ${more} more`] : []),
    ],
    facts: facts.flatMap(([name, value]) =>
      (value === undefined ? [] : [[name, shownText(String(value), maxText)] as const])),
    command: commandFor(record, places),
  }
}

/**
 * The command that shows the record. A name that a shell could interpret is left out, because a server or
 * client chose it.
 */
const commandFor = ({ time, server, session }: LogRecord, places: readonly string[]): string => {
  const of = places.map(place => ` ${/^[\w./-]+$/.test(place) ? place : quoted(place)}`).join('')
  const option = (name: string, value: string) =>
    (/^[\w.@-]{1,128}$/.test(value) && !value.startsWith('-') ? ` --${name} ${value}` : '')
  const [since, until] = [time, time + 1].map(at => new Date(at).toISOString())
  return `mcp-customs audit show${of}${option('server', server)}${option('session', session)}` +
    ` --since ${since ?? ''} --until ${until ?? ''} --long`
}

/** A path for a shell. */
const quoted = (path: string): string => `'${path.replaceAll('\'', '\'\\\'\'')}'`
