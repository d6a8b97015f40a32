import type { Fault, Frame } from '../../protocol/frame.js'
import { compareHeaders } from '../../protocol/headers.js'
import { isObject, isString, member, type Json } from '../../protocol/json.js'
import { errorCode, type IdKey, type Request } from '../../protocol/json-rpc.js'
import { isId, written } from '../../protocol/message.js'
import { isRevision } from '../../protocol/revision.js'
import { isModernVersion } from '../http/metadata.js'

/** What the HTTP front has to know of a client's message: who is due an answer, and by which rules of HTTP. */

/** The ids that are due an answer; of a message that cannot be used, the likeliest that it meant. */
export const dueIn = ({ message }: Frame): readonly IdKey[] => {
  switch (message.kind) {
    case 'request':
      return [message.key]
    case 'batch':
      return message.members.flatMap(dueIn)
    case 'unusable':
      return message.keys.slice(0, 1)
    case 'notification':
    case 'result':
    case 'error':
    case 'page':
      return []
  }
}

export const isInitialize = (frame: Frame): boolean => requestsIn(frame).some(({ method }) => method === 'initialize')

/** @param version the header's: a revision of the handshake kind that does not exist */
export const isUnknownRevision = (version: string | undefined): boolean =>
  version !== undefined && !isRevision(version) && !isModernVersion(version)

/** A request says of itself that it is stateless. */
export const isModern = (frame: Frame): boolean =>
  requestsIn(frame).some(request => member(metaOf(request), `${prefix}protocolVersion`) !== undefined)

/** The message as it came by HTTP: with its headers, and with a fault where they say something else than its body. */
export const received = (
  { bytes, message, faults, otherKeys }: Frame,
  headers: ReadonlyMap<string, string>,
  modern: boolean,
): Frame => {
  const disagreement = modern && message.kind === 'request' ? compareHeaders(headers, message) : undefined
  const fault: Fault | undefined = disagreement === undefined ? undefined : { kind: 'http', path: '', message: disagreement }
  // Spelt out, and not spread, for all that reads it: see the entries of `Context`.
  return { bytes, message, faults: fault ? [...faults, fault] : faults, otherKeys, envelope: { headers } }
}

/**
 * The HTTP status of the answers to `asked` for which no HTTP server has named one (2026-07-28, Streamable HTTP: sending messages,
 * protocol version header, server validation). Clients of older revisions expect errors with 200.
 */
export const statusOf = (answers: readonly Frame[], asked: Frame, modern: boolean): number => {
  const codes = answers.flatMap(({ message }) => (message.kind === 'error' ? [message.error.code] : []))
  const [code] = codes
  if (code === undefined) return 200
  if (asked.message.kind === 'unusable' || asked.faults.length > 0) return ofRequest.has(code) ? 400 : 200
  // A batch that is refused as such is answered once for each of its requests.
  if (asked.message.kind === 'batch') return codes.length === dueIn(asked).length && codes.every(one => one === errorCode.blocked) ? 400 : 200
  if (!modern) return 200
  if (code === errorCode.methodNotFound) return 404
  if (code === errorCode.invalidParams) return requestsIn(asked).every(hasEnvelope) ? 200 : 400
  return code !== errorCode.blocked && ofRequest.has(code) ? 400 : 200
}

/** The fault is the request's: header mismatch, missing client capability, unsupported version; and the relay's own code. */
const ofRequest: ReadonlySet<number> = new Set([errorCode.headerMismatch, -32021, errorCode.unsupportedVersion, errorCode.blocked])

const prefix = 'io.modelcontextprotocol/'

const metaOf = ({ params }: Request) => {
  const meta = member(params, '_meta')
  return isObject(meta) ? meta : undefined
}

/** What every request of a modern client carries (2026-07-28, `_meta`). */
const hasEnvelope = (request: Request): boolean => {
  const meta = metaOf(request)
  return isString(member(meta, `${prefix}protocolVersion`)) && isObject(member(meta, `${prefix}clientCapabilities`))
}

/** A request that the headers call modern, and that does not say so itself. */
export const lacksEnvelope = (frame: Frame): boolean => !requestsIn(frame).every(hasEnvelope)

/** The revision that the header and the body name alike, where it is none of the stateless kind, nor could come to be one. */
export const unsupportedVersion = (version: string | undefined, frame: Frame): string | undefined => {
  const named = requestsIn(frame).map(request => member(metaOf(request), `${prefix}protocolVersion`))
  return version !== undefined && !isModernVersion(version) && named.includes(version) ? version : undefined
}

/** What ties a message of a server's that belongs to a request to it; keys of JSON text, as ids have. */
export interface Ties {
  readonly requests: readonly IdKey[]
  readonly progress: readonly IdKey[]
}

export const tiesOf = (frame: Frame): Ties => ({
  requests: requestsIn(frame).map(({ key }) => key),
  progress: requestsIn(frame).flatMap(request => keyOf(member(metaOf(request), 'progressToken'))),
})

/** Of a notification: the request whose progress it tells, or the subscription that it belongs to (2026-07-28). */
export const tiesIn = ({ message }: Frame): Ties | undefined => {
  if (message.kind !== 'notification') return undefined
  const meta = member(message.params, '_meta')
  const progress = message.method === 'notifications/progress' ? keyOf(member(message.params, 'progressToken')) : []
  const requests = isObject(meta) ? keyOf(member(meta, `${prefix}subscriptionId`)) : []
  return progress.length + requests.length > 0 ? { requests, progress } : undefined
}

const keyOf = (value: Json | undefined): readonly IdKey[] =>
  isId(value) ? [written(value)] : []

const requestsIn = ({ message }: Frame): readonly Request[] => {
  if (message.kind === 'batch') return message.members.flatMap(requestsIn)
  return message.kind === 'request' ? [message] : []
}
