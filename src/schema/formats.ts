import { createRequire } from 'node:module'
import type * as definitions from 'ajv-formats/dist/formats.js'

type Format = (text: string) => boolean

// Character by character: a match of a regular expression with groups would cost several times as much.
const [zero, hyphen, colon, point, plus] = [48, 45, 58, 46, 43]
const upper = 0x20

const daysIn = (year: number, month: number): number => {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}

/** The number that two digits make; NaN when there is something else. */
const pair = (text: string, at: number): number => {
  const tens = text.charCodeAt(at) - zero
  const ones = text.charCodeAt(at + 1) - zero
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : NaN
}

/** RFC 3339 full-date. */
const isDate = (text: string): boolean => text.length === 10 && isDateAt(text)

const isDateAt = (text: string): boolean => {
  if (text.charCodeAt(4) !== hyphen || text.charCodeAt(7) !== hyphen) return false
  const year = pair(text, 0) * 100 + pair(text, 2)
  const month = pair(text, 5)
  const day = pair(text, 8)
  return year >= 0 && month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month)
}

/** RFC 3339 full-time; 23:59:60 UTC is a leap second. */
const isTimeAt = (text: string, from: number): boolean => {
  if (text.charCodeAt(from + 2) !== colon || text.charCodeAt(from + 5) !== colon) return false
  const hour = pair(text, from)
  const minute = pair(text, from + 3)
  const second = pair(text, from + 6)
  if (!(hour <= 23 && minute <= 59 && second <= 60)) return false
  const offset = offsetAt(text, afterFraction(text, from + 8))
  return second < 60 ? !Number.isNaN(offset) : (hour * 60 + minute - offset + 1440) % 1440 === 1439
}

/** Past a fraction of a second, if there is one; a point without digits stays where it is, and fits nothing. */
const afterFraction = (text: string, from: number): number => {
  if (text.charCodeAt(from) !== point) return from
  let at = from + 1
  for (let digit = text.charCodeAt(at) - zero; digit >= 0 && digit <= 9; digit = text.charCodeAt(at) - zero) at++
  return at === from + 1 ? from : at
}

/** Minutes east of UTC; NaN when it is no offset to the text's end. */
const offsetAt = (text: string, at: number): number => {
  const sign = text.charCodeAt(at)
  if ((sign | upper) === 0x7a) return text.length === at + 1 ? 0 : NaN
  if ((sign !== plus && sign !== hyphen) || text.length !== at + 6 || text.charCodeAt(at + 3) !== colon) return NaN
  const hours = pair(text, at + 1)
  const minutes = pair(text, at + 4)
  return hours <= 23 && minutes <= 59 ? (hours * 60 + minutes) * (sign === hyphen ? -1 : 1) : NaN
}

const isDateTime = (text: string): boolean => (text.charCodeAt(10) | upper) === 0x74 && isDateAt(text) && isTimeAt(text, 11)

const own: ReadonlyMap<string, Format> = new Map([
  ['date', isDate],
  ['time', (text: string) => isTimeAt(text, 0)],
  ['date-time', isDateTime],
  ['uuid', (text: string) => /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)],
])

/** Those of JSON Schema that ajv-formats knows; each was tried to be linear (test/hostile). OpenAPI's are left alone. */
const borrowed: ReadonlySet<string> = new Set([
  'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uri', 'uri-reference', 'uri-template', 'json-pointer', 'relative-json-pointer',
  'regex',
])

const require = createRequire(import.meta.url)
let library: ReadonlyMap<string, Format> | undefined

/** The definitions alone: they come without ajv. */
const load = (): ReadonlyMap<string, Format> => {
  const { fullFormats } = require('ajv-formats/dist/formats.js') as typeof definitions
  const formats = new Map<string, Format>()
  for (const [name, format] of Object.entries(fullFormats)) {
    if (!borrowed.has(name)) continue
    if (format instanceof RegExp) formats.set(name, text => format.test(text))
    else if (typeof format === 'function') formats.set(name, text => format(text))
  }
  return formats
}

/** The check of a format; undefined for one that is not known, which is ignored. */
export const formatOf = (name: string): Format | undefined =>
  own.get(name) ?? (borrowed.has(name) ? (library ??= load()).get(name) : undefined)
