import { stripVTControlCharacters } from 'node:util'

// Near enough for a layout; marks take no room, and these take two columns.
const wide = /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{Emoji_Presentation}\uff01-\uff60]/u
const widthOf = (character: string): number => (/\p{M}/u.test(character) ? 0 : wide.test(character) ? 2 : 1)

/** How many columns of a terminal a line takes; styles take none. */
export const columnsOf = (line: string): number => {
  let columns = 0
  for (const character of stripVTControlCharacters(line)) columns += widthOf(character)
  return columns
}

/** Breaks a text into lines no wider than that, at spaces, or within words that are wider than a line. */
export const wrap = (text: string, width: number): readonly string[] =>
  packed(text.split(' ').flatMap(word => pieces(word, width)), width)

/** The same of phrases: a line is broken between them, and within one only where it is wider than a line. */
export const fill = (phrases: readonly string[], width: number): readonly string[] =>
  packed(phrases.flatMap(phrase => wrap(phrase, width)), width)

const packed = (words: readonly string[], width: number): readonly string[] => {
  const lines: string[] = []
  let line = ''
  for (const word of words) {
    if (line !== '' && columnsOf(line) + 1 + columnsOf(word) > width) {
      lines.push(line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line]
}

const pieces = (word: string, width: number): readonly string[] => {
  const all: string[] = []
  let piece = ''
  for (const character of word) {
    if (piece !== '' && columnsOf(piece) + widthOf(character) > width) {
      all.push(piece)
      piece = ''
    }
    piece += character
  }
  return [...all, piece]
}

/** The lines as one text, all but the first of them behind so many spaces. */
export const indent = (lines: readonly string[], by: number): string => lines.join(`\n${' '.repeat(by)}`)

export const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`
