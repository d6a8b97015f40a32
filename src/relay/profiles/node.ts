import type { Json, JsonObject, Meter } from '#relay/protocol/json.js'
import type { SchemaRules } from './profile.js'

/** A reason why a profile refuses a definition. */
export interface ProfileRefusal {
  /** JSON Pointer into the definition. */
  readonly path: string
  readonly message: string
}

/** A rewritten schema. */
export interface Widened {
  readonly schema: Json
  /** It accepts exactly what it accepted before. */
  readonly isExact: boolean
}

/** A path, from its end. */
interface Path {
  readonly outer: Path | undefined
  readonly step: string | number
}

/** Where a schema is. */
export interface NodePlace {
  readonly path: Path
  /** At the root, or an alternative or a part of it that applies to the whole value too. */
  readonly isRoot: boolean
  /** The targets of the references around it, to find circles. */
  readonly within: readonly Json[]
  /** How many objects are around it. */
  readonly level: number
}

/** The place of a schema that applies to the same value. */
export const nodeBeside = (place: NodePlace, ...steps: readonly (string | number)[]): NodePlace => {
  let { path } = place
  for (const step of steps) path = { outer: path, step }
  return { ...place, path }
}

/** The place of a schema that applies to a part of the value, or decides about the value in another way. */
export const nodeBelow = (place: NodePlace, ...steps: readonly (string | number)[]): NodePlace =>
  ({ ...nodeBeside(place, ...steps), isRoot: false })

export const nodeSteps = (path: Path | undefined): readonly (string | number)[] =>
  (path === undefined ? [] : [...nodeSteps(path.outer), path.step])

/** A schema that is being rewritten. */
export interface Node {
  readonly source: JsonObject
  readonly place: NodePlace
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

/** What a profile limits in all schemas together. */
export const limits = {
  properties: 'properties', enumValues: 'values of enum', characters: 'characters in names and values of enum',
} as const

export type Limit = keyof typeof limits

/** What the keywords use of the whole rewriting. */
export interface Rewriting {
  readonly rules: SchemaRules
  readonly meter: Meter
  /** True if the profile knows the keyword. */
  readonly knows: (keyword: string) => boolean
  /** True if the profile accepts the keyword here. */
  readonly isTaken: (node: Node, keyword: string) => boolean
  /** Notes why the profile refuses the definition. */
  readonly refuse: (place: NodePlace, message: string) => void
  /** Counts what the profile limits in all schemas together. @returns false beyond the limit */
  readonly fits: (limit: Limit, more: number, place: NodePlace) => boolean
  /** Rewrites a schema. Each schema is rewritten once for each place, so that the work does not multiply. */
  readonly rewritten: (schema: Json, place: NodePlace) => Widened
  /** A schema that accepts nothing becomes one that accepts anything, if the profile has no `false`. */
  readonly spelled: (widened: Widened) => Json
}

/** Sets a keyword whose value is made of schemas. */
export const put = (node: Node, keyword: string, { schema, isExact }: Widened): void => {
  node.keywords.set(keyword, schema)
  node.isExact &&= isExact
}

/** Stands for any value in a strict profile: only scalars, because objects must name their members. */
const scalars = ['string', 'number', 'boolean', 'null']

/** The schema of any value, in the language of a profile. */
export const anySchema = ({ isStrict, oneType }: SchemaRules): JsonObject => {
  if (isStrict !== true) return {}
  return oneType === true ? { anyOf: scalars.map(type => ({ type })) } : { type: [...scalars] }
}
