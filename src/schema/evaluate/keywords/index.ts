import { isObject, isString, member, type Json } from '../../../protocol/unmetered.js'
import { dialects, hasKeyword, isLegacy, type Dialect } from '../../../protocol/json-schema.js'
import type { Place } from '../../document/place.js'
import { arrays } from './arrays.js'
import { combinations } from './combinations.js'
import type { Keyword } from './keyword.js'
import { numbers } from './numbers.js'
import { objects } from './objects.js'
import { references } from './references.js'
import { strings } from './strings.js'
import { unevaluated } from './unevaluated.js'
import { values } from './values.js'

/** Where schemas stand that are applied by nobody but who refers to them. */
const definitions: readonly Keyword[] = [
  { name: 'definitions' },
  { name: '$defs' },
  { name: 'contentSchema' },
]

const names: readonly Keyword[] = [
  { name: '$id', expected: 'must be a URI without fragment' },
  { name: '$anchor', expected: 'must be a plain name' },
  { name: '$dynamicAnchor', expected: 'must be a plain name' },
]

/** Every keyword of every dialect, in the order of evaluation: what is cheap and says most first, what goes by the others last. */
const keywords: readonly Keyword[] = [
  ...values, ...numbers, ...strings, ...objects, ...arrays, ...references, ...combinations, ...unevaluated, ...definitions, ...names,
]

const byDialect: ReadonlyMap<Dialect, ReadonlyMap<string, Keyword>> = new Map(dialects.map(dialect => [
  dialect, new Map(keywords.filter(({ name }) => hasKeyword(dialect, name)).map(keyword => [keyword.name, keyword])),
]))

const none: ReadonlyMap<string, Keyword> = new Map()

/** The keywords of a dialect, by name. */
export const keywordsOf = (dialect: Dialect): ReadonlyMap<string, Keyword> => byDialect.get(dialect) ?? none

/** Up to draft-07 a `$ref` stands alone: nothing counts that is beside it. */
export const refersAlone = ({ schema, resource }: Place): boolean =>
  isLegacy(resource.dialect) && isObject(schema) && isString(member(schema, '$ref'))

/** What of a schema says something of a value, with its value, in the order of evaluation. */
export const keywordsAt = (place: Place): readonly (readonly [Keyword, Json])[] => {
  const { schema } = place
  const alone = refersAlone(place)
  return [...keywordsOf(place.resource.dialect).values()].flatMap(keyword => {
    const value = isObject(schema) && (!alone || keyword.name === '$ref') ? member(schema, keyword.name) : undefined
    return value === undefined ? [] : [[keyword, value]]
  })
}
