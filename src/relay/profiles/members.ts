import { each, isArray, isObject, isString, lengthOf, mapped, type Json } from '#relay/protocol/json.js'
import { nodeBelow, type Node, type Rewriting } from './node.js'
import { describe, wordText } from './words.js'

/** `properties`: those are left out whose name or number the profile refuses. */
export const declaredMembers = (node: Node, properties: Json, rewriting: Rewriting): void => {
  const { rules: { propertyName, noBooleans }, meter, refuse, fits } = rewriting
  if (!isObject(properties)) return void node.keywords.set('properties', properties)
  const kept: [string, Json][] = []
  for (const [name, schema] of each(properties, meter)) {
    const place = { ...nodeBelow(node.place, 'properties', name), level: node.place.level + 1 }
    const { schema: own, isExact } = rewriting.rewritten(schema, place)
    node.isExact &&= isExact
    const isBad = node.place.isRoot && propertyName?.test(name) === false
    if (isBad) refuse(place, `takes names such as ${propertyName.source}`)
    const hasRoom = [fits('properties', 1, node.place), fits('characters', name.length, node.place)]
    const isRefused = isBad || hasRoom.includes(false)
    if (!isRefused && !(own === false && noBooleans === true)) kept.push([name, own])
    else {
      node.isExact = false
      if (!isRefused) continue
      node.allowsUndeclared = true
      node.notes.push(`also takes ${wordText(name)}: ${describe([own], meter)}`)
    }
  }
  node.keywords.set('properties', Object.fromEntries(kept))
}

/** `required`, without the names that the profile refuses. */
export const requiredMembers = (node: Node, required: Json, { rules, meter, refuse }: Rewriting): void => {
  const { propertyName, requiredIsDeclared } = rules
  if (!isArray(required) || propertyName === undefined || !node.place.isRoot)
    return void node.keywords.set('required', required)
  const isKept = (name: Json) => isString(name) && propertyName.test(name)
  const kept = mapped(required, meter, name => (isKept(name) ? name : undefined))
  if (kept.length > 0) node.keywords.set('required', kept)
  if (kept.length === lengthOf(required)) return
  node.isExact = false
  if (requiredIsDeclared === true) refuse(node.place, `takes names such as ${propertyName.source}`)
}
