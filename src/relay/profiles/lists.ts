import { isArray, isString, member, type Json, type JsonArray } from '#relay/protocol/json.js'
import { elements, schemaType } from './merge.js'
import { nodeBelow, put, type Node, type Rewriting } from './node.js'
import { anyOf } from './unions.js'
import { describe, wordText } from './words.js'

/** A tuple becomes a list of any of its elements where the profile knows no tuples. */
export const tuple = (node: Node, value: Json, rewriting: Rewriting): void => {
  const { meter } = rewriting
  const first = isArray(value) ? elements(value, meter) : []
  const made = first.map((one, index) => rewriting.rewritten(one, nodeBelow(node.place, 'prefixItems', index)))
  const schemas = made.map(({ schema }) => schema)
  if (rewriting.knows('prefixItems'))
    return put(node, 'prefixItems', { schema: schemas, isExact: made.every(({ isExact }) => isExact) })
  node.isExact = false
  node.notes.push(`in this order: ${describe(first, meter)}`)
  const rest = rewriting.rewritten(member(node.source, 'items') ?? {}, nodeBelow(node.place, 'items'))
  node.keywords.set('items', anyOf([...schemas, rest.schema].filter(one => one !== false), rewriting))
}

/**
 * `enum`, and `const` where the profile does not know it.
 * @param isTaken the profile accepts the keyword and the number of values
 */
export const enumeration = (
  node: Node, list: JsonArray, isTaken: boolean, { rules, meter, refuse }: Rewriting,
): void => {
  const { keywords, notes, source } = node
  const values = elements(list, meter)
  const others = values.filter(value => !isString(value))
  if (isTaken && (rules.stringEnums !== true || others.length === 0)) return void keywords.set('enum', list)
  if (isTaken) refuse(nodeBelow(node.place, 'enum'), 'takes strings only in enum')
  if (isTaken && others.every(value => value === null) && others.length < values.length
    && member(source, 'anyOf') === undefined) {
    keywords.set('anyOf', [{ type: 'string', enum: values.filter(isString) }, { type: 'null' }])
    return
  }
  node.isExact = false
  notes.push(`one of ${values.map(wordText).join(', ')}`)
  const [type, ...more] = new Set(values.map(schemaType))
  if (member(source, 'type') === undefined && more.length === 0 && type !== undefined)
    keywords.set('type', type)
}
