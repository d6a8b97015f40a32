import { readMediaType } from '../../protocol/headers.js'
import type { HttpHeaders } from '../transport.js'

/** Headers of one connection (RFC 9110 section 7.6.1), which say nothing about the message and are never handed on. */
const hopByHop: ReadonlySet<string> = new Set([
  'connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-authentication-info', 'proxy-connection', 'te',
  'trailer', 'transfer-encoding', 'upgrade',
])

/** What our own HTTP client writes: where the server is, how long the body is, how it may be packed, and no 100-continue. */
const requestOwn: ReadonlySet<string> = new Set(['host', 'content-length', 'content-encoding', 'accept-encoding', 'expect'])

/**
 * What described the body as it came, which may leave unpacked or replaced; and `alt-svc`, which would lead the client past us.
 */
const responseOwn: ReadonlySet<string> = new Set(['content-length', 'content-encoding', 'content-md5', 'content-digest', 'alt-svc'])

/**
 * What acts on whoever stands in front of us (a proxy that sends a file of its own: `X-Accel-Redirect`, `X-Sendfile`), on our whole
 * origin (`Strict-Transport-Security`, `Clear-Site-Data`, `NEL`), or leads a browser elsewhere: a server behind us may not.
 */
const acting =
  /^(?:(?:x-accel|x-sendfile|x-lighttpd|x-litespeed|x-reproxy|surrogate|public-key-pins)(?:-.*)?|clear-site-data|content-location|link|location|nel|refresh|report(?:-to|ing-endpoints)|service-worker-allowed|set-cookie2|strict-transport-security)$/

/** Headers as undici gives them: names in lower case, repeated ones as an array. */
export const headersOf = (raw: Readonly<Record<string, string | readonly string[] | undefined>>): HttpHeaders => {
  const headers = new Map<string, readonly string[]>()
  for (const [name, value] of Object.entries(raw)) {
    if (value !== undefined) headers.set(name, typeof value === 'string' ? [value] : value)
  }
  return headers
}

/** The header's value where it was sent exactly once: what is said twice is not known. */
export const only = (headers: HttpHeaders, name: string): string | undefined => {
  const values = headers.get(name)
  return values?.length === 1 ? values[0] : undefined
}

/** The media type of the body, without its parameters; empty when there is none. */
export const mediaType = (headers: HttpHeaders): string => readMediaType(only(headers, 'content-type')).type

/** True unless the content type names another character set. */
export const isUtf8 = (headers: HttpHeaders): boolean => readMediaType(only(headers, 'content-type')).isUtf8

/** With what a proxy adds: behind what others on the way have said, which is theirs to answer for. Nothing is added that is empty. */
export const passedOn = (headers: ReadonlyMap<string, string>, added: Readonly<Record<string, string>>): ReadonlyMap<string, string> => {
  const passed = new Map(headers)
  for (const [name, value] of Object.entries(added)) {
    const before = passed.get(name)
    if (value !== '') passed.set(name, before === undefined ? value : `${before}, ${value}`)
  }
  return passed
}

/** A client's headers as they go to the server. */
export const forwardedRequest = (headers: ReadonlyMap<string, string>): Map<string, string> =>
  without(headers, headers.get('connection') ?? '', requestOwn)

/** A server's headers as they go to the client. @param pass those that the operator lets pass besides, in lower case */
export const forwardedResponse = (headers: HttpHeaders, pass: ReadonlySet<string>): HttpHeaders => {
  const forwarded = without(headers, (headers.get('connection') ?? []).join(), responseOwn)
  for (const name of forwarded.keys()) if (acting.test(name) && !pass.has(name)) forwarded.delete(name)
  return forwarded
}

/** Of a response whose body is not handed on. */
export const bodiless = (headers: HttpHeaders): HttpHeaders => new Map([...headers].filter(([name]) => name !== 'content-type'))

/** @param connection the header in which the sender names further headers of the connection */
const without = <Value>(headers: ReadonlyMap<string, Value>, connection: string, own: ReadonlySet<string>): Map<string, Value> => {
  const kept = new Map<string, Value>()
  const named = connection === '' || connection === 'keep-alive' ? [] : connection.split(',').map(name => name.trim().toLowerCase())
  for (const [name, value] of headers) if (!hopByHop.has(name) && !own.has(name) && !named.includes(name)) kept.set(name, value)
  return kept
}
