import { canonical, sha256 } from '#canonical.js'
import {
  each, equal, isArray, isObject, isString, member, Meter, parseJson, weigh, withMembers, type Json,
  type JsonArray, type JsonObject,
} from '#protocol/json.js'
import { jsonSchemaKeywords, schemasIn } from '#protocol/json-schema.js'
import type { Definitions, Offer, Part } from './offer.js'

/** The classes of change and their names in reports. `decide` maps classes to actions. */
export const changeClasses = {
  /** Another command, package or URL, or other bytes under the same version of a package. */
  command: 'command',
  /** Another version of the same package, or another digest of the same program or image. */
  version: 'version',
  serverInfo: 'server info',
  instructions: 'instructions',
  added: 'added',
  removed: 'removed',
  renamed: 'renamed',
  /** `title`, `description` and the like of a tool and of everything in its schemas. */
  text: 'text',
  inputSchema: 'input schema',
  outputSchema: 'output schema',
  /** An annotation promises less than before, or is unknown. */
  annotationsWeakened: 'annotations weakened',
  annotationsStrengthened: 'annotations strengthened',
  icons: 'icons',
  meta: '_meta',
  /** Any other member of a tool: `execution`, or one that no revision of MCP defines. */
  other: 'other member',
  prompts: 'prompts',
  resources: 'resources',
  resourceTemplates: 'resource templates',
} as const

export type ChangeClass = keyof typeof changeClasses

type Path = readonly (string | number)[]

/** A value that has changed. */
export interface Difference {
  readonly class: ChangeClass
  /** The keys and indices that lead to the value; empty for the whole definition. */
  readonly path: Path
  /** Undefined when the value was added or removed. */
  readonly before: Json | undefined
  readonly after: Json | undefined
}

/** A difference, and the part of the offer that it belongs to. */
export interface Change extends Difference {
  readonly of: 'server' | 'tool' | 'prompt' | 'resource' | 'resource template'
  /** The name, URI or URI template; the old name of a renamed tool; empty for the server. */
  readonly name: string
  /** The era whose clients see the change; undefined: both. */
  readonly era?: 'legacy' | 'modern'
}

/** Commands of the operator are not metered: no frame waits for them. */
const free = new Meter(undefined, Infinity)

/**
 * The differences between two offers, field by field. The order of keys, white space, the spelling of
 * numbers, and the order of lists that mean sets (`required`) do not count; the order of any other list does.
 */
export const compareOffers = (before: Offer, after: Offer): readonly Change[] => [
  ...changes('server', '', values('serverInfo'), aboutOf(before), aboutOf(after)),
  ...changes('server', '', values('instructions'), instructionsOf(before), instructionsOf(after)),
  ...compareAllTools(before.tools, after.tools),
  ...compareAll('prompt', 'prompts', before, after),
  ...compareAll('resource', 'resources', before, after),
  ...compareAll('resource template', 'resourceTemplates', before, after),
]

const instructionsOf = ({ instructions }: Offer): Json => ({ instructions: instructions.get('') })

const aboutOf = ({ serverInfo }: Offer): Json => ({ serverInfo: serverInfo.get('') ?? {} })

/** The differences between two identities, which say how the operator starts or reaches the server. */
export const compareIdentities = (before: JsonObject, after: JsonObject): readonly Change[] => {
  const found = changes('server', '', values('command'), before, after)
  const [was, is] = [unversioned(before), unversioned(after)]
  // A registry never changes the archive of a version.
  const isOtherArchive =
    was.version !== undefined && was.version === is.version && !isSame(was.archive, is.archive)
  const isOtherVersion = !isOtherArchive && isSame(was.rest, is.rest)
  const isSameVersion = was.version !== undefined && was.version === is.version &&
    isSame(member(before, 'sha256'), member(after, 'sha256'))
  // The command names the version that was accepted, or names it no more.
  if (isOtherVersion && isSameVersion) return []
  return isOtherVersion ? found.map(one => ({ ...one, class: 'version' })) : found
}

