import type { Entry } from '../core/event.js'
import { isArray, isObject, isString, type Json, parseJson } from '../protocol/unmetered.js'
import { redact } from './redact.js'

/** What a record keeps of arguments and results; `redacted` and `full` keep the digests too. */
export type Payloads = 'none' | 'digest' | 'redacted' | 'full'

export interface Kept<Content> {
  readonly arguments: Content | undefined
  readonly result: Content | undefined
}

/** Longest text, in bytes, in which secrets are looked for: the search runs between two messages, and takes time. */
const longest = 256 * 1024

/**
 * The values, read as every other reader of JSON reads them. What could not be written again as it was is bent: a lone
 * surrogate becomes U+FFFD, a number beyond a double becomes text; the digest is of the original.
 */
export const payloadsOf = ({ arguments: given, result }: Entry, kind: 'redacted' | 'full'): Kept<Json> | undefined => {
  const read = (bytes: Buffer): Json => {
    if (kind === 'redacted' && bytes.length > longest) return `[${bytes.length} bytes]`
    const value = parseJson(bytes.toString('utf8'))
    try {
      return value === undefined ? '[unreadable]' : canonicalizable(kind === 'redacted' ? redact(value) : value)
    } catch {
      return '[unreadable]'
    }
  }
  return given || result ? { arguments: given && read(given), result: result && read(result) } : undefined
}

/** A string in which no surrogate stands alone: RFC 8785 has no form for it. */
export const wellFormed = (text: string): string => text.replace(/\p{Cs}/gu, '\ufffd')

const canonicalizable = (value: Json): Json => {
  if (isString(value)) return wellFormed(value)
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value)
  if (isArray(value)) return value.map(canonicalizable)
  if (!isObject(value)) return value
  // `fromEntries` makes `__proto__` a member like any other.
  return Object.fromEntries(Object.entries(value).map(([key, held = null]) => [wellFormed(key), canonicalizable(held)]))
}
