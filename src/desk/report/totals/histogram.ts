import type { Spread } from '../summary.js'
import type { Counter } from './counters.js'

/** Values by magnitude, in a few hundred classes however many values there are. */
export interface Histogram {
  readonly classes: Map<number, number>
  count: number
  most: number
}

export const histogram: Counter<Histogram> = {
  empty: () => ({ classes: new Map(), count: 0, most: 0 }),
  merge: (into, { classes, count, most }) => {
    for (const [index, times] of classes) addTo(into.classes, index, times)
    into.count += count
    into.most = Math.max(into.most, most)
    return into
  },
}

/** The end of a class divided by its start: a value is known to within 2 %. */
const growth = 1.04
const scale = 1 / Math.log(growth)
/** Smaller values count as this one: a thousandth of a millisecond, or of a byte. */
const least = 0.001
/** The page shows this many classes as one. */
const coarse = 7

export const observe = (into: Histogram, value: number | undefined): void => {
  if (value === undefined || !(value >= 0 && value < Infinity)) return
  const index = value <= least ? 0 : Math.ceil(Math.log(value / least) * scale)
  addTo(into.classes, index, 1)
  into.count += 1
  if (value > into.most) into.most = value
}

export const spreadOf = (of: Histogram): Spread => {
  const sorted = [...of.classes].sort(([a], [b]) => a - b)
  const quantile = (share: number): number => {
    let left = Math.ceil(share * of.count)
    for (const [index, count] of sorted) {
      left -= count
      if (left <= 0) return rounded(Math.min(middleOf(index), of.most))
    }
    return 0
  }
  const classes = new Map<number, number>()
  for (const [index, count] of sorted) addTo(classes, Math.ceil(index / coarse), count)
  const startOf = (at: number) => rounded(least * growth ** ((at - 1) * coarse))
  return {
    count: of.count,
    p50: quantile(0.5), p95: quantile(0.95), p99: quantile(0.99), most: rounded(of.most),
    classes: [...classes].map(([at, count]) => [startOf(at), count] as const),
  }
}

const addTo = (classes: Map<number, number>, index: number, count: number): void => {
  classes.set(index, (classes.get(index) ?? 0) + count)
}

const middleOf = (index: number): number => (index === 0 ? least : least * growth ** (index - 0.5))

/** Keeps the digits that are exact, so that the page is short. */
const rounded = (value: number): number => Number(value.toPrecision(4))
