import { isRecord, isString, field, type Data } from '#relay/protocol/unmetered.js'
import { dialects, hasKeyword, isLegacyDialect, type Dialect } from '#relay/protocol/json-schema.js'
import type { Budget } from '../budget.js'
import type { SchemaNode } from '../schema-node.js'
import { arrays } from './arrays.js'
import { combinations } from './combinations.js'
import { CompileContext, forAll, type Check, type Keyword, type Kinds } from './keyword.js'
import { numbers } from './numbers.js'
import { objects } from './objects.js'
import { strings } from './strings.js'
import { unevaluated } from './unevaluated.js'
import { values } from './values.js'

/** Every keyword of every dialect, in the order of evaluation: cheap checks first, `unevaluated…` last. */
const keywords: readonly Keyword[] = [
  ...values, ...numbers, ...strings, ...objects, ...arrays, ...combinations, ...unevaluated,
  // Their schemas apply only by reference.
  { name: 'definitions' }, { name: '$defs' }, { name: 'contentSchema' },
  { name: '$id', expected: 'must be a URI without fragment' },
  { name: '$anchor', expected: 'must be a plain name' },
  { name: '$dynamicAnchor', expected: 'must be a plain name' },
]

const byDialect: ReadonlyMap<Dialect, ReadonlyMap<string, Keyword>> = new Map(dialects.map(dialect => [
  dialect,
  new Map(keywords.filter(({ name }) => hasKeyword(dialect, name)).map(keyword => [keyword.name, keyword])),
]))

const none: ReadonlyMap<string, Keyword> = new Map()

export const keywordsOf = (dialect: Dialect): ReadonlyMap<string, Keyword> => byDialect.get(dialect) ?? none

/** Up to draft-07 all keywords beside a `$ref` are ignored. */
export const refersAlone = ({ schema, resource }: SchemaNode): boolean =>
  isLegacyDialect(resource.dialect) && isRecord(schema) && isString(field(schema, '$ref'))

/** The keywords of a schema that are not ignored, with their values, in the order of evaluation. */
export const keywordsAt = (node: SchemaNode): readonly (readonly [Keyword, Data])[] => {
  const { schema } = node
  const alone = refersAlone(node)
  return [...keywordsOf(node.resource.dialect).values()].flatMap(keyword => {
    const counts = !alone || keyword.name === '$ref'
    const value = isRecord(schema) && counts ? field(schema, keyword.name) : undefined
    return value === undefined ? [] : [[keyword, value]]
  })
}

type Lists = { readonly [Kind in keyof Kinds]: readonly Check<Kinds[Kind]>[] }

/** The checks of a schema for each kind of value. */
export interface SchemaChecks extends Lists {
  /** Whether the schema has `unevaluated…`. */
  readonly tracks: boolean
  /** Whether no other schema applies to the same value. */
  readonly flat: boolean
}

const nothingAllowed = forAll((_, run) => run.fail('nothing is allowed here (false)'))

/** Memory for a schema's checks, and for each of them. */
const bytesOfChecks = 900
const bytesOfCheck = 150

/** Compiles a schema. The first evaluation that needs it pays. */
export const checksOf = (
  node: SchemaNode, budget: Budget, subschemaAt: CompileContext['subschemaAt'],
): SchemaChecks => {
  budget.spend(200)
  budget.keep(bytesOfChecks)
  const context = new CompileContext(node, budget, subschemaAt)
  const present = keywordsAt(node)
  const checks = present.flatMap(([keyword, value]) => {
    budget.spend(50)
    budget.keep(bytesOfCheck)
    return keyword.checks?.(value, context) ?? []
  })
  if (node.schema === false) checks.push(nothingAllowed)
  return {
    null: checks.flatMap(one => one.null ?? []),
    boolean: checks.flatMap(one => one.boolean ?? []),
    number: checks.flatMap(one => one.number ?? []),
    string: checks.flatMap(one => one.string ?? []),
    array: checks.flatMap(one => one.array ?? []),
    object: checks.flatMap(one => one.object ?? []),
    tracks: present.some(([keyword]) => keyword.tracks === true),
    flat: present.every(([keyword]) => keyword.applies !== 'here') && node.targets.size === 0,
  }
}