/** The version of an identity's package, its archive, and the rest, which all versions share. */
const unversioned = (identity: JsonObject): {
  readonly version: Json | undefined; readonly archive: Json | undefined; readonly rest: JsonObject
} => {
  const [command, its] = [member(identity, 'command'), member(identity, 'package')]
  const [sha256, known] = [member(identity, 'sha256'), isObject(its) ? its : undefined]
  const [name, version] = [member(known, 'name'), member(known, 'version')]
  const spellings = isString(name) && isString(version) ? [`${name}@${version}`, `${name}==${version}`] : []
  const image = isString(sha256) ? `@sha256:${sha256}` : ''
  const words = isString(command)
    ? command.split(' ').map(word => (spellings.includes(word) ? name ?? word : word.replace(image, '')))
    : null
  return {
    version, archive: member(known, 'integrity'),
    rest: {
      ...identity, command: words, sha256: sha256 !== undefined,
      package: known === undefined ? null : [name ?? null, member(known, 'from') ?? null],
    },
  }
}

/** The differences between two definitions of one tool. */
export const compareTools = (before: Json, after: Json, meter = free): readonly Difference[] =>
  differences(tool, before, after, meter)

/** Whether two JSON values are equal. */
export const isSame = (before: Json | undefined, after: Json | undefined, meter = free): boolean => {
  meter.pay(1)
  if (before === after) return true
  const inner = pairs(before, after, meter)
  return inner !== undefined && inner.every(([, one, other]) => isSame(one, other, meter))
}

/** A digest of a definition without its name, by which a renamed tool is recognised. */
export const bodyDigest = (definition: Json, meter = free): string => {
  meter.pay(weigh(definition) >> 6)
  const body = isObject(definition) ? withMembers(definition, { name: null }, meter) : definition
  const sortSets = (key: string, value: Json) =>
    setKeywords.has(key) && isArray(value) ? sortedTexts(value, meter) : value
  return sha256(canonical(parseJson(JSON.stringify(body, sortSets))))
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
  return [...known, ...added.flatMap(([name, definition]) => changes(
    'tool', name, values('added'), undefined, definition,
  ))]
}

/** Old names and new ones: a missing tool and an added tool with the same body are one renamed tool. */
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

const compareAll = (
  of: Change['of'], kind: ChangeClass & Part, { [kind]: before }: Offer, { [kind]: after }: Offer,
): readonly Change[] =>
  [...new Set([...before.keys(), ...after.keys()])]
    .flatMap(name => changes(of, name, values(kind), before.get(name), after.get(name)))

const changes = (
  of: Change['of'], name: string, walk: Walk, before: Json | undefined, after: Json | undefined,
): readonly Change[] =>
  differences(walk, before, after, free).map(difference => ({ ...difference, of, name }))

/** Differences of one definition that are listed; beyond them, only the first one of each class. */
const maxDifferences = 1000

const differences = (
  walk: Walk, before: Json | undefined, after: Json | undefined, meter: Meter,
): readonly Difference[] => {
  if (equal(before, after)) return []
  const found: Difference[] = []
  const classes = new Set<ChangeClass>()
  const report = (difference: Difference) => {
    if (found.length >= maxDifferences && classes.has(difference.class)) return
    classes.add(difference.class)
    found.push(difference)
  }
  walk(before, after, [], report, meter)
  return found
}

/** Compares two values, and reports each difference. */
type Walk = (
  before: Json | undefined, after: Json | undefined, path: Path, report: (difference: Difference) => void,
  meter: Meter,
) => void

