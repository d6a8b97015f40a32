import type { IncomingMessage } from 'node:http'
import { refusal, type Refusal } from './refusal.js'

/** Of headers that are compared with the message, or decide who may ask: no sender may have them taken away on the way. */
const endToEnd = /^(?:mcp-.*|content-.*|accept|authorization|host|origin|last-event-id|cookie)$/

/** Whether the head says by one word how the message is framed and what goes with it (RFC 9110, section 7.6.1; RFC 9112, section 6.1). */
export const checkFraming = ({ headers, httpVersion }: IncomingMessage): Refusal | undefined => {
  const { connection = '', 'transfer-encoding': coding } = headers
  if (coding !== undefined && (httpVersion === '1.0' || coding.trim().toLowerCase() !== 'chunked')) return misframed
  return connection.split(',').some(name => endToEnd.test(name.trim().toLowerCase())) ? misnamed : undefined
}

const bad = (message: string): Refusal => refusal(400, message, { connection: 'close' })
const misframed = bad('The Transfer-Encoding is not chunked, or not for this version of HTTP')
const misnamed = bad('The Connection header names a header that goes to the server')
