/** JSON as it was parsed: nothing is known of it until it is narrowed. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject

export interface JsonObject {
  readonly [key: string]: Json | undefined
}

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const isArray = (value: Json | undefined): value is readonly Json[] => Array.isArray(value)

export const isString = (value: unknown): value is string => typeof value === 'string'

/** A member that the object itself has: `constructor` and its like are not inherited from the prototype. */
export const member = (object: JsonObject | undefined, key: string): Json | undefined =>
  object !== undefined && Object.hasOwn(object, key) ? object[key] : undefined

/** A JSON Pointer (RFC 6901) of the given parts. */
export const pointer = (...parts: readonly (string | number)[]): string =>
  parts.map(part => '/' + String(part).replace(/~/g, '~0').replace(/\//g, '~1')).join('')
