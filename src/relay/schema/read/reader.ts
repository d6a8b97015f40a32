import type { SchemaProblem } from '#relay/core/vocabulary.js'
import { equal, isList, isRecord, isString, field, type Data } from '#relay/protocol/unmetered.js'
import {
  defaultDialect, dialectOf, idKeyword, isLegacyDialect, schemasIn, type Dialect,
} from '#relay/protocol/json-schema.js'
import { pathOf, SchemaNode, type Base, type SchemaResource, type SchemaStep } from '../schema-node.js'
import { keywordsOf } from '../keywords/index.js'
import { clippedPointer } from '../evaluate.js'
import { costOfName, nameKey, type Budget } from '../budget.js'
import { ReferenceResolver, resolve, unnamed } from './reference-resolver.js'

/** Reports no more problems of a schema. */
const maxProblems = 20

/** Memory for a node, apart from its names. */
const bytesOfNode = 500

export class TooManySubschemas extends Error {}

/** Reads one schema: its dialect, ids, anchors and references. */
export class Reader {
  /** `path` is a JSON Pointer into the schema. */
  readonly problems: SchemaProblem[] = []
  /** Schemas to validate by a meta-schema: the root, targets outside of keywords, those of other dialects. */
  readonly regions: SchemaNode[] = []
  /** Whether the schema has a `format`, and a non-monotonic keyword. */
  formats = false
  nonMonotonic = false
  readonly budget: Budget
  readonly #resources = new Map<string, SchemaResource>()
  readonly #references = new ReferenceResolver(this)
  #room: number

  /**
   * @param subschemas the most subschemas that it may have
   * @param official finds the official meta-schemas
   */
  constructor(
    subschemas: number,
    budget: Budget,
    private readonly official: (uri: string) => SchemaResource | undefined,
  ) {
    this.budget = budget
    this.#room = subschemas
  }

  /** Reads a whole document. */
  open(json: Data, uri = unnamed): SchemaNode | undefined {
    const dialect = this.#dialectOf(json, undefined, [], defaultDialect)
    return dialect === undefined ? undefined : this.readAt(json, undefined, [], { uri, dialect })
  }

  resolveReferences(): void {
    this.#references.resolveAll()
  }

  /** @param steps the path from the node */
  report(
    kind: SchemaProblem['kind'], node: SchemaNode | undefined, steps: readonly SchemaStep[], message: string,
  ): void {
    if (this.problems.length >= maxProblems) return
    const path = clippedPointer(pathOf(node, steps, this.budget), this.budget)
    // Several parts of a meta-schema may give the same message.
    const isKnown = this.problems.some(known => known.path === path && known.message === message)
    if (!isKnown) this.problems.push({ kind, path, message })
  }

  /** Reads a schema that stands in no keyword of another. */
  readAt(
    json: Data, parent: SchemaNode | undefined, steps: readonly SchemaStep[], base: Base,
  ): SchemaNode | undefined {
    const node = this.#read(json, parent, steps, base)
    if (node === undefined) this.report('schema', parent, steps, 'must be an object or a boolean')
    else if (node.resource.dialect === parent?.resource.dialect) this.regions.push(node)
    return node
  }

  resourceAt(uri: string): SchemaResource | undefined {
    const own = this.#resources.get(nameKey(uri))
    if (own !== undefined) return own
    const official = this.official(uri)
    if (official !== undefined) this.formats = true
    return official
  }

