import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ResponseHead } from '#relay/protocol/frame.js'
import { isUtf8, mediaType } from '../http/headers.js'
import type { FrontResponse } from './request.js'

/** The heads of responses: CORS headers, and a server's headers with ours. */

/** Lets pages of this origin read the response (CORS). */
export const shareWith = (origin: string, response: ServerResponse): void => {
  response.setHeader('access-control-allow-origin', origin)
  response.setHeader('access-control-expose-headers', 'Mcp-Session-Id, WWW-Authenticate')
  response.setHeader('vary', 'Origin')
}

export const isPreflight = ({ method, headers }: IncomingMessage): boolean =>
  method === 'OPTIONS' && headers['access-control-request-method'] !== undefined

/** Browsers send preflights without credentials, so they are answered before the token is checked. */
export const preflight = ({ headers }: IncomingMessage, response: ServerResponse): void => {
  response.writeHead(204, {
    'access-control-allow-methods': 'GET, POST, DELETE',
    // Tools define their own `Mcp-Param-*` headers, so there is no fixed list to send.
    'access-control-allow-headers': headers['access-control-request-headers'] ?? '',
    'access-control-max-age': '600',
  })
  response.end()
}

interface Head extends ResponseHead {
  /** Of the body. The server's header is kept where it has the same type, because it may carry parameters. */
  readonly type: string | undefined
  /** Additional headers: names and values in turn. */
  readonly own: readonly string[]
  /** The session id that the front has created. */
  readonly session: string | undefined
}

/** Writes all headers at once, which is faster than one by one. CORS headers, which were set before, stay. */
export const writeHead = (response: FrontResponse, { status, headers, type, own, session }: Head): void => {
  const raw: (string | string[])[] = [...own]
  const theirs = type === mediaType(headers) && isUtf8(headers)
  if (type !== undefined && !theirs) raw.push('content-type', type)
  for (const [name, values] of headers) {
    if (name === 'vary' && response.hasHeader(name)) response.appendHeader(name, values)
    else if (name === 'mcp-session-id') nameSession(response, raw, valueOf(values))
    else if (name === 'content-type' ? theirs : !isOurs(name)) raw.push(name, valueOf(values))
  }
  if (session !== undefined) nameSession(response, raw, session)
  response.writeHead(status, raw)
}

const nameSession = (response: FrontResponse, raw: (string | string[])[], id: string | string[]): void => {
  // The access log reads the id of a new session from the response (`getHeader`).
  if (response.req.headers['mcp-session-id'] === id) raw.push('mcp-session-id', id)
  else response.setHeader('mcp-session-id', id)
}

const valueOf = (values: readonly string[]): string | string[] =>
  values.length === 1 ? values[0] ?? '' : [...values]

/** The relay sets the length and the CORS headers itself. */
const isOurs = (name: string): boolean => name === 'content-length' || name.startsWith('access-control-')
