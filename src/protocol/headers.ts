import { decodeHeaderValue, encodeHeaderValue } from './header-value.js'
import { isObject, isString, member, type Json } from './json.js'
import type { Request } from './json-rpc.js'
import { inMeta } from './meta.js'
import { methodOf } from './methods.js'
import { paramHeaders, type ParamHeader } from './param-headers.js'
import { quote } from './quote.js'

export { decodeHeaderValue, encodeHeaderValue } from './header-value.js'
export { paramHeaders, type HeaderProblem, type ParamHeader } from './param-headers.js'

/**
 * The headers that repeat what is in a request's body, as a conforming client sends them; by lower-case name. For
 * modern revisions only.
 * @param inputSchema of the tool that is called
 */
export const requestHeaders = (message: Request, inputSchema?: Json): Map<string, string> => {
  const headers = new Map([['mcp-method', message.method]])
  const version = versionOf(message)
  if (version !== undefined) headers.set('mcp-protocol-version', version)
  const name = nameOf(message)
  if (name !== undefined) headers.set('mcp-name', encodeHeaderValue(name))
  for (const { header, value } of expected(message, inputSchema)) {
    if (value !== undefined) headers.set(header, encodeHeaderValue(String(value)))
  }
  return headers
}

/**
 * Whether the headers of a request say what its body says. For modern revisions only.
 * @param headers by lower-case name
 * @param inputSchema of the tool that is called; without it `Mcp-Param-*` are not looked at
 * @returns the first disagreement, as a sentence; undefined when there is none
 */
export const compareHeaders = (
  headers: ReadonlyMap<string, string>,
  message: Request,
  inputSchema?: Json,
): string | undefined =>
  compare('MCP-Protocol-Version', headers, versionOf(message), { required: true }) ??
  compare('Mcp-Method', headers, message.method, { required: true }) ??
  compareName(message, headers) ??
  first(expected(message, inputSchema), one => compareParam(one, headers))

const compareName = (message: Request, headers: ReadonlyMap<string, string>): string | undefined => {
  const name = nameOf(message)
  const required = methodOf(message.method)?.names?.required === true
  return name === undefined ? undefined : compare('Mcp-Name', headers, name, { required, encoded: true })
}

type Primitive = string | number | boolean

interface Expected {
  readonly header: string
  /** Undefined when there is none, or none that a header may carry: the header is to be left out then. */
  readonly value: Primitive | undefined
}

const expected = (message: Request, inputSchema: Json | undefined): readonly Expected[] => {
  const given = member(message.params, 'arguments')
  if (message.method !== 'tools/call' || inputSchema === undefined) return []
  return paramHeaders(inputSchema).headers.map(one => ({ header: one.header, value: valueOf(given, one) }))
}

const valueOf = (given: Json | undefined, { path }: ParamHeader): Primitive | undefined => {
  const value = path.reduce((inner, key) => (isObject(inner) ? member(inner, key) : undefined), given)
  if (typeof value === 'number') return Number.isSafeInteger(value) ? value : undefined
  return isString(value) || typeof value === 'boolean' ? value : undefined
}

const compareParam = ({ header, value }: Expected, headers: ReadonlyMap<string, string>): string | undefined => {
  const shown = header.replace('mcp-param-', 'Mcp-Param-')
  if (value !== undefined) return compare(shown, headers, value, { required: true, encoded: true })
  const said = headers.get(header)
  if (said === undefined) return undefined
  return `${shown} header value ${quote(said)} has no counterpart in the body`
}

interface Manner {
  readonly required: boolean
  /** The value may stand in Base64. */
  readonly encoded?: boolean
}

/** @param value what the body says; undefined when it says nothing, which is not the header's fault */
const compare = (
  header: string,
  headers: ReadonlyMap<string, string>,
  value: Primitive | undefined,
  { required, encoded = false }: Manner,
): string | undefined => {
  const said = headers.get(header.toLowerCase())
  if (said === undefined) return required ? `the required ${header} header is missing` : undefined
  const decoded = encoded ? decodeHeaderValue(said) : said
  if (decoded === undefined) return `${header} header value ${quote(said)} is malformed`
  if (value === undefined || decoded === String(value)) return undefined
  if (typeof value === 'number' && decimal.test(decoded) && Number(decoded) === value) return undefined
  return `${header} header value ${quote(decoded)} does not match body value ${quote(String(value))}`
}

/** Integers are compared by value: `42.0` is 42. */
const decimal = /^-?\d{1,17}(?:\.0{1,17})?$/

const nameOf = ({ method, params }: Request): string | undefined => {
  const source = methodOf(method)?.names
  const name = source && member(params, source.key)
  return isString(name) ? name : undefined
}

/** By which revision a request says that it is made; undefined for a legacy one. */
export const versionOf = ({ params }: Request): string | undefined => {
  const version = inMeta(params, 'protocolVersion')
  return isString(version) ? version : undefined
}

const first = <Item>(items: readonly Item[], ask: (item: Item) => string | undefined): string | undefined => {
  for (const item of items) {
    const answer = ask(item)
    if (answer !== undefined) return answer
  }
  return undefined
}
