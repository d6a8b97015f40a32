import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { JsonObject } from '../../protocol/json.js'
import { errorCode, type IdKey } from '../../protocol/json-rpc.js'

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
}

export const refusal = (status: number, message: string, headers: Readonly<Record<string, string>> = {}): Refusal => ({
  status,
  code: errorCode.blocked,
  message,
  headers,
})

/** @param key the id of the request that is refused; `null` where none could be read (JSON-RPC 2.0, section 5) */
export const refusalBody = ({ code, message, data }: Pick<Refusal, 'code' | 'message' | 'data'>, key: IdKey = 'null'): Buffer =>
  Buffer.from(`{"jsonrpc":"2.0","id":${key},"error":${JSON.stringify({ code, message, data })}}`)

/**
 * Answers a request whose body was not read, or not to its end.
 * @param drainBytes how much of the rest is read and thrown away, so that the client gets to read the answer; a client that
 *   sends more is cut off
 */
export const refuse = (request: IncomingMessage, response: ServerResponse, reason: Refusal, drainBytes: number): void => {
  const body = refusalBody(reason)
  response.writeHead(reason.status, { ...reason.headers, 'content-type': 'application/json', 'content-length': body.length })
  if (request.complete) {
    response.end(body)
    return
  }
  // The whole answer is on its way before the response ends: ending it first would reset a connection with unread bytes.
  response.write(body)
  let drained = 0
  request.on('data', (chunk: Buffer) => {
    drained += chunk.length
    if (drained > drainBytes) request.destroy()
  })
  request.once('end', () => response.end())
  request.resume()
}

/** What is no HTTP request gets an answer that looks like every other, where one can still be given. */
export const answerUnreadable = (error: NodeJS.ErrnoException, socket: Socket): void => {
  if (!socket.writable || socket.bytesWritten > 0) {
    socket.destroy()
    return
  }
  const [status, message] = unreadable.get(error.code ?? '') ?? ['400 Bad Request', 'This is no HTTP request']
  const body = refusalBody({ code: errorCode.blocked, message })
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body.toString()}`,
  )
}

const unreadable = new Map<string, readonly [status: string, message: string]>([
  ['HPE_HEADER_OVERFLOW', ['431 Request Header Fields Too Large', 'The headers are too long']],
  ['ERR_HTTP_REQUEST_TIMEOUT', ['408 Request Timeout', 'The request did not come in time']],
])
