import { isArray, isObject, isString, member, type Json, type JsonArray, type JsonObject } from './json.js'
import { each, type Meter } from './meter.js'

/** One place where a value is not of its shape. */
export interface Misfit {
  /** The way there, from the value. */
  readonly path: readonly (string | number)[]
  /** Ours: what is wrong there. */
  readonly message: string
}

/** What a value must be; answers with what is wrong, nothing for a value that fits. */
export type Shape = (value: Json, meter: Meter) => readonly Misfit[]

export type Fields = Readonly<Record<string, Shape>>

const none: readonly Misfit[] = []

/** Enough to see what is wrong; a peer can make no more work of an endless array. */
const most = 20

export const misfit = (message: string, ...path: readonly (string | number)[]): readonly Misfit[] => [{ path, message }]

const below = (key: string | number, misfits: readonly Misfit[]): readonly Misfit[] =>
  misfits.map(({ path, message }) => ({ path: [key, ...path], message }))

const of = (fits: (value: Json) => boolean, kind: string): Shape => {
  const wrong = misfit(`must be ${kind}`)
  return value => (fits(value) ? none : wrong)
}

export const anything: Shape = () => none
export const text = of(isString, 'a string')
export const number = of(value => typeof value === 'number', 'a number')
export const integer = of(Number.isInteger, 'an integer')
export const flag = of(value => typeof value === 'boolean', 'true or false')
export const anyObject = of(isObject, 'an object')

export const oneOf = (...values: readonly string[]): Shape =>
  of(value => isString(value) && values.includes(value), `one of ${values.map(value => `"${value}"`).join(', ')}`)

export const arrayOf = (shape: Shape): Shape => (value, meter) =>
  isArray(value) ? misfitsIn(value, shape, meter) : misfit('must be an array')

/** An object whose members, whatever their names, all have one shape. */
export const recordOf = (shape: Shape): Shape => (value, meter) =>
  isObject(value) ? misfitsIn(value, shape, meter) : misfit('must be an object')

const misfitsIn = (value: JsonArray | JsonObject, shape: Shape, meter: Meter): readonly Misfit[] => {
  let found = none
  for (const [step, child] of each(value, meter)) {
    const misfits = shape(child, meter)
    if (misfits.length > 0) found = [...found, ...below(step, misfits)]
    if (found.length >= most) break
  }
  return found
}

/** An object with these members; others may be there. */
export const objectOf = (required: Fields, optional: Fields = {}): Shape => {
  const fields = [
    ...Object.entries(required).map(([key, shape]) => ({ key, shape, needed: true })),
    ...Object.entries(optional).map(([key, shape]) => ({ key, shape, needed: false })),
  ]
  return (value, meter) => {
    if (!isObject(value)) return misfit('must be an object')
    let found = none
    meter.pay(fields.length)
    for (const { key, shape, needed } of fields) {
      const given = member(value, key)
      const misfits = given === undefined ? (needed ? misfit('is missing') : none) : shape(given, meter)
      if (misfits.length > 0) found = [...found, ...below(key, misfits)]
    }
    return found
  }
}

/** Of one shape or of another; what is wrong is told by the first. */
export const either = (first: Shape, second: Shape): Shape => (value, meter) => {
  const misfits = first(value, meter)
  return misfits.length > 0 && second(value, meter).length === 0 ? none : misfits
}

/** The shape that a string member names; an object with another one is not judged. */
export const byMember = (key: string, shapes: ReadonlyMap<string, Shape>): Shape => (value, meter) => {
  if (!isObject(value)) return misfit('must be an object')
  const name = member(value, key)
  if (!isString(name)) return misfit(name === undefined ? 'is missing' : 'must be a string', key)
  return shapes.get(name)?.(value, meter) ?? none
}
