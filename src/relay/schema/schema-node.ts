import { pointer, type JsonObject } from '#relay/protocol/unmetered.js'
import type { Dialect } from '#relay/protocol/json-schema.js'
import { nameKey, type Budget } from './budget.js'

/** The base URI and dialect of a document or an embedded schema. */
export interface Base {
  /** Absolute, without fragment. */
  readonly uri: string
  readonly dialect: Dialect
}

/** A schema resource (2020-12 core, 4.3.5): a schema with a URI of its own. */
export class Resource implements Base {
  readonly anchors = new Map<string, SchemaNode>()
  /** `$dynamicAnchor` (2020-12). */
  readonly dynamicAnchors = new Map<string, SchemaNode>()
  recursive = false

  constructor(
    readonly uri: string,
    readonly dialect: Dialect,
    readonly root: SchemaNode,
  ) {}
}

export interface Target {
  readonly node: SchemaNode
  /** The anchor to look up in the dynamic scope: a name for `$dynamicRef`, empty for `$recursiveRef`. */
  readonly dynamic: string | undefined
}

export type Step = string | number

const noTargets: ReadonlyMap<string, Target> = new Map()

/** A schema, with its position in the document. */
export class SchemaNode {
  readonly resource: Resource
  #targets: Map<string, Target> | undefined
  #children: Map<string, SchemaNode> | undefined

  constructor(
    readonly schema: JsonObject | boolean,
    base: Base,
    /** The enclosing schema; undefined for a document's root. */
    readonly parent?: SchemaNode,
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
  get children(): Iterable<SchemaNode> {
    return this.#children?.values() ?? []
  }

  child(...steps: readonly Step[]): SchemaNode | undefined {
    return this.#children?.get(keyOf(steps))
  }

  add(child: SchemaNode): void {
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

/** The path from the document's root through a node; too long in deep schemas to be stored. */
export const pathOf = (
  node: SchemaNode | undefined, steps: readonly Step[], budget: Budget,
): readonly Step[] => {
  const parts = [steps]
  for (let at = node; at !== undefined; at = at.parent) parts.push(at.steps)
  budget.spend(10 + 10 * parts.length + steps.length)
  return parts.reverse().flat()
}

/** The deepest schema on the way from one along a path, and the rest of the path. */
export const nearest = (
  from: SchemaNode, path: readonly Step[], budget: Budget,
): { readonly node: SchemaNode; readonly steps: readonly Step[] } => {
  let [node, steps, length] = [from, [] as Step[], 0]
  for (const step of path) {
    steps.push(step)
    length += String(step).length
    budget.spend(20 * steps.length + length)
    const child = node.child(...steps)
    if (child !== undefined) [node, steps, length] = [child, [], 0]
  }
  return { node, steps }
}

const keyOf = (steps: readonly Step[]): string => nameKey(pointer(...steps))
