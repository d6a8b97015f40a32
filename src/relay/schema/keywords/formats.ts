import { isIPv4, isIPv6 } from 'node:net'
import type { Budget } from '../budget.js'
import { parsePattern } from '../pattern/parse.js'

/** Whether a text has a format, in time linear in the text. */
export interface Format {
  test(text: string, budget: Budget): boolean
  /** For the byte validator: only texts of this format match the pattern, but not necessarily all of them. */
  readonly pattern?: string
}

// RFC 3339, 5.6. A regular expression decides all but leap years and leap seconds.
const date = '\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\\d|3[01])'
const time = '(?:[01]\\d|2[0-3]):[0-5]\\d:(?:[0-5]\\d|60)(?:\\.\\d+)?(?:[Zz]|[+-](?:[01]\\d|2[0-3]):[0-5]\\d)'
const fullDate = new RegExp(`^${date}$`)
const fullTime = new RegExp(`^${time}$`)
const dateTime = new RegExp(`^${date}[Tt]${time}$`)
/** Days that every year has. */
const commonDate = '\\d{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\\d|2[0-8])' +
  '|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)'
const commonTime = time.replace('(?:[0-5]\\d|60)', '[0-5]\\d')

const [two, six, nine] = [0x32, 0x36, 0x39]

/** Whether the month of the date has its day. Days up to 28 are in every month. */
const hasDay = (text: string): boolean => {
  const tens = text.charCodeAt(8)
  if (tens < two || (tens === two && text.charCodeAt(9) < nine)) return true
  const [year, month, day] = [Number(text.slice(0, 4)), Number(text.slice(5, 7)), Number(text.slice(8, 10))]
  if (month === 2) return day === 29 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  return day < 31 || ![4, 6, 9, 11].includes(month)
}

/** False if the time that begins at `from` has the second 60 and is not 23:59:60 UTC. */
const hasSecond = (text: string, from: number): boolean => {
  if (text.charCodeAt(from + 6) !== six) return true
  const minutes = (at: number) => Number(text.slice(at, at + 2)) * 60 + Number(text.slice(at + 3, at + 5))
  const offset = /[Zz]$/.test(text) ? 0 : minutes(text.length - 5) * (text.at(-6) === '-' ? -1 : 1)
  return (minutes(from) - offset + 1440) % 1440 === 1439
}

