import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { RequestArrival } from './arrival.js'

/** A line of an access log. It contains no secrets. */
export interface ServedRequest {
  readonly method: string
  /** Without the query. */
  readonly path: string
  readonly status: number
  readonly ms: number
  /** Bytes of the response that were written, with its head. */
  readonly bytes: number
  /** A hash of the session id, which is a secret. */
  readonly session: string | undefined
  /** The client's address. */
  readonly peer: string
}

/** @param served called at the end of the request */
export const logAccess = (
  request: IncomingMessage, response: ServerResponse, { path, address }: RequestArrival,
  served: (line: ServedRequest) => void,
): void => {
  const began = performance.now()
  const { socket } = response
  const before = socket?.bytesWritten ?? 0
  response.once('close', () => {
    const id = response.getHeader('mcp-session-id') ?? request.headers['mcp-session-id']
    served({
      method: request.method ?? '',
      path,
      status: response.statusCode,
      ms: Math.round((performance.now() - began) * 10) / 10,
      bytes: Math.max(0, (socket?.bytesWritten ?? before) - before),
      session: typeof id === 'string' ? createHash('sha256').update(id).digest('hex').slice(0, 8) : undefined,
      peer: address,
    })
  })
}
