import { isString } from '../protocol/json.js'
import { quote } from '../protocol/quote.js'
import { linkRule, nothing, one } from './problem.js'

export const uri = linkRule(['uri'], ({ value, path }, meter) => {
  if (isString(value)) meter.payText(value)
  const fault = isString(value) ? faultOf(value) : undefined
  return fault === undefined ? nothing : one(path, fault)
})

/** What speaks against a URI, as browsers read it (URL Standard). A message never repeats one that bears credentials. */
const faultOf = (uri: string): string | undefined => {
  const url = urlOf(uri)
  // No reader of URLs takes it for one; another may find in it what it likes.
  if (url === undefined) return 'is no URL'
  const { protocol, username, password, pathname } = url
  const scheme = protocol.slice(0, -1)
  if (scripts.has(scheme)) return `runs a script (${quote(scheme)})`
  if (scheme === 'data') return scripted.test(pathname.trimStart()) ? 'carries a document that can run scripts' : undefined
  // On the web a user's name alone may be a token; elsewhere (`ssh://git@host`) it is none.
  if (password !== '' || (username !== '' && web.has(scheme))) return 'bears credentials'
  // The parser has walked the path already: what climbs is seen in the text alone.
  return climbs.test(uri.replace(/^[\0-\x20]+|[\t\n\r]/g, '').replace(/[?#][^]*$/, '')) ? `climbs out of its place with ".." (${quote(uri)})` : undefined
}

/** What is no URL by itself is a reference: to whatever the reader takes it to be relative to. */
const urlOf = (uri: string): URL | undefined => {
  if (URL.canParse(uri)) return new URL(uri)
  if (URL.canParse(uri, anywhere)) return new URL(uri, anywhere)
  // Hosts with characters that no host has are names of a server's own: `notes://My Notes/1`.
  const lenient = uri.trim().replace(/[ "<>[\]^`{|}]/g, '-')
  return URL.canParse(lenient) ? new URL(lenient) : undefined
}

const anywhere = 'https://base.invalid/'

const scripts: ReadonlySet<string> = new Set(['javascript', 'vbscript', 'livescript', 'mocha', 'jscript'])

const web: ReadonlySet<string> = new Set(['http', 'https', 'ws', 'wss'])

const scripted =
  /^(?:text\/(?:html|xml|\w+script)|application\/(?:[a-z.-]*\+)?(?:xml|xhtml|\w+script)|image\/svg)/i

/** `..` between slashes, each of them spelt out or encoded, however often: whoever decodes once too often climbs as well. */
const climbs = /(?:^|[\\/:]|%(?:25)*(?:2f|5c))(?:\.|%(?:25)*2e){2}(?:[\\/]|%(?:25)*(?:2f|5c)|$)/i
