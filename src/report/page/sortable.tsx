import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'

export interface Column<Row> {
  readonly name: string
  readonly cell: (row: Row) => ComponentChildren
  /** By which rows are sorted: numbers from the greatest. Without it they are not. */
  readonly by?: (row: Row) => number | string
  readonly kind?: 'number' | 'bar' | 'text' | 'long'
}

interface SortableProps<Row> {
  readonly caption: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
  /** Rows that are shown before somebody asks for all. */
  readonly few: number
  /** Said below, of what is not in the rows. */
  readonly left?: string | undefined
  readonly isMarked?: (row: Row) => boolean
}

/** A table whose columns can be sorted by, of which the first rows are shown. */
export const Sortable = <Row,>({ caption, columns, rows, keyOf, few, left, isMarked }: SortableProps<Row>) => {
  const [order, setOrder] = useState<{ readonly column: number; readonly isReversed: boolean }>()
  const [isAll, setAll] = useState(false)
  const by = order && columns[order.column]?.by
  const sorted = by === undefined ? rows : [...rows].sort((a, b) => compare(by(a), by(b)) * (order?.isReversed === true ? -1 : 1))
  const shown = isAll ? sorted : sorted.slice(0, few)
  const sort = (column: number) => setOrder(before => ({ column, isReversed: before?.column === column && !before.isReversed }))
  return (
    <>
      <div class="scroll">
        <table>
          <caption class="unseen">{caption}</caption>
          <thead>
            <tr>
              {columns.map(({ name, by: sortedBy, kind = 'text' }, index) => (
                <th key={name} scope="col" class={kind} {...(order?.column === index && { 'aria-sort': order.isReversed ? 'ascending' as const : 'descending' as const })}>
                  {sortedBy === undefined ? name : <button type="button" onClick={() => sort(index)}>{name}</button>}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map(row => (
              <tr key={keyOf(row)} class={isMarked?.(row) === true ? 'marked' : ''}>
                {columns.map(({ name, cell, kind = 'text' }) => <td key={name} class={kind}>{cell(row)}</td>)}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > few && <button type="button" class="more" onClick={() => setAll(!isAll)}>{isAll ? `Show ${few}` : `Show all ${rows.length}`}</button>}
      {left !== undefined && <p class="note">{left}</p>}
    </>
  )
}

const compare = (a: number | string, b: number | string): number => (typeof a === 'number' && typeof b === 'number' ? b - a : String(a).localeCompare(String(b)))
