import {
  each, isArray, isObject, isString, lengthOf, mapped, member, type Json, type JsonArray, type JsonObject,
  type Meter,
} from './json.js'
import {
  below, defaultDialect, dialectOf, idKeyword, isLater, isLegacyDialect, jsonSchemaKeywords, pointerSteps,
  schemasIn, type Dialect,
} from './json-schema.js'

const newestUri = 'https://json-schema.org/draft/2020-12/schema'

/**
 * Translates a schema of draft-04, -06, -07 or 2019-09 to an equivalent one of 2020-12, with as few changes
 * as possible.
 * @param schema valid in the dialect that it names
 * @returns undefined when there is no equivalent
 */
export const upgrade = (schema: JsonObject, meter: Meter): JsonObject | undefined => {
  const named = member(schema, '$schema')
  const dialect = isString(named) ? dialectOf(named) : undefined
  if (dialect === undefined || dialect === defaultDialect) return undefined
  try {
    return new Upgrade(schema, dialect, meter).run()
  } catch (error) {
    if (error instanceof Inexact) return undefined
    throw error
  }
}

/** There is no equivalent, or none that all validators read alike. */
class Inexact extends Error {}

/** The base URI of a schema without an id. */
const unnamed = 'schema://unnamed/'

/** Longest id: each is resolved against its parent's, which copies it. */
const longestId = 2048

/** Most subschemas with a URI of their own. */
const maxResources = 100

/** The `$dynamicAnchor` in place of the nameless `$recursiveAnchor`. */
const recursive = 'recursive'

/** The parts of an id. */
interface Identity {
  readonly uri: string
  readonly anchor: string
}

class Upgrade {
  /** Schemas by their URI. */
  readonly #resources = new Map<string, JsonObject>()
  /** Anchors, each after the URI of its resource. */
  readonly #anchors = new Set<string>()
  readonly #keywords = new Set<string>()

  constructor(
    private readonly schema: JsonObject, private readonly dialect: Dialect, private readonly meter: Meter,
  ) {}

  run(): JsonObject {
    this.#look(this.schema, unnamed)
    // In 2020-12, items that match `contains` count as evaluated.
    if (this.#keywords.has('contains') && this.#keywords.has('unevaluatedItems')) throw new Inexact()
    return this.#rewrite(this.schema, unnamed)
  }

  /** Collects resources, anchors and keywords. */
  #look(schema: Json, base: string): void {
    if (!isObject(schema)) return
    const { base: own, identity } = this.#baseOf(schema, base)
    if (schema === this.schema || (identity !== undefined && identity.uri !== '')) {
      if (this.#resources.has(own) || this.#resources.size >= maxResources) throw new Inexact()
      this.#resources.set(own, schema)
    }
    if (identity !== undefined && identity.anchor !== '') this.#anchors.add(`${own}#${identity.anchor}`)
    for (const [keyword, value] of each(schema, this.meter)) {
      if (!this.#hasEffect(keyword, schema)) continue
      if (keyword === '$anchor' && isString(value)) this.#anchors.add(`${own}#${value}`)
      this.#keywords.add(keyword)
      for (const child of childrenOf(keyword, value, this.meter)) this.#look(child, own)
    }
  }

  /** False for a later keyword, one beside a legacy `$ref`, and `additionalItems` without a tuple. */
  #hasEffect(keyword: string, schema: JsonObject): boolean {
    const isAside =
      isLegacyDialect(this.dialect)
      && isString(member(schema, '$ref'))
      && keyword !== '$ref'
      && !isAnnotation(keyword)
    const isRestOfNone = keyword === 'additionalItems' && !isArray(member(schema, 'items'))
    const meansNothing = isLater(keyword, this.dialect) && !isAnnotation(keyword)
    return !meansNothing && !isAside && !isRestOfNone
  }

  #identityOf(schema: JsonObject): Identity | undefined {
    const id = member(schema, idKeyword(this.dialect))
    if (!isString(id) || (isLegacyDialect(this.dialect) && isString(member(schema, '$ref')))) return undefined
    const [uri = '', anchor = ''] = id.split('#')
    if (id.length > longestId || (anchor !== '' && !isAnchor(anchor))) throw new Inexact()
    return { uri, anchor }
  }

