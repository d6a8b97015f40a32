import {
  each, isArray, isObject, isString, lengthOf, mapped, member, omit, type Json, type JsonArray,
  type JsonObject, type Meter,
} from '#protocol/json.js'
import { dialectOf } from '#protocol/json-schema.js'
import { headerKeyword, isAnnotation } from './accepts.js'
import { anySchema, withProfileRules } from './finish.js'
import { enumeration, tuple } from './lists.js'
import { Members } from './members.js'
import { merged } from './merge.js'
import { put, type Node, type Place, type Rewriting, type Widened } from './node.js'
import type { SchemaRules } from './profile.js'
import { References } from './references.js'
import { folded, intersection, union } from './unions.js'
import { text, withNotes } from './words.js'

/**
 * Rewrites a schema of 2020-12 in the language of a profile. The result accepts every value that the schema
 * accepts. A keyword that the profile does not know is left out or replaced, and a note in the description
 * tells the model. A strict profile may accept fewer.
 * @param isInput the schema of arguments, which are an object
 * @returns the schema, and the notes for the description of the tool
 */
export const widen = (
  schema: JsonObject, rules: SchemaRules, meter: Meter, isInput = true,
): { readonly schema: JsonObject; readonly notes: readonly string[] } => {
  const widening = new Widening(schema, rules, meter)
  return { schema: widening.root(isInput), notes: widening.notes }
}

class Widening implements Rewriting {
  readonly notes: string[] = []
  readonly rules: SchemaRules
  readonly meter: Meter
  readonly #root: JsonObject
  readonly #references: References
  readonly #members = new Members(this)
  #enumValues = 0

  constructor(root: JsonObject, rules: SchemaRules, meter: Meter) {
    this.#root = root
    this.rules = rules
    this.meter = meter
    this.#references = new References(root, this.knows, meter)
  }

  root(isInput: boolean): JsonObject {
    const { schema } = this.rewritten(this.#root, { isRoot: true, within: [], level: 0 })
    const keywords = new Map<string, Json>(isObject(schema) ? each(schema, this.meter) : [])
    if (isInput && keywords.get('type') !== 'object') keywords.set('type', 'object')
    if (this.rules.needsProperties === true && !keywords.has('properties')) keywords.set('properties', {})
    return Object.fromEntries(keywords)
  }

  readonly knows = (keyword: string): boolean =>
    keyword === headerKeyword || this.rules.keywords?.has(keyword) !== false

  readonly isTaken = ({ place }: Node, keyword: string): boolean =>
    this.knows(keyword) && !(place.isRoot && this.rules.notAtRoot?.includes(keyword) === true)

  readonly spelled = ({ schema }: Widened): Json =>
    (schema === false && this.rules.noBooleans === true ? anySchema(this.rules) : schema)

  readonly rewritten = (schema: Json, place: Place): Widened => {
    this.meter.pay(4)
    if (place.within.length > 0) this.#references.countCopied()
    // Of equal meaning, for a profile that takes no booleans.
    if (schema === false && this.rules.noBooleans === true && this.knows('not'))
      return { schema: { not: {} }, isExact: true }
    if (schema === false) return { schema, isExact: true }
    return isObject(schema)
      ? this.#object(schema, place)
      : { schema: anySchema(this.rules), isExact: schema === true }
  }

  #object(source: JsonObject, place: Place): Widened {
    const node: Node = {
      source, place, keywords: new Map(), otherSchemas: [], notes: [], isExact: true, allowsUndeclared: false,
    }
    for (const [keyword, value] of each(source, this.meter)) this.#keyword(node, keyword, value)
    if (node.allowsUndeclared && node.keywords.delete('additionalProperties')) node.isExact = false
    const whole = folded(this.#merged(node), node, this)
    const schema = withProfileRules(whole, this.rules, place.level, this.meter)
    // The last step may leave a name or a type out.
    if (schema !== whole) node.isExact = false
    const isExact = node.isExact && this.rules.isStrict !== true
    if (!place.isRoot) return { schema: withNotes(schema, node.notes, this.meter), isExact }
    this.notes.push(...node.notes)
    return { schema, isExact }
  }

  /** The keywords, with the other schemas that the value must match. */
  #merged(node: Node): JsonObject {
    let schema: JsonObject = Object.fromEntries(node.keywords)
    for (const other of node.otherSchemas) {
      // `merged` leaves out what depends on the other keywords of one schema.
      node.isExact &&= [...each(schema, this.meter)].every(([keyword]) => isAnnotation(keyword)) &&
        unevaluated.every(keyword => member(other, keyword) === undefined)
      schema = merged(schema, other, this.meter)
    }
    if (node.isExact && node.otherSchemas.length === 0) return schema
    for (const keyword of unevaluated) {
      if (member(schema, keyword) === undefined) continue
      schema = omit(schema, keyword)
      node.isExact = false
    }
    return schema
  }

