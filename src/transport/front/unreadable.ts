import type { Socket } from 'node:net'
import { errorCode } from '../../protocol/json-rpc.js'
import { refusalBody } from './refusal.js'

/** What is no HTTP request gets an answer that looks like every other, where one can still be given. */
export const answerUnreadable = (error: NodeJS.ErrnoException, socket: Socket): void => {
  if (!socket.writable || socket.bytesWritten > 0) {
    socket.destroy()
    return
  }
  const [status, message] = unreadable.get(error.code ?? '') ?? ['400 Bad Request', 'This is no HTTP request']
  const body = refusalBody({ code: errorCode.blocked, message })
  // Closed by us, whatever the client does: a socket whose one half is open keeps its descriptor.
  const timer = setTimeout(() => socket.destroy(), mostMs)
  socket.once('close', () => clearTimeout(timer))
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body.toString()}`,
  )
}

/** So long, in milliseconds, a client has to read the answer. */
const mostMs = 1000

const unreadable = new Map<string, readonly [status: string, message: string]>([
  ['HPE_HEADER_OVERFLOW', ['431 Request Header Fields Too Large', 'The headers are too long']],
  ['ERR_HTTP_REQUEST_TIMEOUT', ['408 Request Timeout', 'The request did not come in time']],
])
