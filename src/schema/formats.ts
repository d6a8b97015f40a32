import { createRequire } from 'node:module'

type Format = (text: string) => boolean

const daysIn = (year: number, month: number): number =>
  month === 2 ? (year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31

/** The number that the digits from one place to another make; NaN when there is something else. */
const digitsAt = (text: string, from: number, to: number): number => {
  let number = 0
  for (let index = from; index < to; index++) {
    const digit = text.charCodeAt(index) - 48
    if (!(digit >= 0 && digit <= 9)) return NaN
    number = number * 10 + digit
  }
  return number
}

/** RFC 3339 full-date. */
const isDate = (text: string): boolean => text.length === 10 && isDateAt(text)

const isDateAt = (text: string): boolean => {
  const [year, month, day] = [digitsAt(text, 0, 4), digitsAt(text, 5, 7), digitsAt(text, 8, 10)]
  return text[4] === '-' && text[7] === '-' && year >= 0 && month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month)
}

/** RFC 3339 full-time; 23:59:60 UTC is a leap second. */
const isTimeAt = (text: string, from: number): boolean => {
  const [hour, minute, second] = [digitsAt(text, from, from + 2), digitsAt(text, from + 3, from + 5), digitsAt(text, from + 6, from + 8)]
  if (text[from + 2] !== ':' || text[from + 5] !== ':' || !(hour <= 23 && minute <= 59 && second <= 60)) return false
  let at = from + 8
  if (text[at] === '.') {
    const fraction = ++at
    while (digitsAt(text, at, at + 1) >= 0) at++
    if (at === fraction) return false
  }
  const offset = offsetAt(text, at)
  return second < 60 ? !Number.isNaN(offset) : (hour * 60 + minute - offset + 1440) % 1440 === 1439
}

/** Minutes east of UTC; NaN when it is no offset to the text's end. */
const offsetAt = (text: string, at: number): number => {
  const sign = text[at]
  if (sign === 'Z' || sign === 'z') return text.length === at + 1 ? 0 : NaN
  if ((sign !== '+' && sign !== '-') || text.length !== at + 6 || text[at + 3] !== ':') return NaN
  const [hours, minutes] = [digitsAt(text, at + 1, at + 3), digitsAt(text, at + 4, at + 6)]
  return hours <= 23 && minutes <= 59 ? (hours * 60 + minutes) * (sign === '-' ? -1 : 1) : NaN
}

const isDateTime = (text: string): boolean => (text[10] === 'T' || text[10] === 't') && isDateAt(text) && isTimeAt(text, 11)

const own: ReadonlyMap<string, Format> = new Map([
  ['date', isDate],
  ['time', (text: string) => isTimeAt(text, 0)],
  ['date-time', isDateTime],
  ['uuid', (text: string) => /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)],
])

/** Those of JSON Schema that ajv-formats knows; each was read to be linear. OpenAPI's are left alone. */
const borrowed: ReadonlySet<string> = new Set([
  'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uri', 'uri-reference', 'uri-template', 'json-pointer', 'relative-json-pointer', 'regex',
])

const require = createRequire(import.meta.url)
let library: ReadonlyMap<string, Format> | undefined

/** The definitions alone: they come without ajv. */
const load = (): ReadonlyMap<string, Format> => {
  const { fullFormats } = require('ajv-formats/dist/formats.js') as typeof import('ajv-formats/dist/formats.js')
  const formats = new Map<string, Format>()
  for (const [name, format] of Object.entries(fullFormats)) {
    if (!borrowed.has(name)) continue
    if (format instanceof RegExp) formats.set(name, text => format.test(text))
    else if (typeof format === 'function') formats.set(name, text => format(text) === true)
  }
  return formats
}

/** The check of a format; undefined for one that is not known, which is ignored. */
export const formatOf = (name: string): Format | undefined =>
  own.get(name) ?? (borrowed.has(name) ? (library ??= load()).get(name) : undefined)
