import { pointer, type JsonObject } from '#protocol/unmetered.js'
import type { Dialect } from '#protocol/json-schema.js'
import { nameKey, type Budget } from './budget.js'

/** The base URI and dialect of a document or an embedded schema. */
export interface Base {
  /** Absolute, without fragment. */
  readonly uri: string
  readonly dialect: Dialect
}

/** A schema resource (2020-12 core, 4.3.5): a schema with a URI of its own. */
export class Resource implements Base {
  readonly anchors = new Map<string, Place>()
  /** `$dynamicAnchor` (2020-12). */
  readonly dynamicAnchors = new Map<string, Place>()
  recursive = false

  constructor(
    readonly uri: string,
    readonly dialect: Dialect,
    readonly root: Place,
  ) {}
}

export interface Target {
  readonly place: Place
  /** The anchor to look up in the dynamic scope: a name for `$dynamicRef`, empty for `$recursiveRef`. */
  readonly dynamic: string | undefined
}

export type Step = string | number

const noTargets: ReadonlyMap<string, Target> = new Map()

/** A schema at its place in the document. */
export class Place {
  readonly resource: Resource
  #targets: Map<string, Target> | undefined
  #children: Map<string, Place> | undefined

  constructor(
    readonly schema: JsonObject | boolean,
    base: Base,
    /** The enclosing schema; undefined for a document's root. */
    readonly parent?: Place,
    /** The path from the enclosing schema. */
    readonly steps: readonly Step[] = [],
  ) {
    // A resource and its root know each other.
    this.resource = base instanceof Resource ? base : new Resource(base.uri, base.dialect, this)
  }

  get isResource(): boolean {
    return this.resource.root === this
  }

  /** The direct subschemas. */
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

  /** The targets of `$ref`, `$dynamicRef` and `$recursiveRef`. */
  get targets(): ReadonlyMap<string, Target> {
    return this.#targets ?? noTargets
  }

  refer(keyword: string, target: Target): void {
    this.#targets ??= new Map()
    this.#targets.set(keyword, target)
  }
}

/** The path from the document's root through a place; too long in deep schemas to be stored. */
export const pathOf = (place: Place | undefined, steps: readonly Step[], budget: Budget): readonly Step[] => {
  const parts = [steps]
  for (let at = place; at !== undefined; at = at.parent) parts.push(at.steps)
  budget.spend(10 + 10 * parts.length + steps.length)
  return parts.reverse().flat()
}

/** The deepest schema on the way from one along a path, and the rest of the path. */
export const nearest = (
  from: Place, path: readonly Step[], budget: Budget,
): { readonly place: Place; readonly steps: readonly Step[] } => {
  let [place, steps, length] = [from, [] as Step[], 0]
  for (const step of path) {
    steps.push(step)
    length += String(step).length
    budget.spend(20 * steps.length + length)
    const child = place.child(...steps)
    if (child !== undefined) [place, steps, length] = [child, [], 0]
  }
  return { place, steps }
}

const keyOf = (steps: readonly Step[]): string => nameKey(pointer(...steps))
