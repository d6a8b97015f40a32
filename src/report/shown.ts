import { reveal } from '../inspect/reveal.js'

/**
 * A text of a stranger's, fit for a terminal and a page: in one line, cut, and with everything in it to be seen.
 * @param most characters that are read of it
 */
export const shown = (text: string, most: number): string => {
  if (text.length <= most && plain.test(text)) return text
  return text.length <= most ? reveal(text) : `${reveal(text.slice(0, most))}…`
}

const plain = /^[\x20-\x7e]*$/

/** Names come again with every record, and are longer than this only where they are meant to be a nuisance. */
const longestName = 128

/** As `shown`. */
export const shownName = (text: string): string => shown(text, longestName)
