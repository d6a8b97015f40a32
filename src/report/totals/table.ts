/** What can be counted into, and counted together. */
export interface Row<Self> {
  /** What it is kept for, where there are too many. */
  readonly weight: number
  merge(other: Self): void
}

/** Rows by name. Where there are too many, those that count least are counted together, and what they are called is forgotten. */
export class Table<Kept extends Row<Kept>> {
  readonly #most: number
  readonly #make: () => Kept
  readonly #rows = new Map<string, Kept>()
  #others: Kept | undefined
  #left = 0

  /** @param most rows at a time */
  constructor(most: number, make: () => Kept) {
    this.#most = most
    this.#make = make
  }

  /** The others together; undefined when there are none. */
  get others(): Kept | undefined {
    return this.#others
  }

  /** How many times a row was given up. */
  get left(): number {
    return this.#left
  }

  at(name: string): Kept {
    let row = this.#rows.get(name)
    if (row !== undefined) return row
    if (this.#rows.size >= this.#most) this.#thin()
    this.#rows.set(name, (row = this.#make()))
    return row
  }

  /** The weightiest first. */
  get sorted(): readonly (readonly [string, Kept])[] {
    return [...this.#rows].sort(([one, a], [other, b]) => b.weight - a.weight || (one < other ? -1 : 1))
  }

  merge(other: Table<Kept>): void {
    for (const [name, row] of other.#rows) this.at(name).merge(row)
    this.#left += other.#left
    if (other.#others) this.#together().merge(other.#others)
  }

  #thin(): void {
    for (const [name, row] of this.sorted.slice(Math.floor(this.#most / 2))) {
      this.#together().merge(row)
      this.#rows.delete(name)
      this.#left += 1
    }
  }

  #together(): Kept {
    return (this.#others ??= this.#make())
  }
}
