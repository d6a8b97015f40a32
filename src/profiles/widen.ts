import {
  each, isArray, isObject, isString, lengthOf, mapped, member, omit, type Json, type JsonArray,
  type JsonObject, type Meter, weigh,
} from '#protocol/json.js'
import { dialectOf, schemasIn } from '#protocol/json-schema.js'
import { headerKeyword, isAnnotation, isTyped } from './accepts.js'
import { any, finished } from './finish.js'
import { both, either, elements, isOpen } from './merge.js'
import { targetOf } from './left-out.js'
import type { SchemaRules } from './profile.js'
import { inWords, noted, text } from './words.js'

/** Most schemas copied in place of references, and most bytes (`weigh`); later references accept anything. */
const maxInlined = 2000
const maxInlinedBytes = 256 * 1024

/**
 * Rewrites a schema of 2020-12 in the language of a profile. Whatever the schema accepts, the result accepts
 * too: a keyword that the profile does not know is left out, or said in other keywords, and told in the
 * description. Only a strict profile forces a subset.
 * @returns the schema, and what the description of the tool should say of it
 */
export const widen = (
  schema: JsonObject, rules: SchemaRules, meter: Meter, isInput = true,
): { readonly schema: JsonObject; readonly notes: readonly string[] } => {
  const widening = new Widening(schema, rules, meter)
  return { schema: widening.root(isInput), notes: widening.notes }
}

/** A rewritten schema. */
interface Widened {
  readonly schema: Json
  /** It accepts exactly what it accepted before. */
  readonly isExact: boolean
}

/** Where a schema is. */
interface Place {
  /** At the root, or an alternative or a conjunct of it. */
  readonly isRoot: boolean
  /** The targets of the references around it, to find circles. */
  readonly within: readonly Json[]
  /** How many objects are around it. */
  readonly level: number
}

/** A schema that is being rewritten. */
interface Node {
  readonly source: JsonObject
  readonly place: Place
  readonly made: Map<string, Json>
  /** Schemas that hold besides. */
  readonly conjuncts: JsonObject[]
  readonly notes: string[]
  isExact: boolean
  /** A member is no longer declared, so that others must be allowed. */
  isOpen: boolean
}

class Widening {
  readonly notes: string[] = []
  readonly #root: JsonObject
  readonly #rules: SchemaRules
  readonly #meter: Meter
  readonly #keepsReferences: boolean
  /** A part has a URI of its own, to which references in it are relative. */
  #hasResources = false
  #inlined = 0
  #inlinedBytes = 0
  #enumValues = 0
  #properties = 0

  constructor(root: JsonObject, rules: SchemaRules, meter: Meter) {
    this.#root = root
    this.#rules = rules
    this.#meter = meter
    this.#keepsReferences = this.#survey(root) && this.#knows('$ref')
  }

