import { hiddenCharacters, type HiddenCharacters } from './characters.js'
import { findVaried } from './varied.js'

/** A character that is invisible, or changes how other text is shown. */
export interface Hidden {
  /** In UTF-16 code units. */
  readonly index: number
  readonly codePoint: number
  readonly name: string
}

/**
 * How many suspicious characters are checked in their context, in one text or several. Any further
 * suspicious character counts as hidden.
 */
export interface TextBudget {
  left: number
  /** Pays for further work, in steps of a meter. */
  readonly pay?: (steps: number) => void
}

/** The first hidden character of a text. */
export const findHidden = (
  text: string, budget: TextBudget = { left: Number.MAX_SAFE_INTEGER },
): Hidden | undefined => {
  // One pass of a regular expression clears most texts; the table is used from its first match on.
  const doubt = text.search(doubtful)
  if (doubt === -1) return undefined
  const before = budget.left
  const found = next(text, doubt, budget)
  budget.pay?.(stepsPerSuspect * (before - budget.left))
  if (found !== undefined || before - budget.left <= fewSuspects) return found
  budget.pay?.(text.length >>> 1)
  const index = findVaried(text)
  if (index === undefined) return undefined
  return { index, codePoint: text.codePointAt(index) ?? 0, name: 'varied as no writer varies it' }
}

/** Average steps for one suspicious character. */
const stepsPerSuspect = 8

/** So few characters cannot encode anything harmful. */
const fewSuspects = 16

/** The text without its hidden characters. */
export const stripHidden = (text: string): string => {
  if (findHidden(text) === undefined) return text
  const stripped = without(text, false)
  // What is left may hide text in its new context, or surrogates may have met: then every suspicious
  // character is removed.
  return findHidden(stripped) === undefined ? stripped : without(stripped.replace(/\p{Cs}/gu, ''), true)
}

/** For a message: `U+202E, bidi override`. */
export const characterName = ({ codePoint, name }: Hidden): string =>
  `U+${codePoint.toString(16).toUpperCase().padStart(4, '0')}, ${name}`

/** The next character that is hidden in its context; with `anywhere`, that is hidden in some context. */
const next = (text: string, from: number, budget?: TextBudget, anywhere = false): Hidden | undefined => {
  let index = suspectFrom(text, from)
  while (index < text.length) {
    const codePoint = text.codePointAt(index) ?? 0
    const row = rowOf(text.charCodeAt(index), codePoint)
    const isTooMany = row !== undefined && budget !== undefined && --budget.left < 0
    const width =
      row === undefined ? 1 : isTooMany || anywhere ? 0 : (row.allowedInContext?.(text, index) ?? 0)
    if (row !== undefined && width === 0) return { index, codePoint, name: row.name }
    index = suspectFrom(text, index + width)
  }
  return undefined
}

const without = (text: string, anywhere: boolean): string => {
  let kept = ''
  let from = 0
  const find = () => next(text, from, undefined, anywhere)
  for (let found = find(); found !== undefined; found = find()) {
    kept += text.slice(from, found.index)
    from = found.index + (found.codePoint > 0xffff ? 2 : 1)
  }
  return kept + text.slice(from)
}

// Controls, the soft hyphen, and everything after the Latin letters.
const doubtful = /[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u0300-\uffff]/

/** By UTF-16 code unit: the number of its row in the table, counted from 1; 0 for none. */
const suspects = new Uint8Array(0x10000)
/** A high surrogate of code points in the table. */
const astral = 0xff
hiddenCharacters.forEach(({ first, last }, number) => {
  if (last <= 0xffff) suspects.fill(number + 1, first, last + 1)
  else suspects.fill(astral, highSurrogate(first), highSurrogate(last) + 1)
})
const astralRows = hiddenCharacters.filter(({ last }) => last > 0xffff)

function highSurrogate(codePoint: number): number {
  return 0xd800 + ((codePoint - 0x10000) >> 10)
}

/** The index of the next character in the table, or the text's length. Nearly all the time is spent here. */
const suspectFrom = (text: string, from: number): number => {
  let index = from
  while (index < text.length && suspects[text.charCodeAt(index)] === 0) index++
  return index
}

const rowOf = (unit: number, codePoint: number): HiddenCharacters | undefined => {
  const number = suspects[unit] ?? 0
  return number === astral
    ? astralRows.find(({ first, last }) => first <= codePoint && codePoint <= last)
    : hiddenCharacters[number - 1]
}
