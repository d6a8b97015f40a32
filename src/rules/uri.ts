import { isArray, isObject, isString, member, type Json } from '../protocol/json.js'
import type { Part } from '../protocol/mcp.js'
import { quote } from '../protocol/quote.js'
import { nothing, one, partRule } from './problem.js'

export const uri = partRule(part =>
  urisOf(part).flatMap(({ uri, path }) => {
    const fault = isString(uri) ? faultOf(uri) : undefined
    return fault === undefined ? nothing : one(path, fault)
  }),
)

interface Link {
  readonly uri: Json | undefined
  readonly path: string
}

/** The URIs of a part: a link or a resource has one, and a link may have icons. */
const urisOf = ({ kind, value, path }: Part): readonly Link[] => {
  if (kind === 'block' && member(value, 'type') !== 'resource_link') return []
  const icons = member(value, 'icons')
  const sources = !isArray(icons)
    ? []
    : icons.map((icon, index): Link => ({
        uri: isObject(icon) ? member(icon, 'src') : undefined,
        path: `${path}/icons/${index}/src`,
      }))
  return [{ uri: member(value, 'uri'), path: `${path}/uri` }, ...sources]
}

/** What speaks against a URI. A message never repeats one that bears credentials. */
const faultOf = (uri: string): string | undefined => {
  // Browsers drop these (URL Standard, basic URL parser), so `java\nscript:` is a scheme to them.
  const plain = uri.slice(0, longest).replace(/^[\x00-\x20]+|[\t\n\r]/g, '')
  const [, scheme = '', rest = plain] = /^([a-z][a-z0-9+.-]*):([^]*)$/i.exec(plain) ?? []
  const name = scheme.toLowerCase()
  if (scripts.has(name)) return `runs a script (${quote(name)})`
  if (name === 'data') return scripted.test(rest) ? 'carries a document that can run scripts' : undefined
  if (bearsCredentials(name, rest)) return 'bears credentials'
  if (traverses(rest)) return `climbs out of its place with ".." (${quote(uri)})`
  return undefined
}

/** In characters; no longer one is worth reading for its scheme and path. */
const longest = 8192

const scripts: ReadonlySet<string> = new Set(['javascript', 'vbscript', 'livescript', 'mocha', 'jscript'])

const scripted =
  /^(?:text\/(?:html|xml|\w+script)|application\/(?:[a-z.-]*\+)?(?:xml|xhtml|\w+script)|image\/svg)/i

/** On the web a user's name alone may be a token; elsewhere (`ssh://git@host`) it is none. */
const bearsCredentials = (scheme: string, rest: string): boolean => {
  const user = /^[\\/]{2}([^\\/?#]*)@/.exec(rest)?.[1]
  if (user === undefined) return false
  return /:./.test(user) || (user !== '' && /^(?:https?|wss?)$/.test(scheme))
}

const traverses = (rest: string): boolean => climbs.test(rest.replace(/[?#][^]*$/, ''))

/** `..` between slashes, each of them spelt out or encoded, however often: whoever decodes once too often climbs as well. */
const climbs = /(?:^|[\\/]|%(?:25)*(?:2f|5c))(?:\.|%(?:25)*2e){2}(?:[\\/]|%(?:25)*(?:2f|5c)|$)/i
