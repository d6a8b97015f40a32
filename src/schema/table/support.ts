import * as layout from '../../judge/layout.js'
import { isArray, isObject, isString, member, type Json } from '../../protocol/unmetered.js'
import { jsonSchemaKeywords } from '../../protocol/json-schema.js'
import type { Place } from '../place.js'

/** The keywords of one schema, with their values. */
export type Keywords = ReadonlyMap<string, Json>

const types: ReadonlyMap<string, number> = new Map([
  ['null', layout.NULL], ['boolean', layout.BOOLEAN], ['number', layout.NUMBER], ['integer', layout.INTEGER], ['string', layout.STRING],
  ['array', layout.ARRAY], ['object', layout.OBJECT],
])

/** The bit of a type. */
export const typeOf = (name: string): number => types.get(name) ?? 0

/** The bits of the types that `type` allows. */
export const typesOf = (value: Json | undefined): number => {
  if (value === undefined) return layout.ALL_TYPES
  return (isArray(value) ? value : [value]).reduce<number>((sum, type) => sum | (isString(type) ? typeOf(type) : 0), 0)
}

/** The types of values of which the table cannot say everything. */
export const unsupportedIn = (keywords: Keywords, place: Place): number => {
  let unsupported = 0
  for (const [name, value] of keywords) unsupported |= unsupportedBy(name, value, keywords, place)
  return unsupported
}

/** Keywords that the table supports. `then` and `else` say nothing without `if`, which is not supported. */
const supported: ReadonlySet<string> = new Set((
  'type enum exclusiveMinimum exclusiveMaximum minLength maxLength format pattern properties required additionalProperties minProperties maxProperties ' +
  'items prefixItems additionalItems minItems maxItems allOf anyOf oneOf not $defs definitions contentSchema $id $anchor $dynamicAnchor then else'
).split(' '))

const unsupportedBy = (name: string, value: Json, keywords: Keywords, place: Place): number => {
  switch (name) {
    case 'const':
      return keywords.has('enum') ? layout.ALL_TYPES : 0
    // Up to draft-04 a flag beside a bound excludes the bound itself.
    case 'minimum':
    case 'maximum':
      return isObject(place.schema) && typeof member(place.schema, name === 'minimum' ? 'exclusiveMinimum' : 'exclusiveMaximum') === 'boolean' ? layout.NUMBER : 0
    case 'multipleOf':
      return Number.isSafeInteger(value) ? 0 : layout.NUMBER
    case 'uniqueItems':
      return value === true ? layout.ARRAY : 0
    case '$ref':
    case '$dynamicRef':
    case '$recursiveRef':
      return place.targets.get(name)?.dynamic === undefined ? 0 : layout.ALL_TYPES
    default:
      return supported.has(name) ? 0 : typeOf(jsonSchemaKeywords.get(name)?.of ?? '') || layout.ALL_TYPES
  }
}