  /** Reads a schema with its subschemas; undefined if it is none. The meta-schema validates it later. */
  #read(
    json: Data, parent: SchemaNode | undefined, steps: readonly SchemaStep[], base: Base,
  ): SchemaNode | undefined {
    // An element that is no schema costs the walk to it.
    this.budget.spend(60)
    if (!isRecord(json) && typeof json !== 'boolean') return undefined
    if (--this.#room < 0) throw new TooManySubschemas()
    this.budget.spend(40)
    this.budget.keep(bytesOfNode)
    for (const step of steps) if (isString(step)) this.#pay(step)
    const { own, anchor } = this.#identity(json, parent, steps, base)
    const node = new SchemaNode(json, own ?? base, parent, steps)
    parent?.add(node)
    if (node.resource.dialect !== parent?.resource.dialect) this.regions.push(node)
    if (node.isResource) this.#claim(node.resource)
    if (anchor !== undefined) this.#anchor(node, anchor)
    this.#keywords(node)
    return node
  }

  #pay(name: string): void {
    this.budget.spend(costOfName(name))
    this.budget.keep(2 * name.length)
  }

  /** The base that a schema's id defines, unless it is the enclosing one, and its anchor (up to draft-07). */
  #identity(
    schema: SchemaNode['schema'], parent: SchemaNode | undefined, steps: readonly SchemaStep[], base: Base,
  ): { own?: Base; anchor?: string } {
    const keyword = idKeyword(base.dialect)
    const id = isRecord(schema) ? field(schema, keyword) : undefined
    const legacy = isLegacyDialect(base.dialect)
    // Up to draft-07 a $ref hides the id beside it.
    if (!isString(id) || !isRecord(schema) || (legacy && isString(field(schema, '$ref')))) return {}
    const address = resolve(base.uri, id, this.budget)
    if (address === undefined) {
      this.report('schema', parent, [...steps, keyword], `must be a URI (${keyword})`)
      return {}
    }
    const anchor = legacy && address.fragment !== '' ? { anchor: address.fragment } : {}
    if (address.uri === base.uri) return anchor
    const dialect = this.#dialectOf(schema, parent, steps, base.dialect) ?? base.dialect
    return { own: { uri: address.uri, dialect }, ...anchor }
  }

  #dialectOf(
    schema: Data, parent: SchemaNode | undefined, steps: readonly SchemaStep[], otherwise: Dialect,
  ): Dialect | undefined {
    const named = isRecord(schema) ? field(schema, '$schema') : undefined
    if (named === undefined) return otherwise
    const dialect = isString(named) ? dialectOf(named) : undefined
    if (dialect === undefined) {
      this.report('schema', parent, [...steps, '$schema'], 'names an unknown dialect ($schema)')
    }
    return dialect
  }

  /** Two different schemas with one id would make references ambiguous; a repeated schema is harmless. */
  #claim(resource: SchemaResource): void {
    this.#pay(resource.uri)
    const key = nameKey(resource.uri)
    const other = this.#resources.get(key)
    if (other === undefined) this.#resources.set(key, resource)
    else this.#refuseDuplicate(other.root, resource.root, idKeyword(resource.dialect))
  }

  #anchor(node: SchemaNode, name: string, anchors = node.resource.anchors): void {
    this.#pay(name)
    const key = nameKey(name)
    const other = anchors.get(key)
    if (other === undefined) anchors.set(key, node)
    else if (other !== node) this.#refuseDuplicate(other, node, '$anchor')
  }

  #refuseDuplicate(first: SchemaNode, second: SchemaNode, keyword: string): void {
    if (!equal(first.schema, second.schema, steps => this.budget.spend(steps))) {
      this.report('schema', second, [], `has the name of another schema (${keyword})`)
    }
  }

  #keywords(node: SchemaNode): void {
    const { schema, resource } = node
    if (!isRecord(schema)) return
    const keywords = keywordsOf(resource.dialect)
    const names = Object.keys(schema)
    this.budget.spend(10 * names.length)
    for (const name of names) {
      const keyword = keywords.get(name)
      const value = field(schema, name)
      if (keyword === undefined || value === undefined) continue
      if (name === 'format') this.formats = true
      if (keyword.nonMonotonic === true) this.nonMonotonic = true
      const fault = keyword.fault?.(value, this.budget)
      if (fault !== undefined) this.report('schema', node, [name], `${fault} (${name})`)
      for (const [steps, child] of childrenOf(name, value)) this.#read(child, node, steps, resource)
    }
    this.#names(node)
    this.#references.collect(node)
  }

  #names(node: SchemaNode): void {
    const { schema, resource } = node
    if (!isRecord(schema) || isLegacyDialect(resource.dialect)) return
    const anchor = field(schema, '$anchor')
    if (isString(anchor)) this.#anchor(node, anchor)
    if (resource.dialect === '2020-12') {
      const dynamic = field(schema, '$dynamicAnchor')
      if (!isString(dynamic)) return
      this.#anchor(node, dynamic)
      this.#anchor(node, dynamic, resource.dynamicAnchors)
    } else if (field(schema, '$recursiveAnchor') === true && node.isResource) resource.recursive = true
  }
}

/** The possible subschemas in a keyword's value, with their paths from the schema. */
const childrenOf = (name: string, value: Data): readonly (readonly [readonly SchemaStep[], Data])[] => {
  const schemas = schemasIn(name)
  if (schemas === 'value') {
    return isList(value) ? value.map((item, index) => [[name, index], item]) : [[[name], value]]
  }
  if (schemas !== 'members' || !isRecord(value)) return []
  return Object.keys(value).map(key => [[name, key], field(value, key) ?? null])
}
