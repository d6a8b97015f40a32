import { isArray, isObject, isString, member, pointer, type Json } from '../protocol/json.js'
import type { Place, Resource, Target } from './document.js'
import type { Inspection } from './inspect.js'
import { metaschema } from './metaschemas.js'
import { decodeFragment, resolve } from './uri.js'

type Keyword = '$ref' | '$dynamicRef' | '$recursiveRef'

/** What a schema refers to, found within the schema itself or in the official meta-schemas: nowhere else is looked. */
export class References {
  readonly #inspection: Inspection
  readonly #open: { place: Place; keyword: Keyword; reference: string }[] = []

  constructor(inspection: Inspection) {
    this.#inspection = inspection
  }

  collect(place: Place): void {
    for (const keyword of keywordsOf(place.resource)) {
      const reference = isObject(place.schema) ? member(place.schema, keyword) : undefined
      if (isString(reference)) this.#open.push({ place, keyword, reference })
    }
  }

  /** A target may lie where no keyword puts a schema: it is read then, and may refer on. */
  resolveAll(): void {
    // The list grows while it is read.
    for (const { place, keyword, reference } of this.#open) {
      const target = this.#target(place, keyword, reference)
      if (target !== undefined) place.targets.set(keyword, target)
    }
  }

  #target(place: Place, keyword: Keyword, reference: string): Target | undefined {
    const at = `${place.pointer}/${keyword}`
    const address = resolve(place.resource.uri, reference)
    const fragment = address === undefined ? undefined : decodeFragment(address.fragment)
    if (address === undefined || fragment === undefined) {
      this.#inspection.report('schema', at, `must be a URI reference (${keyword})`)
      return undefined
    }
    const resource = this.#resource(address.uri)
    if (resource === undefined) {
      this.#inspection.report('external-ref', at, `refers to another document, which is never fetched (${keyword})`)
      return undefined
    }
    const found = this.#within(resource, fragment)
    if (found === undefined) {
      this.#inspection.report('schema', at, `refers to nothing in the schema (${keyword})`)
      return undefined
    }
    const bookend = keyword === '$dynamicRef' && found.resource.dynamicAnchors.get(fragment) === found
    const recursive = keyword === '$recursiveRef' && found.resource.recursive
    return { place: found, dynamic: bookend ? fragment : recursive ? '' : undefined }
  }

  #resource(uri: string): Resource | undefined {
    if (!this.#inspection.resources.has(uri)) {
      const official = metaschema(uri)
      if (official !== undefined) this.#inspection.openOfficial(official, uri)
    }
    return this.#inspection.resources.get(uri)
  }

  #within(resource: Resource, fragment: string): Place | undefined {
    if (fragment === '') return resource.root
    return fragment.startsWith('/') ? this.#pointed(resource.root, fragment) : resource.anchors.get(fragment)
  }

  #pointed(root: Place, fragment: string): Place | undefined {
    let json: Json | undefined = root.schema
    let at = root.pointer
    let nearest = root
    for (const part of fragment.split('/').slice(1)) {
      const key = part.replace(/~1/g, '/').replace(/~0/g, '~')
      json = below(json, key)
      if (json === undefined) return undefined
      at += pointer(key)
      nearest = root.document.places.get(at) ?? nearest
    }
    if (nearest.pointer === at) return nearest
    // Not where a keyword puts a schema: read on demand, with the base of the nearest schema above it.
    return this.#inspection.read(json, at, root.document, nearest.resource)
  }
}

const below = (json: Json, key: string): Json | undefined => {
  if (isArray(json)) return /^(0|[1-9]\d*)$/.test(key) ? json[Number(key)] : undefined
  return isObject(json) ? member(json, key) : undefined
}

const keywordsOf = ({ dialect }: Resource): readonly Keyword[] => {
  if (dialect === '2020-12') return ['$ref', '$dynamicRef']
  return dialect === '2019-09' ? ['$ref', '$recursiveRef'] : ['$ref']
}
