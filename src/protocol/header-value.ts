import { isUtf8 } from 'node:buffer'

const prefix = '=?base64?'
const suffix = '?='

/** Visible ASCII, with spaces and tabs inside only (RFC 9110, section 5.5). */
const plain = /^(?:[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?)?$/
const legal = /^[\t\x20-\x7e]*$/
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

const isMarked = (text: string): boolean => text.startsWith(prefix) && text.endsWith(suffix)

/** A value as it stands in a header (2026-07-28, Value Encoding): as it is, or as marked Base64 of its UTF-8. */
export const encodeHeaderValue = (value: string): string =>
  plain.test(value) && !isMarked(value) ? value : `${prefix}${Buffer.from(value).toString('base64')}${suffix}`

/** The value that stands in a header; undefined when it is malformed. */
export const decodeHeaderValue = (text: string): string | undefined => {
  if (!legal.test(text)) return undefined
  if (!isMarked(text)) return text
  const inner = text.slice(prefix.length, -suffix.length)
  if (text.length < prefix.length + suffix.length || !base64.test(inner)) return undefined
  const bytes = Buffer.from(inner, 'base64')
  // One value has one Base64: bits that the padding leaves over must be zero.
  return isUtf8(bytes) && bytes.toString('base64') === inner ? bytes.toString() : undefined
}
