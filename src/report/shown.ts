import { reveal } from '../inspect/plain.js'

/**
 * A text of a stranger's, fit for a terminal and a page: in one line, cut, and with everything in it to be seen.
 * @param most characters that are kept
 */
export const shown = (text: string, most: number): string => {
  if (text.length <= most && plain.test(text)) return text
  const revealed = reveal(text.slice(0, most + 1))
  return text.length <= most && revealed.length <= most ? revealed : `${revealed.slice(0, most).replace(/[\ud800-\udbff]$/, '')}…`
}

const plain = /^[\x20-\x7e]*$/

/** Names come again with every record, and are longer than this only where they are meant to be a nuisance. */
const longestName = 128

/** As `shown`. */
export const shownName = (text: string): string => shown(text, longestName)
