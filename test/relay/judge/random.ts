/** How many cases: `MCP_CUSTOMS_FUZZ=1000000` for a long look, and `MCP_CUSTOMS_SEED` for others. */
export const runs = (usual: number): number => Number(process.env['MCP_CUSTOMS_FUZZ'] ?? usual)

/** Numbers at random, the same from the same seed (G. Marsaglia, Xorshift RNGs, 2003). */
export class Random {
  #state: number

  /** @param own tells the numbers of tests apart */
  constructor(own = 0) {
    this.#state = Math.imul(Number(process.env['MCP_CUSTOMS_SEED'] ?? 1) + 0x10001 * own, 0x9e3779b1) | 1
  }

  /** A whole number below another. */
  below(limit: number): number {
    this.#state ^= this.#state << 13
    this.#state ^= this.#state >>> 17
    this.#state ^= this.#state << 5
    return (this.#state >>> 0) % limit
  }

  /** True once in so many times. */
  once(times: number): boolean {
    return this.below(times) === 0
  }

  of<One>(first: One, ...others: readonly One[]): One {
    return others[this.below(others.length + 1) - 1] ?? first
  }

  in<One>(list: readonly One[]): One {
    const found = list[this.below(list.length)]
    if (found === undefined) throw new Error('nothing to choose from')
    return found
  }

  many<One>(most: number, make: (index: number) => One): One[] {
    return Array.from({ length: this.below(most + 1) }, (_, index) => make(index))
  }
}
