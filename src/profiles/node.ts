import type { Json, JsonObject, Meter } from '#protocol/json.js'
import type { SchemaRules } from './profile.js'

/** A rewritten schema. */
export interface Widened {
  readonly schema: Json
  /** It accepts exactly what it accepted before. */
  readonly isExact: boolean
}

/** Where a schema is. */
export interface Place {
  /** At the root, or an alternative or a part of it that applies to the whole value too. */
  readonly isRoot: boolean
  /** The targets of the references around it, to find circles. */
  readonly within: readonly Json[]
  /** How many objects are around it. */
  readonly level: number
}

/** A schema that is being rewritten. */
export interface Node {
  readonly source: JsonObject
  readonly place: Place
  /** The keywords so far. */
  readonly keywords: Map<string, Json>
  /** Schemas that the value must match too, merged in at the end. */
  readonly otherSchemas: JsonObject[]
  /** For the model. */
  readonly notes: string[]
  isExact: boolean
  /** A member is no longer declared, so members that are not declared must be allowed. */
  allowsUndeclared: boolean
}

/** What the keywords use of the whole rewriting. */
export interface Rewriting {
  readonly rules: SchemaRules
  readonly meter: Meter
  /** True if the profile knows the keyword. */
  readonly knows: (keyword: string) => boolean
  /** True if the profile accepts the keyword here. */
  readonly isTaken: (node: Node, keyword: string) => boolean
  readonly rewritten: (schema: Json, place: Place) => Widened
  /** A schema that accepts nothing becomes one that accepts anything, if the profile has no `false`. */
  readonly spelled: (widened: Widened) => Json
}

/** Sets a keyword whose value is made of schemas. */
export const put = (node: Node, keyword: string, { schema, isExact }: Widened): void => {
  node.keywords.set(keyword, schema)
  node.isExact &&= isExact
}
