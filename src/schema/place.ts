import { pointer, type JsonObject } from '../protocol/unmetered.js'
import type { Dialect } from '../protocol/json-schema.js'
import { nameKey, type Budget } from './budget.js'

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

export type Step = string | number

const noTargets: ReadonlyMap<string, Target> = new Map()

/** A schema where it stands. */
export class Place {
  readonly resource: Resource
  #targets: Map<string, Target> | undefined
  #children: Map<string, Place> | undefined

  constructor(
    readonly schema: JsonObject | boolean,
    base: Base,
    /** The schema that it stands in; undefined for a document's root. */
    readonly parent?: Place,
    /** The way from there. */
    readonly steps: readonly Step[] = [],
  ) {
    // A resource and its root know each other.
    this.resource = base instanceof Resource ? base : new Resource(base.uri, base.dialect, this)
  }

  get isResource(): boolean {
    return this.resource.root === this
  }

  /** The schemas right below. */
  get children(): Iterable<Place> {
    return this.#children?.values() ?? []
  }

  child(...steps: readonly Step[]): Place | undefined {
    return this.#children?.get(keyOf(steps))
  }

  add(child: Place): void {
    this.#children ??= new Map()
    this.#children.set(keyOf(child.steps), child)
  }

  /** What `$ref`, `$dynamicRef` and `$recursiveRef` of this schema lead to. */
  get targets(): ReadonlyMap<string, Target> {
    return this.#targets ?? noTargets
  }

  refer(keyword: string, target: Target): void {
    this.#targets ??= new Map()
    this.#targets.set(keyword, target)
  }
}

/** The way from the document's root, through a place: as long as the schema is deep, so that it is not kept. */
export const pathOf = (place: Place | undefined, steps: readonly Step[], budget: Budget): readonly Step[] => {
  const parts = [steps]
  for (let at = place; at !== undefined; at = at.parent) parts.push(at.steps)
  budget.spend(10 + 10 * parts.length + steps.length)
  return parts.reverse().flat()
}

const keyOf = (steps: readonly Step[]): string => nameKey(pointer(...steps))
