import { isArray, isString, member, type Json, type JsonArray } from '#protocol/json.js'
import { elements, typeOf } from './merge.js'
import { put, type Node, type Rewriting } from './node.js'
import { anyOf } from './unions.js'
import { describe, text } from './words.js'

/** A tuple becomes a list of any of its elements where the profile knows no tuples. */
export const tuple = (node: Node, value: Json, rewriting: Rewriting): void => {
  const { meter } = rewriting
  const place = { ...node.place, isRoot: false }
  const first = isArray(value) ? elements(value, meter) : []
  const made = first.map(one => rewriting.rewritten(one, place))
  const schemas = made.map(({ schema }) => schema)
  if (rewriting.knows('prefixItems'))
    return put(node, 'prefixItems', { schema: schemas, isExact: made.every(({ isExact }) => isExact) })
  node.isExact = false
  node.notes.push(`in this order: ${describe(first, meter)}`)
  const { schema: rest } = rewriting.rewritten(member(node.source, 'items') ?? true, place)
  node.keywords.set('items', anyOf([...schemas, rest].filter(one => one !== false), rewriting))
}

/**
 * `enum`, and `const` where the profile does not know it.
 * @param isTaken the profile accepts the keyword and the number of values
 */
export const enumeration = (
  node: Node, list: JsonArray, isTaken: boolean, { rules, meter }: Rewriting,
): void => {
  const { keywords, notes, source } = node
  const values = elements(list, meter)
  const others = values.filter(value => !isString(value))
  if (isTaken && (rules.stringEnums !== true || others.length === 0)) return void keywords.set('enum', list)
  if (isTaken && others.every(value => value === null) && others.length < values.length &&
    member(source, 'anyOf') === undefined) {
    keywords.set('anyOf', [{ type: 'string', enum: values.filter(isString) }, { type: 'null' }])
    return
  }
  node.isExact = false
  notes.push(`one of ${values.map(text).join(', ')}`)
  const [type, ...more] = new Set(values.map(typeOf))
  if (member(source, 'type') === undefined && more.length === 0 && type !== undefined)
    keywords.set('type', type)
}
