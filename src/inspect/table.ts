import Table from 'cli-table3'
import type { Style } from './style.js'
import { columnsOf, wrap } from './wrap.js'

/**
 * A table no wider than the space there is: what does not fit is wrapped within its cell, except in the last column.
 * @param rows cells; a line may be styled as a whole where it is short, or in the last column
 */
export const table = (head: readonly string[], rows: readonly (readonly string[])[], width: number, style: Style): string => {
  const wanted = head.map((title, column) => Math.max(...[title, ...rows.map(row => row[column] ?? '')].map(widest)))
  const widths = fit(wanted, width - head.length * gap)
  const built = new Table({
    head: head.map(style.title),
    colWidths: widths.map(columns => columns + gap),
    style: { head: [], border: [], compact: true, 'padding-left': 0, 'padding-right': gap },
    chars: {
      top: '', 'top-mid': '', 'top-left': '', 'top-right': '', bottom: '', 'bottom-mid': '', 'bottom-left': '', 'bottom-right': '',
      left: '', 'left-mid': '', mid: '', 'mid-mid': '', right: '', 'right-mid': '', middle: '',
    },
  })
  built.push(...rows.map(row => row.map((cell, column) => wrapCell(cell, widths[column] ?? width))))
  return built.toString().replace(/[ \t]+$/gm, '')
}

const gap = 2

/** A column in which words can still be read; no word that is styled is longer. */
const least = 8

const widest = (cell: string): number => Math.max(...cell.split('\n').map(columnsOf))

const wrapCell = (cell: string, width: number): string =>
  cell.split('\n').flatMap(line => (columnsOf(line) <= width ? [line] : wrap(line, width))).join('\n')

/** Columns get what they want; where that is too much, the widest of all but the last give way. */
const fit = (wanted: readonly number[], width: number): readonly number[] => {
  const widths = wanted.slice(0, -1)
  const last = wanted.slice(-1)
  for (let over = sum(wanted) - width; over > 0; over--) {
    const widest = Math.max(...widths)
    if (widest <= least) break
    widths[widths.lastIndexOf(widest)] = widest - 1
  }
  return [...widths, ...last]
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)
