/**
 * What is counted of records, as plain data: it can be sent to another thread, and two of it become one by
 * addition.
 */
export interface Counter<Value> {
  readonly empty: () => Value
  /** Adds the second value to the first, which may be changed; the second is not. */
  readonly merge: (into: Value, other: Value) => Value
}

export const sum: Counter<number> = { empty: () => 0, merge: (a, b) => a + b }
export const earliest: Counter<number> = { empty: () => Infinity, merge: Math.min }
export const latest: Counter<number> = { empty: () => -Infinity, merge: Math.max }

/** A number for each kind of something. */
export const tally = (kinds: number): Counter<number[]> => ({
  empty: () => Array.from({ length: kinds }, () => 0),
  merge: (into, other) => {
    for (const [index, number] of other.entries()) addAt(into, index, number)
    return into
  },
})

export const addAt = (numbers: number[], index: number, number: number): void => {
  numbers[index] = (numbers[index] ?? 0) + number
}

/** The value of the latest time. */
export const newest = <Value extends { readonly time: number }>(): Counter<Value | undefined> => ({
  empty: () => undefined,
  merge: (into, other) => ((other?.time ?? -Infinity) > (into?.time ?? -Infinity) ? other : into),
})

/** Stands for names that there is no room to tell apart. */
export const several = '…'

/** A few different names. */
export const names = (max: number): Counter<Set<string>> => ({
  empty: () => new Set(),
  merge: (into, other) => {
    for (const name of other) if (name !== '') into.add(into.size < max ? name : several)
    return into
  },
})

/** The latest time of each of a few names. */
export const times: Counter<Map<string, number>> = {
  empty: () => new Map(),
  merge: (into, other) => {
    for (const [name, time] of other) into.set(name, Math.max(into.get(name) ?? 0, time))
    return into
  },
}

/** Several values, each with its own way of addition. */
export const addedUp = <Values extends object>(
  fields: { readonly [Name in keyof Values]: Counter<Values[Name]> },
): Counter<Values> => ({
  empty: () => {
    const values: Partial<Values> = {}
    for (const name in fields) values[name] = fields[name].empty()
    return values as Values
  },
  merge: (into, other) => {
    for (const name in fields) into[name] = fields[name].merge(into[name], other[name])
    return into
  },
})

export type Counted<Of> = Of extends Counter<infer Value> ? Value : never

/** Rows by name. */
export interface CounterTable<Row> {
  readonly rows: Map<string, Row>
  /** The rows whose names were dropped, combined. */
  others: Row | undefined
  /** How many times a name was dropped. */
  left: number
}

/** The name of a row, from texts that were made safe to show: they are on one line. */
export const nameOf = (...parts: readonly string[]): string => parts.join('\n')
export const partsOf = (name: string): readonly string[] => name.split('\n')

/** A table that stays small: when there are too many rows, those of the least weight become one. */
export class TableOf<Row> implements Counter<CounterTable<Row>> {
  constructor(
    private readonly max: number,
    private readonly row: Counter<Row>,
    private readonly weight: (row: Row) => number,
  ) {}

  readonly empty = (): CounterTable<Row> => ({ rows: new Map(), others: undefined, left: 0 })

  readonly merge = (into: CounterTable<Row>, other: CounterTable<Row>): CounterTable<Row> => {
    for (const [name, row] of other.rows) into.rows.set(name, this.row.merge(this.at(into, name), row))
    into.left += other.left
    if (other.others !== undefined) this.#drop(into, other.others)
    return into
  }

  at(table: CounterTable<Row>, name: string): Row {
    let row = table.rows.get(name)
    if (row !== undefined) return row
    if (table.rows.size >= this.max) this.#thin(table)
    table.rows.set(name, (row = this.row.empty()))
    return row
  }

  /** By weight, descending. */
  sorted({ rows }: CounterTable<Row>): readonly (readonly [string, Row])[] {
    return [...rows].sort(([one, a], [other, b]) =>
      this.weight(b) - this.weight(a) || (one < other ? -1 : 1))
  }

  #thin(table: CounterTable<Row>): void {
    for (const [name, row] of this.sorted(table).slice(Math.floor(this.max / 2))) {
      this.#drop(table, row)
      table.rows.delete(name)
      table.left += 1
    }
  }

  #drop(table: CounterTable<Row>, row: Row): void {
    table.others = this.row.merge(table.others ?? this.row.empty(), row)
  }
}
