import type { DataObject } from '#relay/protocol/unmetered.js'
import { judge, many, members, nested, schema, value } from './stall.js'

const doubling = (keyword: string): DataObject => ({
  $ref: '#/$defs/n',
  $defs: { n: { [keyword]: [
    { properties: { a: { $ref: '#/$defs/n' } }, required: ['x'] },
    { properties: { a: { $ref: '#/$defs/n' } }, required: ['y'] },
  ] } },
})
const chain = nested(120, inner => ({ a: inner }), 1)
/** Doubles at each level and fails only at the end, so that no branch is cut short. */
const lastly: DataObject = {
  $ref: '#/$defs/n',
  $defs: { n: { anyOf: many(2, () => ({ type: 'object', properties: { a: { $ref: '#/$defs/n' } } })) } },
}
const negated: DataObject = {
  $ref: '#/$defs/n',
  $defs: { n: { not: { allOf: many(2, () => ({ properties: { a: { $ref: '#/$defs/n' } } })) } } },
}
const unevaluated: DataObject = {
  $ref: '#/$defs/n',
  $defs: { n: {
    anyOf: many(3, () => ({ properties: { a: { $ref: '#/$defs/n' } } })),
    properties: { a: { $ref: '#/$defs/n' } }, unevaluatedProperties: false,
  } },
}

judge([
  // Combinations of schemas that multiply.
  ['anyOf that doubles at each level', () => value(lastly, chain), ['mismatch', 'unchecked']],
  ['oneOf that doubles at each level', () => value(doubling('oneOf'), chain), ['mismatch', 'unchecked']],
  ['allOf that doubles at each level', () => value(
    { ...lastly, $defs: { n: { allOf: many(2, () => ({ properties: { a: { $ref: '#/$defs/n' } } })) } } },
    chain,
  ), ['unchecked']],
  ['not that doubles at each level', () => value(negated, chain), ['', 'mismatch', 'unchecked']],
  ['unevaluatedProperties that quadruples at each level', () => value(unevaluated, chain), ['', 'unchecked']],
  ['a diamond of 60 references, 2^60 ways', () => value({ $ref: '#/$defs/k0', $defs: {
    ...members(60, index => ({ allOf: many(2, () => ({ $ref: `#/$defs/k${index + 1}` })) })), k60: {},
  } }, 1), ['unchecked']],
  [
    'a dynamic reference that comes back in place',
    () => value({ $dynamicAnchor: 'a', allOf: [{ $dynamicRef: '#a' }] }, 1), ['unchecked'],
  ],
  ['4,000 alternatives for 4,000 items', () => value(
    { items: { anyOf: many(2000, index => ({ required: [`k${index}`] })) } }, many(4000, () => ({})),
  ), ['mismatch', 'unchecked']],
  ['contains in contains', () => value(
    { contains: { contains: { contains: { const: 1 } } } },
    many(100, () => many(100, () => many(100, () => 0))),
  ), ['mismatch', 'unchecked']],
  // Cycles and chains.
  ['$ref to itself', () => schema({ $ref: '#' }), ['schema']],
  ['a cycle of 4,000 references', () => schema({
    $ref: '#/$defs/k0', $defs: members(4000, index => ({ $ref: `#/$defs/k${(index + 1) % 4000}` })),
  }), ['schema']],
  ['a chain of 4,000 references', () => value({
    $ref: '#/$defs/k0',
    $defs: { ...members(4000, index => ({ $ref: `#/$defs/k${index + 1}` })), k4000: { type: 'string' } },
  }, 1), ['mismatch', 'unchecked']],
  ['allOf, 60 deep', () => value(
    nested(29, inner => ({ allOf: [inner, inner] }), { type: 'string' }) as DataObject, 1,
  ), ['mismatch', 'unchecked']],
])
