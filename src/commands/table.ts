import type { Style } from '../inspect/style.js'
import { columnsOf } from '../inspect/wrap.js'

/** Each column as wide as its widest cell. @param rows cells of one line each */
export const table = (head: readonly string[], rows: readonly (readonly string[])[], style: Style): string => {
  const widths = head.map((title, column) => Math.max(...[title, ...rows.map(row => row[column] ?? '')].map(columnsOf)))
  const line = (cells: readonly string[]) => cells.map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - columnsOf(cell))).join('  ').trimEnd()
  return [line(head.map(style.title)), ...rows.map(line)].join('\n')
}
