import {
  each, isArray, isObject, isString, lengthOf, mapped, member, omit, withMembers, type Json,
  type JsonArray, type JsonObject, type Meter,
} from '#relay/protocol/json.js'
import { dialectOf } from '#relay/protocol/json-schema.js'
import { quote, wirePath } from '#relay/protocol/quote.js'
import { withProfileRules } from './finish.js'
import { child, condition, contained, schemaMap, without } from './keywords.js'
import { enumeration, tuple } from './lists.js'
import { declaredMembers, requiredMembers } from './members.js'
import { elements, isAnnotation, merged, mergedAll } from './merge.js'
import {
  anySchema, nodeBelow, type Limit, limits, nodeSteps, type Node, type NodePlace, type ProfileRefusal,
  type Rewriting, type Widened,
} from './node.js'
import type { SchemaRules } from './profile.js'
import { References } from './references.js'
import { folded, intersection, union } from './unions.js'
import { withNotes } from './words.js'

/** Values in one `enum`, beyond which their characters are limited. */
const manyValues = 250

/** Reasons that are told of one definition. */
const maxRefusals = 20

/** The MCP keyword that the client itself reads (2026-07-28, transports, custom headers). */
const headerKeyword = 'x-mcp-header'

/**
 * Rewrites a schema of 2020-12 in the language of a profile. The result accepts every value that the schema
 * accepts. A keyword that the profile does not know is left out or replaced, and a note in the description
 * tells the model. A strict profile may accept fewer.
 * @param key where the schema stands in the definition
 * @returns the schema, the notes for the description of the tool, and what the profile refuses. If it refuses
 *   nothing, the schema needs no change
 */
export const widen = (
  schema: JsonObject, rules: SchemaRules, meter: Meter, key: 'inputSchema' | 'outputSchema',
): Pick<Widening, 'notes' | 'refused'> & { readonly schema: JsonObject } => {
  const widening = new Widening(schema, rules, meter)
  return { schema: widening.root(key), notes: widening.notes, refused: widening.refused }
}

class Widening implements Rewriting {
  readonly notes: string[] = []
  readonly refused: ProfileRefusal[] = []
  readonly rules: SchemaRules
  readonly meter: Meter
  readonly #root: JsonObject
  readonly #keywords: ReadonlySet<string> | undefined
  readonly #references: References
  readonly #counts = new Map<Limit, number>()

  constructor(root: JsonObject, rules: SchemaRules, meter: Meter) {
    this.#root = root
    this.rules = rules
    this.meter = meter
    this.#keywords = rules.keywords && new Set(rules.keywords)
    this.#references = new References(root, this.knows, meter)
  }

