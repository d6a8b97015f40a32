import { hash } from 'node:crypto'
import { equal, isArray, isObject, isString, member, type Json, type JsonObject } from '../protocol/json.js'
import { jsonSchemaKeywords, schemasIn } from '../protocol/json-schema.js'

/** What a server offers, as it was accepted or as it is listed now. The order of a list says nothing. */
export interface Catalogue {
  /** Who it is, in whatever words are to be compared: the operator's in a lock, for what a server says of itself proves nothing. */
  readonly identity: JsonObject
  readonly instructions: string | undefined
  /** By name. */
  readonly tools: ReadonlyMap<string, Json>
  readonly prompts: ReadonlyMap<string, Json>
  /** By URI template. */
  readonly resourceTemplates: ReadonlyMap<string, Json>
}

/** The classes of change, and what each is called. What a class means for who calls the tool is the policy's affair. */
export const changeClasses = {
  identity: 'identity',
  instructions: 'instructions',
  added: 'added',
  removed: 'removed',
  renamed: 'renamed',
  /** `title`, `description` and the like of a tool and of everything in its schemas. */
  text: 'text',
  inputSchema: 'input schema',
  outputSchema: 'output schema',
  /** It promises less than before, or something that is not understood. */
  annotationsWeakened: 'annotations weakened',
  annotationsStrengthened: 'annotations strengthened',
  icons: 'icons',
  meta: '_meta',
  /** Of a tool, what no revision knows, or `execution`. */
  other: 'other member',
  prompts: 'prompts',
  resourceTemplates: 'resource templates',
} as const

export type ChangeClass = keyof typeof changeClasses

type Path = readonly (string | number)[]

/** One value that is not what it was. */
export interface Difference {
  readonly class: ChangeClass
  /** The keys and indices that lead to it, in the definition or the identity; empty for the whole. */
  readonly path: Path
  /** Undefined where there was, or is, nothing. */
  readonly before: Json | undefined
  readonly after: Json | undefined
}

/** A difference, and what it is a difference of. */
export interface Change extends Difference {
  readonly of: 'server' | 'tool' | 'prompt' | 'resource template'
  /** Its name, or URI template; of a tool that was renamed, the old name. Empty for the server. */
  readonly name: string
}

/**
 * What differs between two catalogues, field by field. The order of keys, white space and the spelling of numbers are no
 * difference; the order of a list within a definition is one.
 */
export const compare = (before: Catalogue, after: Catalogue): readonly Change[] => [
  ...changes('server', '', values('identity'), before.identity, after.identity),
  ...changes('server', '', values('instructions'), { instructions: before.instructions }, { instructions: after.instructions }),
  ...compareAllTools(before.tools, after.tools),
  ...compareAll('prompt', 'prompts', before.prompts, after.prompts),
  ...compareAll('resource template', 'resourceTemplates', before.resourceTemplates, after.resourceTemplates),
]

/** What differs between two definitions of one tool. */
export const compareTools = (before: Json, after: Json): readonly Difference[] => differences(tool, before, after)

/** The same of all definitions that say the same but for the name: by it a tool is found again that was renamed. */
export const bodyDigest = (definition: Json): string => {
  const body = isObject(definition) ? { ...definition, name: null } : definition
  return hash('sha256', JSON.stringify(body, (_key, value: Json) => (isObject(value) ? sorted(value) : value)))
}

const sorted = (object: JsonObject): JsonObject => Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)))

const compareAllTools = (before: Catalogue['tools'], after: Catalogue['tools']): readonly Change[] => {
  const newNames = renames(before, after)
  const known = [...before].flatMap(([name, definition]) => {
    const now = after.get(name)
    if (now !== undefined) return changes('tool', name, tool, definition, now)
    const newName = newNames.get(name)
    return newName === undefined
      ? changes('tool', name, values('removed'), definition, undefined)
      : changes('tool', name, values('renamed'), name, newName)
  })
  const found = new Set(newNames.values())
  const added = [...after].filter(([name]) => !before.has(name) && !found.has(name))
  return [...known, ...added.flatMap(([name, definition]) => changes('tool', name, values('added'), undefined, definition))]
}

/** New names by old ones: of tools that are gone, and whose body stands under a name that was not there. */
const renames = (before: Catalogue['tools'], after: Catalogue['tools']): ReadonlyMap<string, string> => {
  const names = new Map<string, string>()
  const gone = [...before].filter(([name]) => !after.has(name))
  const added = [...after].filter(([name]) => !before.has(name))
  if (gone.length === 0 || added.length === 0) return names
  const free = new Map<string, string[]>()
  for (const [name, definition] of added) {
    const digest = bodyDigest(definition)
    free.set(digest, [...(free.get(digest) ?? []), name])
  }
  for (const [name, definition] of gone) {
    const newName = free.get(bodyDigest(definition))?.shift()
    if (newName !== undefined) names.set(name, newName)
  }
  return names
}

