import { canonical, sha256 } from '../canonical.js'
import {
  each, equal, isArray, isObject, isString, member, Meter, parseJson, weigh, withMembers, type Json,
  type JsonArray, type JsonObject,
} from '../protocol/json.js'
import { jsonSchemaKeywords, schemasIn } from '../protocol/json-schema.js'
import type { Definitions, Offer, Part } from './offer.js'

/** The classes of change, and what each is called. What a class means for who calls the tool is the policy's affair. */
export const changeClasses = {
  /** Another command or URL, or another program under the same one. */
  command: 'command',
  /** Another version of the same package. */
  version: 'package version',
  serverInfo: 'server info',
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
  resources: 'resources',
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
  readonly of: 'server' | 'tool' | 'prompt' | 'resource' | 'resource template'
  /** Its name, URI or URI template; of a tool that was renamed, the old name. Empty for the server. */
  readonly name: string
  /** Whose clients see it; undefined: all. */
  readonly era?: 'legacy' | 'modern'
}

/** For what the operator asked for: nobody waits for another frame. */
const free = new Meter(undefined, Infinity)

/**
 * What differs between two offers, field by field. The order of keys, white space, the spelling of numbers, and the order of
 * lists that are sets by their meaning (`required`) are no difference; the order of any other list within a definition is one.
 */
export const compareOffers = (before: Offer, after: Offer): readonly Change[] => [
  ...changes('server', '', values('serverInfo'), aboutOf(before), aboutOf(after)),
  ...changes('server', '', values('instructions'), { instructions: before.instructions.get('') }, { instructions: after.instructions.get('') }),
  ...compareAllTools(before.tools, after.tools),
  ...compareAll('prompt', 'prompts', before, after),
  ...compareAll('resource', 'resources', before, after),
  ...compareAll('resource template', 'resourceTemplates', before, after),
]

const aboutOf = ({ serverInfo }: Offer): Json => ({ serverInfo: serverInfo.get('') ?? {} })

/** What differs between two identities: who the server is, in the operator's words. */
export const compareIdentities = (before: JsonObject, after: JsonObject): readonly Change[] => {
  const found = changes('server', '', values('command'), before, after)
  const [was, is] = [packaged(before), packaged(after)]
  const isOtherVersion = was !== undefined && is !== undefined && was.version !== is.version && isSame(was.rest, is.rest)
  return isOtherVersion ? found.map(one => ({ ...one, class: 'version' })) : found
}

/** The version of an identity's package, and all that is the same for every version; undefined where it has none. */
const packaged = (identity: JsonObject): { readonly version: string; readonly rest: JsonObject } | undefined => {
  const [command, its] = [member(identity, 'command'), member(identity, 'package')]
  if (!isString(command) || !isObject(its)) return undefined
  const [name, version] = [member(its, 'name'), member(its, 'version')]
  if (!isString(name) || !isString(version)) return undefined
  const spellings = [`${name}@${version}`, `${name}==${version}`]
  const words = command.split(' ').map(word => (spellings.includes(word) ? name : word))
  return { version, rest: { ...identity, command: words, package: [name, member(its, 'from') ?? null] } }
}

/** What differs between two definitions of one tool. */
export const compareTools = (before: Json, after: Json, meter = free): readonly Difference[] => differences(tool, before, after, meter)

/** Whether a prompt, a resource, a template, or what the server says of itself is the same. */
export const isSame = (before: Json | undefined, after: Json | undefined, meter = free): boolean => {
  meter.pay(1)
  if (before === after) return true
  const inner = pairs(before, after, meter)
  return inner !== undefined && inner.every(([, one, other]) => isSame(one, other, meter))
}

/** The same of all definitions that say the same but for the name: by it a tool is found again that was renamed. */
export const bodyDigest = (definition: Json, meter = free): string => {
  meter.pay(weigh(definition) >> 6)
  const body = isObject(definition) ? withMembers(definition, { name: null }, meter) : definition
  return sha256(canonical(parseJson(JSON.stringify(body, (key, value: Json) => (setKeywords.has(key) && isArray(value) ? sortedTexts(value, meter) : value)))))
}

