import type { FrontRequest, FrontResponse } from './request.js'
import { refusalBody, type Refusal } from './refusal.js'
import type { Timers } from '../timers.js'
import type { IdKey } from '../../protocol/json-rpc.js'

/** Of the rest of a body that nobody wants, so much is read, in bytes; and so long its end is waited for, in milliseconds. */
const mostBytes = 64 * 1024
const mostMs = 1000

/**
 * Answers a request whose body was not read, or not to its end. The whole answer is on its way before the response ends: ending it
 * first would reset a connection with unread bytes, and the client might never get to read the answer. A client that has not sent the rest
 * in time is cut off (what nginx calls a lingering close).
 * @param key the id of the request that is refused, where it could be read
 */
export const refuse = (request: FrontRequest, response: FrontResponse, reason: Refusal, timers: Timers, key?: IdKey): void => {
  if (request.complete || reason.headers?.['connection'] === 'close') answer(request, response, reason, timers, key)
  // A short body came with the head, and is here when that piece of the connection has been parsed to its end.
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
