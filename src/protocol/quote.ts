import { stripHidden } from './text/hidden.js'
import { pointer } from './json.js'

/** Longest text from the wire in a message of ours, in characters (contract section 4). */
const longest = 80

/** As much of a text as is looked at: a flood of hidden characters is not worth reading to its end. */
const read = 4096

/** Text from the wire, fit for a message that a person or a model reads: hidden characters gone, cut, JSON-quoted. */
export const quote = (text: string): string => JSON.stringify(clip(text))

/**
 * A part of a path that comes from the wire. An ordinary key stays as it is, so that the path is a JSON Pointer that leads there. What could
 * be prose is quoted, and cut to a few letters of it: a path says where something is, and carries no sentence.
 */
export const step = (key: string): string => {
  if (asciiName.test(key)) return key
  const text = clip(key)
  let [end, bytes] = [0, 0]
  for (const character of text) {
    if ((bytes += Buffer.byteLength(character)) > maxStepBytes) break
    end += character.length
  }
  if (end < text.length) return JSON.stringify(`${stripHidden(text.slice(0, end))}…`)
  return name.test(text) ? text : JSON.stringify(text)
}

/** A path of parts that come from the wire. */
export const wirePath = (...parts: readonly (string | number)[]): string =>
  pointer(...parts.map(part => (typeof part === 'string' ? step(part) : part)))

const asciiName = /^[!#-~]{1,40}$/
const name = /^[\p{L}\p{M}\p{N}_$.:@+/~-]+$/u

/** What is written in three bytes a letter says as much in fewer letters. */
const maxStepBytes = 24

/** As `quote`, without the quotation marks. */
export const clip = (text: string): string => {
  if (plain.test(text)) return text
  const visible = strip(text.slice(0, read))
  // The cut may not leave half a surrogate pair behind, nor a character that is allowed only before text that was cut off.
  return visible.length <= longest ? visible : stripHidden(`${visible.slice(0, longest - 1).replace(/[\ud800-\udbff]$/, '')}…`)
}

const plain = new RegExp(`^[\\x20-\\x7e]{0,${longest}}$`)

// Controls, format characters (zero width, bidi) and surrogates: none belongs in a message, not even where it is fine in a text
// of the server's own.
const strip = (text: string): string => stripHidden(text.replace(/[\p{Cc}\p{Cf}\p{Cs}]/gu, ''))

/**
 * JSON that says exactly what the value is, and does nothing to the terminal that it is printed on: characters that are not
 * seen are escaped.
 */
export const plainJson = (value: unknown): string =>
  JSON.stringify(value, undefined, 2).replace(special, character => (unseen.test(character) ? escaped(character) : character))

// To look for these first is ten times as fast as to look every letter up.
const special = /[^\n -~]/gu
const unseen = /[\p{C}\p{Default_Ignorable_Code_Point}\u2028\u2029]/u

const escaped = (character: string): string =>
  [...Array(character.length).keys()].map(index => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`).join('')
