import { stripVTControlCharacters } from 'node:util'
import { stripHidden } from '../protocol/text/hidden.js'

/**
 * Text of the server's, fit for a terminal, in one line: without escapes, controls, hidden characters and
 * line ends, so that
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

/**
 * Text of a stranger's, with everything in it to be seen: `<U+200B>` for what has no shape or is a space of
 * another kind, `⏎` for
 * the end of a line, and the code point behind a letter that passes for a Latin one. Fit for a terminal.
 */
export const reveal = (text: string): string =>
  text
    .replace(/\p{L}+/gu, word => (disguise.test(word) ? marked(word) : word))
    .replace(/\r\n|[\n\r]/g, '⏎')
    .replaceAll('\t', '⇥')
    .replace(unseen, codePoint)

/** The same of a text of which each character past ASCII is in question: its like is spelt in another way. */
export const revealAll = (text: string): string => reveal(marked(text))

const marked = (text: string): string =>
  text.replace(/[^\x00-\x7f\p{C}\p{Z}]/gu, letter => letter + codePoint(letter))

const codePoint = (character: string): string =>
  `<U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}>`

// A letter with more marks than these climbs over the lines around it; the blank of Braille has a shape by
// name alone.
const unseen = /(?! )[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800\ufffc]|(?<=\p{M}{4})\p{M}/gu

/**
 * A word of Latin letters and of letters that are drawn as those are, Cyrillic and Greek ones; with at least
 * one of the latter.
 */
const disguise = /^(?=.*[^\x00-\x7f])[a-zA-ZаеорсухіјѕԁӏһԛԝАВЕКМНОРСТУХІЈЅοναικρυχΑΒΕΖΗΙΚΜΝΟΡΤΥΧ]+$/u
