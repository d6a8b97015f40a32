import { canonical, sha256 } from '#relay/base/canonical.js'
import {
  equal, isArray, isObject, isString, member, parseJson, weigh, withMembers, type Json, type JsonObject,
} from '#relay/protocol/json.js'
import {
  type ChangeClass, compareTool, compareValues, type Comparison, type Difference, differences,
  setKeywords, sortedTexts, unmeteredChanges,
} from './comparison.js'
import type { Definitions, Offer, OfferPart } from './offer.js'

/** A difference, and the part of the server's offer in which it is. */
export interface Change extends Difference {
  readonly part: 'server' | 'tool' | 'prompt' | 'resource' | 'resource template'
  /** The name, URI or URI template; the old name of a renamed tool; empty for the server. */
  readonly name: string
  /** The era whose clients see the change; undefined: both. */
  readonly era?: 'legacy' | 'modern'
}

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
  // Another archive under the same version is not a new version: a registry never changes an archive.
  const isOtherArchive =
    was.version !== undefined && was.version === is.version && !equal(was.archive, is.archive)
  const differsInVersionAtMost = !isOtherArchive && equal(was.rest, is.rest)
  const isSameVersion = was.version !== undefined && was.version === is.version
    && equal(member(before, 'sha256'), member(after, 'sha256'))
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
export const compareTools = (before: Json, after: Json, meter = unmeteredChanges): readonly Difference[] =>
  differences(compareTool, before, after, meter)

/** A digest of a definition without its name, by which a renamed tool is recognised. */
export const bodyDigest = (definition: Json, meter = unmeteredChanges): string => {
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
    if (now !== undefined) return changes('tool', name, compareTool, definition, now)
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
  part: Change['part'], kind: ChangeClass & OfferPart, { [kind]: before }: Offer, { [kind]: after }: Offer,
): readonly Change[] =>
  [...new Set([...before.keys(), ...after.keys()])]
    .flatMap(name => changes(part, name, compareValues(kind), before.get(name), after.get(name)))

const changes = (
  part: Change['part'], name: string, comparison: Comparison, before: Json | undefined,
  after: Json | undefined,
): readonly Change[] =>
  differences(comparison, before, after, unmeteredChanges).map(difference => ({ ...difference, part, name }))
