/** How many bytes of bodies are held at a time, over all requests. */
export class ByteBudget {
  readonly #max: () => number
  #held = 0

  constructor(max: () => number) {
    this.#max = max
  }

  /** The share of one request, which grows as its body comes. */
  share(): Share {
    return new Share(this)
  }

  /** @returns false when so much more is not to be had */
  take(bytes: number): boolean {
    if (this.#held + bytes > this.#max()) return false
    this.#held += bytes
    return true
  }

  give(bytes: number): void {
    this.#held -= bytes
  }
}

export class Share {
  readonly #budget: ByteBudget
  #own = 0
  #over = false

  constructor(budget: ByteBudget) {
    this.#budget = budget
  }

  /** @returns false when so much more is not to be had */
  take(bytes: number): boolean {
    if (this.#over || !this.#budget.take(bytes)) return false
    this.#own += bytes
    return true
  }

  give(bytes: number): void {
    if (this.#over) return
    this.#own -= bytes
    this.#budget.give(bytes)
  }

  /** Gives back all of it; nothing is taken any more. */
  end(): void {
    this.#over = true
    this.#budget.give(this.#own)
    this.#own = 0
  }
}
