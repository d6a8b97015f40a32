import type { Socket } from 'node:net'
import { errorCode, type IdKey } from '../../protocol/json-rpc.js'
import { responseBytes } from '../../protocol/message.js'
import type { JsonObject } from '../../protocol/json.js'
import type { Timers } from '../timers.js'
import type { FrontRequest, FrontResponse } from './request.js'

/** An HTTP answer of our own, in place of one that the server could have given. */
export interface Refusal {
  readonly status: number
  /** Of the JSON-RPC error in the body. */
  readonly code: number
  /** Ours: nothing that the client sent stands in it. */
  readonly message: string
  /** Of the JSON-RPC error, where its code prescribes them. */
  readonly data?: JsonObject
  readonly headers?: Readonly<Record<string, string>>
  /** Outside the endpoints: without a body, which a client that looks for something else could misread. */
  readonly isPlain?: boolean
}

export const refusal = (status: number, message: string, headers: Readonly<Record<string, string>> = {}): Refusal => ({
  status,
  code: errorCode.blocked,
  message,
  headers,
})

/** @param key the id of the request that is refused; `null` where none could be read (JSON-RPC 2.0, section 5) */
export const refusalBody = ({ code, message, data }: Pick<Refusal, 'code' | 'message' | 'data'>, key: IdKey = 'null'): Buffer =>
  responseBytes(key, 'error', { code, message, data })

/** How much is read of the rest of a body that nobody wants, in bytes. */
const mostBytes = 64 * 1024
/** How long a client that is refused has to send the rest, and to read the answer, in milliseconds. */
const mostMs = 1000

/**
 * Answers a request whose body was not read, or not to its end. The whole answer is on its way before the
 * response ends: ending it first would reset a connection with unread bytes, and the client might never get
 * to read the answer. A client that has not sent the rest in time is cut off (what nginx calls a lingering
 * close).
 * @param key the id of the request that is refused, where it could be read
 */
export const refuse = (request: FrontRequest, response: FrontResponse, reason: Refusal, timers: Timers, key?: IdKey): void => {
  if (request.complete || reason.headers?.['connection'] === 'close') answer(request, response, reason, timers, key)
  // A short body came with the head: it is here when that chunk has been parsed to its end.
  else setImmediate(answer, request, response, reason, timers, key)
}

const answer = (request: FrontRequest, response: FrontResponse, reason: Refusal, timers: Timers, key?: IdKey): void => {
  if (response.headersSent) return void response.destroy()
  const body = reason.isPlain === true ? Buffer.alloc(0) : refusalBody(reason, key)
  response.writeHead(reason.status, {
    ...(!request.complete && { connection: 'close' }),
    ...reason.headers, ...(body.length > 0 && { 'content-type': 'application/json' }), 'content-length': body.length,
  })
  endUnread(request, response, body, timers)
}

/** Ends a response with its last bytes, whether or not the body of its request was read. */
export const endUnread = (request: FrontRequest, response: FrontResponse, body: Buffer, timers: Timers): void => {
  if (request.complete) {
    response.end(body)
    return
  }
  response.write(body)
  let read = 0
  request.on('data', (chunk: Buffer) => {
    read += chunk.length
    if (read > mostBytes) request.pause()
  })
  request.once('end', () => response.end())
  response.once('close', timers.after(mostMs, () => request.destroy()))
  request.resume()
}

/** Answers what is no HTTP request like all that is refused, where an answer can still be given. */
export const answerUnreadable = (error: NodeJS.ErrnoException, socket: Socket): void => {
  if (!socket.writable || socket.bytesWritten > 0) {
    socket.destroy()
    return
  }
  const [status, message] = unreadable.get(error.code ?? '') ?? ['400 Bad Request', 'This is no HTTP request']
  const body = refusalBody({ code: errorCode.blocked, message })
  // Closed whatever the client does: a half-open socket keeps its descriptor.
  const timer = setTimeout(() => socket.destroy(), mostMs)
  socket.once('close', () => clearTimeout(timer))
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body.toString()}`,
  )
}

const unreadable = new Map<string, readonly [status: string, message: string]>([
  ['HPE_HEADER_OVERFLOW', ['431 Request Header Fields Too Large', 'The headers are too long']],
  ['ERR_HTTP_REQUEST_TIMEOUT', ['408 Request Timeout', 'The request did not come in time']],
])
