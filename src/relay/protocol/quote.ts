import { stripHidden } from './text/hidden.js'
import { pointer } from './json.js'

/** Longest text from the wire in a message of ours, in characters (docs/rules.md). */
const longest = 80

/** The part of a text that is read: it may be a flood of hidden characters. */
const read = 4096

/** Prepares text from the wire for a message to a person or model: no hidden characters, cut, JSON-quoted. */
export const quote = (text: string): string => JSON.stringify(clip(text))

/** Names in one message of ours. */
const maxNamed = 20

/** Says why elements of a list are left out, and names the first ones. */
export const leftOut = (reason: string, names: readonly string[]): string =>
  `${reason}, so ${names.length} are left out: ${names.slice(0, maxNamed).map(quote).join(', ')}` +
  (names.length > maxNamed ? ', …' : '')

/**
 * Prepares a key from the wire for a path. An ordinary key is kept, so that the path is a JSON Pointer. A key
 * that may be prose is quoted and cut to a few letters, so that a path cannot carry a sentence.
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

/** A path of steps from the wire. */
export const wirePath = (...parts: readonly (string | number)[]): string =>
  pointer(...parts.map(part => (typeof part === 'string' ? step(part) : part)))

const asciiName = /^[!#-~]{1,40}$/
const name = /^[\p{L}\p{M}\p{N}_$.:@+/~-]+$/u

/** In bytes, because scripts of three bytes a letter need fewer letters for a sentence. */
const maxStepBytes = 24

/** Like `quote`, without the quotation marks. */
export const clip = (text: string): string => {
  if (plain.test(text)) return text
  const visible = strip(text.slice(0, read))
  // The cut may not leave half a surrogate pair behind, nor a character that is allowed only before text that
  // was cut off.
  return visible.length <= longest
    ? visible
    : stripHidden(`${visible.slice(0, longest - 1).replace(/[\ud800-\udbff]$/, '')}…`)
}

const plain = new RegExp(`^[\\x20-\\x7e]{0,${longest}}$`)

// Controls, format characters (zero width, bidi) and surrogates do not belong in a message, even when they
// are allowed in a text of the server.
const strip = (text: string): string => stripHidden(text.replace(/[\p{Cc}\p{Cf}\p{Cs}]/gu, ''))

/** JSON of the value in which invisible characters are escaped, so that it can be printed on a terminal. */
export const plainJson = (value: unknown): string =>
  JSON.stringify(value, undefined, 2)
    .replace(special, character => (unseen.test(character) ? escaped(character) : character))

// Searching for these first is ten times as fast as testing every letter.
const special = /[^\n -~]/gu
const unseen = /[\p{C}\p{Default_Ignorable_Code_Point}\u2028\u2029]/u

const escaped = (character: string): string =>
  character.split('').map(unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')
