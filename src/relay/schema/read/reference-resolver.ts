import type { SchemaProblem } from '#relay/core/vocabulary.js'
import { below, decodedFragment, stepsOf } from '#relay/protocol/json-schema.js'
import { isRecord, isString, field, unmetered, type Data } from '#relay/protocol/unmetered.js'
import { nearestNode, type SchemaNode, type SchemaResource, type SchemaStep, type SchemaTarget } from '../schema-node.js'
import { costOfName, nameKey, type Budget } from '../budget.js'

/**
 * The base URI of a schema without an id, which no other document has. Its scheme has no defaults that the
 * WHATWG algorithm would add.
 */
export const unnamed = 'schema://unnamed/'

/** A URI and its fragment (without `#`, undecoded; empty when there is none). */
interface Address {
  readonly uri: string
  readonly fragment: string
}

/** Longer URIs are refused, because nested ids are resolved against each other. */
const longest = 2048

/** A reference resolved against a base without fragment; undefined when that gives no URI. */
export const resolve = (base: string, reference: string, budget: Budget): Address | undefined => {
  if (reference.startsWith('#')) return { uri: base, fragment: reference.slice(1) }
  if (reference.length > longest) return undefined
  // Characters beyond ASCII in a host are encoded in quadratic time (RFC 3492).
  const others = reference.replace(/[\0-\x7f]/g, '').length
  budget.spend(150 + (base.length >> 3) + 5 * reference.length + ((others * others) >> 3))
  try {
    const { href } = new URL(reference, base)
    return href.length > longest ? undefined : split(href)
  } catch {
    return undefined
  }
}

const split = (uri: string): Address => {
  const hash = uri.indexOf('#')
  return hash === -1 ? { uri, fragment: '' } : { uri: uri.slice(0, hash), fragment: uri.slice(hash + 1) }
}

type Keyword = '$ref' | '$dynamicRef' | '$recursiveRef'

/** What references are resolved with: the documents that were read, and what is found wrong. */
interface Documents {
  readonly budget: Budget
  report(
    kind: SchemaProblem['kind'], node: SchemaNode | undefined, steps: readonly SchemaStep[], message: string,
  ): void
  resourceAt(uri: string): SchemaResource | undefined
  readAt(
    json: Data, parent: SchemaNode | undefined, steps: readonly SchemaStep[], resource: SchemaResource,
  ): SchemaNode | undefined
}

/** Resolves references to the schema itself and to the official meta-schemas; nothing is ever fetched. */
export class ReferenceResolver {
  readonly #open: { node: SchemaNode; keyword: Keyword; reference: string }[] = []

  constructor(private readonly reader: Documents) {}

  collect(node: SchemaNode): void {
    for (const keyword of keywordsOf(node.resource)) {
      const reference = isRecord(node.schema) ? field(node.schema, keyword) : undefined
      if (isString(reference)) this.#open.push({ node, keyword, reference })
    }
  }

  /** A target outside of all keywords is read when a reference leads there. */
  resolveAll(): void {
    // Such a target may append references of its own.
    for (const { node, keyword, reference } of this.#open) {
      const target = this.#target(node, keyword, reference)
      if (target !== undefined) node.refer(keyword, target)
    }
  }

  #target(node: SchemaNode, keyword: Keyword, reference: string): SchemaTarget | undefined {
    const { budget } = this.reader
    budget.spend(100 + costOfName(reference))
    budget.keep(bytesOfTarget)
    const refuse = (kind: SchemaProblem['kind'], message: string) =>
      this.reader.report(kind, node, [keyword], `${message} (${keyword})`)
    const address = resolve(node.resource.uri, reference, budget)
    const fragment = address === undefined ? undefined : decodedFragment(address.fragment)
    if (address === undefined || fragment === undefined) {
      refuse('schema', 'must be a URI reference')
      return undefined
    }
    const resource = this.reader.resourceAt(address.uri)
    if (resource === undefined) {
      refuse('external-ref', 'refers to another document, which is never fetched')
      return undefined
    }
    const found = this.#within(resource, fragment)
    if (found === undefined) {
      refuse('schema', 'refers to nothing in the schema')
      return undefined
    }
    const name = nameKey(fragment)
    const bookend = keyword === '$dynamicRef' && found.resource.dynamicAnchors.get(name) === found
    const recursive = keyword === '$recursiveRef' && found.resource.recursive
    return { node: found, dynamic: bookend ? name : recursive ? '' : undefined }
  }

  #within(resource: SchemaResource, fragment: string): SchemaNode | undefined {
    if (fragment === '') return resource.root
    if (fragment.startsWith('/')) return this.#pointed(resource.root, fragment)
    return resource.anchors.get(nameKey(fragment))
  }

  #pointed(root: SchemaNode, fragment: string): SchemaNode | undefined {
    this.reader.budget.spend(2 * fragment.length)
    const path = stepsOf(fragment)
    this.reader.budget.spend(20 * path.length)
    let json: Data | undefined = root.schema
    for (const key of path) if ((json = unmetered(below(json, key))) === undefined) return undefined
    const { node, steps } = nearestNode(root, path, this.reader.budget)
    if (steps.length === 0) return node
    // Outside of all keywords; its base is that of the nearest enclosing schema.
    return this.reader.readAt(json, node, steps, node.resource)
  }
}

const bytesOfTarget = 300

const keywordsOf = ({ dialect }: SchemaResource): readonly Keyword[] => {
  if (dialect === '2020-12') return ['$ref', '$dynamicRef']
  return dialect === '2019-09' ? ['$ref', '$recursiveRef'] : ['$ref']
}
