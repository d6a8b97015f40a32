import type { Spread } from '../summary.js'

/** The end of a class divided by its start: a value is known to within 2 %. */
const growth = 1.04
const scale = 1 / Math.log(growth)
/** Smaller values count as this one: a thousandth of a millisecond, or of a byte. */
const least = 0.001
/** The page shows this many classes as one. */
const coarse = 7

/** Counts values by magnitude, in a few hundred classes however many values there are. */
export class Histogram {
  readonly #classes = new Map<number, number>()
  #count = 0
  #most = 0

  add(value: number): void {
    if (!(value >= 0 && value < Infinity)) return
    const index = value <= least ? 0 : Math.ceil(Math.log(value / least) * scale)
    addTo(this.#classes, index, 1)
    this.#count += 1
    if (value > this.#most) this.#most = value
  }

  get state() {
    return { classes: this.#classes, count: this.#count, most: this.#most }
  }

  merge({ classes, count, most }: Histogram['state']): void {
    for (const [index, times] of classes) addTo(this.#classes, index, times)
    this.#count += count
    this.#most = Math.max(this.#most, most)
  }

  spread(): Spread {
    const sorted = [...this.#classes].sort(([a], [b]) => a - b)
    const quantile = (share: number): number => {
      let left = Math.ceil(share * this.#count)
      for (const [index, count] of sorted) {
        left -= count
        if (left <= 0) return rounded(Math.min(middleOf(index), this.#most))
      }
      return 0
    }
    const classes = new Map<number, number>()
    for (const [index, count] of sorted) addTo(classes, Math.ceil(index / coarse), count)
    const startOf = (at: number) => rounded(least * growth ** ((at - 1) * coarse))
    return {
      count: this.#count,
      p50: quantile(0.5), p95: quantile(0.95), p99: quantile(0.99), most: rounded(this.#most),
      classes: [...classes].map(([at, count]) => [startOf(at), count] as const),
    }
  }
}

const addTo = (classes: Map<number, number>, index: number, count: number): void => {
  classes.set(index, (classes.get(index) ?? 0) + count)
}

const middleOf = (index: number): number => (index === 0 ? least : least * growth ** (index - 0.5))

/** Keeps the digits that are exact, so that the page is short. */
const rounded = (value: number): number => Number(value.toPrecision(4))
