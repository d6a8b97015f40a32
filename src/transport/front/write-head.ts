import type { FrontResponse } from './request.js'
import { isUtf8, mediaType } from '../http/headers.js'
import type { HttpHeaders } from '../transport.js'

export interface Head {
  readonly status: number
  /** The server's. */
  readonly headers: HttpHeaders
  /** Of the body; the server's type stands where it is of the same kind: it may carry parameters. */
  readonly type: string | undefined
  /** Further names and values, in turn. */
  readonly own: readonly string[]
  /** The id that we gave the session. */
  readonly session: string | undefined
}

/** Writes all of it at once: header by header costs more. What was set before, which is for browsers, stays. */
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
  // Of a client that does not know it yet, the access log asks the response.
  if (response.req.headers['mcp-session-id'] === id) raw.push('mcp-session-id', id)
  else response.setHeader('mcp-session-id', id)
}

const valueOf = (values: readonly string[]): string | string[] => (values.length === 1 ? values[0] ?? '' : [...values])

/** The relay alone says which pages may read what it answers, and how long it is. */
const isOurs = (name: string): boolean => name === 'content-length' || name.startsWith('access-control-')
