import {
  isList, isRecord, isString, type Data, type DataObject, field,
} from '#relay/protocol/unmetered.js'

/** Reads a value of a file of our own. @throws Misshapen */
export type Read<Value> = (value: Data | undefined) => Value

type Shape = Readonly<Record<string, Read<unknown>>>
/** The members that `maybe` reads. */
type Optional<Of extends Shape> =
  { [Key in keyof Of]: undefined extends ReturnType<Of[Key]> ? Key : never }[keyof Of]
type Values<Of extends Shape> =
  & { readonly [Key in Exclude<keyof Of, Optional<Of>>]: ReturnType<Of[Key]> }
  & { readonly [Key in Optional<Of>]?: ReturnType<Of[Key]> }

/** The value is none that we have written. */
class Misshapen extends Error {}

export const misshapen = (): never => {
  throw new Misshapen()
}

const text: Read<string> = value => (isString(value) ? value : misshapen())
const number: Read<number> = value => (typeof value === 'number' ? value : misshapen())
const flag: Read<boolean> = value => (typeof value === 'boolean' ? value : misshapen())
const object: Read<DataObject> = value => (value !== undefined && isRecord(value) ? value : misshapen())
const json: Read<Data> = value => value ?? null
const oneOf = <One extends string | number>(...all: readonly One[]): Read<One> =>
  value => all.find(one => one === value) ?? misshapen()
/** A number that JSON cannot write is written as null. */
const isLeftOut = (value: Data | undefined, read: Read<unknown>): boolean =>
  value === undefined || (value === null && read === number)
const maybe = <Value>(read: Read<Value>): Read<Value | undefined> =>
  value => (isLeftOut(value, read) ? undefined : read(value))
const list = <Value>(read: Read<Value>): Read<readonly Value[]> =>
  value => (value !== undefined && isList(value) ? value.map(read) : misshapen())
const record = <Value>(read: Read<Value>): Read<Readonly<Record<string, Value>>> => value =>
  Object.fromEntries(Object.entries(object(value)).map(([name, held = null]) => [name, read(held)]))

/** Reads an object with these members; other members are left out. */
const fields = <Of extends Shape>(shape: Of): Read<Values<Of>> => value => {
  const held = object(value)
  // The type says only what each of these readers has just checked.
  return Object.fromEntries(
    Object.entries(shape).map(([name, read]) => [name, read(field(held, name))]),
  ) as Values<Of>
}

/**
 * Readers of the JSON that this program writes: captures, logins, records of install. What is written has one
 * declaration, from which its type follows.
 */
export const shape = { text, number, flag, object, json, oneOf, maybe, list, record, fields }

/** @returns undefined for a value of another shape */
export const readAs = <Value>(read: Read<Value>, value: Data | undefined): Value | undefined => {
  try {
    return read(value)
  } catch (error) {
    if (error instanceof Misshapen) return undefined
    throw error
  }
}
