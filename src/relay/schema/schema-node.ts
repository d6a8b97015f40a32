import { pointer, type DataObject } from '#relay/protocol/unmetered.js'
import type { Dialect } from '#relay/protocol/json-schema.js'
import { nameKey, type Budget } from './budget.js'

/** The base URI and dialect of a document or an embedded schema. */
export interface Base {
  /** Absolute, without fragment. */
  readonly uri: string
  readonly dialect: Dialect
}

/** A schema resource (2020-12 core, 4.3.5): a schema with a URI of its own. */
export class SchemaResource implements Base {
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

export interface SchemaTarget {
  readonly node: SchemaNode
  /** The anchor to look up in the dynamic scope: a name for `$dynamicRef`, empty for `$recursiveRef`. */
  readonly dynamic: string | undefined
}

export type SchemaStep = string | number

const noTargets: ReadonlyMap<string, SchemaTarget> = new Map()

/** A schema, with its position in the document. */
export class SchemaNode {
  readonly resource: SchemaResource
  #targets: Map<string, SchemaTarget> | undefined
  #children: Map<string, SchemaNode> | undefined

  constructor(
    readonly schema: DataObject | boolean,
    base: Base,
    /** The enclosing schema; undefined for a document's root. */
    readonly parent?: SchemaNode,
    /** The path from the enclosing schema. */
    readonly steps: readonly SchemaStep[] = [],
  ) {
    // A resource and its root know each other.
    this.resource = base instanceof SchemaResource ? base : new SchemaResource(base.uri, base.dialect, this)
  }

  get isResource(): boolean {
    return this.resource.root === this
  }

  /** The direct subschemas. */
  get children(): Iterable<SchemaNode> {
    return this.#children?.values() ?? []
  }

  child(...steps: readonly SchemaStep[]): SchemaNode | undefined {
    return this.#children?.get(keyOf(steps))
  }

  add(child: SchemaNode): void {
    this.#children ??= new Map()
    this.#children.set(keyOf(child.steps), child)
  }

  /** The targets of `$ref`, `$dynamicRef` and `$recursiveRef`. */
  get targets(): ReadonlyMap<string, SchemaTarget> {
    return this.#targets ?? noTargets
  }

  refer(keyword: string, target: SchemaTarget): void {
    this.#targets ??= new Map()
    this.#targets.set(keyword, target)
  }
}

/** The path from the document's root through a node; too long in deep schemas to be stored. */
export const pathOf = (
  node: SchemaNode | undefined, steps: readonly SchemaStep[], budget: Budget,
): readonly SchemaStep[] => {
  const parts = [steps]
  for (let at = node; at !== undefined; at = at.parent) parts.push(at.steps)
  budget.spend(10 + 10 * parts.length + steps.length)
  return parts.reverse().flat()
}

/** The deepest schema on the way from one along a path, and the rest of the path. */
export const nearestNode = (
  from: SchemaNode, path: readonly SchemaStep[], budget: Budget,
): { readonly node: SchemaNode; readonly steps: readonly SchemaStep[] } => {
  let [node, steps, length] = [from, [] as SchemaStep[], 0]
  for (const step of path) {
    steps.push(step)
    length += String(step).length
    budget.spend(20 * steps.length + length)
    const child = node.child(...steps)
    if (child !== undefined) [node, steps, length] = [child, [], 0]
  }
  return { node, steps }
}

const keyOf = (steps: readonly SchemaStep[]): string => nameKey(pointer(...steps))