  #keyword(node: Node, keyword: string, value: Json): void {
    const { keywords, place } = node
    const inner: Place = { ...place, isRoot: false }
    switch (keyword) {
      case '$ref':
      case '$dynamicRef':
      case '$recursiveRef':
        return this.#reference(node, keyword, value)
      case '$schema':
        if (this.knows(keyword) && this.#takesDialect(value)) keywords.set(keyword, value)
        return
      case '$id':
      case 'id':
      case '$anchor':
      case '$dynamicAnchor':
      case '$recursiveAnchor':
        if (!isString(value) || (this.knows(keyword) && this.#references.areKept))
          keywords.set(keyword, value)
        return
      case '$defs':
      case 'definitions':
        if (this.#references.areKept && this.knows(keyword) && isObject(value))
          keywords.set(keyword, mapped(value, this.meter, one =>
            this.spelled(this.rewritten(one, { ...inner, level: 0 }))))
        return
      case 'const':
        return this.knows(keyword) ? void keywords.set(keyword, value) : this.#enumeration(node, [value])
      case 'enum':
        return this.#enumeration(node, isArray(value) ? value : [])
      case 'properties':
        return this.#members.declared(node, value)
      case 'required':
        return this.#members.required(node, value)
      case 'patternProperties':
      case 'dependentSchemas':
        if (this.knows(keyword) && isObject(value)) return put(node, keyword, this.#map(value, inner))
        if (keyword === 'patternProperties') node.allowsUndeclared = true
        return this.#without(node, keyword, value)
      case 'additionalProperties':
        if (typeof value === 'boolean' && this.knows(keyword)) return void keywords.set(keyword, value)
        return this.#child(node, keyword, value, { ...inner, level: place.level + 1 })
      case 'propertyNames':
      case 'unevaluatedProperties':
      case 'unevaluatedItems':
      case 'contentSchema':
        return this.#child(node, keyword, value, inner)
      case 'items':
        // As part of the tuple, if there is one that the profile does not know.
        if (this.knows('prefixItems') || member(node.source, 'prefixItems') === undefined)
          this.#child(node, keyword, value, inner)
        return
      case 'prefixItems':
        return tuple(node, value, this)
      case 'contains': {
        const widened = this.rewritten(value, inner)
        if (this.knows(keyword) && (widened.isExact || member(node.source, 'maxContains') === undefined))
          return put(node, keyword, widened)
        return this.#without(node, keyword, value)
      }
      case 'minContains':
      case 'maxContains': {
        const contained = member(node.source, 'contains')
        const isKept =
          contained === undefined || keyword === 'minContains' || this.rewritten(contained, inner).isExact
        if (isKept && this.knows(keyword)) keywords.set(keyword, value)
        else this.#without(node, keyword, value)
        return
      }
      case 'anyOf':
      case 'oneOf':
        return union(node, keyword, value, this)
      case 'allOf':
        return intersection(node, value, this)
      case 'not': {
        const { schema, isExact } = this.rewritten(value, inner)
        if (isExact && this.isTaken(node, keyword)) keywords.set(keyword, schema)
        else this.#without(node, keyword, value)
        return
      }
      case 'if':
        return this.#condition(node, value)
      case 'then':
      case 'else':
        // With `if`; without it they say nothing.
        return
      default:
        if (keyword === 'format' && isString(value) && this.rules.formats?.includes(value) === false)
          return this.#without(node, keyword, value)
        return this.knows(keyword) ? void keywords.set(keyword, value) : this.#without(node, keyword, value)
    }
  }

  #takesDialect(value: Json): boolean {
    const { dialects } = this.rules
    const dialect = isString(value) ? dialectOf(value) : undefined
    return dialects === undefined || (dialect !== undefined && dialects.includes(dialect))
  }

  /** Leaves a keyword out, and adds a note with its value. */
  #without(node: Node, keyword: string, value: Json): void {
    const weaker = bounds.get(keyword)
    if (weaker !== undefined && this.knows(weaker) && member(node.source, weaker) === undefined)
      node.keywords.set(weaker, value)
    if (!isAnnotation(keyword)) node.isExact = false
    const isTold = keyword === 'format' || keyword === 'default' || !isAnnotation(keyword)
    if (isTold && !isObject(value) && !isArray(value)) node.notes.push(`${keyword} ${text(value)}`)
  }

  /** A keyword whose value is one schema. */
  #child(node: Node, keyword: string, value: Json, place: Place): void {
    if (!this.knows(keyword)) return this.#without(node, keyword, value)
    const widened = this.rewritten(value, place)
    if (widened.schema === false && this.rules.noBooleans === true && keyword !== 'additionalProperties')
      return this.#without(node, keyword, value)
    put(node, keyword, widened)
  }

  #map(schemas: JsonObject, place: Place): Widened {
    let isEach = true
    const schema = mapped(schemas, this.meter, one => {
      const { schema, isExact } = this.rewritten(one, place)
      isEach &&= isExact
      return schema
    })
    return { schema, isExact: isEach }
  }

