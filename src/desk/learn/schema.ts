import type { DataObject } from '#relay/protocol/unmetered.js'
import type { ValueShape } from './shape.js'

export interface Strictness {
  /** Whether bounds of numbers, lengths and sizes are proposed too. */
  readonly strict: boolean
}

/** With fewer values, no `enum`, `integer` or closed object is proposed: the next value might break it. */
export const enough = 20

/** A JSON Schema (2020-12) that every value of the shape satisfies. */
export const schemaOf = (shape: ValueShape, strictness: Strictness): DataObject => {
  const kinds = kindsOf(shape, strictness)
  const [only, ...others] = kinds
  if (only === undefined) return {}
  if (others.length === 0) return only
  // A union of bare types is written as one list.
  return kinds.every(isBare) ? { type: kinds.map(({ type = null }) => type) } : { anyOf: kinds }
}

const isBare = (kind: DataObject): boolean => Object.keys(kind).length === 1

const kindsOf = (shape: ValueShape, strictness: Strictness): readonly DataObject[] => {
  const { nulls, booleans, integers, fractions, texts, arrays, objects } = shape
  return [
    ...(objects > 0 ? [objectOf(shape, strictness)] : []),
    ...(arrays > 0 ? [arrayOf(shape, strictness)] : []),
    ...(texts.count > 0 ? [textOf(shape, strictness)] : []),
    ...(integers + fractions > 0 ? [numberOf(shape, strictness)] : []),
    ...(booleans > 0 ? [{ type: 'boolean' }] : []),
    ...(nulls > 0 ? [{ type: 'null' }] : []),
  ]
}

const objectOf = (shape: ValueShape, strictness: Strictness): DataObject => {
  const { mapped, members, objects, newest } = shape
  if (mapped !== undefined) return { type: 'object', additionalProperties: schemaOf(mapped, strictness) }
  const required = [...members].filter(([, { count }]) => count === objects).map(([key]) => key)
  return {
    type: 'object',
    properties: Object.fromEntries([...members].map(([key, one]) => [key, schemaOf(one, strictness)])),
    ...(required.length > 0 && { required }),
    // No new member in the second half of the objects: others are not expected.
    ...(objects >= enough && newest * 2 <= objects && { additionalProperties: false }),
  }
}

const arrayOf = ({ items, shortest, longest }: ValueShape, strictness: Strictness): DataObject => ({
  type: 'array',
  ...(items && { items: schemaOf(items, strictness) }),
  ...(strictness.strict && { minItems: shortest, maxItems: longest }),
})

const textOf = ({ texts }: ValueShape, { strict }: Strictness): DataObject => {
  const { format, shortest, longest } = texts
  const vocabulary = texts.vocabulary(enough)
  return {
    type: 'string',
    ...(vocabulary && { enum: vocabulary }),
    ...(format !== undefined && texts.count >= 5 && { format }),
    ...(strict && { minLength: shortest, maxLength: longest }),
  }
}

const numberOf = ({ integers, fractions, least, most }: ValueShape, { strict }: Strictness): DataObject => ({
  type: fractions === 0 && integers >= enough ? 'integer' : 'number',
  ...(strict && { minimum: least, maximum: most }),
})

/** The number of members in a shape, at any depth. */
export const membersIn = (shape: ValueShape): number => {
  const ofItems = shape.items ? membersIn(shape.items) : 0
  if (shape.mapped !== undefined) return membersIn(shape.mapped) + ofItems
  return [...shape.members.values()].reduce((sum, one) => sum + 1 + membersIn(one), ofItems)
}
