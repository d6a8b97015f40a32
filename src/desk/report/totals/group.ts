import { type Verdict, verdicts } from '#relay/core/findings.js'
import { isFrom, type LogRecord } from '#relay/audit/read/record.js'
import { shown, shownName } from '../sentence.js'
import type { GroupSummary, Periods, Quantiles, Rows, RuleRow, ToolRow } from '../summary.js'
import { sumOf } from '../units.js'
import { Histogram } from './histogram.js'
import { addAll, countVerdict, Series, verdictTally } from './series.js'
import { nameOf, partsOf, Table } from './table.js'

const maxTools = 400
const maxRules = 200
const maxRuleName = 60
/** Rows that the page shows. */
const shownTools = 200

/** The counts of one server, or of several together. */
export class Group {
  readonly #calls = verdictTally()
  #messages = 0
  #errors = 0
  #findings = 0
  #sessions = 0
  /** Calls by verdict, then other messages that were held back. */
  readonly #series = new Series(verdicts.length + 1)
  readonly #relay = new Histogram()
  readonly #upstream = new Histogram()
  readonly #request = new Histogram()
  readonly #response = new Histogram()
  readonly #tools = new Table(maxTools, () => new Tool())
  readonly #rules = new Table(maxRules, () => new Rule())

  get weight(): number {
    return sumOf(this.#calls) + this.#messages
  }

  take(record: LogRecord, verdict: Verdict, isHeld: boolean): void {
    const { event, time, findings, more, tool, error, request, response } = record
    this.#findings += findings.length + more
    for (const [rule, times] of timesOf(findings)) {
      this.#rules.at(shown(rule, maxRuleName)).take(times, verdict, time)
    }
    const isOfSession = event.startsWith('session/') && isFrom(record, 'relay')
    if (isOfSession && event === 'session/start') this.#sessions += 1
    if (event !== 'tools/call' || !isFrom(record, 'client')) {
      if (!isOfSession) this.#messages += 1
      if (isHeld) this.#series.add(time, verdicts.length)
      return
    }
    countVerdict(this.#calls, verdict)
    this.#series.add(time, verdicts.indexOf(verdict))
    if (error !== undefined) this.#errors += 1
    const { relay, upstream } = timesIn(record)
    if (relay !== undefined) this.#relay.add(relay)
    if (upstream !== undefined) this.#upstream.add(upstream)
    if (request !== undefined) this.#request.add(request)
    if (response !== undefined) this.#response.add(response)
    if (tool === undefined) return
    // Tools of several servers may have the same name.
    this.#tools.at(nameOf(shownName(record.server), shownName(tool))).take(record, verdict)
  }

  get state() {
    return {
      calls: this.#calls, messages: this.#messages, errors: this.#errors, findings: this.#findings,
      sessions: this.#sessions, series: this.#series.state,
      relay: this.#relay.state, upstream: this.#upstream.state,
      request: this.#request.state, response: this.#response.state,
      tools: this.#tools.state, rules: this.#rules.state,
    }
  }

  merge(other: Group['state']): void {
    addAll(this.#calls, other.calls)
    this.#messages += other.messages
    this.#errors += other.errors
    this.#findings += other.findings
    this.#sessions += other.sessions
    this.#series.merge(other.series)
    this.#relay.merge(other.relay)
    this.#upstream.merge(other.upstream)
    this.#request.merge(other.request)
    this.#response.merge(other.response)
    this.#tools.merge(other.tools)
    this.#rules.merge(other.rules)
  }

  summary(server: string | undefined, periods: Periods): GroupSummary {
    return {
      server,
      calls: [...this.#calls], errors: this.#errors, findings: this.#findings, sessions: this.#sessions,
      series: this.#series.summary(periods),
      relay: this.#relay.spread(), upstream: this.#upstream.spread(),
      request: this.#request.spread(), response: this.#response.spread(),
      tools: this.#toolRows(),
      rules: { rows: this.#rules.sorted.map(([rule, row]) => row.summary(rule)), left: this.#rules.left },
    }
  }

  #toolRows(): Rows<ToolRow> {
    const named = this.#tools.sorted
    return {
      rows: named.slice(0, shownTools).map(([key, row]) => row.summary(key)),
      left: Math.max(0, named.length - shownTools) + this.#tools.left,
    }
  }
}

const timesOf = (findings: LogRecord['findings']): ReadonlyMap<string, number> => {
  const times = new Map<string, number>()
  for (const { rule } of findings) times.set(rule, (times.get(rule) ?? 0) + 1)
  return times
}

/** The relay's time and the server's. Logs of earlier versions hold only their sum. */
const timesIn = (
  { ms, serverMs, response }: LogRecord,
): { readonly relay?: number; readonly upstream?: number } => {
  if (ms === undefined || (serverMs === undefined && response !== undefined)) return {}
  return serverMs === undefined ? { relay: ms } : { relay: Math.max(0, ms - serverMs), upstream: serverMs }
}

class Tool {
  readonly #calls = verdictTally()
  #findings = 0
  #errors = 0
  readonly #relay = new Histogram()
  readonly #upstream = new Histogram()
  readonly #response = new Histogram()

  get weight(): number {
    return sumOf(this.#calls)
  }

  take(record: LogRecord, verdict: Verdict): void {
    countVerdict(this.#calls, verdict)
    this.#findings += record.findings.length + record.more
    if (record.error !== undefined) this.#errors += 1
    const { relay, upstream } = timesIn(record)
    if (relay !== undefined) this.#relay.add(relay)
    if (upstream !== undefined) this.#upstream.add(upstream)
    if (record.response !== undefined) this.#response.add(record.response)
  }

  get state() {
    return {
      calls: this.#calls, findings: this.#findings, errors: this.#errors,
      relay: this.#relay.state, upstream: this.#upstream.state, response: this.#response.state,
    }
  }

  merge(other: Tool['state']): void {
    addAll(this.#calls, other.calls)
    this.#findings += other.findings
    this.#errors += other.errors
    this.#relay.merge(other.relay)
    this.#upstream.merge(other.upstream)
    this.#response.merge(other.response)
  }

  summary(key: string): ToolRow {
    const [server = '', tool = ''] = partsOf(key)
    return {
      server, tool, calls: [...this.#calls], findings: this.#findings, errors: this.#errors,
      relay: quantiles(this.#relay), upstream: quantiles(this.#upstream), response: quantiles(this.#response),
    }
  }
}

const quantiles = (histogram: Histogram): Quantiles => {
  const { count, p50, p95, p99, most } = histogram.spread()
  return { count, p50, p95, p99, most }
}

class Rule {
  #findings = 0
  readonly #records = verdictTally()
  #last = 0

  get weight(): number {
    return this.#findings
  }

  take(times: number, verdict: Verdict, time: number): void {
    this.#findings += times
    countVerdict(this.#records, verdict)
    this.#last = Math.max(this.#last, time)
  }

  get state() {
    return { findings: this.#findings, records: this.#records, last: this.#last }
  }

  merge({ findings, records, last }: Rule['state']): void {
    this.#findings += findings
    addAll(this.#records, records)
    this.#last = Math.max(this.#last, last)
  }

  summary(rule: string): RuleRow {
    return { rule, findings: this.#findings, records: [...this.#records], last: this.#last }
  }
}
