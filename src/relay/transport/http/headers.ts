import type { Frame, ResponseHead, Trace } from '#relay/protocol/frame.js'
import { readMediaType, requestHeaders, versionOf } from '#relay/protocol/headers.js'
import { errorCode } from '#relay/protocol/json-rpc.js'
import { isString, member, type JsonObject } from '#relay/protocol/json.js'
import { firstModern } from '#relay/protocol/revisions/index.js'
import type { HttpHeaders } from '../transport.js'

/** By lower-case name. */
type Headers = ReadonlyMap<string, string>

export const jsonType = 'application/json'
export const eventStream = 'text/event-stream'

/** Headers about one connection, which a proxy must not forward (RFC 9110, section 7.6.1). */
const hopByHop: ReadonlySet<string> = new Set([
  'connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-authentication-info',
  'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade',
])

/** Headers that our HTTP client writes itself; and `expect`, because we send no 100-continue. */
const requestOwn: ReadonlySet<string> =
  new Set(['host', 'content-length', 'content-encoding', 'accept-encoding', 'expect'])

/**
 * Headers that describe the body as received: it may be sent decompressed or replaced. And `alt-svc`, which
 * would let the client bypass the relay (RFC 7838).
 */
const responseOwn: ReadonlySet<string> =
  new Set(['content-length', 'content-encoding', 'content-md5', 'content-digest', 'alt-svc'])

/**
 * Headers by which a server could make a reverse proxy in front of us send a local file (`X-Accel-Redirect`,
 * `X-Sendfile`), change our whole origin (`Strict-Transport-Security`, `Clear-Site-Data`, `NEL`), or send a
 * browser to another URL.
 */
const acting = new RegExp(
  '^(?:(?:x-accel|x-sendfile|x-lighttpd|x-litespeed|x-reproxy|surrogate|public-key-pins)(?:-.*)?|' +
    'clear-site-data|content-location|link|location|nel|refresh|report(?:-to|ing-endpoints)|' +
    'service-worker-allowed|set-cookie2|strict-transport-security)$',
)

/** Headers as undici gives them: names in lower case, repeated ones as an array. */
export const headersOf = (
  raw: Readonly<Record<string, string | readonly string[] | undefined>>,
): HttpHeaders => {
  const headers = new Map<string, readonly string[]>()
  for (const [name, value] of Object.entries(raw)) {
    if (value !== undefined) headers.set(name, typeof value === 'string' ? [value] : value)
  }
  return headers
}

/** The header's value; undefined unless the header was sent exactly once. */
export const only = (headers: HttpHeaders, name: string): string | undefined => {
  const values = headers.get(name)
  return values?.length === 1 ? values[0] : undefined
}

/** The media type of the body, without its parameters; empty when there is none. */
export const mediaType = (headers: HttpHeaders): string => readMediaType(only(headers, 'content-type')).type

/** True unless the content type names another character set. */
export const isUtf8 = (headers: HttpHeaders): boolean => readMediaType(only(headers, 'content-type')).isUtf8

/**
 * A client's headers as they go to the server. Our `traceparent` replaces the client's, and its `tracestate`
 * with it, because that belongs to its `traceparent` (W3C Trace Context).
 * @param operatorHeaders the operator's headers, which replace the client's
 */
export const forwardedHeaders = (
  client: Headers, trace: Trace | undefined, operatorHeaders: Headers,
): Headers => {
  const headers = without(client, client.get('connection') ?? '', requestOwn)
  if (trace !== undefined) {
    headers.delete('traceparent')
    headers.delete('tracestate')
    for (const [name, value] of trace.headers()) headers.set(name, value)
  }
  for (const [name, value] of operatorHeaders) headers.set(name, value)
  return headers
}

/** The client's headers for a message that the relay has changed: those that repeat its body are new. */
export const changedHeaders =
  (client: Headers, frame: Frame, inputSchemaOf: InputSchemaOf, operatorHeaders: Headers): Headers =>
    new Map([
      ...[...forwardedHeaders(client, frame.envelope?.trace, none)]
        .filter(([name]) => !/^mcp-(?:method$|name$|param-)/.test(name)),
      ...metadataOf(frame, inputSchemaOf),
      ...operatorHeaders,
    ])

