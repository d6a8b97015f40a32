import type { Entry, Schema } from '#relay/core/vocabulary.js'
import { isList, isRecord, isString, parseData, type Data } from '#relay/protocol/unmetered.js'
import { declaredIn, redacted } from './redaction.js'
import { wellFormed } from '#relay/protocol/text/secrets.js'

/** The form in which a record keeps arguments and results; `redacted` and `full` keep the digests too. */
export type Payloads = 'none' | 'digest' | 'redacted' | 'full'

/** Longest JSON text, in bytes, that is redacted: a longer one would delay the next message. */
const longest = 256 * 1024

/**
 * The arguments and the result of a call, as any other JSON parser reads them. Two kinds of values have no
 * canonical form (RFC 8785) and are changed: a lone surrogate becomes U+FFFD, a number beyond a double
 * becomes text. The digest is of the original bytes.
 */
export const payloadsOf = (
  { arguments: given, result, called }: Entry, kind: 'redacted' | 'full',
): Readonly<Record<'arguments' | 'result', Data | undefined>> | undefined => {
  const read = (bytes: Buffer, schemas: readonly Schema[] = []): Data => {
    if (kind === 'redacted' && bytes.length > longest) return `[${bytes.length} bytes]`
    const value = parseData(bytes.toString('utf8'))
    try {
      if (value === undefined) return '[unreadable]'
      return canonicalizable(kind === 'redacted' ? redacted(value, declaredIn(schemas)) : value)
    } catch {
      // A value may be nested deeper than the stack allows.
      return '[unreadable]'
    }
  }
  return given || result
    ? {
        arguments: given && read(given, called?.inputSchemas),
        result: result && read(result, called?.outputSchemas),
      }
    : undefined
}

const canonicalizable = (value: Data): Data => {
  if (isString(value)) return wellFormed(value)
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value)
  if (isList(value)) return value.map(canonicalizable)
  if (!isRecord(value)) return value
  // `fromEntries` makes `__proto__` a member like any other.
  return Object.fromEntries(
    Object.entries(value).map(([key, held = null]) => [wellFormed(key), canonicalizable(held)]),
  )
}