  /** @param isInput the schema of arguments, which are an object */
  root(isInput: boolean): JsonObject {
    const { schema } = this.#schema(this.#root, { isRoot: true, within: [], level: 0 })
    const made = new Map<string, Json>(isObject(schema) ? each(schema, this.#meter) : [])
    if (isInput && made.get('type') !== 'object') made.set('type', 'object')
    if (this.#rules.needsProperties === true && !made.has('properties')) made.set('properties', {})
    return Object.fromEntries(made)
  }

  #knows(keyword: string): boolean {
    return keyword === headerKeyword || this.#rules.keywords?.has(keyword) !== false
  }

  /** @returns whether all references lead to parts that stay where they are in the rewritten schema */
  #survey(value: Json): boolean {
    this.#meter.pay(1)
    let isPlain = true
    if (isArray(value)) for (const [, one] of each(value, this.#meter)) isPlain = this.#survey(one) && isPlain
    if (!isObject(value)) return isPlain
    for (const [keyword, child] of each(value, this.#meter)) {
      if (literals.has(keyword)) continue
      if (isString(child) && /^\$?id$/.test(keyword)) {
        if (value !== this.#root) this.#hasResources = true
        isPlain = false
      } else if (isString(child) && /^\$(?:ref|dynamicRef|recursiveRef|anchor|dynamicAnchor)$/.test(keyword))
        isPlain = this.#isPlain(child) && isPlain
      // The names in a map of schemas are no keywords.
      const isMap = schemasIn(keyword) === 'members' && isObject(child)
      const parts = isMap ? [...each(child, this.#meter)].map(([, one]) => one) : [child]
      for (const one of parts) isPlain = this.#survey(one) && isPlain
    }
    return isPlain
  }

  #isPlain(reference: string): boolean {
    const [, keyword] = /^#\/(\$defs|definitions)\/[^/%~]+$/.exec(reference) ?? []
    return keyword !== undefined && this.#knows(keyword)
  }

  #schema(schema: Json, place: Place): Widened {
    this.#meter.pay(4)
    if (place.within.length > 0) this.#inlined++
    // Of equal meaning, for a profile that takes no booleans.
    if (schema === false && this.#rules.noBooleans === true && this.#knows('not'))
      return { schema: { not: {} }, isExact: true }
    if (schema === false) return { schema, isExact: true }
    return isObject(schema)
      ? this.#rewritten(schema, place)
      : { schema: any(this.#rules), isExact: schema === true }
  }

  #rewritten(source: JsonObject, place: Place): Widened {
    const node: Node = {
      source, place, made: new Map(), conjuncts: [], notes: [], isExact: true, isOpen: false,
    }
    for (const [keyword, value] of each(source, this.#meter)) this.#keyword(node, keyword, value)
    const { made, conjuncts } = node
    if (node.isOpen && made.delete('additionalProperties')) node.isExact = false
    let schema: JsonObject = Object.fromEntries(made)
    for (const other of conjuncts) {
      // `both` leaves out what depends on the other keywords of one schema.
      node.isExact &&= [...each(schema, this.#meter)].every(([keyword]) => isAnnotation(keyword)) &&
        unevaluated.every(keyword => member(other, keyword) === undefined)
      schema = both(schema, other, this.#meter)
    }
    if (!node.isExact || conjuncts.length > 0) {
      for (const keyword of unevaluated) {
        if (member(schema, keyword) === undefined) continue
        schema = omit(schema, keyword)
        node.isExact = false
      }
    }
    const folded = this.#folded(schema, node)
    schema = finished(folded, this.#rules, place.level, this.#meter)
    // The last step may leave a name or a type out.
    if (schema !== folded) node.isExact = false
    if (place.isRoot) this.notes.push(...node.notes)
    else schema = Object.fromEntries([...each(schema, this.#meter), ...noted(schema, node.notes)])
    return { schema, isExact: node.isExact && this.#rules.isStrict !== true }
  }

  #keyword(node: Node, keyword: string, value: Json): void {
    const { made, place } = node
    const inner: Place = { ...place, isRoot: false }
    switch (keyword) {
      case '$ref':
      case '$dynamicRef':
      case '$recursiveRef':
        return this.#reference(node, keyword, value)
      case '$schema':
        if (this.#knows(keyword) && this.#takesDialect(value)) made.set(keyword, value)
        return
      case '$id':
      case 'id':
      case '$anchor':
      case '$dynamicAnchor':
      case '$recursiveAnchor':
        if (!isString(value) || (this.#knows(keyword) && this.#keepsReferences)) made.set(keyword, value)
        return
      case '$defs':
      case 'definitions':
        if (this.#keepsReferences && this.#knows(keyword) && isObject(value))
          made.set(keyword, mapped(value, this.#meter, one =>
            this.#spelt(this.#schema(one, { ...inner, level: 0 }))))
        return
      case 'const':
        return this.#knows(keyword) ? void made.set(keyword, value) : this.#enumeration(node, [value])
      case 'enum':
        return this.#enumeration(node, isArray(value) ? value : [])
      case 'properties':
        return this.#declaredMembers(node, value)
      case 'required':
        return this.#requiredMembers(node, value)
      case 'patternProperties':
      case 'dependentSchemas':
        if (this.#knows(keyword) && isObject(value)) return this.#put(node, keyword, this.#map(value, inner))
        if (keyword === 'patternProperties') node.isOpen = true
        return this.#without(node, keyword, value)
      case 'additionalProperties':
        if (typeof value === 'boolean' && this.#knows(keyword)) return void made.set(keyword, value)
        return this.#child(node, keyword, value, { ...inner, level: place.level + 1 })
      case 'propertyNames':
      case 'unevaluatedProperties':
      case 'unevaluatedItems':
      case 'contentSchema':
        return this.#child(node, keyword, value, inner)
      case 'items':
        // As part of the tuple, if there is one that the profile does not know.
        if (this.#knows('prefixItems') || member(node.source, 'prefixItems') === undefined)
          this.#child(node, keyword, value, inner)
        return
      case 'prefixItems':
        return this.#tuple(node, value)
      case 'contains': {
        const { schema, isExact } = this.#schema(value, inner)
        if (this.#knows(keyword) && (isExact || member(node.source, 'maxContains') === undefined))
          return this.#put(node, keyword, { schema, isExact })
        return this.#without(node, keyword, value)
      }
      case 'minContains':
      case 'maxContains': {
        const contained = member(node.source, 'contains')
        const isKept =
          contained === undefined || keyword === 'minContains' || this.#schema(contained, inner).isExact
        if (isKept && this.#knows(keyword)) made.set(keyword, value)
        else this.#without(node, keyword, value)
        return
      }
      case 'anyOf':
      case 'oneOf':
        return this.#union(node, keyword, value)
      case 'allOf':
        return this.#intersection(node, value)
      case 'not': {
        const { schema, isExact } = this.#schema(value, inner)
        if (isExact && this.#isTaken(node, keyword)) made.set(keyword, schema)
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
        if (keyword === 'format' && isString(value) && this.#rules.formats?.includes(value) === false)
          return this.#without(node, keyword, value)
        return this.#knows(keyword) ? void made.set(keyword, value) : this.#without(node, keyword, value)
    }
  }

  /** Known, and not refused at this place. */
  #isTaken({ place }: Node, keyword: string): boolean {
    return this.#knows(keyword) && !(place.isRoot && this.#rules.notAtRoot?.includes(keyword) === true)
  }

  #takesDialect(value: Json): boolean {
    const { dialects } = this.#rules
    const dialect = isString(value) ? dialectOf(value) : undefined
    return dialects === undefined || (dialect !== undefined && dialects.includes(dialect))
  }

  /** Leaves a keyword out, and tells what it says. */
  #without(node: Node, keyword: string, value: Json): void {
    const weaker = bounds.get(keyword)
    if (weaker !== undefined && this.#knows(weaker) && member(node.source, weaker) === undefined)
      node.made.set(weaker, value)
    if (!isAnnotation(keyword)) node.isExact = false
    const isSaid = keyword === 'format' || keyword === 'default' || !isAnnotation(keyword)
    if (isSaid && !isObject(value) && !isArray(value)) node.notes.push(`${keyword} ${text(value)}`)
  }

  #put(node: Node, keyword: string, { schema, isExact }: Widened): void {
    node.made.set(keyword, schema)
    node.isExact &&= isExact
  }

  /** The schema of no value becomes that of any where the profile cannot say it. */
  #spelt({ schema }: Widened): Json {
    return schema === false && this.#rules.noBooleans === true ? any(this.#rules) : schema
  }

  /** A keyword whose value is one schema. */
  #child(node: Node, keyword: string, value: Json, place: Place): void {
    if (!this.#knows(keyword)) return this.#without(node, keyword, value)
    const widened = this.#schema(value, place)
    if (widened.schema === false && this.#rules.noBooleans === true && keyword !== 'additionalProperties')
      return this.#without(node, keyword, value)
    this.#put(node, keyword, widened)
  }

  #map(schemas: JsonObject, place: Place): Widened {
    let isEach = true
    const schema = mapped(schemas, this.#meter, one => {
      const { schema, isExact } = this.#schema(one, place)
      isEach &&= isExact
      return schema
    })
    return { schema, isExact: isEach }
  }

  #declaredMembers(node: Node, properties: Json): void {
    if (!isObject(properties)) return void node.made.set('properties', properties)
    const { propertyName, noBooleans, properties: most = Infinity } = this.#rules
    const made: [string, Json][] = []
    for (const [name, schema] of each(properties, this.#meter)) {
      const { schema: own, isExact } =
        this.#schema(schema, { ...node.place, isRoot: false, level: node.place.level + 1 })
      node.isExact &&= isExact
      const isBad = node.place.isRoot && propertyName?.test(name) === false
      const isRefused = isBad || ++this.#properties > most
      if (!isRefused && !(own === false && noBooleans === true)) made.push([name, own])
      else {
        node.isExact = false
        if (!isRefused) continue
        node.isOpen = true
        node.notes.push(`takes ${text(name)} besides: ${inWords([own], this.#meter)}`)
      }
    }
    node.made.set('properties', Object.fromEntries(made))
  }

  #requiredMembers(node: Node, required: Json): void {
    const { propertyName } = this.#rules
    if (!isArray(required) || propertyName === undefined || !node.place.isRoot)
      return void node.made.set('required', required)
    const kept = mapped(required, this.#meter, name =>
      (isString(name) && propertyName.test(name) ? name : undefined))
    if (kept.length > 0) node.made.set('required', kept)
    if (kept.length < lengthOf(required)) node.isExact = false
  }

  /** A tuple becomes a list of any of its elements where the profile knows no tuples. */
  #tuple(node: Node, value: Json): void {
    const { place, source } = node
    const first = isArray(value) ? elements(value, this.#meter) : []
    const made = first.map(one => this.#schema(one, { ...place, isRoot: false }))
    if (this.#knows('prefixItems'))
      return this.#put(node, 'prefixItems', {
        schema: made.map(({ schema }) => schema), isExact: made.every(({ isExact }) => isExact),
      })
    node.isExact = false
    node.notes.push(`in this order: ${inWords(first, this.#meter)}`)
    const rest = member(source, 'items') ?? true
    const { schema } = this.#schema(rest, { ...place, isRoot: false })
    node.made.set('items', this.#anyOf([...made.map(({ schema }) => schema), schema].filter(one => one !== false)))
  }

  /** One of the schemas, said in the simplest way. */
  #anyOf(schemas: readonly Json[]): Json {
    const [first, ...others] = schemas
    if (first === undefined || schemas.some(schema => isOpen(schema, this.#meter))) return any(this.#rules)
    return others.length === 0 ? first : this.#knows('anyOf') ? { anyOf: [...schemas] } : any(this.#rules)
  }

  #enumeration(node: Node, list: JsonArray): void {
    const { made, notes, source } = node
    const { stringEnums, enumValues = Infinity } = this.#rules
    const values = elements(list, this.#meter)
    const others = values.filter(value => !isString(value))
    this.#enumValues += values.length
    const isTaken = this.#knows('enum') && this.#enumValues <= enumValues
    if (isTaken && (stringEnums !== true || others.length === 0)) return void made.set('enum', list)
    if (isTaken && others.every(value => value === null) && others.length < values.length &&
      member(source, 'anyOf') === undefined) {
      const strings = values.filter(isString)
      made.set('anyOf', [{ type: 'string', enum: strings }, { type: 'null' }])
      return
    }
    node.isExact = false
    notes.push(`one of ${values.map(text).join(', ')}`)
    const types = [...new Set(values.map(value => (value === null ? 'null' : typeof value)))]
    if (member(source, 'type') === undefined && types.length === 1 && types[0] !== 'object')
      made.set('type', types[0] ?? 'string')
  }

  /** Copies the target of a reference, or leaves the reference where the profile knows it. */
  #reference(node: Node, keyword: string, reference: Json): void {
    const { place, source, made } = node
    const isAlone = [...each(source, this.#meter)].every(([name]) => name === keyword || isAnnotation(name))
    if (this.#keepsReferences && !place.isRoot && (isAlone || this.#rules.isStrict !== true)) {
      made.set(keyword, reference)
      // The target accepts more than it did, perhaps.
      node.isExact = false
      return
    }
    const isLocal = keyword === '$ref' && isString(reference) && !this.#hasResources
    const target = isLocal ? targetOf(this.#root, reference) : undefined
    if (target === undefined || place.within.includes(target) || !this.#hasRoomFor(target)) {
      node.isExact = false
      node.notes.push(target === undefined ? 'of any kind' : 'nested in the same way')
      return
    }
    const { schema, isExact } = this.#schema(target, { ...place, within: [...place.within, target] })
    node.isExact &&= isExact
    if (isObject(schema)) node.conjuncts.push(schema)
  }

  #hasRoomFor(target: Json): boolean {
    if (this.#inlined > maxInlined || this.#inlinedBytes > maxInlinedBytes) return false
    const weight = weigh(target, maxInlinedBytes)
    this.#meter.pay(weight >>> 6)
    this.#inlinedBytes += weight
    return this.#inlinedBytes <= maxInlinedBytes
  }

  #union(node: Node, keyword: 'anyOf' | 'oneOf', value: Json): void {
    if (!isArray(value)) return void node.made.set(keyword, value)
    const { made, place, source } = node
    const sources = elements(value, this.#meter)
    const widened = sources.map(one => this.#schema(one, place))
    const isExact = widened.every(one => one.isExact)
    const schemas = widened.map(({ schema }) => schema).filter(schema => schema !== false)
    const told = () => node.notes.push(`${keyword === 'oneOf' ? 'exactly one of' : 'one of'}: ${inWords(sources, this.#meter)}`)
    if (schemas.length === 0 || schemas.some(schema => isOpen(schema, this.#meter))) {
      // Whatever is beside it decides alone; what the branches evaluated counts no more.
      node.isExact = false
      if (sources.some(schema => !isOpen(schema, this.#meter))) told()
    } else if (keyword === 'oneOf' && this.#knows('oneOf') && isExact) made.set('oneOf', schemas)
    else {
      node.isExact &&= keyword === 'anyOf' && isExact
      // A foldable union is folded afterwards; another one may be of another keyword.
      if (member(source, 'anyOf') === undefined || keyword === 'anyOf') {
        if (this.#knows('anyOf')) return void made.set('anyOf', schemas)
      } else if (this.#knows('allOf')) return void node.conjuncts.push({ allOf: [{ anyOf: schemas }] })
      node.isExact = false
      told()
    }
  }

  #intersection(node: Node, value: Json): void {
    if (!isArray(value)) return void node.made.set('allOf', value)
    const widened = elements(value, this.#meter).map(one => this.#schema(one, node.place))
    const schemas = widened.map(one => this.#spelt(one))
    node.isExact &&= widened.every(({ schema, isExact }, index) => isExact && schema === schemas[index])
    if (this.#isTaken(node, 'allOf')) node.made.set('allOf', schemas)
    else node.conjuncts.push(...schemas.filter(isObject))
  }

  /** The condition must not accept more than it did: then its consequences would hold for more values. */
  #condition(node: Node, condition: Json): void {
    const inner: Place = { ...node.place, isRoot: false }
    const parts = ['then', 'else'].flatMap(keyword => {
      const schema = member(node.source, keyword)
      return schema === undefined ? [] : [[keyword, this.#schema(schema, inner)] as const]
    })
    const { schema, isExact } = this.#schema(condition, inner)
    if (!isExact || !['if', ...parts.map(([keyword]) => keyword)].every(keyword => this.#isTaken(node, keyword)))
      return this.#without(node, 'if', condition)
    node.made.set('if', schema)
    for (const [keyword, part] of parts) this.#put(node, keyword, part)
  }

  /** Folds the alternatives of the root into its properties. A strict profile wants that of every object. */
  #folded(schema: JsonObject, node: Node): JsonObject {
    const { notAtRoot = [], isStrict } = this.#rules
    const isAnObject = member(schema, 'properties') !== undefined || member(schema, 'type') === 'object'
    let made = schema
    for (const keyword of ['anyOf', 'oneOf'] as const) {
      const union = member(made, keyword)
      const isFolded = node.place.isRoot ? notAtRoot.includes(keyword) : isStrict === true && isAnObject
      if (!isArray(union) || !isFolded) continue
      const branches = elements(union, this.#meter).filter(isObject)
      const own = member(node.source, keyword) ?? member(node.source, 'oneOf')
      const sources = isArray(own) ? elements(own, this.#meter) : branches
      const isOne = member(node.source, 'oneOf') !== undefined && member(node.source, 'anyOf') === undefined
      node.isExact = false
      node.notes.push(`${isOne ? 'exactly one of' : 'one of'}: ${inWords(sources, this.#meter)}`)
      const objects = branches.filter(branch => {
        const type = member(branch, 'type')
        return type === undefined || isTyped(type, 'object')
      })
      if (objects.length > 0)
        made = both(
          omit(made, keyword), either(objects, this.#meter, schemas => this.#anyOf(schemas)), this.#meter,
        )
      else made = omit(made, keyword)
    }
    return made
  }
}

/** Keywords whose values hold no schemas, whatever they look like. */
const literals: ReadonlySet<string> = new Set(['default', 'examples', 'enum', 'const'])

const unevaluated = ['unevaluatedProperties', 'unevaluatedItems'] as const

/** The inclusive bound of an exclusive one. */
const bounds = new Map([['exclusiveMinimum', 'minimum'], ['exclusiveMaximum', 'maximum']])
