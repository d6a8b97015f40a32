import type { Periods, SeriesSummary } from '../summary.js'
import { addAt, type Counter } from './counters.js'

const [second, minute, hour, day] = [1000, 60_000, 3_600_000, 86_400_000]

/** Lengths of periods, in milliseconds. Each divides the next, so that periods add up to longer ones. */
const steps = [
  ...[1, 5, 10, 30].map(n => n * second), ...[1, 5, 10, 30].map(n => n * minute),
  ...[1, 2, 6, 12].map(n => n * hour), ...[1, 7, 28, 364, 3640].map(n => n * day),
]

/** A chart has room for this many periods. */
const maxPeriods = 180

/** Equal periods that cover a time span; the charts of all series of a summary have the same. */
export const periodsOf = (from: number, to: number): Periods => {
  if (from > to) return { from: 0, step: second, count: 0 }
  const step = stepFor(to - from)
  const first = floor(from, step)
  return { from: first, step, count: (floor(to, step) - first) / step + 1 }
}

/** Counts of several kinds over time. Periods get longer with the time span, so that they stay few. */
export interface TimeSeries {
  /** By their start: a number for each kind. */
  readonly periods: Map<number, number[]>
  step: number
  first: number
  last: number
}

export const series: Counter<TimeSeries> = {
  empty: () => ({ periods: new Map(), step: second, first: Infinity, last: -Infinity }),
  merge: (into, { periods, step, first, last }) => {
    if (periods.size === 0) return into
    coarsen(into, step)
    extend(into, first, last)
    for (const [start, numbers] of periods) addAll(into, start, numbers)
    return into
  },
}

export const addTo = (into: TimeSeries, time: number, kind = 0): void => {
  extend(into, time, time)
  addAt(periodAt(into, time), kind, 1)
}

/** @param periods that cover the series @param kinds how many numbers each period gets */
export const seriesSummary = (of: TimeSeries, { from, step }: Periods, kinds = 1): SeriesSummary => {
  coarsen(of, step)
  return [...of.periods].sort(([a], [b]) => a - b).map(([start, numbers]) =>
    [(start - from) / step, ...Array.from({ length: kinds }, (_, kind) => numbers[kind] ?? 0)])
}

const periodAt = ({ periods, step }: TimeSeries, time: number): number[] => {
  const start = floor(time, step)
  let numbers = periods.get(start)
  if (numbers === undefined) periods.set(start, (numbers = []))
  return numbers
}

const addAll = (into: TimeSeries, start: number, numbers: readonly number[]): void => {
  const period = periodAt(into, start)
  // A kind that was not counted has no element.
  numbers.forEach((number, kind) => addAt(period, kind, number))
}

const extend = (of: TimeSeries, first: number, last: number): void => {
  if (first >= of.first && last <= of.last) return
  of.first = Math.min(of.first, first)
  of.last = Math.max(of.last, last)
  coarsen(of, stepFor(of.last - of.first))
}

const coarsen = (of: TimeSeries, step: number): void => {
  if (step <= of.step) return
  of.step = step
  const before = [...of.periods]
  of.periods.clear()
  for (const [start, numbers] of before) addAll(of, start, numbers)
}

const stepFor = (span: number): number =>
  steps.find(step => span / step < maxPeriods) ?? steps.at(-1) ?? day

const floor = (time: number, step: number): number => Math.floor(time / step) * step
