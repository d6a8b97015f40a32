import fc from 'fast-check'
import {
  isList, isRecord, isString, field, type Data, type DataObject,
} from '#relay/protocol/unmetered.js'
import { json } from './ask.js'

const anything = fc.json({ maxDepth: 2 }).map(json)

/** Values that a schema mostly allows, and sometimes does not. */
export const nearly = (schema: Data | undefined, root: DataObject, depth = 0): fc.Arbitrary<Data> => {
  if (!isRecord(schema) || depth > 5) return anything
  const likely = candidates(schema, root, depth)
  return fc.oneof({ arbitrary: fc.oneof(...likely), weight: 9 }, { arbitrary: anything, weight: 1 })
}

const candidates = (schema: DataObject, root: DataObject, depth: number): fc.Arbitrary<Data>[] => {
  const { $ref, anyOf, oneOf, allOf, type } = schema
  const values = schema.const === undefined ? schema.enum : [schema.const]
  if (isList(values) && values.length > 0) return [fc.constantFrom(...values)]
  if (isString($ref)) return [nearly(pointed(root, $ref), root, depth + 1)]
  for (const branches of [anyOf, oneOf, allOf]) {
    if (isList(branches)) return branches.map(branch => nearly(branch, root, depth + 1))
  }
  return (isList(type) ? type : [type ?? (isRecord(schema.properties) ? 'object' : undefined)]).map(one =>
    ofType(isString(one) ? one : undefined, schema, root, depth))
}

const ofType = (
  type: string | undefined, schema: DataObject, root: DataObject, depth: number,
): fc.Arbitrary<Data> => {
  switch (type ?? 'any') {
    case 'string':
      return fc.oneof(fc.string({ maxLength: 12 }), fc.constantFrom(
        '', 'a', 'a@b.org', '2024-01-01', 'https://a.b/c', '00000000-0000-0000-0000-000000000000',
      ))
    case 'integer':
      return fc.oneof(fc.integer({ min: -2, max: 200 }), fc.constant(1.5))
    case 'number':
      return fc.oneof(fc.integer({ min: -2, max: 200 }), fc.double({ noNaN: true, noDefaultInfinity: true }))
    case 'boolean':
      return fc.boolean()
    case 'null':
      return fc.constant(null)
    case 'array':
      return fc.array(nearly(schema.items, root, depth + 1), { maxLength: 3 })
    case 'object':
      return ofObject(schema, root, depth)
    default:
      return anything
  }
}

const ofObject = (schema: DataObject, root: DataObject, depth: number): fc.Arbitrary<Data> => {
  const properties = isRecord(schema.properties) ? schema.properties : {}
  const required = isList(schema.required) ? schema.required : []
  const members = Object.entries(properties).map(([key, child]): [string, fc.Arbitrary<Data | undefined>] => [
    key, fc.option(nearly(child, root, depth + 1), { nil: undefined, freq: required.includes(key) ? 30 : 2 }),
  ])
  const extra = fc.option(
    fc.dictionary(fc.constantFrom('extra', 'toString', 'a-b'), anything, { maxKeys: 2 }),
    { nil: {}, freq: 1 },
  )
  return fc.tuple(fc.record(Object.fromEntries(members)), extra)
    .map(([own, more]) =>
      Object.fromEntries(Object.entries({ ...more, ...own }).filter(([, value]) => value !== undefined)))
}

const pointed = (root: DataObject, ref: string): Data | undefined =>
  ref.split('/').slice(1).reduce<Data | undefined>((at, key) => (isRecord(at) ? field(
    at, decodeURIComponent(key).replace(/~1/g, '/').replace(/~0/g, '~'),
  ) : undefined), root)
