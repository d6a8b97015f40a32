import type { Attributes } from './attributes.js'

/** A metric, with its name in Prometheus. */
export interface Metric {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  /** Attributes that are labels in Prometheus (dots become underscores). Equal series are added up. */
  readonly labels: readonly string[]
  /** Upper bounds of a histogram's buckets, inclusive. */
  readonly bounds?: readonly number[]
  /** The name and unit in OTLP, for a histogram that is also exported there, with all attributes. */
  readonly otlp?: { readonly name: string; readonly unit: string }
  /** The total of several processes is the minimum, not the sum. */
  readonly leastCounts?: true
}

/** A metric with one set of attributes. */
export interface Series {
  readonly attributes: Attributes
  /** The value; of a histogram, the sum of the observed values. */
  value: number
  /** Of a histogram: the observations in each bucket, and above the last bound. */
  readonly counts: number[]
  min: number
  max: number
  /** In milliseconds since the epoch. */
  readonly startedAt: number
}

/** A series with the labels of Prometheus. One process sends it to another in this form. */
export interface MetricRow {
  readonly metric: string
  /** Values of the metric's labels. */
  readonly labels: readonly string[]
  readonly value: number
  readonly counts: readonly number[]
}

export const contentType = 'text/plain; version=0.0.4; charset=utf-8'

export class Registry {
  readonly #series = new Map<Metric, Map<string, Series>>()

  constructor(private readonly metrics: readonly Metric[]) {
    for (const metric of metrics) {
      this.#series.set(metric, new Map())
      if (metric.labels.length === 0) this.add(metric, {}, 0)
    }
  }

  add(metric: Metric, attributes: Attributes, amount = 1): void {
    this.#seriesOf(metric, attributes).value += amount
  }

  /** Sets a gauge for these servers, and for no others. */
  replace<Value>(
    metric: Metric, servers: ReadonlyMap<string, Value>, numberOf: (value: Value) => number,
  ): void {
    this.#series.get(metric)?.clear()
    for (const [server, value] of servers) this.add(metric, { server }, numberOf(value))
  }

  observe(metric: Metric, attributes: Attributes, value: number): void {
    const series = this.#seriesOf(metric, attributes)
    const bucket = metric.bounds?.findIndex(bound => value <= bound) ?? -1
    const index = bucket === -1 ? series.counts.length - 1 : bucket
    series.counts[index] = (series.counts[index] ?? 0) + 1
    series.value += value
    series.min = Math.min(series.min, value)
    series.max = Math.max(series.max, value)
  }

  /** The series of each metric that has some. */
  *collect(): Generator<readonly [Metric, readonly Series[]]> {
    for (const [metric, series] of this.#series) if (series.size > 0) yield [metric, [...series.values()]]
  }

  snapshot(): MetricRow[] {
    return [...this.collect()].flatMap(([{ name, labels }, all]) => all.map(({ attributes, value, counts }) =>
      ({ metric: name, labels: labels.map(label => String(attributes[label] ?? '')), value, counts })))
  }

  /** The text that Prometheus reads. */
  text(): string {
    return textOf(this.metrics, this.snapshot())
  }

  #seriesOf(metric: Metric, attributes: Attributes): Series {
    const ofMetric = this.#series.get(metric)
    const key = JSON.stringify(attributes)
    const known = ofMetric?.get(key)
    if (known) return known
    const counts = metric.bounds === undefined ? [] : Array<number>(metric.bounds.length + 1).fill(0)
    const series = { attributes, value: 0, counts, min: Infinity, max: -Infinity, startedAt: Date.now() }
    ofMetric?.set(key, series)
    return series
  }
}

/** The totals of several processes, ended ones included, because a counter must not decrease. */
export class MetricTotals {
  /** The last rows of each process, by its number. */
  readonly #last = new Map<number, readonly MetricRow[]>()
  #ended: readonly MetricRow[] = []

  constructor(private readonly metrics: readonly Metric[]) {}

  /** @param now snapshots of running processes; for one that is missing, its last snapshot counts */
  text(now: ReadonlyMap<number, readonly MetricRow[]>): string {
    for (const [number, snapshot] of now) this.#last.set(number, snapshot)
    return textOf(this.metrics, [...this.#last.values(), this.#ended].flat())
  }

  /** The process of this number has ended: its counters stay, its gauges go. */
  retire(number: number): void {
    const gauges = this.metrics.filter(({ type }) => type === 'gauge').map(({ name }) => name)
    const kept = this.#last.get(number)?.filter(({ metric }) => !gauges.includes(metric)) ?? []
    this.#last.delete(number)
    this.#ended = merged([...this.#ended, ...kept], false)
  }
}

/** Rows with the same labels become one. */
const merged = (rows: readonly MetricRow[], leastCounts: boolean): MetricRow[] => {
  const all = new Map<string, MetricRow>()
  for (const row of rows) {
    const key = JSON.stringify([row.metric, row.labels])
    const other = all.get(key)
    all.set(key, !other ? row : {
      ...row,
      value: leastCounts ? Math.min(other.value, row.value) : other.value + row.value,
      counts: row.counts.map((count, index) => count + (other.counts[index] ?? 0)),
    })
  }
  return [...all.values()]
}

/** Prometheus's text format, version 0.0.4. */
const textOf = (metrics: readonly Metric[], rows: readonly MetricRow[]): string => {
  const texts = metrics.map(metric => {
    const shown = merged(rows.filter(row => row.metric === metric.name), metric.leastCounts ?? false)
    const head = [`# HELP ${metric.name} ${escaped(metric.help)}`, `# TYPE ${metric.name} ${metric.type}`]
    return [...head, ...shown.flatMap(row => linesOf(metric, row))].join('\n')
  })
  return `${texts.join('\n\n')}\n`
}

const linesOf = (
  { name, labels: names, bounds }: Metric, { labels: values, value, counts }: MetricRow,
): string[] => {
  const quoted = values.map(text => `"${escaped(text).replaceAll('"', '\\"')}"`)
  const labels = names.map((label, index) => `${label.replaceAll('.', '_')}=${quoted[index] ?? '""'}`)
  const line = (suffix: string, number: number, ...more: string[]) => {
    const all = [...more, ...labels].join(',')
    return `${name}${suffix}${all === '' ? '' : `{${all}}`} ${number}`
  }
  if (bounds === undefined) return [line('', value)]
  let count = 0
  const buckets = [...bounds, '+Inf'].map((bound, index) =>
    line('_bucket', count += counts[index] ?? 0, `le="${bound}"`))
  return [...buckets, line('_sum', value), line('_count', count)]
}

const escaped = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
