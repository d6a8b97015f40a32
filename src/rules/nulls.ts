import { each, isArray, isObject, mapped, type Json, type JsonObject, type Meter } from '../protocol/json.js'
import { jsonSchemaKeywords, schemasIn } from '../protocol/json-schema.js'
import { maxProblems } from './problem.js'

/** Members of what is listed, and of lists, that need not be there, and that no revision lets be null. */
const members: ReadonlySet<string> = new Set([
  '_meta', 'annotations', 'arguments', 'audience', 'cacheScope', 'description', 'destructiveHint', 'execution', 'icons', 'idempotentHint',
  'lastModified', 'mimeType', 'nextCursor', 'openWorldHint', 'outputSchema', 'priority', 'readOnlyHint', 'required', 'size', 'sizes',
  'taskSupport', 'theme', 'title', 'ttlMs',
])

/** The same of a schema. A `type` that is null may mean the type of null, and for `const` and `default` it is a value like any other. */
const keywords: ReadonlySet<string> = new Set([...jsonSchemaKeywords.keys()].filter(name => !['type', 'const', 'default'].includes(name)))

type Kind = 'member' | 'keyword'

type Path = readonly (string | number)[]

interface Cleared {
  /** Where the first of them were. */
  readonly nulls: readonly Path[]
  /** The value itself where there were none. */
  readonly left: JsonObject
}

/**
 * What a list says without the nulls that serialisers write for what is not there.
 * @param depth how far down to look, in members
 */
export const withoutNulls = (value: JsonObject, meter: Meter, depth = Infinity): Cleared => {
  const search = new Search(meter)
  return { left: search.object(value, 'member', depth), nulls: search.nulls }
}

/** Every listed tool is looked through, and nearly all hold none: nothing is copied before one is found. */
class Search {
  readonly nulls: Path[] = []
  readonly #path: (string | number)[] = []

  constructor(readonly meter: Meter) {}

  object(value: JsonObject, kind: Kind, depth: number): JsonObject {
    const none = kind === 'member' ? members : keywords
    return this.#eachOf(value, (held, key) => (held === null && none.has(key) ? this.#none() : depth <= 1 ? held : this.#within(key, held, kind, depth - 1)))
  }

  /** @param left of a member; undefined where it goes */
  #eachOf(value: JsonObject, left: (held: Json, key: string) => Json | undefined): JsonObject {
    let changes: Map<string, Json | undefined> | undefined
    for (const [key, held] of each(value, this.meter)) {
      this.#path.push(key)
      const made = left(held, key)
      if (made !== held) (changes ??= new Map()).set(key, made)
      this.#path.pop()
    }
    const made = changes
    return made === undefined ? value : mapped(value, this.meter, (held, key) => (made.has(key) ? made.get(key) : held))
  }

  #none(): undefined {
    if (this.nulls.length < maxProblems) this.nulls.push([...this.#path])
  }

  /** What stands below a member or keyword; names, data and what is of nobody's knowledge stay as they are. */
  #within(key: string, value: Json, kind: Kind, depth: number): Json {
    if (kind === 'member') {
      const isSchema = key === 'inputSchema' || key === 'outputSchema'
      return key === '_meta' ? value : this.#any(value, isSchema ? 'keyword' : 'member', depth)
    }
    const schemas = schemasIn(key)
    if (schemas === undefined) return value
    return schemas === 'members' && isObject(value) ? this.#eachOf(value, held => this.#any(held, kind, depth)) : this.#any(value, kind, depth)
  }

  #any(value: Json, kind: Kind, depth: number): Json {
    if (isObject(value)) return this.object(value, kind, depth)
    if (!isArray(value)) return value
    const left = mapped(value, this.meter, (item, index) => {
      this.#path.push(index)
      const made = this.#any(item, kind, depth)
      this.#path.pop()
      return made
    })
    return left.every((item, index) => item === value[index]) ? value : left
  }
}
