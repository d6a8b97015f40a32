/** JSON as it was parsed: nothing is known of it until it is narrowed. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject

export interface JsonObject {
  readonly [key: string]: Json | undefined
}

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const isArray = (value: Json | undefined): value is readonly Json[] => Array.isArray(value)

export const isString = (value: unknown): value is string => typeof value === 'string'

/** As `JSON.parse`, which gives nothing but JSON. @throws SyntaxError */
export const parseJson = (text: string): Json => JSON.parse(text) as Json

/** A member that the object itself has: `constructor` and its like are not inherited from the prototype. */
export const member = (object: JsonObject | undefined, key: string): Json | undefined =>
  object !== undefined && Object.hasOwn(object, key) ? object[key] : undefined

/** A JSON Pointer (RFC 6901) of the given parts. */
export const pointer = (...parts: readonly (string | number)[]): string =>
  parts.map(part => '/' + String(part).replace(/~/g, '~0').replace(/\//g, '~1')).join('')

/** Equal as JSON values: member order does not matter, the order of elements does. */
export const equal = (a: Json | undefined, b: Json | undefined): boolean => {
  if (a === b) return true
  if (isArray(a)) return isArray(b) && a.length === b.length && a.every((element, index) => equal(element, b[index]))
  if (!isObject(a) || !isObject(b)) return false
  const keys = Object.keys(a)
  return (
    keys.length === Object.keys(b).length && keys.every(key => Object.hasOwn(b, key) && equal(a[key], b[key]))
  )
}