const compareAll = (
  of: Change['of'], kind: ChangeClass, before: ReadonlyMap<string, Json>, after: ReadonlyMap<string, Json>,
): readonly Change[] =>
  [...new Set([...before.keys(), ...after.keys()])].flatMap(name => changes(of, name, values(kind), before.get(name), after.get(name)))

const changes = (of: Change['of'], name: string, walk: Walk, before: Json | undefined, after: Json | undefined): readonly Change[] =>
  differences(walk, before, after).map(difference => ({ ...difference, of, name }))

/** Differences of one thing that are told; beyond them, the first of each class, so that none goes unseen. */
const most = 1000

const differences = (walk: Walk, before: Json | undefined, after: Json | undefined): readonly Difference[] => {
  if (equal(before, after)) return []
  const found: Difference[] = []
  const classes = new Set<ChangeClass>()
  walk(before, after, [], difference => {
    if (found.length >= most && classes.has(difference.class)) return
    classes.add(difference.class)
    found.push(difference)
  })
  return found
}

/** Goes through two values side by side, and tells where they part. */
type Walk = (before: Json | undefined, after: Json | undefined, path: Path, tell: (difference: Difference) => void) => void

/** @param into by what a member is compared; the elements of a list are compared as the list is */
const walking = (kind: ChangeClass, into: (key: string) => Walk): Walk => {
  const walk: Walk = (before, after, path, tell) => {
    const inner = pairs(before, after)
    if (inner !== undefined) {
      for (const [key, one, other] of inner) (isString(key) ? into(key) : walk)(one, other, [...path, key], tell)
    } else if (!equal(before, after)) tell({ class: kind, path, before, after })
  }
  return walk
}

/** What stands in two values at the same places; undefined for what can only be compared whole, as lists of other lengths are. */
const pairs = (before: Json | undefined, after: Json | undefined): readonly (readonly [string | number, Json | undefined, Json | undefined])[] | undefined => {
  if (isObject(before) && isObject(after)) {
    return [...new Set([...Object.keys(before), ...Object.keys(after)])].map(key => [key, member(before, key), member(after, key)])
  }
  if (!isArray(before) || !isArray(after) || before.length !== after.length) return undefined
  return before.map((element, index) => [index, element, after[index]])
}

/** Down to the values themselves. */
const values = (kind: ChangeClass): Walk => {
  const walk: Walk = walking(kind, () => walk)
  return walk
}

const text = values('text')

const schema = (kind: ChangeClass): Walk => {
  const named: Walk = walking(kind, () => walk)
  const walk: Walk = walking(kind, keyword => {
    if (jsonSchemaKeywords.get(keyword)?.asserts === 'text') return text
    const schemas = schemasIn(keyword)
    return schemas === 'members' ? named : schemas === 'value' ? walk : values(kind)
  })
  return walk
}

/** What a hint has to be for a promise; whatever else it is, and where it is not there, it promises nothing (schema.json, ToolAnnotations). */
const promises: ReadonlyMap<string, boolean> = new Map([
  ['readOnlyHint', true], ['destructiveHint', false], ['idempotentHint', true], ['openWorldHint', false],
])

const hint = (name: string): Walk => (before, after, path, tell) => {
  const promise = promises.get(name)
  const understood = after === undefined || typeof after === 'boolean'
  const weakened = promise === undefined || !understood || (before === promise && after !== promise)
  if (!equal(before, after)) tell({ class: weakened ? 'annotationsWeakened' : 'annotationsStrengthened', path, before, after })
}

const hints = walking('annotationsWeakened', name => (name === 'title' ? text : hint(name)))

/** Where there are none at all, none of the hints is said. */
const annotations: Walk = (before, after, path, tell) => {
  if (!equal(before ?? {}, after ?? {})) hints(before ?? {}, after ?? {}, path, tell)
  else if (!equal(before, after)) tell({ class: 'annotationsStrengthened', path, before, after })
}

const members: ReadonlyMap<string, Walk> = new Map([
  ['name', values('renamed')],
  ['title', text],
  ['description', text],
  ['inputSchema', schema('inputSchema')],
  ['outputSchema', schema('outputSchema')],
  ['annotations', annotations],
  ['icons', values('icons')],
  ['_meta', values('meta')],
])

const tool = walking('other', name => members.get(name) ?? values('other'))
