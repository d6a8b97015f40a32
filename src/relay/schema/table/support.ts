import * as layout from '#relay/judge/layout.js'
import { isList, isRecord, isString, field, type Data } from '#relay/protocol/unmetered.js'
import { jsonSchemaKeywords } from '#relay/protocol/json-schema.js'
import type { SchemaNode } from '../schema-node.js'

/** The keywords of one schema, with their values. */
export type Keywords = ReadonlyMap<string, Data>

const types: ReadonlyMap<string, number> = new Map([
  ['null', layout.NULL], ['boolean', layout.BOOLEAN], ['number', layout.NUMBER], ['integer', layout.INTEGER],
  ['string', layout.STRING], ['array', layout.ARRAY], ['object', layout.OBJECT],
])

export const typeOf = (name: string): number => types.get(name) ?? 0

/** The bits of the types that `type` allows. */
export const typesOf = (value: Data | undefined): number => {
  if (value === undefined) return layout.ALL_TYPES
  const names = (isList(value) ? value : [value]).filter(isString)
  return names.reduce((sum, name) => sum | typeOf(name), 0)
}

/** The bits of the types with keywords that the table does not support: values of these are UNKNOWN. */
export const unsupportedIn = (keywords: Keywords, node: SchemaNode): number => {
  let unsupported = 0
  for (const [name, value] of keywords) unsupported |= unsupportedBy(name, value, keywords, node)
  return unsupported
}

/** Keywords that assert nothing. `then` and `else` are ignored without `if`, which is not supported. */
const silent = ['$defs', 'definitions', 'contentSchema', '$id', '$anchor', '$dynamicAnchor', 'then', 'else']

/** Keywords that the table supports. */
const supported: ReadonlySet<string> = new Set([...silent, ...(
  'type enum exclusiveMinimum exclusiveMaximum minLength maxLength format pattern properties required ' +
  'additionalProperties minProperties maxProperties items prefixItems additionalItems minItems maxItems ' +
  'allOf anyOf oneOf not'
).split(' ')])

/** The keyword of a schema that has no other assertion. */
export const onlyAssertion = (keywords: Keywords): string | undefined => {
  const names = [...keywords.keys()].filter(name => !silent.includes(name))
  return names.length === 1 ? names[0] : undefined
}

/** Whether another schema may apply in place of this one: a look that costs next to nothing. */
export const mayBeSole = ({ schema, targets }: SchemaNode): boolean =>
  targets.size > 0 || (isRecord(schema) && isList(field(schema, 'allOf')))

/** The schema that applies in place of one with no assertion but a `$ref`, or an `allOf` of one schema. */
export const soleTarget = (node: SchemaNode, keywords: Keywords): SchemaNode | undefined => {
  const name = onlyAssertion(keywords) ?? ''
  const list = keywords.get(name)
  if (name === 'allOf') return isList(list) && list.length === 1 ? node.child(name, 0) : undefined
  const target = node.targets.get(name)
  return target?.dynamic === undefined ? target?.node : undefined
}

const unsupportedBy = (name: string, value: Data, keywords: Keywords, node: SchemaNode): number => {
  switch (name) {
    case 'const':
      return keywords.has('enum') ? layout.ALL_TYPES : 0
    // Up to draft-04 a flag beside a bound excludes the bound itself.
    case 'minimum':
    case 'maximum': {
      const flag = name === 'minimum' ? 'exclusiveMinimum' : 'exclusiveMaximum'
      const isFlagged = isRecord(node.schema) && typeof field(node.schema, flag) === 'boolean'
      return isFlagged ? layout.NUMBER : 0
    }
    case 'multipleOf':
      return Number.isSafeInteger(value) ? 0 : layout.NUMBER
    case 'uniqueItems':
      return value === true ? layout.ARRAY : 0
    case '$ref':
    case '$dynamicRef':
    case '$recursiveRef':
      return node.targets.get(name)?.dynamic === undefined ? 0 : layout.ALL_TYPES
    default:
      return supported.has(name) ? 0 : typeOf(jsonSchemaKeywords.get(name)?.of ?? '') || layout.ALL_TYPES
  }
}