/** A URI in its parts (RFC 3986, appendix B): scheme, authority, path, query, fragment. */
const parts = /^(?:([^:/?#]*):)?(?:\/\/([^/?#]*)(?![^/?#]))?([^?#]*)(?:\?([^#]*))?(?:#([^]*))?$/
const scheme = /^[a-z][a-z0-9+.-]*$/i
// Escapes are checked apart: V8 records each repetition of a choice, and has no room for millions of them.
const userinfo = /^[\w.~!$&'()*+,;=:%-]*$/
const registeredName = /^[\w.~!$&'()*+,;=%-]*$/
const address = /^\[(?:v[0-9a-f]+\.[\w.~!$&'()*+,;=:-]+|([0-9a-f:.]+))\]$/i
const path = /^[\w.~!$&'()*+,;=:@/%-]*$/
const query = /^[\w.~!$&'()*+,;=:@/?%-]*$/
const brokenEscape = /%(?![0-9a-f]{2})/i

/** RFC 3986 authority: `[ userinfo "@" ] host [ ":" port ]`. */
const isAuthority = (text: string): boolean => {
  const at = text.lastIndexOf('@')
  const host = text.slice(at + 1).replace(/:\d*$/, '')
  if (at !== -1 && !userinfo.test(text.slice(0, at))) return false
  const [whole, ipv6] = address.exec(host) ?? []
  return whole === undefined ? registeredName.test(host) : ipv6 === undefined || isIPv6(ipv6)
}

/** RFC 3986 URI-reference; a URI has a scheme. */
const isUriReference = (text: string, absolute: boolean): boolean => {
  const [whole, named, authority, hierarchy = '', question = '', fragment = ''] = parts.exec(text) ?? []
  if (whole === undefined || brokenEscape.test(text)) return false
  if (named === undefined ? absolute : !scheme.test(named)) return false
  if (authority !== undefined && !isAuthority(authority)) return false
  return path.test(hierarchy) && query.test(question) && query.test(fragment)
}

/** URIs without an IP literal; a path without an authority does not begin with two slashes. */
const commonUri = ((hex: string) => {
  const [user, host] = [`(?:[\\w.~!$&'()*+,;=:-]|${hex})*`, `(?:[\\w.~!$&'()*+,;=-]|${hex})*`]
  const character = `(?:[\\w.~!$&'()*+,;=:@-]|${hex})`
  const rest = `(?:[\\w.~!$&'()*+,;=:@/?-]|${hex})*`
  const path = `(?:/${character}*)*`
  const hierarchy = `(?://(?:${user}@)?${host}(?::\\d*)?${path}|/?(?:${character}+${path})?)`
  return `^[A-Za-z][A-Za-z0-9+.-]*:${hierarchy}(?:\\?${rest})?(?:#${rest})?$`
})('%[0-9A-Fa-f]{2}')

/** RFC 5321 Mailbox without quoted texts and address literals, at a domain of two labels at least. */
const email =
  /^[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*@[A-Za-z0-9]+(?:-+[A-Za-z0-9]+)*(?:\.[A-Za-z0-9]+(?:-+[A-Za-z0-9]+)*)+$/
/** RFC 1123, 2.1; a dot at the end stands for the root. */
const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i
const isHostname = (text: string): boolean => {
  const name = text.endsWith('.') ? text.slice(0, -1) : text
  return name.length <= 253 && name.split('.').every(part => label.test(part))
}
/** RFC 3339, appendix A. */
const duration = /^P(?:\d+W|(?=\d|T\d)(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+S)?)?)$/
/** RFC 4122, 3. */
const uuid = /^[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$/
/** RFC 6570, 2. */
const uriTemplate =
  /^(?:[^\0- "'<>%\\^`{|}]|%[0-9a-f]{2}|\{[+#./;?&=,!@|]?(?:\w|%[0-9a-f]{2})+(?::[1-9]\d{0,3}|\*)?(?:,(?:\w|%[0-9a-f]{2})+(?::[1-9]\d{0,3}|\*)?)*\})*$/i
/** RFC 6901, 3. */
const jsonPointer = '(?:/(?:[^~/]|~[01])*)*'
const isJsonPointer = (text: string): boolean =>
  (text === '' || text.startsWith('/')) && !/~(?![01])/.test(text)
/** draft-bhutton-relative-json-pointer-00 as of the first drafts: without an index shift. */
const isRelativeJsonPointer = (text: string): boolean => {
  const [levels = ''] = /^(?:0|[1-9]\d*)/.exec(text) ?? []
  const rest = text.slice(levels.length)
  return levels !== '' && (rest === '#' || isJsonPointer(rest))
}

const octet = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)'

const by = (test: Format['test'], pattern?: string): Format =>
  (pattern === undefined ? { test } : { test, pattern })
const matching = (expression: RegExp): Format => by(text => expression.test(text), expression.source)

/** The formats of JSON Schema; each takes linear time (test/hostile). OpenAPI's are ignored. */
const formats: ReadonlyMap<string, Format> = new Map<string, Format>([
  ['date', by(text => fullDate.test(text) && hasDay(text), `^${commonDate}$`)],
  ['time', by(text => fullTime.test(text) && hasSecond(text, 0), `^${commonTime}$`)],
  ['date-time', by(
    text => dateTime.test(text) && hasDay(text) && hasSecond(text, 11), `^${commonDate}[Tt]${commonTime}$`)],
  ['duration', duration],
  ['email', matching(email)],
  ['hostname', by(isHostname)],
  ['ipv4', by(isIPv4, `^${octet}(?:\\.${octet}){3}$`)],
  ['ipv6', by(text => isIPv6(text) && !text.includes('%'))],
  ['uri', by(text => isUriReference(text, true), commonUri)],
  ['uri-reference', by(text => isUriReference(text, false))],
  ['uri-template', uriTemplate],
  ['uuid', matching(uuid)],
  ['json-pointer', by(isJsonPointer, `^${jsonPointer}$`)],
  ['relative-json-pointer', by(isRelativeJsonPointer, `^(?:0|[1-9]\\d*)(?:#|${jsonPointer})$`)],
  // `\Z` belongs to other languages; in the older syntax of ECMA-262 it would be a letter.
  ['regex', by((text, budget) => !/(?<!\\)\\Z/.test(text) && parsePattern(text, budget) !== undefined)],
])

/** The check of a format; undefined for an unknown one, which is ignored. */
export const formatOf = (name: string): Format | undefined => formats.get(name)
