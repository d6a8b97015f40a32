import type { LogRecord } from '#relay/audit/read/record.js'
import type { Summary } from '../summary.js'
import { summaryOf, take, type Totals, totals } from './totals.js'

/** A window is counted in this many slices; records leave it a slice at a time. */
const slices = 24

/** The totals of the records of the last hours or days, in bounded memory. */
export class Window {
  readonly #slices = new Map<number, Totals>()
  /** The totals of all slices but the last, cached until one of them changes. */
  #earlier: { readonly until: number; readonly totals: Totals } | undefined

  /** @param length in milliseconds */
  constructor(private readonly length: number) {}

  /** @param now milliseconds since 1970 */
  take(record: LogRecord, now: number): void {
    const at = this.#sliceOf(record.time)
    // Records with times in the future would never leave the window.
    if (at < this.#sliceOf(now) - slices || at > this.#sliceOf(now) + 1) return
    if (this.#earlier && at < this.#earlier.until) this.#earlier = undefined
    take(this.#slice(at), record)
  }

  /** All that was counted, as data that can be sent to another thread. It must not be changed. */
  get state() {
    return [...this.#slices]
  }

  /** @param slices of a window of the same length */
  merge(slices: Window['state']): void {
    for (const [at, one] of slices) totals.merge(this.#slice(at), one)
    this.#earlier = undefined
  }

  #slice(at: number): Totals {
    let slice = this.#slices.get(at)
    if (slice === undefined) this.#slices.set(at, (slice = totals.empty()))
    return slice
  }

  summary(now: number, places: readonly string[] = []): Summary {
    this.forget(now)
    const last = Math.max(...this.#slices.keys())
    const all = totals.merge(totals.empty(), this.#before(last))
    const current = this.#slices.get(last)
    return summaryOf(current ? totals.merge(all, current) : all, now, places)
  }

  /** Drops the slices that have left the window. */
  forget(now: number): void {
    for (const at of this.#slices.keys()) {
      if (at >= this.#sliceOf(now) - slices) continue
      this.#slices.delete(at)
      this.#earlier = undefined
    }
  }

  #before(last: number): Totals {
    if (this.#earlier?.until === last) return this.#earlier.totals
    const all = totals.empty()
    for (const [at, slice] of this.#slices) if (at < last) totals.merge(all, slice)
    this.#earlier = { until: last, totals: all }
    return all
  }

  #sliceOf(time: number): number {
    return Math.floor(time / (this.length / slices))
  }
}
