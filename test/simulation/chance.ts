/** A seeded source of chance (mulberry32). Equal seeds give equal sequences. */
export class Chance {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** From 0 to below 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = this.#state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** A whole number from 0 to below `count`. */
  below(count: number): number {
    return Math.floor(this.next() * count)
  }

  /** True with this probability. */
  is(probability: number): boolean {
    return this.next() < probability
  }

  pick<One>(from: readonly One[]): One {
    const one = from[this.below(from.length)]
    if (one === undefined) throw new Error('nothing to pick from')
    return one
  }

  weighted<One extends { readonly weight: number }>(from: readonly One[]): One | undefined {
    let left = this.next() * from.reduce((sum, { weight }) => sum + weight, 0)
    for (const one of from) {
      left -= one.weight
      if (left < 0) return one
    }
    return from.at(-1)
  }
}