  root(key: 'inputSchema' | 'outputSchema'): JsonObject {
    const place: NodePlace = { path: { outer: undefined, step: key }, isRoot: true, within: [], level: 0 }
    const type = member(this.#root, 'type')
    const isForced = key === 'inputSchema' && type !== 'object'
    const { schema } = this.rewritten(
      isForced ? withMembers(this.#root, { type: 'object' }, this.meter) : this.#root, place,
    )
    const keywords = new Map<string, Json>(isObject(schema) ? each(schema, this.meter) : [])
    const { needsType, needsProperties } = this.rules
    if (type !== 'object' && (needsType === true || (isForced && type !== undefined)))
      this.refuse(place, 'needs "type": "object"')
    if (key === 'inputSchema') keywords.set('type', 'object')
    if (needsProperties === true && !isObject(member(this.#root, 'properties')))
      this.refuse(place, 'needs properties, if only empty ones')
    if (needsProperties === true && !keywords.has('properties')) keywords.set('properties', {})
    return Object.fromEntries(keywords)
  }

  readonly refuse = ({ path }: NodePlace, message: string): void => {
    if (this.refused.length < maxRefusals) this.refused.push({ path: wirePath(...nodeSteps(path)), message })
  }

  readonly fits = (limit: Limit, more: number, place: NodePlace): boolean => {
    const [count, most] = [(this.#counts.get(limit) ?? 0) + more, this.rules[limit] ?? Infinity]
    this.#counts.set(limit, count)
    if (count > most) this.refuse(place, `takes ${most} ${limits[limit]} at most`)
    return count <= most
  }

  readonly knows = (keyword: string): boolean =>
    keyword === headerKeyword || this.#keywords?.has(keyword) !== false

  readonly isTaken = ({ place }: Node, keyword: string): boolean =>
    this.knows(keyword) && !(place.isRoot && this.rules.notAtRoot?.includes(keyword) === true)

  readonly spelled = ({ schema }: Widened): Json =>
    (schema === false && this.rules.noBooleans === true ? anySchema(this.rules) : schema)

  readonly rewritten = (schema: Json, place: NodePlace): Widened => {
    this.meter.pay(stepsOfSchema)
    if (place.within.length > 0) this.#references.countCopied()
    if (isObject(schema)) return this.#object(schema, place)
    if (typeof schema !== 'boolean') return { schema: anySchema(this.rules), isExact: false }
    if (this.rules.noBooleans !== true) return { schema, isExact: true }
    this.refuse(place, 'takes no true or false for a schema')
    if (schema) return { schema: anySchema(this.rules), isExact: true }
    return { schema: this.knows('not') ? { not: {} } : false, isExact: true }
  }

  #object(source: JsonObject, place: NodePlace): Widened {
    const node: Node = {
      source, place, keywords: new Map(), otherSchemas: [], notes: [], isExact: true, allowsUndeclared: false,
    }
    for (const [keyword, value] of each(source, this.meter)) this.#keyword(node, keyword, value)
    if (node.allowsUndeclared && node.keywords.delete('additionalProperties')) node.isExact = false
    const whole = folded(this.#merged(node), node, this)
    const schema = withProfileRules(whole, node, this)
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
    const [other, ...more] = node.otherSchemas
    if (other !== undefined) {
      // `merged` leaves out what depends on the other keywords of one schema.
      node.isExact &&= more.length === 0
        && [...each(schema, this.meter)].every(([keyword]) => isAnnotation(keyword))
        && unevaluated.every(keyword => member(other, keyword) === undefined)
      schema = merged(schema, mergedAll(node.otherSchemas, this), this)
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
    const inner = nodeBelow(place, keyword)
    this.meter.pay(stepsOfKeyword)
    if (!this.knows(keyword)) this.refuse(inner, `does not know ${quote(keyword)}`)
    else if (!this.isTaken(node, keyword)) this.refuse(inner, `refuses ${keyword} at the root`)
    switch (keyword) {
      case '$ref':
      case '$dynamicRef':
      case '$recursiveRef':
        return this.#reference(node, keyword, value)
      case '$schema':
        if (!this.#takesDialect(value)) this.refuse(inner, `takes JSON Schema ${this.rules.dialects?.join(', ')} only`)
        else if (this.knows(keyword)) keywords.set(keyword, value)
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
        if (this.knows(keyword) && isObject(value)) {
          const kept = mapped(value, this.meter, (one, name) =>
            this.spelled(this.rewritten(one, { ...nodeBelow(inner, name), level: 0 })))
          if (this.#references.areKept) keywords.set(keyword, kept)
        }
        return
      case 'const':
        return this.knows(keyword) ? void keywords.set(keyword, value) : this.#enumeration(node, [value])
      case 'enum':
        return this.#enumeration(node, isArray(value) ? value : [])
      case 'properties':
        return declaredMembers(node, value, this)
      case 'required':
        return requiredMembers(node, value, this)
      case 'patternProperties':
      case 'dependentSchemas':
        if (!isObject(value)) return without(node, keyword, value, this)
        return schemaMap(node, keyword, value, inner, this)
      case 'additionalProperties':
        if (typeof value === 'boolean' && this.knows(keyword)) return void keywords.set(keyword, value)
        return child(node, keyword, value, { ...inner, level: place.level + 1 }, this)
      case 'propertyNames':
      case 'unevaluatedProperties':
      case 'unevaluatedItems':
      case 'contentSchema':
        return child(node, keyword, value, inner, this)
      case 'items':
        // As part of the tuple, if there is one that the profile does not know.
        if (this.knows('prefixItems') || member(node.source, 'prefixItems') === undefined)
          child(node, keyword, value, inner, this)
        return
      case 'prefixItems':
        return tuple(node, value, this)
      case 'contains':
        return contained(node, value, this)
      case 'minContains':
      case 'maxContains':
        // With `contains`; without it they say nothing.
        if (member(node.source, 'contains') === undefined && this.knows(keyword)) keywords.set(keyword, value)
        return
      case 'anyOf':
      case 'oneOf':
        return union(node, keyword, value, this)
      case 'allOf':
        return intersection(node, value, this)
      case 'not': {
        const { schema, isExact } = this.rewritten(value, inner)
        if (isExact && this.isTaken(node, keyword)) keywords.set(keyword, schema)
        else without(node, keyword, value, this)
        return
      }
      case 'if':
        return condition(node, value, this)
      case 'then':
      case 'else':
        // With `if`; without it they say nothing.
        if (member(node.source, 'if') === undefined && this.isTaken(node, keyword))
          child(node, keyword, value, inner, this)
        return
      default:
        if (keyword === 'format' && isString(value) && this.rules.formats?.includes(value) === false) {
          this.refuse(inner, `does not know the format ${quote(value)}`)
          return without(node, keyword, value, this)
        }
        return this.knows(keyword) ? void keywords.set(keyword, value) : without(node, keyword, value, this)
    }
  }

  #takesDialect(value: Json): boolean {
    const { dialects } = this.rules
    const dialect = isString(value) ? dialectOf(value) : undefined
    return dialects === undefined || (dialect !== undefined && dialects.includes(dialect))
  }

  #enumeration(node: Node, values: JsonArray): void {
    const place = nodeBelow(node.place, 'enum')
    const strings = elements(values, this.meter).filter(isString)
    const characters = strings.reduce((sum, { length }) => sum + length, 0)
    const { longEnum: most = Infinity } = this.rules
    const isLong = strings.length > manyValues && characters > most
    if (isLong) this.refuse(place, `takes ${most} characters in more than ${manyValues} values of one enum`)
    const hasRoom =
      [this.fits('enumValues', lengthOf(values), place), this.fits('characters', characters, place), !isLong]
    enumeration(node, values, this.knows('enum') && !hasRoom.includes(false), this)
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
}

/** What rewriting a schema and a keyword takes, in steps of 25 ns (measured). */
const stepsOfSchema = 80
const stepsOfKeyword = 24

const unevaluated = ['unevaluatedProperties', 'unevaluatedItems'] as const
