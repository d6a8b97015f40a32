import fc from 'fast-check'
import { isRecord, type Data } from '#relay/protocol/unmetered.js'

const names = fc.constantFrom('a', 'b', 'c', '$d', 'e e')
const scalar: fc.Arbitrary<Data> = fc.constantFrom<Data>(null, true, false, 0, 1, 2, 1.5, 'a', 'b', '')

const list = <Value>(value: fc.Arbitrary<Value>) => fc.array(value, { minLength: 1, maxLength: 3 })
const map = (schema: fc.Arbitrary<Data>) => fc.dictionary(names, schema, { maxKeys: 3 })
const count = fc.integer({ min: 0, max: 2 })
const types = fc.constantFrom('string', 'number', 'integer', 'boolean', 'null', 'array', 'object')

/** Schemas of 2020-12, with every keyword; references lead to `$defs` of the root. */
const { schema } = fc.letrec<{ schema: Data }>(tie => {
  const one = tie('schema')
  const keywords: Record<string, fc.Arbitrary<Data>> = {
    type: fc.oneof(types, fc.uniqueArray(types, { minLength: 1, maxLength: 3 })),
    enum: list(scalar), const: scalar,
    minimum: count, maximum: count, exclusiveMinimum: count, exclusiveMaximum: count,
    multipleOf: fc.constantFrom(1, 2), minLength: count, maxLength: count,
    pattern: fc.constantFrom('^a', 'b$'), format: fc.constantFrom('date', 'uri', 'date-time'),
    minItems: count, maxItems: count, uniqueItems: fc.boolean(), prefixItems: list(one), items: one,
    contains: one, minContains: count, maxContains: count, unevaluatedItems: one,
    minProperties: count, maxProperties: count, required: fc.uniqueArray(names, { maxLength: 2 }),
    properties: map(one), additionalProperties: one, unevaluatedProperties: one, propertyNames: one,
    patternProperties: fc.dictionary(fc.constantFrom('^a', 'b'), one, { maxKeys: 2 }),
    dependentRequired: fc.dictionary(names, fc.uniqueArray(names, { maxLength: 2 }), { maxKeys: 2 }),
    dependentSchemas: map(one), allOf: list(one), anyOf: list(one), oneOf: list(one), not: one,
    if: one, then: one, else: one, $ref: fc.constantFrom('#/$defs/a', '#/$defs/b', '#/properties/a'),
    description: fc.constant('words'), 'x-own': scalar, title: fc.constant('a title'), default: scalar,
  }
  const member = fc.constantFrom(...Object.keys(keywords))
    .chain(key => (keywords[key] ?? scalar).map((value): [string, Data] => [key, value]))
  return {
    schema: fc.oneof(
      { depthSize: 'small', withCrossShrink: true }, fc.constantFrom<Data>(true, false, {}),
      fc.array(member, { minLength: 1, maxLength: 4 }).map(members => Object.fromEntries(members)),
    ),
  }
})

/** Input schemas of tools. */
export const inputs = fc.tuple(schema, fc.dictionary(fc.constantFrom('a', 'b'), schema), map(schema))
  .map(([own, $defs, properties]) => ({
    properties, ...(isRecord(own) && own), $defs: { a: true, b: {}, ...$defs },
    type: 'object',
  }))

const { value } = fc.letrec<{ value: Data }>(tie => ({
  value: fc.oneof(
    { depthSize: 'small' }, scalar, fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(names, tie('value'), { maxKeys: 3 }),
  ),
}))

/** Arguments, which some of these schemas accept. */
export const calls = fc.dictionary(names, value, { maxKeys: 4 })
