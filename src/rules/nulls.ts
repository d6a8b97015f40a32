import { isArray, isObject, type Json, type JsonObject } from '../protocol/json.js'
import { forms } from '../mend/keywords.js'

/** Members of what is listed, and of lists, that need not be there, and that no revision lets be null. */
const members: ReadonlySet<string> = new Set([
  '_meta', 'annotations', 'arguments', 'audience', 'cacheScope', 'description', 'destructiveHint', 'execution', 'icons', 'idempotentHint',
  'lastModified', 'mimeType', 'nextCursor', 'openWorldHint', 'outputSchema', 'priority', 'readOnlyHint', 'required', 'size', 'sizes',
  'taskSupport', 'theme', 'title', 'ttlMs',
])

/** The same of a schema. A `type` that is null may mean the type of null, and for `const` and `default` it is a value like any other. */
const keywords: ReadonlySet<string> = new Set([
  ...forms.keys(), '$anchor', '$comment', '$id', '$ref', '$schema', 'contentEncoding', 'contentMediaType', 'dependentRequired', 'deprecated',
  'description', 'enum', 'examples', 'exclusiveMaximum', 'exclusiveMinimum', 'format', 'maxContains', 'maximum', 'maxItems', 'maxLength',
  'maxProperties', 'minContains', 'minimum', 'minItems', 'minLength', 'minProperties', 'multipleOf', 'pattern', 'prefixItems', 'readOnly',
  'required', 'title', 'uniqueItems', 'writeOnly',
])

type Kind = 'member' | 'keyword'

type Path = readonly (string | number)[]

/**
 * What a list says without the nulls that serialisers write for what is not there.
 * @param depth how far down to look, in members
 * @returns where they were, and what is left; the value itself where there were none
 */
export const withoutNulls = (value: JsonObject, depth = Infinity): { readonly nulls: readonly Path[]; readonly left: JsonObject } => {
  const nulls: Path[] = []
  return { nulls, left: object(value, 'member', [], depth, nulls) }
}

const object = (value: JsonObject, kind: Kind, path: Path, depth: number, nulls: Path[]): JsonObject => {
  const isNone = (key: string) => value[key] === null && (kind === 'member' ? members : keywords).has(key)
  const entries = Object.keys(value).flatMap((key): readonly (readonly [string, Json])[] => {
    const way = [...path, key]
    if (!isNone(key)) return [[key, depth <= 1 ? (value[key] ?? null) : within(key, value[key] ?? null, kind, way, depth - 1, nulls)]]
    nulls.push(way)
    return []
  })
  const isSame = entries.length === Object.keys(value).length && entries.every(([key, left]) => left === value[key])
  return isSame ? value : Object.fromEntries(entries)
}

/** What stands below a member or keyword; names, data and what is of nobody's knowledge stay as they are. */
const within = (key: string, value: Json, kind: Kind, path: Path, depth: number, nulls: Path[]): Json => {
  if (kind === 'member') {
    const isSchema = key === 'inputSchema' || key === 'outputSchema'
    return key === '_meta' ? value : each(value, isSchema ? 'keyword' : 'member', path, depth, nulls)
  }
  const form = forms.get(key) ?? (key === 'prefixItems' ? 'list' : undefined)
  if (form === undefined) return value
  if ((form !== 'map' && form !== 'dependencies') || !isObject(value)) return each(value, kind, path, depth, nulls)
  const left = Object.entries(value).map(([name, child = null]) => [name, each(child, kind, [...path, name], depth, nulls)] as const)
  return left.every(([name, child]) => child === value[name]) ? value : Object.fromEntries(left)
}

const each = (value: Json, kind: Kind, path: Path, depth: number, nulls: Path[]): Json => {
  if (isObject(value)) return object(value, kind, path, depth, nulls)
  if (!isArray(value)) return value
  const left = value.map((item, index) => each(item, kind, [...path, index], depth, nulls))
  return left.every((item, index) => item === value[index]) ? value : left
}
