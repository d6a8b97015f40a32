import type { Socket } from 'node:net'
import type { Identity } from '#relay/core/vocabulary.js'
import { errorCode, type IdKey } from '#relay/protocol/json-rpc.js'
import { responseBytes } from '#relay/protocol/message.js'
import type { JsonObject } from '#relay/protocol/json.js'
import { realTimers, type Timers } from '../timers.js'
import type { FrontRequest, FrontResponse } from './request.js'

/** An HTTP error response of the relay's own: the request does not reach a server. */
export interface Refusal {
  readonly status: number
  /** Of the JSON-RPC error in the body. */
  readonly code: number
  /** Never repeats text that the client sent. */
  readonly message: string
  /** Whose token was not enough, for records. */
  readonly subject?: Identity | undefined
  /** Of the JSON-RPC error, where its code prescribes data. */
  readonly data?: JsonObject
  readonly headers?: Readonly<Record<string, string>>
  /** Without a body: a client that looks for OAuth metadata could misread one. */
  readonly isPlain?: boolean
}

type Headers = Readonly<Record<string, string>>

export const refusal = (
  status: number, message: string, headers: Headers = {}, code: number = errorCode.blocked,
): Refusal => ({ status, code, message, headers })

const retry = { 'retry-after': '5' }
const close = { connection: 'close' }
const { invalidRequest, invalidParams, parse } = errorCode

/** The refusals of the front and its endpoints. */
export const refusals = {
  misframed: refusal(400, 'The Transfer-Encoding is not chunked, or not for this version of HTTP', close),
  misnamed: refusal(400, 'The Connection header names a header that goes to the server', close),
  unpacked: refusal(400, 'The body is not what its Content-Encoding says', {}, parse),
  unknownVersion: refusal(400, 'The MCP-Protocol-Version is not known', {}, invalidRequest),
  initialized: refusal(400, 'The session is initialized already', {}, invalidRequest),
  noSessionId: refusal(
    400, 'The Mcp-Session-Id header is missing: a session begins with initialize', {}, invalidRequest,
  ),
  noEnvelope: refusal(
    400, 'The request says nothing of its protocolVersion and clientCapabilities in _meta', {}, invalidParams,
  ),
  unsupportedVersion: refusal(
    400, 'The protocol version is not supported', {}, errorCode.unsupportedVersion,
  ),
  noToken: refusal(401, 'A bearer token is needed', { 'www-authenticate': 'Bearer' }),
  badToken: refusal(
    401, 'The bearer token is not known', { 'www-authenticate': 'Bearer error="invalid_token"' },
  ),
  badHost: refusal(403, 'This Host is not allowed here: name it in allowHosts'),
  badOrigin: refusal(403, 'This Origin is not allowed here: name it in allowOrigins'),
  crossSite: refusal(403, 'A page of another site may not load this'),
  noEndpoint: refusal(
    404, 'There is no endpoint at this path: a server is at /mcp, or in a gateway at /NAME/mcp by its name',
  ),
  noLogin: { ...refusal(404, 'There is no way to log in here'), isPlain: true },
  retired: refusal(404, 'There is no endpoint at this path any more'),
  noSession: refusal(404, 'There is no such session: begin a new one with initialize'),
  otherReplica: refusal(
    404, 'There is no such session here: it began at another replica, which has ended, or to which the load ' +
      'balancer does not route its id. Begin a new one with initialize',
  ),
  badMethod: refusal(405, 'This method is not allowed', { allow: 'GET, POST, DELETE' }),
  onlyPost: refusal(405, 'This revision has no streams of GET, and no sessions', { allow: 'POST' }),
  notJson: refusal(
    415, 'The Content-Type must be application/json', { 'accept-post': 'application/json' },
  ),
  badExpect: refusal(417, 'This Expect is not known'),
  broken: refusal(500, 'The relay failed on this request'),
  stopping: refusal(503, 'The relay is stopping', { ...retry, ...close }),
  manyRequests: refusal(503, 'Too many requests are open', retry),
  manySessions: refusal(503, 'There are too many sessions', retry),
  manyBytes: refusal(503, 'There is no room for this body: too much of others is waiting', retry),
  loop: refusal(508, 'The request has been here before: a server leads back to this relay'),
} satisfies Record<string, Refusal>

