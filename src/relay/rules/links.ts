import {
  each, isArray, isObject, isString, member, type Json, type JsonObject, type Meter,
} from '#relay/protocol/json.js'
import { Places, type Link } from '#relay/protocol/places.js'
import { traitsOf } from '#relay/protocol/revisions/index.js'
import type { ListedTool, Mend, Powers, Reading } from '#relay/core/vocabulary.js'
import { linkRule, maxProblems, nothing, one } from './problem.js'
import { quote } from '#relay/protocol/quote.js'

// A client fetches these URLs: they must be https:, or contain the image itself.
const secure = /^https:\/\//i
const secureOrHere = /^(?:https:\/\/|data:image\/)/i

const isHarmful = ({ kind, value }: Link): boolean => {
  if (kind === 'uri') return false
  const url = kind === 'icon' && isObject(value) ? member(value, 'src') : value
  return !isString(url) || !(kind === 'icon' ? secureOrHere : secure).test(url)
}

const problem = (link: Link) => {
  if (!isHarmful(link)) return nothing
  return one(
    link.path, link.kind === 'icon' ? 'src must be an https: or data:image/ URI' : 'must be an https: URL',
  )
}

export const icon: Powers = {
  ...linkRule(['icon', 'website'], problem),
  onTool: (tool, meter) => linksOf(tool, meter).flatMap(problem).slice(0, maxProblems),
}

const linksOf = ({ definition = {}, path, revision }: ListedTool, meter: Meter): readonly Link[] => {
  return new Places(path, traitsOf(revision).modern, meter).addTool(definition).findAll().links
}

const ofReading = ({ value, links }: Reading, meter: Meter): JsonObject | undefined =>
  without(value, links, meter)

export const withoutHarmful: Mend = {
  isBlock: true,
  onTool: (tool, meter) => without(tool.definition ?? {}, linksOf(tool, meter), meter),
  onResult: ofReading,
  onReading: ofReading,
}

/** Ways to removed values as a tree of steps; undefined at the end of a way. */
type Ways = Map<string | number, Ways | undefined>

/** With more of them the message is blocked, not mended. */
const maxRemoved = 10_000

const without = (value: JsonObject, links: readonly Link[], meter: Meter): JsonObject | undefined => {
  const ways: Ways = new Map()
  const harmful = links.filter(isHarmful)
  if (harmful.length > maxRemoved) return undefined
  for (const link of harmful) add(ways, link.steps)
  const left = pruned(value, ways, meter)
  return isObject(left) ? left : value
}

const add = (ways: Ways, [step, ...more]: Link['steps']): void => {
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

export const uri = linkRule(['uri'], (link, meter) => {
  if (!isString(link.value)) return nothing
  meter.payText(link.value)
  const fault = faultOf(link.value)
  return fault === undefined ? nothing : one(link.path, fault)
})

/** The fault of a URI as browsers read it (URL Standard). A message never repeats credentials. */
const faultOf = (uri: string): string | undefined => {
  const url = urlOf(uri)
  // Readers that accept it anyway may read anything in it.
  if (url === undefined) return 'is no URL'
  const { protocol, username, password, pathname } = url
  const scheme = protocol.slice(0, -1)
  if (scripts.has(scheme)) return `runs a script (${quote(scheme)})`
  if (scheme === 'data') {
    return scripted.test(pathname.trimStart()) ? 'carries a document that can run scripts' : undefined
  }
  // On the web a user name alone may be a token; elsewhere (`ssh://git@host`) it is not.
  if (password !== '' || (username !== '' && web.has(scheme))) return 'bears credentials'
  // The parser has resolved `..` already, so the text is searched.
  const path = uri.replace(/^[\0-\x20]+|[\t\n\r]/g, '').replace(/[?#][^]*/, '')
  return climbs.test(path) ? `climbs out of its place with ".." (${quote(uri)})` : undefined
}

/** Parses a URL, or a reference relative to an unknown base. */
const urlOf = (uri: string): URL | undefined => {
  if (URL.canParse(uri)) return new URL(uri)
  if (URL.canParse(uri, anywhere)) return new URL(uri, anywhere)
  // Servers use names that are not hosts: `notes://My Notes/1`.
  const lenient = uri.trim().replace(/[ "<>[\]^`{|}]/g, '-')
  return URL.canParse(lenient) ? new URL(lenient) : undefined
}

const anywhere = 'https://base.invalid/'

const scripts: ReadonlySet<string> = new Set(['javascript', 'vbscript', 'livescript', 'mocha', 'jscript'])

const web: ReadonlySet<string> = new Set(['http', 'https', 'ws', 'wss'])

const scripted =
  /^(?:text\/(?:html|xml|\w+script)|application\/(?:[a-z.-]*\+)?(?:xml|xhtml|\w+script)|image\/svg)/i

/** `..` between slashes, each plain or encoded any number of times, because some readers decode twice. */
const climbs = /(?:^|[\\/:]|%(?:25)*(?:2f|5c))(?:\.|%(?:25)*2e){2}(?:[\\/]|%(?:25)*(?:2f|5c)|$)/i
