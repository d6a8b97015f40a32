import { pointer as pointerOf, type Json, type JsonObject } from '../protocol/json.js'
import type { Dialect } from './dialect.js'
import type { Compiled } from './evaluate/compile.js'
import type { Glance } from './glance.js'

/** One JSON document; several when the official meta-schemas are referred to. */
export interface Document {
  readonly json: Json
  /** Where schemas stand, by JSON Pointer. */
  readonly places: Map<string, Place>
}

/** Where a document or an embedded schema says it is. */
export interface Base {
  /** Absolute, without fragment. */
  readonly uri: string
  readonly dialect: Dialect
}

/** A schema with a URI of its own: what references and dynamic scopes are made of. */
export class Resource implements Base {
  readonly anchors = new Map<string, Place>()
  /** `$dynamicAnchor` (2020-12). */
  readonly dynamicAnchors = new Map<string, Place>()
  /** `$recursiveAnchor: true` (2019-09). */
  recursive = false

  constructor(
    readonly uri: string,
    readonly dialect: Dialect,
    readonly root: Place,
  ) {}
}

/** Where a reference leads. */
export interface Target {
  readonly place: Place
  /** The name to ask the dynamic scope for: an anchor's for `$dynamicRef`, empty for `$recursiveRef`. */
  readonly dynamic: string | undefined
}

/** A schema where it stands. Names from the wire are keys of Maps only. */
export class Place {
  readonly resource: Resource
  /** The schemas right below, by pointer from here. */
  readonly children = new Map<string, Place>()
  /** What `$ref`, `$dynamicRef` and `$recursiveRef` of this schema lead to. */
  readonly targets = new Map<string, Target>()
  /** Made when first evaluated: most schemas of a list are never used. */
  compiled: Compiled | undefined
  glance: Glance | undefined

  constructor(
    readonly schema: JsonObject | boolean,
    /** JSON Pointer from the document's root. */
    readonly pointer: string,
    readonly document: Document,
    base: Base,
  ) {
    // A resource and its root know each other.
    this.resource = base instanceof Resource ? base : new Resource(base.uri, base.dialect, this)
  }

  child(keyword: string, ...keys: readonly (string | number)[]): Place | undefined {
    return this.children.get(pointerOf(keyword, ...keys))
  }

  get isResource(): boolean {
    return this.resource.root === this
  }
}
