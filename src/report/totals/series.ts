import { addAll, addAt, type Tally } from './counted.js'

const [second, minute, hour, day] = [1000, 60_000, 3_600_000, 86_400_000]

/** Lengths of periods, in milliseconds: each is a part of the next. */
const steps = [1, 5, 10, 30].map(n => n * second).concat([1, 5, 10, 30].map(n => n * minute), [1, 2, 6, 12].map(n => n * hour), [1, 7, 28, 364, 3640].map(n => n * day))

/** Periods that a picture has room for. */
const most = 180

/** Counts of several kinds over time: the longer the time, the longer the periods, and never more than a few hundred of them. */
export class Series {
  readonly #kinds: number
  readonly #periods = new Map<number, Tally>()
  #step = second
  #first = Infinity
  #last = -Infinity

  /** @param kinds how many kinds there are */
  constructor(kinds: number) {
    this.#kinds = kinds
  }

  add(time: number, kind: number, number = 1): void {
    this.#reach(time, time)
    addAt(this.#at(time), kind, number)
  }

  merge(other: Series): void {
    if (other.#periods.size === 0) return
    this.#coarsen(other.#step)
    this.#reach(other.#first, other.#last)
    for (const [start, tally] of other.#periods) addAll(this.#at(start), tally)
  }

  /** @param range what is shown at least, so that pictures of several series have the same periods */
  summary(range: Range | undefined): { readonly from: number; readonly step: number; readonly rows: readonly Tally[] } {
    if (range) {
      this.#coarsen(range.step)
      this.#reach(range.first, range.last)
    }
    const { step, first, last } = this.range
    const rows: Tally[] = []
    if (first <= last) for (let start = first; start <= last; start += step) rows.push([...(this.#periods.get(start) ?? this.#zero())])
    return { from: rows.length === 0 ? 0 : first, step, rows }
  }

  get range(): Range {
    return { step: this.#step, first: floor(this.#first, this.#step), last: floor(this.#last, this.#step) }
  }

  #zero(): Tally {
    return Array.from({ length: this.#kinds }, () => 0)
  }

  #at(time: number): Tally {
    const start = floor(time, this.#step)
    let tally = this.#periods.get(start)
    if (tally === undefined) this.#periods.set(start, (tally = this.#zero()))
    return tally
  }

  #reach(first: number, last: number): void {
    if (first >= this.#first && last <= this.#last) return
    this.#first = Math.min(this.#first, first)
    this.#last = Math.max(this.#last, last)
    const span = this.#last - this.#first
    if (span / this.#step >= most) this.#coarsen(steps.find(step => span / step < most) ?? steps.at(-1) ?? day)
  }

  #coarsen(step: number): void {
    if (step <= this.#step) return
    this.#step = step
    const before = [...this.#periods]
    this.#periods.clear()
    for (const [start, tally] of before) addAll(this.#at(start), tally)
  }
}

export interface Range {
  readonly step: number
  readonly first: number
  readonly last: number
}

const floor = (time: number, step: number): number => Math.floor(time / step) * step
