import { stripVTControlCharacters } from 'node:util'
import { stripHidden } from '../protocol/text/hidden.js'

/**
 * Text of the server's, fit for a terminal, in one line: without escapes, controls, hidden characters and line ends, so that
 * it can neither steer the terminal nor pass for a line of ours.
 * @param most characters that are kept
 */
export const plain = (text: string, most = 80): string => {
  // A flood of hidden characters is not worth reading to its end.
  const read = text.slice(0, 4 * most + 4096)
  const visible = stripHidden(stripVTControlCharacters(read).replace(/\s+/gu, ' '))
    .replace(/\p{C}/gu, '')
    // A letter with more marks than these climbs over the lines around it.
    .replace(/(\p{M}{4})\p{M}+/gu, '$1')
    .trim()
  return visible.length <= most ? visible : `${visible.slice(0, most - 1).replace(/[\ud800-\udbff]$/, '')}…`
}

/** The same of a text of several lines; what they are indented by counts as well. */
export const plainLines = (text: string, mostLines: number, most: number): readonly string[] => {
  const lines = text.slice(0, mostLines * 4 * most).split(/\r\n|[\n\r\u2028\u2029]/u)
  const shown = lines.slice(0, mostLines).map(line => {
    const indent = indentOf(line)
    return indent + plain(line, most - indent.length)
  })
  return lines.length > mostLines ? [...shown, `… ${lines.length - mostLines} more lines`] : shown
}

const indentOf = (line: string): string => /^[ \t]{0,20}/.exec(line)?.[0].replaceAll('\t', ' ') ?? ''
