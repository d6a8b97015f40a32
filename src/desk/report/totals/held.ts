import type { Verdict } from '#relay/core/findings.js'
import { ruleNamed } from '#relay/rules/index.js'
import { isFrom, type LoggedFinding, type LogRecord } from '#relay/audit/read/record.js'
import { findingText, sentence, shown, shownName } from '../sentence.js'
import type { Fault, HeldGroup, Periods, RecordSummary, Rows } from '../summary.js'
import { duration, size } from '../units.js'
import { Series } from './series.js'
import { nameOf, partsOf, Table } from './table.js'

/** Groups of all servers, of one server, and of one tool and rule: one noisy tool leaves room for others. */
const maxGroups = 1000
const maxOfServer = 200
const maxPaths = 10
const maxClients = 5
/** Findings of the newest record that are kept. */
const maxFindings = 20
const maxPath = 120

/** Stands for paths, or tools, that there is no room to tell apart. */
const several = '…'

/** Messages that were held back, grouped by server, tool, verdict, rule and path. */
export class HeldGroups {
  readonly #groups = new Table(maxGroups, () => new Group())
  /** The number of groups of each server, and of each tool and rule. */
  readonly #sizes = new Map<string, number>()
  #left = 0

  take(record: LogRecord, verdict: Verdict, reason: LoggedFinding | undefined): void {
    const subject = shownName(record.tool ?? record.event)
    const rule = shownName(reason?.rule ?? '')
    const path = shown((reason?.path ?? '').replace(/\/\d+(?=\/|$)/g, '/*'), maxPath)
    const fault = faultOf(record, reason)
    this.#at([shownName(record.server), subject, verdict, rule, fault ?? '', path]).take(record, reason)
  }

  get state() {
    return { groups: this.#groups.sorted.map(([key, group]) => [key, group.state] as const), left: this.left }
  }

  merge({ groups, left }: HeldGroups['state']): void {
    for (const [key, group] of groups) this.#at(partsOf(key)).merge(group)
    this.#left += left
  }

  /** How many messages are in groups that were dropped. */
  get left(): number {
    return this.#left + (this.#groups.others?.weight ?? 0)
  }

  /** The groups, the newest first. `left` is a number of messages. */
  summary(periods: Periods, places: readonly string[]): Rows<HeldGroup> {
    const rows = this.#groups.sorted.map(([key, group]) => group.summary(partsOf(key), periods, places))
    return { rows: rows.sort((a, b) => b.last - a.last), left: this.left }
  }

  #at([server = '', subject = '', verdict = '', rule = '', fault = '', path = '']: readonly string[]): Group {
    const ofTool = [server, subject, verdict, rule, fault]
    return this.#existing([...ofTool, path])
      ?? this.#made([...ofTool, path], [server, nameOf(...ofTool)])
      ?? this.#existing([...ofTool, several])
      ?? this.#made([...ofTool, several], [server])
      ?? this.#groups.at(nameOf(server, several, verdict, rule, fault, several))
  }

  #existing(parts: readonly string[]): Group | undefined {
    const key = nameOf(...parts)
    return this.#groups.has(key) ? this.#groups.at(key) : undefined
  }

  /** @returns undefined when there is no room for another group */
  #made(parts: readonly string[], [server = '', tool]: readonly string[]): Group | undefined {
    // The table drops rows of servers with many names: their numbers are forgotten now and then.
    if (this.#sizes.size > 4 * maxGroups) this.#sizes.clear()
    const [ofServer, ofTool] = [this.#sizes.get(server) ?? 0, this.#sizes.get(tool ?? '') ?? 0]
    if (ofServer >= maxOfServer || ofTool >= maxPaths) return undefined
    this.#sizes.set(server, ofServer + 1)
    if (tool !== undefined) this.#sizes.set(tool, ofTool + 1)
    return this.#groups.at(nameOf(...parts))
  }
}

