import type { Frame, ResponseHead, Trace } from '../../protocol/frame.js'
import { cookiesOf } from '../http/cookies.js'
import { forwardedRequest, forwardedResponse } from '../http/headers.js'
import { metadataOf, withoutMetadata, type InputSchemaOf } from '../http/metadata.js'
import type { HttpReply } from './pool.js'

/** By lower-case name. */
type Headers = ReadonlyMap<string, string>

/**
 * A client's headers as they go to the server, with our place in a trace instead of what they said of one (W3C Trace Context): the
 * `tracestate` of one place says nothing of another.
 * @param always the operator's, which stand in place of the client's
 */
export const forwardedHeaders = (client: Headers, trace: Trace | undefined, always: Headers): Headers => {
  const headers = forwardedRequest(client)
  if (trace !== undefined) {
    headers.delete('traceparent')
    headers.delete('tracestate')
    for (const [name, value] of trace.headers()) headers.set(name, value)
  }
  for (const [name, value] of always) headers.set(name, value)
  return headers
}

/** As the client's, with what describes the message replaced: for one that the relay sends of its own accord. */
export const borrowedHeaders = (client: Headers, frame: Frame, inputSchemaOf: InputSchemaOf, always: Headers): Headers =>
  new Map([
    ...withoutMetadata(forwardedRequest(client)),
    ['accept', 'application/json, text/event-stream'],
    ['content-type', 'application/json'],
    ...metadataOf(frame, inputSchemaOf),
    ...always,
  ])

/** @param cookiePath the path below which the server's cookies are kept, where others are offered beside it */
export const forwardedHead = ({ status, headers }: HttpReply, cookiePath: string | undefined): ResponseHead => {
  const forwarded = forwardedResponse(headers)
  return { status, headers: cookiePath === undefined ? forwarded : cookiesOf(cookiePath, forwarded) }
}