/**
 * @param keys the id of the refused request; `null` where none could be read (JSON-RPC 2.0, section 5);
 *   several are those of a batch, which is answered by a batch
 */
export const refusalBody = (
  reason: Pick<Refusal, 'code' | 'message' | 'data'>, keys: IdKey | readonly IdKey[] = 'null',
): Buffer => {
  const { code, message, data } = reason
  if (typeof keys === 'string') return responseBytes(keys, 'error', { code, message, data })
  if (keys.length <= 1) return refusalBody(reason, keys[0])
  return Buffer.from(`[${keys.map(key => refusalBody(reason, key).toString()).join(',')}]`)
}

/** The most bytes read of the rest of a body that is not wanted. */
const maxUnreadBytes = 64 * 1024
/** The time that a refused client has to send the rest and to read the response, in milliseconds. */
const lingerMs = 1000

/**
 * Answers a request whose body was not read, or not to its end. All bytes of the response are sent before it
 * ends: ending it first would reset a connection with unread bytes, and the client might lose the response.
 * A client that has not sent the rest in time is cut off (nginx calls this a lingering close).
 * @param keys the ids of the refused requests, where they could be read
 */
export const refuse = (
  request: FrontRequest, response: FrontResponse, reason: Refusal, timers: Timers,
  keys?: IdKey | readonly IdKey[],
): void => {
  const isReady = request.complete || reason.headers?.['connection'] === 'close'
  if (isReady) answer(request, response, reason, timers, keys)
  // A short body arrives in one chunk with the head: it is complete once that chunk is parsed.
  else setImmediate(answer, request, response, reason, timers, keys)
}

const answer = (
  request: FrontRequest, response: FrontResponse, reason: Refusal, timers: Timers,
  keys?: IdKey | readonly IdKey[],
): void => {
  if (response.headersSent) return void response.destroy()
  const body = reason.isPlain === true ? Buffer.alloc(0) : refusalBody(reason, keys)
  response.writeHead(reason.status, {
    ...(!request.complete && close),
    ...reason.headers,
    ...(body.length > 0 && { 'content-type': 'application/json' }),
    'content-length': body.length,
  })
  endUnread(request, response, body, timers)
}

/** Ends a response with its last bytes, whether or not the body of its request was read. */
export const endUnread = (
  request: FrontRequest, response: FrontResponse, body: Buffer, timers: Timers,
): void => {
  if (request.complete) {
    response.end(body)
    return
  }
  response.write(body)
  let read = 0
  request.on('data', (chunk: Buffer) => {
    read += chunk.length
    if (read > maxUnreadBytes) request.pause()
  })
  request.once('end', () => response.end())
  response.once('close', timers.after(lingerMs, () => request.destroy()))
  request.resume()
}

/** Answers bytes that Node cannot parse as an HTTP request, where a response can still be sent. */
export const answerUnreadable = (error: NodeJS.ErrnoException, socket: Socket): void => {
  if (!socket.writable || socket.bytesWritten > 0) {
    socket.destroy()
    return
  }
  const [status, message] = unreadable.get(error.code ?? '') ?? ['400 Bad Request', 'This is no HTTP request']
  const body = refusalBody({ code: errorCode.blocked, message })
  // Closed whatever the client does: a half-open socket keeps its descriptor.
  socket.once('close', realTimers.after(lingerMs, () => socket.destroy()))
  const headers = `content-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close`
  socket.end(`HTTP/1.1 ${status}\r\n${headers}\r\n\r\n${body.toString()}`)
}

const unreadable = new Map<string, readonly [status: string, message: string]>([
  ['HPE_HEADER_OVERFLOW', ['431 Request Header Fields Too Large', 'The headers are too long']],
  ['ERR_HTTP_REQUEST_TIMEOUT', ['408 Request Timeout', 'The request did not come in time']],
])
