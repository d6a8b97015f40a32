import { isAscii } from 'node:buffer'
import { byte } from './scan.js'
import { isString, member, parseJson, type Json, type JsonObject } from './json.js'

/** The texts of strings that nothing has read yet, with their quotation marks, by object and key. */
const texts = new WeakMap<object, Map<string, Buffer>>()

/**
 * Makes a member of an object a string that is parsed at the first use: most long strings are judged by their
 * bytes alone, and a string of a megabyte costs more than all else.
 * @param text valid JSON of a string, with its quotation marks
 * @param valueOf makes the value
 */
export const putUnread = (holder: JsonObject, key: string, text: Buffer, valueOf: () => Json): void => {
  const known = texts.get(holder) ?? new Map<string, Buffer>()
  texts.set(holder, known.set(key, text))
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
  texts.get(holder)?.has(key) === true || isString(member(holder, key))

/** Whether a string that was not read yet begins as neither white space nor a JSON object or array does. */
export const beginsAsText = (holder: JsonObject, key: string): boolean => {
  const first = texts.get(holder)?.get(key)?.[1] ?? 0
  const isOpening = first === byte.openObject || first === byte.openArray
  // An escape, or a character beyond ASCII, may be white space.
  return first > 0x20 && first < byte.delete && first !== byte.backslash && !isOpening
}

/** A string member's characters: as bytes where it is ASCII without escapes and was not read yet. */
export const charactersOf = (holder: JsonObject, key: string): string | Buffer | undefined => {
  const text = texts.get(holder)?.get(key)
  if (text !== undefined && isAscii(text) && !text.includes('\\')) return text.subarray(1, -1)
  const value = member(holder, key)
  return isString(value) ? value : undefined
}
