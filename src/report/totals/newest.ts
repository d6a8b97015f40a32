/** The newest of many things, in whatever order they come. */
export class Newest<Kept extends { readonly time: number }> {
  readonly #most: number
  #kept: Kept[] = []
  #left = 0

  constructor(most: number) {
    this.#most = most
  }

  add(one: Kept): void {
    this.#kept.push(one)
    if (this.#kept.length >= 2 * this.#most) this.#cut()
  }

  merge(other: Newest<Kept>): void {
    for (const one of other.#kept) this.add(one)
    this.#left += other.#left
  }

  /** The newest first. */
  summary(): { readonly rows: readonly Kept[]; readonly left: number } {
    this.#cut()
    return { rows: this.#kept, left: this.#left }
  }

  #cut(): void {
    this.#kept.sort((a, b) => b.time - a.time)
    const gone = this.#kept.splice(this.#most)
    this.#left += gone.length
  }
}