/** @param into how a member is compared; the elements of a list are compared as the list itself */
const walking = (kind: ChangeClass, into: (key: string) => Walk): Walk => {
  const walk: Walk = (before, after, path, report, meter) => {
    const inner = pairs(before, after, meter)
    if (inner !== undefined) {
      for (const [key, one, other] of inner) {
        const walkOne = isString(key) ? into(key) : walk
        walkOne(one, other, [...path, key], report, meter)
      }
    } else if (before !== after && !isSame(before, after, meter)) report({ class: kind, path, before, after })
  }
  return walk
}

/**
 * The members or elements of two values in pairs; undefined for values that are compared whole, such as lists
 * of different lengths.
 */
const pairs = (
  before: Json | undefined, after: Json | undefined, meter: Meter,
): readonly (readonly [string | number, Json | undefined, Json | undefined])[] | undefined => {
  if (isObject(before) && isObject(after)) {
    const keys = new Set([...each(before, meter), ...each(after, meter)].map(([key]) => key))
    return [...keys].map(key => [key, member(before, key), member(after, key)])
  }
  if (!isArray(before) || !isArray(after)) return undefined
  const [one, other] = [[...each(before, meter)], [...each(after, meter)]]
  return one.length === other.length
    ? one.map(([index, element]) => [index, element, other[index]?.[1]])
    : undefined
}

/** Compares members and elements down to single values. */
const values = (kind: ChangeClass): Walk => {
  const walk: Walk = walking(kind, () => walk)
  return walk
}

const text = values('text')

/** Keywords whose list is a set: some servers list it in another order at each start. */
const setKeywords: ReadonlySet<string> = new Set(['required', 'enum', 'type'])

/** Compares lists as sets. */
const unordered = (kind: ChangeClass): Walk => (before, after, path, report, meter) => {
  const areSame =
    isArray(before) && isArray(after) && isSame(sortedTexts(before, meter), sortedTexts(after, meter), meter)
  if (!areSame) values(kind)(before, after, path, report, meter)
}

const sortedTexts = (list: JsonArray, meter: Meter): readonly string[] =>
  [...each(list, meter)].map(([, element]) => {
    const text = canonical(element)
    meter.payText(text)
    return text
  }).sort()

const schema = (kind: ChangeClass): Walk => {
  // In dependencies and dependentRequired, a member may be a list of names.
  const member: Walk = (before, after, ...rest) =>
    (isArray(before) || isArray(after) ? unordered(kind) : walk)(before, after, ...rest)
  const named: Walk = walking(kind, () => member)
  const walk: Walk = walking(kind, keyword => {
    if (jsonSchemaKeywords.get(keyword)?.asserts === 'text') return text
    if (setKeywords.has(keyword)) return unordered(kind)
    const schemas = keyword === 'dependentRequired' ? 'members' : schemasIn(keyword)
    return schemas === 'members' ? named : schemas === 'value' ? walk : values(kind)
  })
  return walk
}

/**
 * The value with which a hint is a promise; with any other value, or none, it promises nothing
 * (ToolAnnotations).
 */
const promises: ReadonlyMap<string, boolean> = new Map([
  ['readOnlyHint', true], ['destructiveHint', false], ['idempotentHint', true], ['openWorldHint', false],
])

const hint = (name: string): Walk => (before, after, path, report, meter) => {
  const promise = promises.get(name)
  const understood = after === undefined || typeof after === 'boolean'
  const weakened = promise === undefined || !understood || (before === promise && after !== promise)
  if (isSame(before, after, meter)) return
  report({ class: weakened ? 'annotationsWeakened' : 'annotationsStrengthened', path, before, after })
}

const hints = walking('annotationsWeakened', name => (name === 'title' ? text : hint(name)))

/** Missing annotations are compared as annotations without any hint. */
const annotations: Walk = (before, after, path, report, meter) => {
  if (!isSame(before ?? {}, after ?? {}, meter)) hints(before ?? {}, after ?? {}, path, report, meter)
  else if (!isSame(before, after, meter)) report({ class: 'annotationsStrengthened', path, before, after })
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
