import type { Entry } from '#core/event.js'
import { isArray, isObject, isString, parseJson, type Json, type JsonObject } from '#protocol/unmetered.js'
import { hidden, isSecretCompound, isSecretKey, nameNames } from './secret-names.js'
import { maxLevels, withoutSecrets } from './secrets.js'

/** The form in which a record keeps arguments and results; `redacted` and `full` keep the digests too. */
export type Payloads = 'none' | 'digest' | 'redacted' | 'full'

/** Longest JSON text, in bytes, that is searched for secrets: the search delays the next message. */
export const longest = 256 * 1024

/**
 * The arguments and the result of a call, as any other JSON parser reads them. Two kinds of values have no
 * canonical form (RFC 8785) and are changed: a lone surrogate becomes U+FFFD, a number beyond a double
 * becomes text. The digest is of the original bytes.
 */
export const payloadsOf = (
  { arguments: given, result }: Entry, kind: 'redacted' | 'full',
): Readonly<Record<'arguments' | 'result', Json | undefined>> | undefined => {
  const read = (bytes: Buffer): Json => {
    if (kind === 'redacted' && bytes.length > longest) return `[${bytes.length} bytes]`
    const value = parseJson(bytes.toString('utf8'))
    try {
      if (value === undefined) return '[unreadable]'
      return canonicalizable(kind === 'redacted' ? redact(value) : value)
    } catch {
      // A value may be nested deeper than the stack allows.
      return '[unreadable]'
    }
  }
  return given || result ? { arguments: given && read(given), result: result && read(result) } : undefined
}

/** The text without lone surrogates, which have no form in RFC 8785. */
export const wellFormed = (text: string): string => text.replace(/\p{Cs}/gu, '\ufffd')

const canonicalizable = (value: Json): Json => {
  if (isString(value)) return wellFormed(value)
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value)
  if (isArray(value)) return value.map(canonicalizable)
  if (!isObject(value)) return value
  // `fromEntries` makes `__proto__` a member like any other.
  return Object.fromEntries(
    Object.entries(value).map(([key, held = null]) => [wellFormed(key), canonicalizable(held)]),
  )
}

/** The value with the same structure, without its secrets. */
export const redact = (value: Json): Json => redactAt(value, 0)

const redactAt = (value: Json, depth: number): Json => {
  if (isString(value)) return redactText(value, depth)
  if (isArray(value)) return redactElements(value, depth)
  return isObject(value) ? redactMembers(value, depth) : value
}

const redactText = (text: string, depth: number): string => {
  // Many tools put a JSON object, array or string into a text.
  const embedded = /^\s*[[{"]/.test(text) ? parseJson(text) : undefined
  if (embedded === undefined) return withoutSecrets(text)
  return depth < maxLevels ? JSON.stringify(redactAt(embedded, depth + 1)) : hidden
}

const redactElements = (elements: readonly Json[], depth: number): Json =>
  elements.map((element, index) => {
    const before = elements[index - 1]
    if (!isString(before) || !isString(element)) return redactAt(element, depth)
    // The elements may be words of a command line, with an option before its value, or one pair of a name and
    // a value.
    const isName = before.startsWith('-') || elements.length === 2 || headerNames.test(before)
    if (isName && isSecretKey(before)) return hidden
    if (/^(?:-u|--(?:proxy-)?user)$/.test(before)) return element.replace(/:.*$/s, `:${hidden}`)
    return redactAt(element, depth)
  })

/** Node.js lists the names of headers and their values in turn. */
const headerNames = /^(?:(?:proxy-)?authorization|(?:set-)?cookie|x-[\w-]+)$/i

const redactMembers = (object: JsonObject, depth: number, outer = ''): Json => {
  const named = namesSecret(object)
  const columns = secretColumns(object)
  return Object.fromEntries(
    Object.entries(object).map(([key, value = null]) => {
      const isSecret = isSecretKey(key) || (named && valueNames.has(key.toLowerCase()))
      // `{ "api": { "key": "…" } }`
      if (isSecret || (outer !== '' && isSecretCompound(outer, key))) return [shownKey(key), hide(value)]
      if (columns.size > 0 && isArray(value)) {
        return [shownKey(key), value.map(row => redactRow(row, columns, depth))]
      }
      return [shownKey(key), isObject(value) ? redactMembers(value, depth, key) : redactAt(value, depth)]
    }),
  )
}

const valueNames: ReadonlySet<string> = new Set([
  'value', 'values', 'val', 'v', 'content', 'contents', 'data', 'default', 'text', 'plaintext',
])
const columnNames: ReadonlySet<string> =
  new Set(['columns', 'fields', 'header', 'headers', 'columnnames', 'names'])

/** Whether one member names a secret and another may hold it: `{ "name": "DB_PASSWORD", "value": … }`. */
const namesSecret = (object: JsonObject): boolean =>
  Object.entries(object).some(([key, held]) =>
    nameNames.has(key.toLowerCase()) && isString(held) && held.length < 100 && isSecretKey(held))

/** Which columns of a table are secret: `{ "columns": ["user", "password"], "rows": [["bob", "…"]] }`. */
const secretColumns = (object: JsonObject): ReadonlySet<number> => {
  const found = new Set<number>()
  for (const [key, held] of Object.entries(object)) {
    if (!columnNames.has(key.toLowerCase()) || !isArray(held)) continue
    for (const [index, column] of held.entries()) {
      if (isString(column) ? isSecretKey(column) : isObject(column) && namesSecret(column)) found.add(index)
    }
  }
  return found
}

const redactRow = (row: Json, columns: ReadonlySet<number>, depth: number): Json => {
  if (!isArray(row)) return redactAt(row, depth)
  return row.map((cell, index) => (columns.has(index) ? hide(cell) : redactAt(cell, depth)))
}

/** Hides every value under a key that names a secret; the structure stays. */
const hide = (value: Json): Json => {
  if (value === null) return null
  if (isArray(value)) return value.map(hide)
  if (!isObject(value)) return hidden
  return Object.fromEntries(Object.entries(value).map(([key, held = null]) => [shownKey(key), hide(held)]))
}

// A key can be a secret itself, in a map from tokens to values. A token has at least eleven characters.
const shownKey = (key: string): string => (key.length < 11 ? key : withoutSecrets(key))
