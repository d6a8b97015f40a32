import {
  each, isArray, isObject, isString, member, type Json, type JsonArray, type JsonObject, type Meter,
} from '../json.js'
import { hasString } from '../unread.js'

/** One place where a value does not have its shape. */
export interface Misfit {
  /** Steps from the value to the place. */
  readonly path: readonly (string | number)[]
  /** Ours; without text from the wire. */
  readonly message: string
}

/** Checks a value; answers with every misfit, up to a bound. */
export type Shape = (value: Json, meter: Meter) => readonly Misfit[]

/** A shape as the files of the revisions write it: an array's is the shape of its elements in brackets. */
export type Form = Shape | readonly [Form] | Members

/** The members of an object, by name; a name that ends with `?` may be missing. Other members are allowed. */
export interface Members {
  readonly [name: string]: Form
}

const none: readonly Misfit[] = []

const maxMisfits = 20

const misfit = (message: string, ...path: readonly (string | number)[]): readonly Misfit[] =>
  [{ path, message }]

const below = (key: string | number, misfits: readonly Misfit[]): readonly Misfit[] =>
  misfits.map(({ path, message }) => ({ path: [key, ...path], message }))

export const of = (fits: (value: Json) => boolean, kind: string): Shape => {
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
  of(
    value => isString(value) && values.includes(value),
    `one of ${values.map(value => `"${value}"`).join(', ')}`,
  )

export const shapeOf = (form: Form): Shape => {
  if (typeof form === 'function') return form
  return isElementForm(form) ? arrayOf(shapeOf(form[0])) : objectOf(form)
}

const isElementForm = (form: Exclude<Form, Shape>): form is readonly [Form] => Array.isArray(form)

const arrayOf = (shape: Shape): Shape => (value, meter) =>
  isArray(value) ? misfitsIn(value, shape, meter) : misfit('must be an array')

/** An object whose members all have one shape, whatever their names. */
export const recordShape = (shape: Shape): Shape => (value, meter) =>
  isObject(value) ? misfitsIn(value, shape, meter) : misfit('must be an object')

const misfitsIn = (value: JsonArray | JsonObject, shape: Shape, meter: Meter): readonly Misfit[] => {
  let found = none
  for (const [step, child] of each(value, meter)) {
    const misfits = shape(child, meter)
    if (misfits.length > 0) found = [...found, ...below(step, misfits)]
    if (found.length >= maxMisfits) break
  }
  return found
}

const objectOf = (members: Members): Shape => {
  const fields = Object.entries(members).map(([name, form]) =>
    ({ key: nameOf(name), shape: shapeOf(form), isRequired: !name.endsWith('?') }))
  // Misfits of required members are reported first.
  fields.sort((one, other) => Number(other.isRequired) - Number(one.isRequired))
  return (value, meter) => {
    if (!isObject(value)) return misfit('must be an object')
    let found = none
    meter.pay(fields.length)
    for (const { key, shape, isRequired } of fields) {
      // A long string is known by its bytes, and need not be read.
      if (shape === text && hasString(value, key)) continue
      const given = member(value, key)
      const misfits = given === undefined ? (isRequired ? misfit('is missing') : none) : shape(given, meter)
      if (misfits.length > 0) found = [...found, ...below(key, misfits)]
    }
    return found
  }
}

const nameOf = (name: string): string => name.replace(/\?$/, '')

export const namesOf = (members: Members): readonly string[] => Object.keys(members).map(nameOf)

/** ResourceContents: TextResourceContents or BlobResourceContents. */
export const contentsOf = (members: Members): Shape => {
  const rest = shapeOf(members)
  return (value, meter) => {
    const misfits = rest(value, meter)
    const has = (key: string) => isObject(value) && hasString(value, key)
    return has('text')
      || has('blob') ? misfits : [...misfits, ...misfit('must have a text or a blob, as a string')]
  }
}

/** A ContentBlock: `members` of every block, `types` those of each type. Unknown types are not checked. */
export const blockOf = (members: Members, types: Readonly<Record<string, Members>>): Shape => {
  const shapes = new Map(Object.entries(types).map(([type, own]) => [type, shapeOf({ ...members, ...own })]))
  return (value, meter) => {
    if (!isObject(value)) return misfit('must be an object')
    const type = member(value, 'type')
    if (!isString(type)) return misfit(type === undefined ? 'is missing' : 'must be a string', 'type')
    return shapes.get(type)?.(value, meter) ?? none
  }
}
