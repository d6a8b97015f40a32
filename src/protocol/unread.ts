import { parseJson, type Json } from './json.js'

interface Source {
  readonly text: Buffer
  value(): object
}

const sources = new WeakMap<object, Source>()

/**
 * An object or array that is parsed when somebody first looks into it; that it is there, and which of the two it is, is known without.
 * @param text surely JSON, and the text of such a value
 */
export const unread = (text: Buffer, named: boolean): Json => {
  let parsed: object | undefined
  const value = (): object => (parsed ??= Object(parseJson(text.toString())) as object)
  const made: Json = new Proxy(named ? {} : [], {
    get: (_, key): unknown => Reflect.get(value(), key),
    has: (_, key) => Reflect.has(value(), key),
    ownKeys: () => Reflect.ownKeys(value()),
    getOwnPropertyDescriptor: (_, key) => Reflect.getOwnPropertyDescriptor(value(), key),
  })
  sources.set(made, { text, value })
  return made
}

const sourceOf = (value: Json): Source | undefined => (typeof value === 'object' && value !== null ? sources.get(value) : undefined)

/** The JSON text of a value that need not be parsed to be judged. */
export const textOf = (value: Json): Buffer | undefined => sourceOf(value)?.text

/** The value itself, parsed: whoever looks at all of it is quicker with that. */
export const read = (value: Json): Json => (sourceOf(value)?.value() as Json | undefined) ?? value
