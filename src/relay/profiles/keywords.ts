import { each, isArray, isObject, mapped, member, type Json, type JsonObject } from '#relay/protocol/json.js'
import { isAnnotation } from './merge.js'
import { nodeBelow, put, type Node, type NodePlace, type Rewriting } from './node.js'
import { conditional } from './unions.js'
import { describe, wordText } from './words.js'

/** The inclusive bound of an exclusive one. */
const bounds = new Map([['exclusiveMinimum', 'minimum'], ['exclusiveMaximum', 'maximum']])

/** Leaves a keyword out, and adds a note with its value. */
export const without = (node: Node, keyword: string, value: Json, rewriting: Rewriting): void => {
  const weaker = bounds.get(keyword)
  if (weaker !== undefined && rewriting.knows(weaker) && member(node.source, weaker) === undefined)
    node.keywords.set(weaker, value)
  if (!isAnnotation(keyword)) node.isExact = false
  const isTold = keyword === 'format' || keyword === 'default' || !isAnnotation(keyword)
  if (isTold && !isObject(value) && !isArray(value)) node.notes.push(`${keyword} ${wordText(value)}`)
}

/** A keyword whose value is one schema. */
export const child = (
  node: Node, keyword: string, value: Json, place: NodePlace, rewriting: Rewriting,
): void => {
  if (!rewriting.knows(keyword)) return without(node, keyword, value, rewriting)
  const widened = rewriting.rewritten(value, place)
  if (widened.schema === false && rewriting.rules.noBooleans === true && keyword !== 'additionalProperties')
    return without(node, keyword, value, rewriting)
  put(node, keyword, widened)
}

/** A keyword whose value is a map of schemas. */
export const schemaMap = (
  node: Node, keyword: string, schemas: JsonObject, place: NodePlace, rewriting: Rewriting,
): void => {
  let isExact = true
  const schema = mapped(schemas, rewriting.meter, (one, name) => {
    const widened = rewriting.rewritten(one, nodeBelow(place, name))
    isExact &&= widened.isExact
    return widened.schema
  })
  if (rewriting.knows(keyword)) return put(node, keyword, { schema, isExact })
  without(node, keyword, schemas, rewriting)
  if (keyword === 'patternProperties') node.allowsUndeclared = true
  else conditional(node, [...each(schema, rewriting.meter)].map(([, one]) => one), false, rewriting)
}

/** `contains` stays with `maxContains` only if it is exact: a wider one would count more elements. */
export const contained = (node: Node, value: Json, rewriting: Rewriting): void => {
  const [least, most] = [member(node.source, 'minContains'), member(node.source, 'maxContains')]
  const widened = rewriting.rewritten(value, nodeBelow(node.place, 'contains'))
  if (!rewriting.knows('contains') || (!widened.isExact && most !== undefined))
    return without(node, 'contains', value, rewriting)
  put(node, 'contains', widened)
  for (const [keyword, bound] of [['minContains', least], ['maxContains', most]] as const) {
    if (bound === undefined) continue
    if (rewriting.knows(keyword)) node.keywords.set(keyword, bound)
    else without(node, keyword, bound, rewriting)
  }
}

/** `if` is kept only if it is exact: a wider condition would apply `then` to more values. */
export const condition = (node: Node, value: Json, rewriting: Rewriting): void => {
  const parts = ['then', 'else'].flatMap(keyword => {
    const schema = member(node.source, keyword)
    if (schema === undefined) return []
    return [[keyword, schema, rewriting.rewritten(schema, nodeBelow(node.place, keyword))] as const]
  })
  const { schema, isExact } = rewriting.rewritten(value, nodeBelow(node.place, 'if'))
  const keywords = ['if', ...parts.map(([keyword]) => keyword)]
  if (isExact && keywords.every(keyword => rewriting.isTaken(node, keyword))) {
    node.keywords.set('if', schema)
    for (const [keyword, , part] of parts) put(node, keyword, part)
    return
  }
  without(node, 'if', value, rewriting)
  for (const [keyword, source] of parts) {
    const [when, what] = [value, source].map(one => describe([one], rewriting.meter))
    node.notes.push(`${keyword === 'then' ? 'if' : 'unless'} ${when}: ${what}`)
  }
  conditional(node, parts.map(([, , part]) => part.schema), parts.length > 1, rewriting)
}
