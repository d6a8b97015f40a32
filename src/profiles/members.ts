import { each, isArray, isObject, isString, lengthOf, mapped, type Json } from '#protocol/json.js'
import { below, type Node, type Rewriting } from './node.js'
import { describe, text } from './words.js'

/** The declared members of objects, whose number a profile may limit over all schemas together. */
export class Members {
  readonly #rewriting: Rewriting
  #count = 0

  constructor(rewriting: Rewriting) {
    this.#rewriting = rewriting
  }

  /** `properties`: those are left out whose name or number the profile refuses. */
  declared(node: Node, properties: Json): void {
    const { rules, meter, refuse } = this.#rewriting
    const { propertyName, noBooleans, properties: most = Infinity } = rules
    if (!isObject(properties)) return void node.keywords.set('properties', properties)
    const kept: [string, Json][] = []
    for (const [name, schema] of each(properties, meter)) {
      const place = { ...below(node.place, 'properties', name), level: node.place.level + 1 }
      const { schema: own, isExact } = this.#rewriting.rewritten(schema, place)
      node.isExact &&= isExact
      const isBad = node.place.isRoot && propertyName?.test(name) === false
      const isSurplus = ++this.#count > most
      if (isBad) refuse(place, `takes names such as ${propertyName.source}`)
      if (isSurplus) refuse(node.place, `takes ${most} properties at most`)
      const isRefused = isBad || isSurplus
      if (!isRefused && !(own === false && noBooleans === true)) kept.push([name, own])
      else {
        node.isExact = false
        if (!isRefused) continue
        node.allowsUndeclared = true
        node.notes.push(`also takes ${text(name)}: ${describe([own], meter)}`)
      }
    }
    node.keywords.set('properties', Object.fromEntries(kept))
  }

  /** `required`, without the names that the profile refuses. */
  required(node: Node, required: Json): void {
    const { rules: { propertyName, requiredIsDeclared }, meter, refuse } = this.#rewriting
    if (!isArray(required) || propertyName === undefined || !node.place.isRoot)
      return void node.keywords.set('required', required)
    const isKept = (name: Json) => isString(name) && propertyName.test(name)
    const kept = mapped(required, meter, name => (isKept(name) ? name : undefined))
    if (kept.length > 0) node.keywords.set('required', kept)
    if (kept.length === lengthOf(required)) return
    node.isExact = false
    if (requiredIsDeclared === true) refuse(node.place, `takes names such as ${propertyName.source}`)
  }
}
