import { stripVTControlCharacters } from 'node:util'
import { stripHidden } from '#relay/protocol/text/hidden.js'

/**
 * A server's text on one line, without escapes, control and hidden characters, so that it can neither control
 * the terminal nor imitate our output.
 * @param most characters that are kept
 */
export const plain = (text: string, most = 80): string => {
  // Bounds the work on a flood of hidden characters.
  const read = text.slice(0, 4 * most + 4096)
  const visible = stripHidden(stripVTControlCharacters(read).replace(/\s+/gu, ' '))
    .replace(/\p{C}/gu, '')
    // More marks than these climb over neighbouring lines.
    .replace(/(\p{M}{4})\p{M}+/gu, '$1')
    .trim()
  return visible.length <= most ? visible : `${visible.slice(0, most - 1).replace(/[\ud800-\udbff]$/, '')}…`
}

/** The same for a text of several lines, with their indentation. */
export const plainLines = (text: string, maxLines: number, most: number): readonly string[] => {
  const lines = text.slice(0, maxLines * 4 * most).split(/\r\n|[\n\r\u2028\u2029]/u)
  const shown = lines.slice(0, maxLines).map(line => {
    const indent = indentOf(line)
    return indent + plain(line, most - indent.length)
  })
  return lines.length > maxLines ? [...shown, `… ${lines.length - maxLines} more lines`] : shown
}

const indentOf = (line: string): string => /^[ \t]{0,20}/.exec(line)?.[0].replaceAll('\t', ' ') ?? ''

/**
 * A server's text with hidden characters made visible: `<U+200B>` for one without a shape or an unusual
 * space, `⏎` for the end of a line, and the code point after a letter that imitates a Latin one. Safe for a
 * terminal.
 */
export const reveal = (text: string): string =>
  text
    .replace(/\p{L}+/gu, word => (disguise.test(word) ? marked(word) : word))
    .replace(/\r\n|[\n\r]/g, '⏎')
    .replaceAll('\t', '⇥')
    .replace(unseen, codePoint)

/** The same, with the code point after every character beyond ASCII. */
export const revealAll = (text: string): string => reveal(marked(text))

const marked = (text: string): string =>
  text.replace(/[^\x00-\x7f\p{C}\p{Z}]/gu, letter => letter + codePoint(letter))

const codePoint = (character: string): string =>
  `<U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}>`

// More marks than these climb over neighbouring lines; the Braille blank has no ink.
const unseen = /(?! )[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800\ufffc]|(?<=\p{M}{4})\p{M}/gu

/** A word of Latin letters with at least one Cyrillic or Greek letter that looks Latin. */
const disguise = /^(?=.*[^\x00-\x7f])[a-zA-ZаеорсухіјѕԁӏһԛԝАВЕКМНОРСТУХІЈЅοναικρυχΑΒΕΖΗΙΚΜΝΟΡΤΥΧ]+$/u
