import { each, isArray, isObject, mapped, type Json, type JsonObject, type Meter } from '#protocol/json.js'
import { jsonSchemaKeywords, schemasIn } from '#protocol/json-schema.js'
import { maxProblems } from './problem.js'

/** Optional members of lists and listed values that may not be null in any revision. */
const members: ReadonlySet<string> = new Set([
  '_meta', 'annotations', 'arguments', 'audience', 'cacheScope', 'description', 'destructiveHint',
  'execution', 'icons', 'idempotentHint', 'lastModified', 'mimeType', 'nextCursor', 'openWorldHint',
  'outputSchema', 'priority', 'readOnlyHint', 'required', 'size', 'sizes', 'taskSupport', 'theme', 'title',
  'ttlMs',
])

/** The same for a schema. A null `type` may mean the type null; for `const` and `default` null is a value. */
const keywords: ReadonlySet<string> =
  new Set([...jsonSchemaKeywords.keys()].filter(name => !['type', 'const', 'default'].includes(name)))

type Kind = 'member' | 'keyword'

type Path = readonly (string | number)[]

interface Cleared {
  /** Paths of the first removed nulls. */
  readonly nulls: readonly Path[]
  /** The same value when there were none. */
  readonly cleared: JsonObject
}

/**
 * Removes the nulls that serialisers write for missing members.
 * @param depth levels of members to search
 */
export const withoutNulls = (value: JsonObject, meter: Meter, depth = Infinity): Cleared => {
  const search = new Search(meter)
  return { cleared: search.object(value, 'member', depth), nulls: search.nulls }
}

/** Nearly all tools have no null: nothing is copied before one is found. */
class Search {
  readonly nulls: Path[] = []
  readonly #path: (string | number)[] = []

  constructor(readonly meter: Meter) {}

  object(value: JsonObject, kind: Kind, depth: number): JsonObject {
    const none = kind === 'member' ? members : keywords
    return this.#eachOf(value, (held, key) => {
      if (held === null && none.has(key)) return this.#none()
      return depth <= 1 ? held : this.#within(key, held, kind, depth - 1)
    })
  }

  /** @param cleared returns what is cleared of a member; undefined to remove it */
  #eachOf(value: JsonObject, cleared: (held: Json, key: string) => Json | undefined): JsonObject {
    let changes: Map<string, Json | undefined> | undefined
    for (const [key, held] of each(value, this.meter)) {
      this.#path.push(key)
      const made = cleared(held, key)
      if (made !== held) (changes ??= new Map()).set(key, made)
      this.#path.pop()
    }
    const made = changes
    if (made === undefined) return value
    return mapped(value, this.meter, (held, key) => (made.has(key) ? made.get(key) : held))
  }

  #none(): undefined {
    if (this.nulls.length < maxProblems) this.nulls.push([...this.#path])
  }

  /** Searches the value of a member or keyword; names, data and unknown keywords stay. */
  #within(key: string, value: Json, kind: Kind, depth: number): Json {
    if (kind === 'member') {
      const isSchema = key === 'inputSchema' || key === 'outputSchema'
      return key === '_meta' ? value : this.#any(value, isSchema ? 'keyword' : 'member', depth)
    }
    const schemas = schemasIn(key)
    if (schemas === undefined) return value
    if (schemas !== 'members' || !isObject(value)) return this.#any(value, kind, depth)
    return this.#eachOf(value, held => this.#any(held, kind, depth))
  }

  #any(value: Json, kind: Kind, depth: number): Json {
    if (isObject(value)) return this.object(value, kind, depth)
    if (!isArray(value)) return value
    const cleared = mapped(value, this.meter, (item, index) => {
      this.#path.push(index)
      const made = this.#any(item, kind, depth)
      this.#path.pop()
      return made
    })
    return cleared.every((item, index) => item === value[index]) ? value : cleared
  }
}
