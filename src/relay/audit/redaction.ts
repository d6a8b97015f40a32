import { withoutCredentials } from '#relay/protocol/text/secrets.js'
import type { Entry, Schema } from '#relay/core/vocabulary.js'
import { isRevision, methodOf } from '#relay/protocol/revisions/index.js'
import {
  isList, isRecord, isString, type Data, type DataObject, unmetered,
} from '#relay/protocol/unmetered.js'

// A list of the forms of secrets is never complete. So values are redacted by what may stay (`redacted`);
// names, URIs and messages must stay readable, and lose what a short list knows (`withoutCredentials`).

/** Texts that a tool declares in its schemas: values of `enum` and `const`, and names of properties. */
export type Declared = readonly ReadonlySet<string>[]

/** One word. In scripts that are written without spaces, a run of letters may be a whole sentence. */
const word = new RegExp(
  '^(?:(?![\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmer}\\p{sc=Myanmar}])' +
    '[\\p{L}\\p{M}]){1,32}$', 'u',
)

/** Words with a few digits at their ends, such as `ipv4_address`: a key or token has digits within. */
const memberName =
  /^(?=.{1,64}$)[$@]?_{0,2}[\p{L}\p{M}]{1,32}\d{0,3}(?:[_./:-]{1,2}[\p{L}\p{M}]{1,32}\d{0,3})*_{0,2}$/u

/** A redacted text may be redacted again: in a replay. */
const placeholder = /^\[(?:text|name(?: \d{1,9})?), \d{1,9} characters\]$/

/** Constants of the protocol that are no single word; also its methods and revisions. */
const constants: ReadonlySet<string> =
  new Set(['2.0', 'input_required', 'resource_link', 'tool_result', 'tool_use'])

const isDeclared = (text: string, declared: Declared): boolean =>
  declared.some(texts => texts.has(text)) || placeholder.test(text)

/**
 * The value with its structure: numbers, booleans, null, names of members, declared texts and single words
 * stay. Every other text is replaced by its length.
 */
export const redacted = (value: Data, declared: Declared = []): Data => {
  if (isString(value)) return redactedText(value, declared)
  if (isList(value)) return value.map(one => redacted(one, declared))
  return isRecord(value) ? mapMembers(value, declared, held => redacted(held, declared)) : value
}

export const redactedText = (text: string, declared: Declared): string =>
  text === '' || word.test(text) || isDeclared(text, declared)
  || constants.has(text) || isRevision(text) || methodOf(text) !== undefined
    ? text
    : `[text, ${text.length} characters]`

const isMemberName = (name: string, declared: Declared): boolean =>
  memberName.test(name) || isDeclared(name, declared)

/** The path of a finding, or what was mended there: the peer chose the names of members. */
export const redactedPath = (path: string, declared: Declared = []): string =>
  path.replace(/[^/, ]+/g, part =>
    (/^\d{1,9}$/.test(part) || isMemberName(part.replaceAll('~1', '/'), declared)
      ? part
      : `[name, ${part.length} characters]`))

/** The message of a finding, in which texts of the peer are quoted. */
export const redactedMessage = (message: string, declared: Declared = []): string =>
  withoutCredentials(message.replace(/"[^"\\]*(?:\\[^][^"\\]*)*"?/g, part => {
    const text = part.slice(1, -1)
    return isMemberName(text, declared) ? part : redactedText(text, declared)
  }))

/** The object with other values. A name that may be a secret, such as a token in a map, loses its letters. */
export const mapMembers = (
  object: DataObject, declared: Declared, valueOf: (held: Data, key: string) => Data,
): DataObject => {
  let unnamed = 0
  // `fromEntries` makes `__proto__` a member like any other.
  return Object.fromEntries(Object.entries(object).map(([key, held = null]) => {
    const name = isMemberName(key, declared) ? key : `[name ${++unnamed}, ${key.length} characters]`
    return [name, valueOf(held, key)]
  }))
}

/** What a called tool declares. */
export const declaredBy = (called: Entry['called']): Declared =>
  (called ? declaredIn([...called.inputSchemas, ...called.outputSchemas]) : [])

/** What schemas declare. A schema that was read before is not read again. */
export const declaredIn = (schemas: readonly Schema[]): Declared => schemas.flatMap(schema => {
  if (typeof schema === 'boolean') return []
  const known = texts.get(schema)
  if (known !== undefined) return [known]
  const found = new Set<string>()
  collect(unmetered(schema), found)
  texts.set(schema, found)
  return [found]
})

const texts = new WeakMap<Exclude<Schema, boolean>, ReadonlySet<string>>()

/** Members of a schema whose names its author chose. */
const named: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs', 'definitions'])

const collect = (schema: Data, found: Set<string>, isValue = false): void => {
  if (isString(schema) && isValue) found.add(schema)
  if (isList(schema)) for (const one of schema) collect(one, found, isValue)
  if (!isRecord(schema)) return
  for (const [key, held = null] of Object.entries(schema)) {
    if (isValue) found.add(key)
    if (named.has(key) && isRecord(held)) for (const name of Object.keys(held)) found.add(name)
    collect(held, found, isValue || key === 'enum' || key === 'const')
  }
}
