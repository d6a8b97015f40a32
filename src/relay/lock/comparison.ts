import { canonical } from '#relay/base/canonical.js'
import {
  each, equal, isArray, isObject, isString, member, Meter, type Json, type JsonArray,
} from '#relay/protocol/json.js'
import { jsonSchemaKeywords, schemasIn } from '#relay/protocol/json-schema.js'

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

/** For commands of the operator, which compare without a limit: no message waits for them. */
export const unmeteredChanges = new Meter(undefined, Infinity)

const isSame = (before: Json | undefined, after: Json | undefined, meter: Meter): boolean =>
  equal(before, after, steps => meter.pay(steps))

/** Most differences listed of one definition. After that, only a class not seen before is listed. */
const maxDifferences = 1000

export const differences = (
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
export type Comparison = (
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
export const compareValues = (kind: ChangeClass): Comparison => {
  const comparison: Comparison = compareMembers(kind, () => comparison)
  return comparison
}

const text = compareValues('text')

/** Keywords whose list is a set: some servers list it in another order at each start. */
export const setKeywords: ReadonlySet<string> = new Set(['required', 'enum', 'type'])

/** Compares lists as sets. */
const compareAsSet = (kind: ChangeClass): Comparison => (before, after, path, report, meter) => {
  const areSame =
    isArray(before) && isArray(after) && isSame(sortedTexts(before, meter), sortedTexts(after, meter), meter)
  if (!areSame) compareValues(kind)(before, after, path, report, meter)
}

export const sortedTexts = (list: JsonArray, meter: Meter): readonly string[] =>
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

/** Compares the definitions of a tool. */
export const compareTool = compareMembers('other', name => members.get(name) ?? compareValues('other'))