const compareAllTools = (before: Definitions, after: Definitions): readonly Change[] => {
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
const renames = (before: Definitions, after: Definitions): ReadonlyMap<string, string> => {
  const names = new Map<string, string>()
  const gone = [...before].filter(([name]) => !after.has(name))
  const added = [...after].filter(([name]) => !before.has(name))
  if (gone.length === 0 || added.length === 0) return names
  const unused = new Map<string, string[]>()
  for (const [name, definition] of added) {
    const digest = bodyDigest(definition)
    unused.set(digest, [...(unused.get(digest) ?? []), name])
  }
  for (const [name, definition] of gone) {
    const newName = unused.get(bodyDigest(definition))?.shift()
    if (newName !== undefined) names.set(name, newName)
  }
  return names
}

const compareAll = (of: Change['of'], kind: ChangeClass & Part, { [kind]: before }: Offer, { [kind]: after }: Offer): readonly Change[] =>
  [...new Set([...before.keys(), ...after.keys()])].flatMap(name => changes(of, name, values(kind), before.get(name), after.get(name)))

const changes = (of: Change['of'], name: string, walk: Walk, before: Json | undefined, after: Json | undefined): readonly Change[] =>
  differences(walk, before, after, free).map(difference => ({ ...difference, of, name }))

/** Differences of one thing that are told; beyond them, the first of each class, so that none goes unseen. */
const most = 1000

const differences = (walk: Walk, before: Json | undefined, after: Json | undefined, meter: Meter): readonly Difference[] => {
  if (equal(before, after)) return []
  const found: Difference[] = []
  const classes = new Set<ChangeClass>()
  const tell = (difference: Difference) => {
    if (found.length >= most && classes.has(difference.class)) return
    classes.add(difference.class)
    found.push(difference)
  }
  walk(before, after, [], tell, meter)
  return found
}

/** Goes through two values side by side, and tells where they part. */
type Walk = (before: Json | undefined, after: Json | undefined, path: Path, tell: (difference: Difference) => void, meter: Meter) => void

/** @param into by what a member is compared; the elements of a list are compared as the list is */
const walking = (kind: ChangeClass, into: (key: string) => Walk): Walk => {
  const walk: Walk = (before, after, path, tell, meter) => {
    const inner = pairs(before, after, meter)
    if (inner !== undefined) {
      for (const [key, one, other] of inner) (isString(key) ? into(key) : walk)(one, other, [...path, key], tell, meter)
    } else if (before !== after && !isSame(before, after, meter)) tell({ class: kind, path, before, after })
  }
  return walk
}

/** What stands in two values at the same places; undefined for what can only be compared whole, as lists of other lengths are. */
const pairs = (
  before: Json | undefined, after: Json | undefined, meter: Meter,
): readonly (readonly [string | number, Json | undefined, Json | undefined])[] | undefined => {
  if (isObject(before) && isObject(after)) {
    const keys = new Set([...each(before, meter), ...each(after, meter)].map(([key]) => key))
    return [...keys].map(key => [key, member(before, key), member(after, key)])
  }
  if (!isArray(before) || !isArray(after)) return undefined
  const [one, other] = [[...each(before, meter)], [...each(after, meter)]]
  return one.length === other.length ? one.map(([index, element]) => [index, element, other[index]?.[1]]) : undefined
}

/** Down to the values themselves. */
const values = (kind: ChangeClass): Walk => {
  const walk: Walk = walking(kind, () => walk)
  return walk
}

const text = values('text')

/** Keywords whose list means the same in any order: some servers write them from sets, in another order at each start. */
const setKeywords: ReadonlySet<string> = new Set(['required', 'enum', 'type'])

/** A list whose order means nothing. */
const unordered = (kind: ChangeClass): Walk => (before, after, path, tell, meter) => {
  const areSame = isArray(before) && isArray(after) && isSame(sortedTexts(before, meter), sortedTexts(after, meter), meter)
  if (!areSame) values(kind)(before, after, path, tell, meter)
}

const sortedTexts = (list: JsonArray, meter: Meter): readonly string[] =>
  [...each(list, meter)].map(([, element]) => {
    const text = canonical(element)
    meter.payText(text)
    return text
  }).sort()

const schema = (kind: ChangeClass): Walk => {
  // A member may be a list of names (dependencies, dependentRequired).
  const member: Walk = (before, after, ...rest) => (isArray(before) || isArray(after) ? unordered(kind) : walk)(before, after, ...rest)
  const named: Walk = walking(kind, () => member)
  const walk: Walk = walking(kind, keyword => {
    if (jsonSchemaKeywords.get(keyword)?.asserts === 'text') return text
    if (setKeywords.has(keyword)) return unordered(kind)
    const schemas = keyword === 'dependentRequired' ? 'members' : schemasIn(keyword)
    return schemas === 'members' ? named : schemas === 'value' ? walk : values(kind)
  })
  return walk
}

/** What a hint has to be for a promise; whatever else it is, and where it is not there, it promises nothing (schema.json, ToolAnnotations). */
const promises: ReadonlyMap<string, boolean> = new Map([
  ['readOnlyHint', true], ['destructiveHint', false], ['idempotentHint', true], ['openWorldHint', false],
])

const hint = (name: string): Walk => (before, after, path, tell, meter) => {
  const promise = promises.get(name)
  const understood = after === undefined || typeof after === 'boolean'
  const weakened = promise === undefined || !understood || (before === promise && after !== promise)
  if (!isSame(before, after, meter)) tell({ class: weakened ? 'annotationsWeakened' : 'annotationsStrengthened', path, before, after })
}

const hints = walking('annotationsWeakened', name => (name === 'title' ? text : hint(name)))

/** Where there are none at all, none of the hints is said. */
const annotations: Walk = (before, after, path, tell, meter) => {
  if (!isSame(before ?? {}, after ?? {}, meter)) hints(before ?? {}, after ?? {}, path, tell, meter)
  else if (!isSame(before, after, meter)) tell({ class: 'annotationsStrengthened', path, before, after })
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
