import { isString } from '../protocol/json.js'
import { quote } from '../protocol/quote.js'
import { linkRule, nothing, one } from './problem.js'

export const uri = linkRule(['uri'], ({ value, path }) => {
  const fault = isString(value) ? faultOf(value) : undefined
  return fault === undefined ? nothing : one(path, fault)
})

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
