/** How many bytes of bodies are held at a time, over all requests. */
export class ByteBudget {
  readonly #max: () => number
  #held = 0

  constructor(max: () => number) {
    this.#max = max
  }

  /** The share of one request, which grows as its body comes. */
  share(): Share {
    let own = 0
    let over = false
    return {
      take: bytes => {
        if (over || this.#held + bytes > this.#max()) return false
        own += bytes
        this.#held += bytes
        return true
      },
      give: bytes => {
        if (over) return
        own -= bytes
        this.#held -= bytes
      },
      end: () => {
        over = true
        this.#held -= own
        own = 0
      },
    }
  }
}

export interface Share {
  /** @returns false when so much more is not to be had */
  take(bytes: number): boolean
  give(bytes: number): void
  /** Gives back all of it; nothing is taken any more. */
  readonly end: () => void
}
