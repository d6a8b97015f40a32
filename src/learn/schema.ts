import type { JsonObject } from '../protocol/unmetered.js'
import type { Shape } from './shape.js'

export interface Strictness {
  /** Bounds of numbers, lengths and sizes as well. */
  readonly strict: boolean
}

/** Fewer values than these say nothing that has to hold for the next: then the kind of a value is all that is told. */
export const enough = 20

/** The JSON Schema (2020-12) that every value of the shape fits. */
export const schemaOf = (shape: Shape, strictness: Strictness): JsonObject => {
  const kinds = kindsOf(shape, strictness)
  const [only, ...others] = kinds
  // Where something was not kept, it may have been anything.
  if (only === undefined || shape.isPartial) return {}
  if (others.length === 0) return only
  // A union of mere types has a shorter form.
  return kinds.every(isBare) ? { type: kinds.map(({ type = null }) => type) } : { anyOf: kinds }
}

const isBare = (kind: JsonObject): boolean => Object.keys(kind).length === 1

const kindsOf = (shape: Shape, strictness: Strictness): readonly JsonObject[] => {
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

const objectOf = (shape: Shape, strictness: Strictness): JsonObject => {
  const { mapped, members, objects, newest } = shape
  if (mapped !== undefined) return { type: 'object', additionalProperties: schemaOf(mapped, strictness) }
  const required = [...members].filter(([, { count }]) => count === objects).map(([key]) => key)
  return {
    type: 'object',
    properties: Object.fromEntries([...members].map(([key, one]) => [key, schemaOf(one, strictness)])),
    ...(required.length > 0 && { required }),
    // Where the second half of what was seen brought no further member, there is none.
    ...(objects >= enough && newest * 2 <= objects && { additionalProperties: false }),
  }
}

const arrayOf = ({ items, shortest, longest }: Shape, strictness: Strictness): JsonObject => ({
  type: 'array',
  ...(items && { items: schemaOf(items, strictness) }),
  ...(strictness.strict && { minItems: shortest, maxItems: longest }),
})

const textOf = ({ texts }: Shape, { strict }: Strictness): JsonObject => {
  const { format, shortest, longest } = texts
  const vocabulary = texts.vocabulary(enough)
  return {
    type: 'string',
    ...(vocabulary && { enum: vocabulary }),
    ...(format !== undefined && texts.count >= 5 && { format }),
    ...(strict && { minLength: shortest, maxLength: longest }),
  }
}

const numberOf = ({ integers, fractions, least, most }: Shape, { strict }: Strictness): JsonObject => ({
  type: fractions === 0 && integers >= enough ? 'integer' : 'number',
  ...(strict && { minimum: least, maximum: most }),
})

/** How many members a shape tells of, at any depth. */
export const membersIn = (shape: Shape): number => {
  const own = shape.mapped !== undefined ? membersIn(shape.mapped) : [...shape.members.values()].reduce((sum, one) => sum + 1 + membersIn(one), 0)
  return own + (shape.items ? membersIn(shape.items) : 0)
}

