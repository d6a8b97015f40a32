import { isAscii } from 'node:buffer'
import { byte } from './scan.js'
import { isString, member, parseJson, type Json, type JsonObject } from './json.js'

/** A string that nothing has read yet. */
interface Unread {
  /** Valid JSON, with its quotation marks. */
  readonly text: Buffer
  /** It was found to be base64 (RFC 4648, section 4, padded). */
  readonly isBase64: boolean
}

/** The strings that nothing has read yet, by object and key. */
const unread = new WeakMap<object, Map<string, Unread>>()

/**
 * Makes a member of an object a string that is parsed at the first use: most long strings are judged by their
 * bytes alone, and a string of a megabyte costs more than all else.
 * @param valueOf makes the value
 */
export const putUnread = (holder: JsonObject, key: string, string: Unread, valueOf: () => Json): void => {
  const known = unread.get(holder) ?? new Map<string, Unread>()
  unread.set(holder, known.set(key, string))
  const define = (how: PropertyDescriptor): unknown =>
    Object.defineProperty(holder, key, { enumerable: true, configurable: true, ...how })
  define({
    get: () => {
      const value = valueOf()
      known.delete(key)
      define({ value, writable: true })
      return value
    },
  })
}

/** The value of a string with escapes. */
export const valueOfString = (text: Buffer): Json => parseJson(text.toString()) ?? ''

/** Whether a member is a string. Does not read it. */
export const hasString = (holder: JsonObject, key: string): boolean =>
  unread.get(holder)?.has(key) === true || isString(member(holder, key))

/** Whether a string that was not read yet begins as neither white space nor a JSON object or array does. */
export const beginsAsText = (holder: JsonObject, key: string): boolean => {
  const first = unread.get(holder)?.get(key)?.text[1] ?? 0
  const isOpening = first === byte.openObject || first === byte.openArray
  // An escape, or a character beyond ASCII, may be white space.
  return first > 0x20 && first < byte.delete && first !== byte.backslash && !isOpening
}

/** Whether a string that was not read yet is known to be base64. */
export const isKnownBase64 = (holder: JsonObject, key: string): boolean =>
  unread.get(holder)?.get(key)?.isBase64 === true

/** A string member's characters: as bytes where it is ASCII without escapes and was not read yet. */
export const charactersOf = (holder: JsonObject, key: string): string | Buffer | undefined => {
  const { text, isBase64 = false } = unread.get(holder)?.get(key) ?? {}
  if (text !== undefined && (isBase64 || (isAscii(text) && !text.includes('\\')))) return text.subarray(1, -1)
  const value = member(holder, key)
  return isString(value) ? value : undefined
}
