import { type Verdict, verdicts } from '#relay/core/findings.js'
import type { Periods, SeriesSummary } from '../summary.js'

/** Numbers in a fixed order, such as one for each verdict. */
export type Tally = number[]

export const verdictTally = (): Tally => verdicts.map(() => 0)

export const countVerdict = (tally: Tally, verdict: Verdict): void =>
  addAt(tally, verdicts.indexOf(verdict), 1)

const addAt = (tally: Tally, index: number, number: number): void => {
  tally[index] = (tally[index] ?? 0) + number
}

export const addAll = (tally: Tally, other: readonly number[]): void =>
  other.forEach((number, index) => addAt(tally, index, number))

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
export class Series {
  readonly #kinds: number
  readonly #periods = new Map<number, Tally>()
  #step = second
  #first = Infinity
  #last = -Infinity

  /** @param kinds how many kinds are counted */
  constructor(kinds: number) {
    this.#kinds = kinds
  }

  add(time: number, kind: number, number = 1): void {
    this.#extend(time, time)
    addAt(this.#at(time), kind, number)
  }

  get state() {
    return { periods: this.#periods, step: this.#step, first: this.#first, last: this.#last }
  }

  merge({ periods, step, first, last }: Series['state']): void {
    if (periods.size === 0) return
    this.#coarsen(step)
    this.#extend(first, last)
    for (const [start, tally] of periods) addAll(this.#at(start), tally)
  }

  /** @param periods that cover this series */
  summary({ from, step }: Periods): SeriesSummary {
    this.#coarsen(step)
    return [...this.#periods].sort(([a], [b]) => a - b)
      .map(([start, tally]) => [(start - from) / step, ...tally])
  }

  #at(time: number): Tally {
    const start = floor(time, this.#step)
    let tally = this.#periods.get(start)
    if (tally === undefined) {
      this.#periods.set(start, (tally = Array.from({ length: this.#kinds }, () => 0)))
    }
    return tally
  }

  #extend(first: number, last: number): void {
    if (first >= this.#first && last <= this.#last) return
    this.#first = Math.min(this.#first, first)
    this.#last = Math.max(this.#last, last)
    this.#coarsen(stepFor(this.#last - this.#first))
  }

  #coarsen(step: number): void {
    if (step <= this.#step) return
    this.#step = step
    const before = [...this.#periods]
    this.#periods.clear()
    for (const [start, tally] of before) addAll(this.#at(start), tally)
  }
}

const stepFor = (span: number): number =>
  steps.find(step => span / step < maxPeriods) ?? steps.at(-1) ?? day

const floor = (time: number, step: number): number => Math.floor(time / step) * step