  #enumeration(node: Node, values: JsonArray): void {
    this.#enumValues += lengthOf(values)
    const isTaken = this.knows('enum') && this.#enumValues <= (this.rules.enumValues ?? Infinity)
    enumeration(node, values, isTaken, this)
  }

  /** Keeps a reference that the profile knows, or else copies its target. */
  #reference(node: Node, keyword: string, reference: Json): void {
    const { place, source, keywords } = node
    const isAlone = [...each(source, this.meter)].every(([name]) => name === keyword || isAnnotation(name))
    if (this.#references.areKept && !place.isRoot && (isAlone || this.rules.isStrict !== true)) {
      keywords.set(keyword, reference)
      // The target accepts more than it did, perhaps.
      node.isExact = false
      return
    }
    const found = this.#references.find(keyword, reference, place.within)
    if ('note' in found) {
      node.isExact = false
      node.notes.push(found.note)
      return
    }
    const { target } = found
    const { schema, isExact } = this.rewritten(target, { ...place, within: [...place.within, target] })
    node.isExact &&= isExact
    if (isObject(schema)) node.otherSchemas.push(schema)
    else if (schema === false) node.isExact = false
  }

  /** `if` is kept only if it is exact: a wider condition would apply `then` to more values. */
  #condition(node: Node, condition: Json): void {
    const inner: Place = { ...node.place, isRoot: false }
    const parts = ['then', 'else'].flatMap(keyword => {
      const schema = member(node.source, keyword)
      return schema === undefined ? [] : [[keyword, this.rewritten(schema, inner)] as const]
    })
    const { schema, isExact } = this.rewritten(condition, inner)
    const keywords = ['if', ...parts.map(([keyword]) => keyword)]
    if (!isExact || !keywords.every(keyword => this.isTaken(node, keyword)))
      return this.#without(node, 'if', condition)
    node.keywords.set('if', schema)
    for (const [keyword, part] of parts) put(node, keyword, part)
  }
}

const unevaluated = ['unevaluatedProperties', 'unevaluatedItems'] as const

/** The inclusive bound of an exclusive one. */
const bounds = new Map([['exclusiveMinimum', 'minimum'], ['exclusiveMaximum', 'maximum']])
