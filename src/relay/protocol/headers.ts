import { isUtf8 } from 'node:buffer'
import {
  each, isArray, isObject, isString, member, Meter, pointer, valueAt, type Json, type JsonObject,
} from './json.js'
import type { Request } from './json-rpc.js'
import { schemasIn } from './json-schema.js'
import { inMeta, methodOf } from './revisions/index.js'
import { quote, step } from './quote.js'

/** A header that repeats a part of a request's body (2026-07-28, Standard and Custom Request Headers). */
interface Repeating {
  /** As it is written in the specification. */
  readonly header: string
  /** The value in the body; undefined when there is none that a header may carry. */
  readonly value: Primitive | undefined
  readonly required: boolean
  /** The value may be written in Base64. */
  readonly encoded: boolean
}

type Primitive = string | number | boolean

const repeating = (message: Request, inputSchema: Json | undefined): readonly Repeating[] => {
  const { method, params } = message
  const names = methodOf(method)?.names
  const name = names && member(params, names.key)
  const given = member(params, 'arguments')
  const ofArguments =
    method === 'tools/call' && inputSchema !== undefined ? paramHeaders(inputSchema).headers : []
  return [
    { header: 'MCP-Protocol-Version', value: versionOf(message), required: true, encoded: false },
    { header: 'Mcp-Method', value: method, required: true, encoded: false },
    ...(isString(name)
      ? [{ header: 'Mcp-Name', value: name, required: names?.required === true, encoded: true }]
      : []),
    ...ofArguments.map(one => {
      const value = valueOf(given, one)
      const header = one.header.replace('mcp-param-', 'Mcp-Param-')
      return { header, value, required: value !== undefined, encoded: true }
    }),
  ]
}

const valueOf = (given: Json | undefined, { path }: ParamHeader): Primitive | undefined => {
  const value = valueAt(given, path)
  if (typeof value === 'number') return Number.isSafeInteger(value) ? value : undefined
  return isString(value) || typeof value === 'boolean' ? value : undefined
}

/** The revision that a request names; undefined for a legacy request. */
export const versionOf = ({ params }: Request): string | undefined => {
  const version = inMeta(params, 'protocolVersion')
  return isString(version) ? version : undefined
}

/**
 * The headers that repeat what is in a request's body, as a conforming client sends them; by lower-case name.
 * For modern revisions only.
 * @param inputSchema of the tool that is called
 */
export const requestHeaders = (message: Request, inputSchema?: Json): Map<string, string> =>
  new Map(repeating(message, inputSchema).flatMap(({ header, value, encoded }) => {
    if (value === undefined) return []
    return [[header.toLowerCase(), encoded ? encodeHeaderValue(String(value)) : String(value)]]
  }))

/**
 * Whether the headers of a request say what its body says. For modern revisions only.
 * @param headers by lower-case name
 * @param inputSchema of the tool that is called; without it `Mcp-Param-*` are not looked at
 * @returns the first disagreement, as a sentence; undefined when there is none
 */
export const compareHeaders = (
  headers: ReadonlyMap<string, string>, message: Request, inputSchema?: Json,
): string | undefined => {
  for (const one of repeating(message, inputSchema)) {
    const disagreement = compare(one, headers.get(one.header.toLowerCase()))
    if (disagreement !== undefined) return disagreement
  }
  return undefined
}

const compare = (
  { header, value, required, encoded }: Repeating, said: string | undefined,
): string | undefined => {
  if (said === undefined) return required ? `the required ${header} header is missing` : undefined
  if (value === undefined && !required) {
    return `${header} header value ${quote(said)} has no counterpart in the body`
  }
  const decoded = encoded ? decodeHeaderValue(said) : said
  if (decoded === undefined) return `${header} header value ${quote(said)} is malformed`
  if (value === undefined || decoded === String(value)) return undefined
  if (typeof value === 'number' && decimal.test(decoded) && Number(decoded) === value) return undefined
  return `${header} header value ${quote(decoded)} does not match body value ${quote(String(value))}`
}

/** Integers are compared by value: `42.0` is 42. */
const decimal = /^-?\d{1,17}(?:\.0{1,17})?$/

const prefix = '=?base64?'
const suffix = '?='

