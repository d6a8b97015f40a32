import Table from 'cli-table3'
import type { Style } from './style.js'
import { columnsOf, wrap } from './wrap.js'

/**
 * A table no wider than the space there is: what does not fit is wrapped within its cell, except in the last column.
 * @param rows cells; a line may be styled as a whole where it is short, or in the last column
 */
export const table = (head: readonly string[], rows: readonly (readonly string[])[], width: number, style: Style): string => {
  const cells = (column: number): readonly string[] => [head[column] ?? '', ...rows.map(row => row[column] ?? '')]
  const wanted = head.map((_, column) => widestOf(cells(column), /\n/))
  const words = head.map((_, column) => widestOf(cells(column), /[ \n]/))
  const widths = fit(wanted, words, width - head.length * gap)
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

const widestOf = (cells: readonly string[], separator: RegExp): number =>
  cells.flatMap(cell => cell.split(separator)).reduce((widest, part) => Math.max(widest, columnsOf(part)), 0)

const wrapCell = (cell: string, width: number): string =>
  cell.split('\n').flatMap(line => (columnsOf(line) <= width ? [line] : wrap(line, width))).join('\n')

/**
 * Columns get what they want. Where that is too much, the widest that can be wrapped between words give way, and then those that
 * cannot; never the last.
 */
const fit = (wanted: readonly number[], words: readonly number[], width: number): readonly number[] => {
  const widths = [...wanted]
  for (const floor of [words, words.map(() => least)]) {
    while (sum(widths) > width) {
      const yielding = widths.slice(0, -1).map((columns, column) => (columns > Math.max(floor[column] ?? 0, least) ? columns : 0))
      const widest = Math.max(...yielding)
      if (widest === 0) break
      widths[yielding.lastIndexOf(widest)] = widest - 1
    }
  }
  return widths
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)
