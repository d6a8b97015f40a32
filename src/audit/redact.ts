import { isArray, isObject, isString, parseJson, type Json, type JsonObject } from '../protocol/unmetered.js'
import { hidden, isSecretCompound, isSecretKey, nameNames, withoutSecrets } from './secrets.js'

/** JSON within text within JSON: so many times is it looked into; what is deeper is taken for a secret. */
const deepest = 3

/** The value with its structure, and without its secrets. */
export const redact = (value: Json): Json => redactAt(value, 0)

const redactAt = (value: Json, depth: number): Json => {
  if (isString(value)) return redactText(value, depth)
  if (isArray(value)) return redactElements(value, depth)
  return isObject(value) ? redactMembers(value, depth) : value
}

const redactText = (text: string, depth: number): string => {
  const embedded = readEmbedded(text)
  if (embedded === undefined) return withoutSecrets(text)
  return depth < deepest ? JSON.stringify(redactAt(embedded, depth + 1)) : hidden
}

/** A text that is a JSON object, array or string of its own: many tools answer so. */
const readEmbedded = (text: string): Json | undefined => (/^\s*[[{"]/.test(text) ? parseJson(text) : undefined)

const redactElements = (elements: readonly Json[], depth: number): Json =>
  elements.map((element, index) => {
    const before = elements[index - 1]
    if (!isString(before) || !isString(element)) return redactAt(element, depth)
    // An option and its value, as the words of a command line; or a name and its value, as a pair.
    if ((before.startsWith('-') || elements.length === 2) && isSecretKey(before)) return hidden
    return /^(?:-u|--(?:proxy-)?user)$/.test(before) ? element.replace(/:.*$/s, `:${hidden}`) : redactAt(element, depth)
  })

const redactMembers = (object: JsonObject, depth: number, outer = ''): Json => {
  const named = namesSecret(object)
  const columns = secretColumns(object)
  return Object.fromEntries(
    Object.entries(object).map(([key, value = null]) => {
      // `{ "api": { "key": "…" } }`
      const secret = isSecretKey(key) || (named && valueNames.has(key.toLowerCase())) || (outer !== '' && isSecretCompound(outer, key))
      if (secret) return [shown(key), hide(value)]
      if (columns.size > 0 && isArray(value)) return [shown(key), value.map(row => redactRow(row, columns, depth))]
      return [shown(key), isObject(value) ? redactMembers(value, depth, key) : redactAt(value, depth)]
    }),
  )
}

const valueNames: ReadonlySet<string> = new Set(['value', 'values', 'val', 'content', 'contents', 'data', 'default', 'text', 'plaintext'])
const columnNames: ReadonlySet<string> = new Set(['columns', 'fields', 'header', 'headers', 'columnnames', 'names'])

const namesSecret = (object: JsonObject): boolean =>
  Object.entries(object).some(([key, held]) => nameNames.has(key.toLowerCase()) && isString(held) && held.length < 100 && isSecretKey(held))

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

const redactRow = (row: Json, columns: ReadonlySet<number>, depth: number): Json =>
  isArray(row) ? row.map((cell, index) => (columns.has(index) ? hide(cell) : redactAt(cell, depth))) : redactAt(row, depth)

/** Everything below a secret's name is secret; only the structure shows. */
const hide = (value: Json): Json => {
  if (value === null) return null
  if (isArray(value)) return value.map(hide)
  if (!isObject(value)) return hidden
  return Object.fromEntries(Object.entries(value).map(([key, held = null]) => [shown(key), hide(held)]))
}

// A key may be a secret too, where a map is keyed by tokens; no token is so short.
const shown = (key: string): string => (key.length < 11 ? key : withoutSecrets(key))
