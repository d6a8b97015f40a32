import type { LogRecord } from '#relay/audit/read/record.js'
import type { Summary } from '../summary.js'
import { Totals } from './totals.js'

/** A window is counted in this many slices; records leave it a slice at a time. */
const slices = 24

/** The totals of the records of the last hours or days, in bounded memory. */
export class Window {
  readonly #length: number
  readonly #slices = new Map<number, Totals>()
  /** The totals of all slices but the last, cached until one of them changes. */
  #earlier: { readonly until: number; readonly totals: Totals } | undefined

  /** @param length in milliseconds */
  constructor(length: number) {
    this.#length = length
  }

  /** @param now milliseconds since 1970 */
  take(record: LogRecord, now: number): void {
    const at = this.#sliceOf(record.time)
    // Records with times in the future would never leave the window.
    if (at < this.#sliceOf(now) - slices || at > this.#sliceOf(now) + 1) return
    if (this.#earlier && at < this.#earlier.until) this.#earlier = undefined
    this.#slice(at).take(record)
  }

  /** All that was counted, as data that can be sent to another thread. It must not be changed. */
  get state() {
    return [...this.#slices].map(([at, totals]) => [at, totals.state] as const)
  }

  /** @param slices of a window of the same length */
  merge(slices: Window['state']): void {
    for (const [at, totals] of slices) this.#slice(at).merge(totals)
    this.#earlier = undefined
  }

  #slice(at: number): Totals {
    let slice = this.#slices.get(at)
    if (slice === undefined) this.#slices.set(at, (slice = new Totals()))
    return slice
  }

  summary(now: number, places: readonly string[] = []): Summary {
    this.forget(now)
    const totals = new Totals()
    const last = Math.max(...this.#slices.keys())
    totals.merge(this.#before(last).state)
    const current = this.#slices.get(last)
    if (current) totals.merge(current.state)
    return totals.summary(now, places)
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
    const totals = new Totals()
    for (const [at, slice] of this.#slices) if (at < last) totals.merge(slice.state)
    this.#earlier = { until: last, totals }
    return totals
  }

  #sliceOf(time: number): number {
    return Math.floor(time / (this.#length / slices))
  }
}
