import { isArray, isObject, isString, member, type Json, type JsonObject } from '../protocol/json.js'
import { each, type Meter } from '../protocol/meter.js'
import { Places, type Link } from '../protocol/places.js'
import { traitsOf } from '../protocol/revision.js'
import type { ListedTool, Mend, Powers, Reading } from '../core/rule.js'
import { linkRule, most, nothing, one } from './problem.js'

// A client fetches what is named here: over the web's secure scheme, or not at all, when the picture is there already.
const secure = /^https:\/\//i
const secureOrHere = /^(?:https:\/\/|data:image\/)/i

const isHarmful = ({ kind, value }: Link): boolean => {
  if (kind === 'uri') return false
  const url = kind === 'icon' && isObject(value) ? member(value, 'src') : value
  return !isString(url) || !(kind === 'icon' ? secureOrHere : secure).test(url)
}

const problem = (link: Link) =>
  !isHarmful(link)
    ? nothing
    : one(link.path, link.kind === 'icon' ? 'src must be an https: or data:image/ URI' : 'must be an https: URL')

export const icon: Powers = {
  ...linkRule(['icon', 'website'], problem),
  onTool: (tool, meter) => linksOf(tool, meter).flatMap(problem).slice(0, most),
}

const linksOf = ({ definition = {}, path, revision }: ListedTool, meter: Meter): readonly Link[] => {
  const places = new Places(path, traitsOf(revision).modern, meter)
  return [...places.inTool(definition)].flatMap(thing => (thing?.kind === 'icon' ? [thing] : []))
}

const ofReading = ({ value, links }: Reading, meter: Meter): JsonObject => without(value, links, meter)

export const withoutHarmful: Mend = {
  isBlock: true,
  onTool: (tool, meter) => without(tool.definition ?? {}, linksOf(tool, meter), meter),
  onResult: ofReading,
  onReading: ofReading,
}

/** Steps on the way to what is removed; what it leads to is undefined at the end of a way. */
type Ways = Map<string | number, Ways | undefined>

const without = (value: JsonObject, links: readonly Link[], meter: Meter): JsonObject => {
  const ways: Ways = new Map()
  for (const link of links) if (isHarmful(link)) add(ways, link.way)
  const left = pruned(value, ways, meter)
  return isObject(left) ? left : value
}

const add = (ways: Ways, [step, ...more]: Link['way']): void => {
  if (step === undefined) return
  const below = ways.get(step) ?? new Map<string | number, Ways | undefined>()
  ways.set(step, more.length === 0 ? undefined : below)
  add(below, more)
}

const pruned = (value: Json, ways: Ways, meter: Meter): Json => {
  if (!isArray(value) && !isObject(value)) return value
  const left: (readonly [string | number, Json])[] = []
  for (const [step, child] of each(value, meter)) {
    const below = ways.get(step)
    if (below !== undefined) left.push([step, pruned(child, below, meter)])
    else if (!ways.has(step)) left.push([step, child])
  }
  return isArray(value) ? left.map(([, child]) => child) : Object.fromEntries(left)
}
