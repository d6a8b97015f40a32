/** An accumulator that can take in another one, also one of another thread. */
export interface Row<Self extends { readonly state: unknown }> {
  /** When the table is full, rows of the least weight are combined. */
  readonly weight: number
  /** All that it has counted, as data that can be sent to another thread. It must not be changed. */
  readonly state: unknown
  merge(other: Self['state']): void
}

/** The name of a row, from texts that were made safe to show: they are on one line. */
export const nameOf = (...parts: readonly string[]): string => parts.join('\n')
export const partsOf = (name: string): readonly string[] => name.split('\n')

/** Rows by name. When there are too many, those of the least weight become one row without a name. */
export class Table<Kept extends Row<Kept>> {
  readonly #maxRows: number
  readonly #make: () => Kept
  readonly #rows = new Map<string, Kept>()
  #others: Kept | undefined
  #left = 0

  constructor(maxRows: number, make: () => Kept) {
    this.#maxRows = maxRows
    this.#make = make
  }

  /** The rows whose names were dropped, combined. */
  get others(): Kept | undefined {
    return this.#others
  }

  /** How many times a name was dropped. */
  get left(): number {
    return this.#left
  }

  has(name: string): boolean {
    return this.#rows.has(name)
  }

  at(name: string): Kept {
    let row = this.#rows.get(name)
    if (row !== undefined) return row
    if (this.#rows.size >= this.#maxRows) this.#thin()
    this.#rows.set(name, (row = this.#make()))
    return row
  }

  /** By weight, descending. */
  get sorted(): readonly (readonly [string, Kept])[] {
    return [...this.#rows].sort(([one, a], [other, b]) => b.weight - a.weight || (one < other ? -1 : 1))
  }

  get state() {
    const rows = [...this.#rows].map(([name, row]): readonly [string, Kept['state']] => [name, row.state])
    return { rows, others: this.#others?.state, left: this.#left }
  }

  merge({ rows, others, left }: Table<Kept>['state']): void {
    for (const [name, row] of rows) this.at(name).merge(row)
    this.#left += left
    if (others !== undefined) this.#combined().merge(others)
  }

  #thin(): void {
    for (const [name, row] of this.sorted.slice(Math.floor(this.#maxRows / 2))) {
      this.#combined().merge(row.state)
      this.#rows.delete(name)
      this.#left += 1
    }
  }

  #combined(): Kept {
    return (this.#others ??= this.#make())
  }
}