class Group {
  #count = 0
  #first = Infinity
  readonly #series = new Series(1)
  readonly #clients = new Set<string>()
  #newest: { readonly record: LogRecord; readonly reason: LoggedFinding | undefined } | undefined

  get weight(): number {
    return this.#count
  }

  take(record: LogRecord, reason: LoggedFinding | undefined): void {
    this.#count += 1
    this.#first = Math.min(this.#first, record.time)
    this.#series.add(record.time, 0)
    this.#addClient(shownName(record.client ?? ''))
    if (record.time >= (this.#newest?.record.time ?? -Infinity)) {
      const findings = record.findings.slice(0, maxFindings)
      const more = record.more + record.findings.length - findings.length
      this.#newest = { record: { ...record, findings, more }, reason }
    }
  }

  get state() {
    return {
      count: this.#count, first: this.#first, series: this.#series.state, clients: this.#clients,
      newest: this.#newest,
    }
  }

  merge({ count, first, series, clients, newest }: Group['state']): void {
    this.#count += count
    this.#first = Math.min(this.#first, first)
    this.#series.merge(series)
    for (const client of clients) this.#addClient(client)
    if ((newest?.record.time ?? -Infinity) > (this.#newest?.record.time ?? -Infinity)) this.#newest = newest
  }

  summary(parts: readonly string[], periods: Periods, places: readonly string[]): HeldGroup {
    const [server = '', subject = '', verdict = '', rule = '', fault = '', path = ''] = parts
    if (this.#newest === undefined) throw new TypeError('a group without a message')
    return {
      server, subject, verdict, rule, path,
      fault: faults.find(one => one === fault),
      count: this.#count, first: this.#first, last: this.#newest.record.time,
      series: this.#series.summary(periods),
      clients: [...this.#clients],
      newest: summaryOf(this.#newest.record, this.#newest.reason, places),
    }
  }

  #addClient(client: string): void {
    if (client !== '') this.#clients.add(this.#clients.size < maxClients ? client : several)
  }
}

export const faults: readonly Fault[] = ['server', 'client', 'configuration']

/** Whose mistake a finding is. */
export const faultOf = (
  { event, from }: LogRecord, finding: LoggedFinding | undefined,
): Fault | undefined => {
  if (finding === undefined) return event === 'http/refused' ? 'client' : undefined
  const fault = ruleNamed(finding.rule)?.fault
  if (fault !== 'sender') return faults.find(one => one === fault)
  const isOfClient =
    event === 'wire' ? from === 'client' : /^\/(?:params|method)(?:\/|$)/.test(finding.path)
  return isOfClient ? 'client' : 'server'
}

const maxText = 300

/** A record with the finding that decided, which comes first. */
const summaryOf = (
  record: LogRecord, reason: LoggedFinding | undefined, places: readonly string[],
): RecordSummary => {
  const { time, event, from, session, client, revision, id, error, peer, ms, serverMs, more } = record
  const { request, response, digests } = record
  const facts: readonly (readonly [string, string | number | undefined])[] = [
    ['method', event], ['asked by', isFrom(record, 'client') ? undefined : from], ['id', id],
    ['session', session || undefined], ['client', client], ['revision', revision], ['address', peer],
    ['JSON-RPC error', error],
    ['time', ms === undefined ? undefined : duration(ms)],
    ['of it, in the server', serverMs === undefined ? undefined : duration(serverMs)],
    ['request', request === undefined ? undefined : size(request)],
    ['response', response === undefined ? undefined : size(response)],
    ['digest of the arguments', digests?.arguments], ['digest of the result', digests?.result],
  ]
  const others = record.findings.filter(finding => finding !== reason).map(findingText)
  return {
    time,
    reason: reason === undefined ? sentence(record) : shown(reason.message, maxText),
    findings: [
      ...(reason === undefined ? [] : [findingText(reason)]), ...others,
      ...(more > 0 ? [`and ${more} more`] : []),
    ],
    facts: facts.flatMap(([name, value]) =>
      (value === undefined ? [] : [[name, shown(String(value), maxText)] as const])),
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
