import { isArray, isObject, isString, parseJson, type Json, type JsonObject } from '../protocol/json.js'
import { hidden, isSecretKey, withoutSecrets } from './secrets.js'

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
    // An option and its value, as the words of a command line; or a name and its value, as a pair.
    const named = isString(before) && (before.startsWith('-') || elements.length === 2) && isSecretKey(before)
    return named && isString(element) ? hidden : redactAt(element, depth)
  })

const redactMembers = (object: JsonObject, depth: number): Json => {
  const named = namesSecret(object)
  return Object.fromEntries(
    Object.entries(object).map(([key, value = null]) => {
      const secret = isSecretKey(key) || (named && valueNames.has(key.toLowerCase()))
      return [shown(key), secret ? hide(value) : redactAt(value, depth)]
    }),
  )
}

const nameNames: ReadonlySet<string> = new Set(['name', 'key', 'header', 'field', 'id', 'label', 'type', 'title'])
const valueNames: ReadonlySet<string> = new Set(['value', 'values', 'content', 'data', 'default', 'text'])

/** `{ "name": "Authorization", "value": "…" }`, `{ "type": "password", "value": "…" }` */
const namesSecret = (object: JsonObject): boolean =>
  Object.entries(object).some(([key, held]) => nameNames.has(key.toLowerCase()) && isString(held) && held.length < 100 && isSecretKey(held))

/** Everything below a secret's name is secret; only the structure shows. */
const hide = (value: Json): Json => {
  if (value === null) return null
  if (isArray(value)) return value.map(hide)
  if (!isObject(value)) return hidden
  return Object.fromEntries(Object.entries(value).map(([key, held = null]) => [shown(key), hide(held)]))
}

// A key may be a secret too, where a map is keyed by tokens; no token is so short.
const shown = (key: string): string => (key.length < 11 ? key : withoutSecrets(key))
