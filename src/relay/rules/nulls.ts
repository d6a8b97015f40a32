import {
  isArray, isObject, keysOf, lengthOf, mapped, member, type Json, type JsonObject, type Meter,
} from '#relay/protocol/json.js'
import { jsonSchemaKeywords, schemasIn } from '#relay/protocol/json-schema.js'
import { metaPrefix } from '#relay/protocol/revisions/index.js'
import { hasString } from '#relay/protocol/unread.js'
import { maxProblems } from './problem.js'

/** Optional members of results and of listed values that may not be null in any revision. */
const members: ReadonlySet<string> = new Set([
  '_meta', 'annotations', 'arguments', 'audience', 'cacheScope', 'capabilities', 'description',
  'destructiveHint', 'execution', 'hasMore', 'icons', 'idempotentHint', 'inputRequests', 'instructions',
  'isError', 'lastModified', 'mimeType', 'nextCursor', 'openWorldHint', 'outputSchema', 'pollInterval',
  'priority', 'readOnlyHint', 'requestState', 'required', 'size', 'sizes', 'statusMessage', 'taskSupport',
  'theme', 'title', 'total', 'ttlMs', 'websiteUrl',
])

/** Members that are an object in every revision; PHP writes an empty one as `[]`. */
const objects: ReadonlySet<string> =
  new Set(['_meta', 'annotations', 'capabilities', 'execution', 'inputSchema', 'outputSchema', 'serverInfo'])

/** Members whose values are objects of the protocol, or lists of them; unknown ones are the server's own. */
const holders: ReadonlySet<string> = new Set([
  'annotations', 'arguments', 'completion', 'content', 'contents', 'execution', 'icons', 'messages', 'prompts',
  'resource', 'resources', 'resourceTemplates', 'serverInfo', 'task', 'tasks', 'tools',
])

/** Members whose values are not the protocol's. */
const data: ReadonlySet<string> = new Set(['structuredContent', 'toolResult'])

/** The same for a schema. A null `type` may mean the type null; for `const` and `default` null is a value. */
const keywords: ReadonlySet<string> =
  new Set([...jsonSchemaKeywords.keys()].filter(name => !['type', 'const', 'default'].includes(name)))

/** Capabilities whose members are not the protocol's. */
const foreign: ReadonlySet<string> = new Set(['experimental', 'extensions'])

const inMeta: ReadonlySet<string> = new Set([`${metaPrefix}serverInfo`])

/** Members of an object of the protocol, keywords of a schema, capabilities, or members of `_meta`. */
type Kind = 'member' | 'keyword' | 'capability' | 'meta'

type Path = readonly (string | number)[]

interface Fault {
  readonly path: Path
  readonly message: string
}

interface Tidied {
  /** The first places that were changed. */
  readonly faults: readonly Fault[]
  /** The same value when there were none. */
  readonly cleared: JsonObject
}

interface Scope {
  /** A member that is not searched. */
  readonly except?: string | undefined
  /** What is looked for: nulls that serialisers write for missing members, `[]` for `{}`. */
  readonly nulls?: boolean
  readonly arrays?: boolean
}

/** Removes nulls where no revision has them, and writes `{}` for an empty array where all have an object. */
export const tidied = (value: JsonObject, meter: Meter, scope: Scope): Tidied => {
  const search = new Search(meter, scope)
  return { cleared: search.object(value, 'member'), faults: search.faults }
}

/** Nearly no value has a fault: nothing is copied before one is found. */
class Search {
  readonly faults: Fault[] = []
  readonly #path: (string | number)[] = []

  constructor(readonly meter: Meter, readonly scope: Scope) {}

  object(value: JsonObject, kind: Kind): JsonObject {
    return this.#eachOf(value, (held, key) => {
      if (held === null) return this.scope.nulls === true && isNever(key, kind) ? this.#note(undefined) : held
      if (this.scope.arrays === true && isArray(held) && isObjectAt(key, kind)) {
        // Some servers list their tools among the capabilities.
        if (lengthOf(held) === 0 || kind === 'capability') return this.#note(emptyAt(key))
      }
      return key === this.scope.except ? held : this.#within(key, held, kind)
    })
  }

  /** @param cleared returns what is cleared of a member; undefined to remove it */
  #eachOf(value: JsonObject, cleared: (held: Json, key: string) => Json | undefined): JsonObject {
    let changes: Map<string, Json | undefined> | undefined
    for (const key of keysOf(value, this.meter)) {
      // A long string is not read.
      if (data.has(key) || hasString(value, key)) continue
      const held = member(value, key) ?? null
      this.#path.push(key)
      const made = cleared(held, key)
      if (made !== held) (changes ??= new Map()).set(key, made)
      this.#path.pop()
    }
    const made = changes
    if (made === undefined) return value
    return mapped(value, this.meter, (held, key) => (made.has(key) ? made.get(key) : held))
  }

  #note<Made extends JsonObject | undefined>(made: Made): Made {
    const message = made === undefined ? 'must not be null' : 'must be an object, not an array'
    if (this.faults.length < maxProblems) this.faults.push({ path: [...this.#path], message })
    return made
  }

  /** Searches the value of a member or keyword; names, data and unknown keywords stay. */
  #within(key: string, value: Json, kind: Kind): Json {
    if (kind === 'meta') return inMeta.has(key) ? this.#any(value, 'member') : value
    if (kind === 'capability') return foreign.has(key) ? value : this.#any(value, kind)
    const inner = kinds.get(key)
    if (kind === 'member') return inner || holders.has(key) ? this.#any(value, inner ?? kind) : value
    const schemas = schemasIn(key)
    if (schemas === undefined) return value
    if (schemas !== 'members' || !isObject(value)) return this.#any(value, kind)
    return this.#eachOf(value, held =>
      (this.scope.arrays === true && isArray(held) && lengthOf(held) === 0 && key !== 'dependencies'
        ? this.#note({})
        : this.#any(held, kind)))
  }

  #any(value: Json, kind: Kind): Json {
    if (isObject(value)) return this.object(value, kind)
    if (!isArray(value)) return value
    const cleared = mapped(value, this.meter, (item, index) => {
      this.#path.push(index)
      const made = this.#any(item, kind)
      this.#path.pop()
      return made
    })
    return cleared.every((item, index) => item === value[index]) ? value : cleared
  }
}

const kinds: ReadonlyMap<string, Kind> = new Map([
  ['inputSchema', 'keyword'], ['outputSchema', 'keyword'], ['capabilities', 'capability'], ['_meta', 'meta'],
])

const isNever = (key: string, kind: Kind): boolean =>
  kind === 'capability' || (kind === 'meta' ? inMeta : kind === 'keyword' ? keywords : members).has(key)

const isObjectAt = (key: string, kind: Kind): boolean => {
  if (kind === 'keyword') return schemasIn(key) === 'members' || key === 'dependentRequired'
  return kind === 'capability' || (kind === 'member' && objects.has(key))
}

const emptyAt = (key: string): JsonObject => (key.endsWith('Schema') ? { type: 'object' } : {})
