import * as json from './json.js'

// JSON without a meter, for modules whose loops are bounded otherwise: the schema engine has a budget,
// commands read files of their operator. `test/architecture.test.ts` lists who may import this.

export type Json = null | boolean | number | string | JsonArray | JsonObject

export type JsonArray = readonly Json[]

export interface JsonObject {
  readonly [member: string]: Json | undefined
}

/** A value from the wire, to be walked without a meter. */
export function unmetered(value: json.JsonObject): JsonObject
export function unmetered(value: json.JsonArray): JsonArray
export function unmetered(value: json.JsonObject | boolean): JsonObject | boolean
export function unmetered(value: json.Json): Json
export function unmetered(value: json.Json | undefined): Json | undefined
export function unmetered(value: json.Json | undefined): Json | undefined {
  return value as Json | undefined
}

export const isObject = (value: unknown): value is JsonObject => json.isObject(value)

export const isArray = (value: Json | undefined): value is JsonArray => Array.isArray(value)

export const parseJson = (text: string): Json | undefined => {
  const value = json.parseJson(text)
  return value === undefined ? undefined : unmetered(value)
}

export const member = (object: json.JsonObject | undefined, key: string): Json | undefined =>
  unmetered(json.member(object, key))

export const { costOfMany, costOfMembers, equal, isString, manyMembers, pointer, weigh } = json
