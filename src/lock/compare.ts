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

/** A difference, and the part of the server's offer in which it is. */
export interface Change extends Difference {
  readonly part: 'server' | 'tool' | 'prompt' | 'resource' | 'resource template'
  /** The name, URI or URI template; the old name of a renamed tool; empty for the server. */
  readonly name: string
  /** The era whose clients see the change; undefined: both. */
  readonly era?: 'legacy' | 'modern'
}

/** For commands of the operator, which compare without a limit: no message waits for them. */
const unmetered = new Meter(undefined, Infinity)

/**
 * The differences between two offers, field by field. The order of keys, white space, the spelling of
 * numbers, and the order of lists that mean sets (`required`) do not count; the order of any other list does.
 */
export const compareOffers = (before: Offer, after: Offer): readonly Change[] => [
  ...changes('server', '', compareValues('serverInfo'), aboutOf(before), aboutOf(after)),
  ...changes('server', '', compareValues('instructions'), instructionsOf(before), instructionsOf(after)),
  ...compareAllTools(before.tools, after.tools),
  ...compareAll('prompt', 'prompts', before, after),
  ...compareAll('resource', 'resources', before, after),
  ...compareAll('resource template', 'resourceTemplates', before, after),
]

const instructionsOf = ({ instructions }: Offer): Json => ({ instructions: instructions.get('') })

const aboutOf = ({ serverInfo }: Offer): Json => ({ serverInfo: serverInfo.get('') ?? {} })

/** The differences between two identities, which say how the operator starts or reaches the server. */
export const compareIdentities = (before: JsonObject, after: JsonObject): readonly Change[] => {
  const found = changes('server', '', compareValues('command'), before, after)
  const [was, is] = [splitIdentity(before), splitIdentity(after)]
  // The same version with another archive is no new version: a registry never changes one.
  const isOtherArchive =
    was.version !== undefined && was.version === is.version && !isSame(was.archive, is.archive)
  const differsInVersionAtMost = !isOtherArchive && isSame(was.rest, is.rest)
  const isSameVersion = was.version !== undefined && was.version === is.version &&
    isSame(member(before, 'sha256'), member(after, 'sha256'))
  // The package is the same: only the spelling of the accepted version in the command differs.
  if (differsInVersionAtMost && isSameVersion) return []
  return differsInVersionAtMost ? found.map(one => ({ ...one, class: 'version' })) : found
}

/** Splits an identity: version, archive, and the rest, which is equal for all versions. */
const splitIdentity = (identity: JsonObject): {
  readonly version: Json | undefined; readonly archive: Json | undefined; readonly rest: JsonObject
} => {
  const [command, sha256] = [member(identity, 'command'), member(identity, 'sha256')]
  const value = member(identity, 'package')
  const packageInfo = isObject(value) ? value : undefined
  const [name, version] = [member(packageInfo, 'name'), member(packageInfo, 'version')]
  const spellings = isString(name) && isString(version) ? [`${name}@${version}`, `${name}==${version}`] : []
  const image = isString(sha256) ? `@sha256:${sha256}` : ''
  const words = isString(command)
    ? command.split(' ').map(word => (spellings.includes(word) ? name ?? word : word.replace(image, '')))
    : null
  return {
    version, archive: member(packageInfo, 'integrity'),
    rest: {
      ...identity, command: words, sha256: sha256 !== undefined,
      package: packageInfo === undefined ? null : [name ?? null, member(packageInfo, 'from') ?? null],
    },
  }
}

/** The differences between two definitions of one tool. */
export const compareTools = (before: Json, after: Json, meter = unmetered): readonly Difference[] =>
  differences(tool, before, after, meter)

/** Whether two JSON values are equal. */
export const isSame = (before: Json | undefined, after: Json | undefined, meter = unmetered): boolean => {
  meter.pay(1)
  if (before === after) return true
  const inner = pairs(before, after, meter)
  return inner !== undefined && inner.every(([, one, other]) => isSame(one, other, meter))
}

/** A digest of a definition without its name, by which a renamed tool is recognised. */
export const bodyDigest = (definition: Json, meter = unmetered): string => {
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
      ? changes('tool', name, compareValues('removed'), definition, undefined)
      : changes('tool', name, compareValues('renamed'), name, newName)
  })
  const found = new Set(newNames.values())
  const added = [...after].filter(([name]) => !before.has(name) && !found.has(name))
  return [...known, ...added.flatMap(([name, definition]) => changes(
    'tool', name, compareValues('added'), undefined, definition,
  ))]
}

/** Maps old names to new ones. A missing and an added tool with equal bodies count as one renamed tool. */
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
  part: Change['part'], kind: ChangeClass & Part, { [kind]: before }: Offer, { [kind]: after }: Offer,
): readonly Change[] =>
  [...new Set([...before.keys(), ...after.keys()])]
    .flatMap(name => changes(part, name, compareValues(kind), before.get(name), after.get(name)))

