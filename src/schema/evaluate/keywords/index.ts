import { isObject, isString, member, type Json } from '../../../protocol/json.js'
import { isLegacy, type Dialect } from '../../document/dialect.js'
import type { Place } from '../../document/place.js'
import { arrays } from './arrays.js'
import { combinations } from './combinations.js'
import { since2019, type Keyword } from './keyword.js'
import { numbers } from './numbers.js'
import { objects } from './objects.js'
import { references } from './references.js'
import { strings } from './strings.js'
import { unevaluated } from './unevaluated.js'
import { values } from './values.js'

/** Where schemas stand that are applied by nobody but who refers to them. */
const definitions: readonly Keyword[] = [
  { name: 'definitions', schemas: 'members' },
  { name: '$defs', dialects: since2019, schemas: 'members' },
  { name: 'contentSchema', dialects: since2019, schemas: 'here' },
]

const names: readonly Keyword[] = [
  { name: '$id', dialects: since2019, expected: 'must be a URI without fragment' },
  { name: '$anchor', dialects: since2019, expected: 'must be a plain name' },
  { name: '$dynamicAnchor', dialects: ['2020-12'], expected: 'must be a plain name' },
]

/** Every keyword of every dialect, in the order of evaluation: what is cheap and says most first, what goes by the others last. */
const keywords: readonly Keyword[] = [
  ...values, ...numbers, ...strings, ...objects, ...arrays, ...references, ...combinations, ...unevaluated, ...definitions, ...names,
]

const tableOf = (dialect: Dialect): ReadonlyMap<string, Keyword> =>
  new Map(keywords.filter(({ dialects }) => dialects?.includes(dialect) !== false).map(keyword => [keyword.name, keyword]))

const tables: Readonly<Record<Dialect, ReadonlyMap<string, Keyword>>> = {
  '2020-12': tableOf('2020-12'),
  '2019-09': tableOf('2019-09'),
  'draft-07': tableOf('draft-07'),
  'draft-06': tableOf('draft-06'),
  'draft-04': tableOf('draft-04'),
}

/** The keywords of a dialect, by name. */
export const keywordsOf = (dialect: Dialect): ReadonlyMap<string, Keyword> => tables[dialect]

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
