import * as json from './json.js'

// JSON without a meter, for modules whose loops are bounded otherwise: the schema engine has a budget,
// commands read files of their operator. `test/architecture.test.ts` lists who may import this.

export type Data = null | boolean | number | string | DataArray | DataObject

export type DataArray = readonly Data[]

export interface DataObject {
  readonly [member: string]: Data | undefined
}

/** A value from the wire, to be walked without a meter. */
export function unmetered(value: json.JsonObject): DataObject
export function unmetered(value: json.JsonArray): DataArray
export function unmetered(value: json.JsonObject | boolean): DataObject | boolean
export function unmetered(value: json.Json): Data
export function unmetered(value: json.Json | undefined): Data | undefined
export function unmetered(value: json.Json | undefined): Data | undefined {
  return value as Data | undefined
}

export const isRecord = (value: unknown): value is DataObject => json.isObject(value)

export const isList = (value: Data | undefined): value is DataArray => Array.isArray(value)

export const parseData = (text: string): Data | undefined => {
  const value = json.parseJson(text)
  return value === undefined ? undefined : unmetered(value)
}

export const field = (object: json.JsonObject | undefined, key: string): Data | undefined =>
  unmetered(json.member(object, key))

export const { costOfMany, costOfMembers, equal, isString, manyMembers, pointer, weigh } = json
