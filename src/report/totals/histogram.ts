import type { Spread } from '../summary.js'

/** Each class of values ends so many times further than it begins: a value is known to 2 %. */
const growth = 1.04
const scale = 1 / Math.log(growth)
/** What is smaller counts as this: a thousandth of a millisecond, or of a byte. */
const least = 0.001
/** So many classes are shown as one. */
const coarse = 7

/** How many values there were of each magnitude: of any number of them, in a memory of a few hundred classes. */
export class Histogram {
  readonly #classes = new Map<number, number>()
  #count = 0
  #sum = 0
  #most = 0

  get count(): number {
    return this.#count
  }

  add(value: number): void {
    if (!(value >= 0 && value < Infinity)) return
    const index = value <= least ? 0 : Math.ceil(Math.log(value / least) * scale)
    this.#classes.set(index, (this.#classes.get(index) ?? 0) + 1)
    this.#count += 1
    this.#sum += value
    if (value > this.#most) this.#most = value
  }

  merge(other: Histogram): void {
    for (const [index, count] of other.#classes) this.#classes.set(index, (this.#classes.get(index) ?? 0) + count)
    this.#count += other.#count
    this.#sum += other.#sum
    this.#most = Math.max(this.#most, other.#most)
  }

  /** With its classes, coarser than they were counted. */
  spread(): Spread {
    const sorted = [...this.#classes].sort(([a], [b]) => a - b)
    const quantile = (share: number): number => {
      let left = Math.ceil(share * this.#count)
      for (const [index, count] of sorted) if ((left -= count) <= 0) return rounded(Math.min(middleOf(index), this.#most))
      return 0
    }
    const classes = new Map<number, number>()
    for (const [index, count] of sorted) {
      const at = Math.ceil(index / coarse)
      classes.set(at, (classes.get(at) ?? 0) + count)
    }
    return {
      count: this.#count, sum: rounded(this.#sum), p50: quantile(0.5), p95: quantile(0.95), p99: quantile(0.99), most: rounded(this.#most),
      classes: [...classes].map(([at, count]) => [rounded(least * growth ** ((at - 1) * coarse)), count] as const),
    }
  }
}

const middleOf = (index: number): number => (index === 0 ? least : least * growth ** (index - 0.5))

/** Digits that say nothing make a page long. */
const rounded = (value: number): number => Number(value.toPrecision(4))