  #baseOf(
    schema: JsonObject, base: string,
  ): { readonly base: string; readonly identity: Identity | undefined } {
    const identity = this.#identityOf(schema)
    return {
      identity, base: identity === undefined || identity.uri === '' ? base : resolved(identity.uri, base),
    }
  }

  #rewrite(schema: JsonObject, outer: string): JsonObject {
    const { base, identity } = this.#baseOf(schema, outer)
    const made = new Map<string, Json>()
    if (identity !== undefined && identity.uri !== '') made.set('$id', identity.uri)
    if (identity !== undefined && identity.anchor !== '') made.set('$anchor', identity.anchor)
    for (const [keyword, value] of each(schema, this.meter)) {
      if (keyword !== idKeyword(this.dialect) && this.#hasEffect(keyword, schema))
        this.#keyword(keyword, value, schema, base, made)
    }
    return Object.fromEntries(made)
  }

  #keyword(keyword: string, value: Json, schema: JsonObject, base: string, made: Map<string, Json>): void {
    const rewritten = (child: Json) => (isObject(child) ? this.#rewrite(child, base) : child)
    const all = (children: Json) =>
      isObject(children) ? mapped(children, this.meter, rewritten) : children
    switch (keyword) {
      case '$schema':
        if (schema === this.schema) made.set(keyword, newestUri)
        // A subschema of another dialect is not supported.
        else if (value !== member(this.schema, '$schema')) throw new Inexact()
        return
      case '$anchor':
        if (!isString(value) || !isAnchor(value) || value === recursive) throw new Inexact()
        return void made.set(keyword, value)
      case '$ref':
        return void made.set(keyword, isString(value) ? this.#reference(value, base) : value)
      case '$recursiveAnchor':
        if (value === true && this.#isDynamic && [...this.#resources.values()].includes(schema))
          made.set('$dynamicAnchor', recursive)
        return
      case '$recursiveRef':
        return this.#recursiveRef(value, base, made)
      case 'definitions':
        return void made.set(definitionsIn(schema), all(value))
      case 'items':
        if (!isArray(value)) return void made.set(keyword, rewritten(value))
        if (lengthOf(value) > 0) made.set('prefixItems', mapped(value, this.meter, rewritten))
        return
      case 'additionalItems':
        return void made.set('items', rewritten(value))
      case 'dependencies':
        return isLegacyDialect(this.dialect)
          ? this.#dependencies(value, rewritten, made)
          : void made.set(keyword, value)
      case 'maximum':
      case 'minimum':
        if (member(schema, exclusive[keyword]) !== true) made.set(keyword, value)
        return
      case 'exclusiveMaximum':
      case 'exclusiveMinimum': {
        const bound =
          typeof value === 'boolean'
            ? member(schema, keyword === 'exclusiveMaximum' ? 'maximum' : 'minimum')
            : value
        if (value !== false && bound !== undefined) made.set(keyword, bound)
        return
      }
      default: {
        const form = formOf(keyword)
        const child =
          form === 'map'
            ? all(value)
            : form === 'list' && isArray(value)
              ? mapped(value, this.meter, rewritten)
              : value
        // A sibling `$recursiveRef` may have added an `allOf`.
        const before = keyword === 'allOf' ? made.get(keyword) : undefined
        made.set(
          keyword,
          form === 'schema'
            ? rewritten(value)
            : isArray(before) && isArray(child)
              ? [...this.#copied(child), ...this.#copied(before)]
              : child,
        )
      }
    }
  }

  /** With a single resource, the target of `$recursiveRef` is known. */
  get #isDynamic(): boolean {
    return this.#resources.size > 1
  }

  #recursiveRef(value: Json, base: string, made: Map<string, Json>): void {
    const root = this.#resources.get(base)
    if (value !== '#' || root === undefined) throw new Inexact()
    const reference =
      this.#isDynamic && member(root, '$recursiveAnchor') === true
        ? { $dynamicRef: `#${recursive}` }
        : { $ref: '#' }
    const before = made.get('allOf')
    made.set('allOf', [...(isArray(before) ? this.#copied(before) : []), reference])
  }

  #copied(value: JsonArray): readonly Json[] {
    return mapped(value, this.meter, child => child)
  }

  #dependencies(value: Json, rewritten: (child: Json) => Json, made: Map<string, Json>): void {
    const all = isObject(value) ? [...each(value, this.meter)] : []
    const lists = all.filter(([, child]) => isArray(child))
    const schemas = all
      .filter(([, child]) => !isArray(child))
      .map(([name, child]) => [name, rewritten(child)] as const)
    if (lists.length > 0) made.set('dependentRequired', Object.fromEntries(lists))
    if (schemas.length > 0) made.set('dependentSchemas', Object.fromEntries(schemas))
  }

  /** The same reference; a pointer in it leads to the place that its target has now. */
  #reference(reference: string, base: string): string {
    const hash = reference.indexOf('#')
    const uri = hash < 0 ? reference : reference.slice(0, hash)
    const fragment = hash < 0 ? '' : reference.slice(hash + 1)
    const there = uri === '' ? base : resolved(uri, base)
    const target = this.#resources.get(there)
    // It leads out of the document (to the meta-schema of an older dialect, for example), or to nothing.
    if (
      target === undefined
      || !(fragment === '' || fragment.startsWith('/') || this.#anchors.has(`${there}#${fragment}`))
    )
      throw new Inexact()
    return fragment.startsWith('/') ? `${uri}#${this.#pointer(fragment, target)}` : reference
  }

  #pointer(fragment: string, root: JsonObject): string {
    const tokens = fragment.split('/').slice(1)
    const steps = [...pointerSteps(fragment) ?? []]
    // A percent-encoded slash separates steps too (RFC 6901, section 6). Then the two counts differ.
    if (steps.length !== tokens.length) throw new Inexact()
    const made: string[] = []
    let at: Json = root
    while (steps.length > 0) {
      if (!isObject(at)) throw new Inexact()
      const keyword = steps.shift() ?? ''
      tokens.shift()
      const value: Json | undefined = member(at, keyword)
      const form = formOf(keyword)
      if (form === undefined || value === undefined || !this.#hasEffect(keyword, at)) throw new Inexact()
      made.push(this.#nameOf(keyword, value, at))
      if (form === 'schema' || (form === 'items' && !isArray(value))) at = value
      else {
        made.push(tokens.shift() ?? '')
        const part = below(value, steps.shift() ?? '')
        if (part === undefined || isArray(part)) throw new Inexact()
        at = part
      }
    }
    return made.map(token => `/${token}`).join('')
  }

  #nameOf(keyword: string, value: Json, schema: JsonObject): string {
    switch (keyword) {
      case 'definitions':
        return definitionsIn(schema)
      case 'items':
        return isArray(value) ? 'prefixItems' : keyword
      case 'additionalItems':
        return 'items'
      case 'dependencies':
        if (!isLegacyDialect(this.dialect)) throw new Inexact()
        return 'dependentSchemas'
      default:
        return keyword
    }
  }
}

const formOf = (keyword: string) => jsonSchemaKeywords.get(keyword)?.schemas

/**
 * True for a keyword that asserts nothing. Such a keyword is kept beside a legacy `$ref`, and in a schema
 * whose dialect did not define it.
 */
const isAnnotation = (keyword: string): boolean => jsonSchemaKeywords.get(keyword)?.asserts !== undefined

const exclusive = { maximum: 'exclusiveMaximum', minimum: 'exclusiveMinimum' } as const

/** In a schema with both names, `definitions` keeps its name: references may lead into it in 2020-12 too. */
const definitionsIn = (schema: JsonObject): string =>
  Object.hasOwn(schema, '$defs') ? 'definitions' : '$defs'

/** A name that an anchor may have in every dialect. */
const isAnchor = (name: string): boolean => /^[A-Za-z_][-A-Za-z0-9._]*$/.test(name)

const resolved = (uri: string, base: string): string => {
  if (uri.length > longestId || !URL.canParse(uri, base)) throw new Inexact()
  return new URL(uri, base).href
}

/** The subschemas in a keyword's value. */
const childrenOf = (keyword: string, value: Json, meter: Meter): readonly Json[] => {
  const schemas = schemasIn(keyword)
  if (schemas === undefined) return []
  if (isArray(value) || (schemas === 'members' && isObject(value)))
    return [...each(value, meter)].map(([, child]) => child)
  return [value]
}
