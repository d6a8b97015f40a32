import type { Frame, ResponseHead, Trace } from '../../protocol/frame.js'
import { forwardedRequest, forwardedResponse } from '../http/headers.js'
import { metadataOf, withoutMetadata, type InputSchemaOf } from '../http/metadata.js'
import type { HttpHeaders } from '../transport.js'
import type { HttpReply } from './pool.js'

/** By lower-case name. */
type Headers = ReadonlyMap<string, string>

/**
 * A client's headers as they go to the server, with our place in a trace instead of what they said of one (W3C Trace Context): the
 * `tracestate` of one place says nothing of another.
 * @param always the operator's, which stand in place of the client's
 */
export const forwardedHeaders = (client: Headers, trace: Trace | undefined, always: Headers): Headers => {
  const headers = forwardedRequest(client)
  if (trace !== undefined) {
    headers.delete('traceparent')
    headers.delete('tracestate')
    for (const [name, value] of trace.headers()) headers.set(name, value)
  }
  for (const [name, value] of always) headers.set(name, value)
  return headers
}

/** As the client's, with what describes the message replaced: for one that the relay sends of its own accord. */
export const borrowedHeaders = (client: Headers, frame: Frame, inputSchemaOf: InputSchemaOf, always: Headers): Headers =>
  new Map([
    ...withoutMetadata(forwardedRequest(client)),
    ['accept', 'application/json, text/event-stream'],
    ['content-type', 'application/json'],
    ...metadataOf(frame, inputSchemaOf),
    ...always,
  ])

/** What the operator has said of a server's headers. */
export interface HeadSettings {
  /** The path below which the server's cookies are kept, where others are offered beside it. */
  readonly cookiePath?: string | undefined
  /** Headers that pass though they act on what stands in front of us, in lower case. */
  readonly passHeaders?: ReadonlySet<string> | undefined
}

export const forwardedHead = ({ status, headers }: HttpReply, { cookiePath, passHeaders = none }: HeadSettings): ResponseHead => {
  const forwarded = forwardedResponse(headers, passHeaders)
  return { status, headers: cookiePath === undefined ? forwarded : cookiesOf(cookiePath, forwarded) }
}

const none: ReadonlySet<string> = new Set()

/**
 * A server's headers, where other servers are offered at other paths of one origin: its cookies are those of its own path, so that no
 * client brings them to another server, and none plants its own there (RFC 6265 section 5.4). One that insists on the whole origin
 * (`__Host-`) is refused by the client.
 * @param path such as `/files/`
 */
export const cookiesOf = (path: string, headers: HttpHeaders): HttpHeaders => {
  const cookies = headers.get('set-cookie')
  return cookies === undefined ? headers : new Map([...headers, ['set-cookie', cookies.map(cookie => at(path, cookie))]])
}

const at = (path: string, cookie: string): string => {
  const [pair = '', ...attributes] = cookie.split(';')
  return [pair, ...attributes.filter(attribute => !/^\s*path\s*(?:=|$)/i.test(attribute)), ` Path=${path}`].join(';')
}