/** Visible ASCII, with spaces and tabs inside only (RFC 9110, section 5.5). */
const plain = /^(?:[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?)?$/
const legal = /^[\t\x20-\x7e]*$/
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

const isMarked = (text: string): boolean => text.startsWith(prefix) && text.endsWith(suffix)

/** A value as it stands in a header (2026-07-28, Value Encoding): plain, or marked Base64 of its UTF-8. */
export const encodeHeaderValue = (value: string): string =>
  plain.test(value) && !isMarked(value) ? value : `${prefix}${Buffer.from(value).toString('base64')}${suffix}`

/** The value that stands in a header; undefined when it is malformed. */
export const decodeHeaderValue = (text: string): string | undefined => {
  if (!legal.test(text)) return undefined
  if (!isMarked(text)) return text
  const inner = text.slice(prefix.length, -suffix.length)
  if (text.length < prefix.length + suffix.length || !base64.test(inner)) return undefined
  const bytes = Buffer.from(inner, 'base64')
  // The unused bits before the padding must be zero, so that a value has one encoding only.
  return isUtf8(bytes) && bytes.toString('base64') === inner ? bytes.toString() : undefined
}

/** A tool's parameter that clients repeat in a header (2026-07-28, Custom Headers from Tool Parameters). */
interface ParamHeader {
  /** In lower case, with its prefix: `mcp-param-region`. */
  readonly header: string
  /** The keys that lead from `params.arguments` to the value. */
  readonly path: readonly string[]
  readonly type: 'string' | 'integer' | 'boolean'
}

/** An `x-mcp-header` that breaks the rules; a tool that has one must not be offered over HTTP. */
interface HeaderProblem {
  /** JSON Pointer into the schema, to the annotation; keys from the wire as `step` shows them. */
  readonly path: string
  readonly message: string
}

const annotation = 'x-mcp-header'

/** RFC 9110, section 5.6.2. */
const token = '[!#$%&\'*+.^_`|~0-9A-Za-z-]+'
const fieldName = new RegExp(`^${token}$`)

type Pointer = readonly (string | number)[]

const maxProblems = 20

interface ParamHeaders {
  readonly headers: readonly ParamHeader[]
  readonly problems: readonly HeaderProblem[]
}

/** Each schema is searched once, not at each call. */
const known = new WeakMap<JsonObject, ParamHeaders>()

/** The parameters that have a header of their own, and the annotations that break the rules. */
export const paramHeaders = (inputSchema: Json | undefined, meter = new Meter()): ParamHeaders => {
  if (!isObject(inputSchema)) return { headers: [], problems: [] }
  const found = known.get(inputSchema) ?? search(inputSchema, meter)
  known.set(inputSchema, found)
  return found
}

const search = (inputSchema: JsonObject, meter: Meter): ParamHeaders => {
  const headers: ParamHeader[] = []
  const problems: HeaderProblem[] = []
  const taken = new Set<string>()

  /** @param path of properties that leads to the schema; undefined when other keywords lead to it too */
  const look = (schema: Json | undefined, at: Pointer, path: readonly string[] | undefined): void => {
    if (!isObject(schema) || problems.length >= maxProblems) return
    for (const [key, value] of each(schema, meter)) {
      if (key === annotation) {
        const found = headerOf(schema, value, path, taken)
        if (isString(found)) problems.push({ path: pointer(...at, key), message: found })
        else headers.push(found)
      } else if (schemasIn(key) === 'members' && isObject(value)) {
        for (const [name, inner] of each(value, meter)) {
          look(inner, [...at, key, step(name)], key === 'properties' && path ? [...path, name] : undefined)
        }
      } else if (schemasIn(key) === 'value') {
        if (isArray(value)) {
          for (const [index, inner] of each(value, meter)) look(inner, [...at, key, index], undefined)
        } else look(value, [...at, key], undefined)
      }
    }
  }
  look(inputSchema, [], [])
  return { headers, problems }
}

const headerOf = (
  schema: JsonObject, name: Json, path: readonly string[] | undefined, taken: Set<string>,
): ParamHeader | string => {
  if (path === undefined || path.length === 0) {
    return `${annotation} belongs on a property that "properties" alone lead to`
  }
  if (!isString(name) || !fieldName.test(name)) {
    return `${annotation} must be the name of a header, in its characters`
  }
  const type = (['string', 'integer', 'boolean'] as const).find(type => type === member(schema, 'type'))
  if (type === undefined) return `${annotation} belongs on a property of type string, integer or boolean`
  const header = `mcp-param-${name.toLowerCase()}`
  if (taken.has(header)) {
    return `${annotation} ${quote(name)} is there twice, header names being the same in any case`
  }
  taken.add(header)
  return { header, path, type }
}

/** A media type as HTTP headers and content blocks have it, in lower case. */
interface MediaType {
  readonly type: string
  readonly parameters: readonly string[]
  /** Values, without quotation marks, of every parameter that a reader could take for `charset`. */
  readonly charsets: readonly string[]
  /** Every character set that it names is UTF-8 or a part of it. */
  readonly isUtf8: boolean
}

/** Some readers take the first of two parameters with one name, and some the last: both count. */
export const readMediaType = (text = ''): MediaType => usual.get(text) ?? read(text)

const read = (text: string): MediaType => {
  const [type = '', ...parameters] = text.split(';').map(part => part.trim().toLowerCase())
  const charsets = parameters.filter(parameter => parameter.startsWith('charset'))
    .map(parameter => parameter.replace(/^charset\s*=\s*/, '').replace(/^"(.*)"$/s, '$1'))
  return { type, parameters, charsets, isUtf8: charsets.every(charset => sameAsUtf8.has(charset)) }
}

const sameAsUtf8: ReadonlySet<string> = new Set(['utf-8', 'utf8', 'us-ascii'])

/** The usual media types, parsed once. */
const usual: ReadonlyMap<string, MediaType> = new Map(
  ['application/json', 'text/event-stream']
    .flatMap(type => [type, `${type}; charset=utf-8`])
    .map(text => [text, read(text)]),
)

/** Longest media type, in characters. */
const longestMediaType = 255

const parameter = `${token}=(?:${token}|"(?:[^"\\\\]|\\\\.)*")`
// White space can match in one place only in each repetition, so that the time is linear.
const mediaType = new RegExp(`^${token}/${token}[ \\t]*(?:;[ \\t]*(?:${parameter}[ \\t]*)?)*$`)

/** Whether a text is a media type (RFC 9110, section 8.3.1). */
export const isMediaType = (text: string): boolean => text.length <= longestMediaType && mediaType.test(text)
