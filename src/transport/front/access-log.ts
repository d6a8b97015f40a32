import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { originOf } from './origin.js'
import { pathOf } from './target.js'

/** A line of an access log; nothing in it is a secret. */
export interface Served {
  readonly method: string
  /** Without the query. */
  readonly path: string
  readonly status: number
  readonly ms: number
  /** Of the answer, with its head, as far as it was written. */
  readonly bytes: number
  /** Equal for requests of one session; not its id, which is a secret and may be short. */
  readonly session: string | undefined
  /** The client's address. */
  readonly peer: string
}

/** @param served told of the request when it is over */
export const logAccess = (request: IncomingMessage, response: ServerResponse, served: (line: Served) => void): void => {
  const began = performance.now()
  // A socket that is gone tells no address.
  const peer = originOf(request).address
  const { socket } = response
  const before = socket?.bytesWritten ?? 0
  response.once('close', () => {
    const id = response.getHeader('mcp-session-id') ?? request.headers['mcp-session-id']
    served({
      method: request.method ?? '',
      path: pathOf(request),
      status: response.statusCode,
      ms: Math.round((performance.now() - began) * 10) / 10,
      bytes: Math.max(0, (socket?.bytesWritten ?? before) - before),
      session: typeof id === 'string' ? createHash('sha256').update(id).digest('hex').slice(0, 8) : undefined,
      peer,
    })
  })
}
