/** JSON as it was parsed: nothing is known of a value until it is narrowed. */
export type Json = null | boolean | number | string | JsonArray | JsonObject

declare const wire: unique symbol

/**
 * A JSON object or array from the wire cannot be iterated, measured or spread: `each` (meter.ts) is the way to walk it, and
 * asks for a meter. Those who pay otherwise import unmetered.ts; `test/architecture.test.ts` lists them, and looks for spreads.
 */
export interface JsonObject {
  readonly [wire]?: 'object'
  readonly [member: string]: Json | undefined
}

export interface JsonArray {
  readonly [wire]?: 'array'
  readonly [index: number]: Json
}

type Unless<Value> = typeof wire extends keyof Value ? Value : never

declare global {
  interface ObjectConstructor {
    keys<Value extends object>(wire: Unless<Value>): 'walk it by each(value, meter)'[][never]
    values<Value extends object>(wire: Unless<Value>): 'walk it by each(value, meter)'[][never]
    entries<Value extends object>(wire: Unless<Value>): 'walk it by each(value, meter)'[][never]
  }
}

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const isArray = (value: Json | undefined): value is JsonArray => Array.isArray(value)

export const isString = (value: unknown): value is string => typeof value === 'string'

/** The value of a JSON text: a message, or a slice of one. Nothing else parses those. @returns undefined where it is no JSON */
export const parseJson = (text: string): Json | undefined => {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

/** A member that the object itself has: `constructor` and its like are not inherited from the prototype. */
export const member = (object: JsonObject | undefined, key: string): Json | undefined =>
  object !== undefined && Object.hasOwn(object, key) ? object[key] : undefined

// What stands here is bounded by the one value that it walks, or by a bound of its own.
const elementsOf = (array: JsonArray): readonly Json[] => array as readonly Json[]
const membersOf = (object: JsonObject): Readonly<Record<string, Json | undefined>> => object

export const lengthOf = (array: JsonArray): number => elementsOf(array).length

/** A JSON Pointer (RFC 6901) of the given parts. */
export const pointer = (...parts: readonly (string | number)[]): string => {
  let path = ''
  for (const part of parts) path += `/${typeof part === 'number' ? part : part.replace(/[~/]/g, one => (one === '~' ? '~0' : '~1'))}`
  return path
}

/** Equal as JSON values: member order does not matter, the order of elements does. */
export const equal = (a: Json | undefined, b: Json | undefined): boolean => {
  if (a === b) return true
  if (isArray(a)) return isArray(b) && lengthOf(a) === lengthOf(b) && elementsOf(a).every((element, index) => equal(element, b[index]))
  if (!isObject(a) || !isObject(b)) return false
  const keys = Object.keys(membersOf(a))
  return (
    keys.length === Object.keys(membersOf(b)).length && keys.every(key => Object.hasOwn(b, key) && equal(a[key], b[key]))
  )
}

/** About the memory that a value takes, in bytes: that of its texts, and something for each thing in it. Ends soon after `most`. */
export const weigh = (value: Json, most = Infinity): number => {
  if (isString(value)) return 32 + value.length
  if (typeof value !== 'object' || value === null) return 8
  let sum = 64
  if (isArray(value)) for (let index = 0; index < lengthOf(value) && sum <= most; index++) sum += weigh(value[index] ?? null, most - sum)
  else for (const key in value) if ((sum += key.length + weigh(value[key] ?? null, most - sum)) > most) break
  return sum
}

/** The object without a member. */
export const omit = (object: JsonObject, key: string): JsonObject =>
  Object.hasOwn(object, key) ? Object.fromEntries(Object.entries(membersOf(object)).filter(([name]) => name !== key)) : object