/** The headers of a relay-made message: the client's, but for those that describe the client's message. */
export const borrowedHeaders =
  (client: Headers, frame: Frame, inputSchemaOf: InputSchemaOf, operatorHeaders: Headers): Headers =>
    new Map([
      ...[...changedHeaders(client, frame, inputSchemaOf, none)].filter(([name]) => name !== 'last-event-id'),
      ['accept', 'application/json, text/event-stream'],
      ['content-type', 'application/json'],
      ...operatorHeaders,
    ])

/** The operator's settings for a server's response headers. */
export interface HeadSettings {
  /** The path of the server's cookies, when other servers have other paths of the same origin. */
  readonly cookiePath?: string | undefined
  /** Headers, in lower case, that are forwarded although they are in `acting`. */
  readonly passHeaders?: ReadonlySet<string> | undefined
}

/** The head of a server's response as it goes to the client. */
export const forwardedHead = (
  { status, headers }: ResponseHead,
  { cookiePath, passHeaders }: HeadSettings,
): ResponseHead => {
  const forwarded = without(headers, (headers.get('connection') ?? []).join(), responseOwn)
  for (const name of forwarded.keys()) {
    if (acting.test(name) && passHeaders?.has(name) !== true) forwarded.delete(name)
  }
  return { status, headers: cookiePath === undefined ? forwarded : cookiesOf(cookiePath, forwarded) }
}

/**
 * Gives a server's cookies the server's path, so that clients do not send them to other servers of the same
 * origin (RFC 6265, section 5.4). A client refuses a `__Host-` cookie with that path.
 * @param path such as `/files/`
 */
export const cookiesOf = (path: string, headers: HttpHeaders): HttpHeaders => {
  const cookies = headers.get('set-cookie')
  return cookies === undefined
    ? headers
    : new Map([...headers, ['set-cookie', cookies.map(cookie => at(path, cookie))]])
}

const at = (path: string, cookie: string): string => {
  const [pair = '', ...attributes] = cookie.split(';')
  return [
    pair, ...attributes.filter(attribute => !/^\s*path\s*(?:=|$)/i.test(attribute)), ` Path=${path}`,
  ].join(';')
}

/** The headers of a response whose body is not forwarded. */
export const bodiless = (headers: HttpHeaders): HttpHeaders =>
  new Map([...headers].filter(([name]) => name !== 'content-type'))

/** @param connection the header in which the sender names further headers of the connection */
const without = <Value>(
  headers: ReadonlyMap<string, Value>, connection: string, own: ReadonlySet<string>,
): Map<string, Value> => {
  const kept = new Map<string, Value>()
  const isUsual = connection === '' || connection === 'keep-alive'
  const named = isUsual ? undefined : connection.split(',').map(name => name.trim().toLowerCase())
  for (const [name, value] of headers) {
    if (!hopByHop.has(name) && !own.has(name) && named?.includes(name) !== true) kept.set(name, value)
  }
  return kept
}

/** The input schema of a tool, which names headers of its calls; undefined while it is not known. */
export type InputSchemaOf = (tool: string) => JsonObject | boolean | undefined

/** True for a revision without sessions, known or future: revisions are dates, which sort as text. */
export const isModernVersion = (version: string | undefined): boolean =>
  version !== undefined && /^\d{4}-\d\d-\d\d$/.test(version) && version >= firstModern

/** True for a request that names its revision, one without sessions. */
export const isModernRequest = ({ message }: Frame): boolean =>
  message.kind === 'request' && isModernVersion(versionOf(message))

/** The headers that repeat parts of the body (2026-07-28, request metadata); none for a legacy message. */
export const metadataOf = (frame: Frame, inputSchemaOf: InputSchemaOf): ReadonlyMap<string, string> => {
  const { message } = frame
  if (message.kind !== 'request' || !isModernRequest(frame)) return none
  const name = message.method === 'tools/call' ? member(message.params, 'name') : undefined
  return requestHeaders(message, isString(name) ? inputSchemaOf(name) : undefined)
}

const none: ReadonlyMap<string, string> = new Map()

/** Header mismatch, missing client capability, unsupported version (2026-07-28, error codes). */
export const modernErrors: ReadonlySet<number> =
  new Set([errorCode.headerMismatch, -32021, errorCode.unsupportedVersion])