const changes = (
  part: Change['part'], name: string, comparison: Comparison, before: Json | undefined,
  after: Json | undefined,
): readonly Change[] =>
  differences(comparison, before, after, unmetered).map(difference => ({ ...difference, part, name }))

/** Most differences listed of one definition. After that, only a class not seen before is listed. */
const maxDifferences = 1000

const differences = (
  comparison: Comparison, before: Json | undefined, after: Json | undefined, meter: Meter,
): readonly Difference[] => {
  if (equal(before, after)) return []
  const found: Difference[] = []
  const classes = new Set<ChangeClass>()
  const report = (difference: Difference) => {
    if (found.length >= maxDifferences && classes.has(difference.class)) return
    classes.add(difference.class)
    found.push(difference)
  }
  comparison(before, after, [], report, meter)
  return found
}

/** Compares two values, and reports each difference. */
type Comparison = (
  before: Json | undefined, after: Json | undefined, path: Path, report: (difference: Difference) => void,
  meter: Meter,
) => void

/**
 * @param into gives the comparison of a member by its key. The elements of a list use this comparison itself.
 */
const compareMembers = (kind: ChangeClass, into: (key: string) => Comparison): Comparison => {
  const comparison: Comparison = (before, after, path, report, meter) => {
    const inner = pairs(before, after, meter)
    if (inner !== undefined) {
      for (const [key, one, other] of inner) {
        const compareInner = isString(key) ? into(key) : comparison
        compareInner(one, other, [...path, key], report, meter)
      }
    } else if (before !== after && !isSame(before, after, meter)) report({ class: kind, path, before, after })
  }
  return comparison
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
const compareValues = (kind: ChangeClass): Comparison => {
  const comparison: Comparison = compareMembers(kind, () => comparison)
  return comparison
}

const text = compareValues('text')

/** Keywords whose list is a set: some servers list it in another order at each start. */
const setKeywords: ReadonlySet<string> = new Set(['required', 'enum', 'type'])

/** Compares lists as sets. */
const compareAsSet = (kind: ChangeClass): Comparison => (before, after, path, report, meter) => {
  const areSame =
    isArray(before) && isArray(after) && isSame(sortedTexts(before, meter), sortedTexts(after, meter), meter)
  if (!areSame) compareValues(kind)(before, after, path, report, meter)
}

const sortedTexts = (list: JsonArray, meter: Meter): readonly string[] =>
  [...each(list, meter)].map(([, element]) => {
    const text = canonical(element)
    meter.payText(text)
    return text
  }).sort()

const schema = (kind: ChangeClass): Comparison => {
  // In dependencies and dependentRequired, a member may be a list of names.
  const compareEntry: Comparison = (before, after, ...rest) =>
    (isArray(before) || isArray(after) ? compareAsSet(kind) : comparison)(before, after, ...rest)
  const compareMap: Comparison = compareMembers(kind, () => compareEntry)
  const comparison: Comparison = compareMembers(kind, keyword => {
    if (jsonSchemaKeywords.get(keyword)?.asserts === 'text') return text
    if (setKeywords.has(keyword)) return compareAsSet(kind)
    const schemas = keyword === 'dependentRequired' ? 'members' : schemasIn(keyword)
    return schemas === 'members' ? compareMap : schemas === 'value' ? comparison : compareValues(kind)
  })
  return comparison
}

/**
 * The value with which each hint promises something (ToolAnnotations). Every other value promises nothing.
 */
const promisingValues: ReadonlyMap<string, boolean> = new Map([
  ['readOnlyHint', true], ['destructiveHint', false], ['idempotentHint', true], ['openWorldHint', false],
])

const hint = (name: string): Comparison => (before, after, path, report, meter) => {
  const promise = promisingValues.get(name)
  const understood = after === undefined || typeof after === 'boolean'
  const weakened = promise === undefined || !understood || (before === promise && after !== promise)
  if (isSame(before, after, meter)) return
  report({ class: weakened ? 'annotationsWeakened' : 'annotationsStrengthened', path, before, after })
}

const hints = compareMembers('annotationsWeakened', name => (name === 'title' ? text : hint(name)))

/** Missing annotations are compared as annotations without any hint. */
const annotations: Comparison = (before, after, path, report, meter) => {
  if (!isSame(before ?? {}, after ?? {}, meter)) hints(before ?? {}, after ?? {}, path, report, meter)
  // Only an empty object was added or removed: no promise got weaker.
  else if (!isSame(before, after, meter)) report({ class: 'annotationsStrengthened', path, before, after })
}

const members: ReadonlyMap<string, Comparison> = new Map([
  ['name', compareValues('renamed')],
  ['title', text],
  ['description', text],
  ['inputSchema', schema('inputSchema')],
  ['outputSchema', schema('outputSchema')],
  ['annotations', annotations],
  ['icons', compareValues('icons')],
  ['_meta', compareValues('meta')],
])

const tool = compareMembers('other', name => members.get(name) ?? compareValues('other'))
