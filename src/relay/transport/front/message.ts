import type { Fault, Frame } from '#relay/protocol/frame.js'
import { compareHeaders } from '#relay/protocol/headers.js'
import { errorCode, type IdKey, type Request } from '#relay/protocol/json-rpc.js'
import { isObject, isString, member } from '#relay/protocol/json.js'
import { inMeta, isRevision, modernRevisions } from '#relay/protocol/revisions/index.js'
import { isModernVersion, modernErrors } from '../http/headers.js'
import { refusals, type Refusal } from './refusal.js'

/** What the front has to know of the message in a request's body. */

/** The ids of the requests that need a response; of an unparsable message, its first id. */
export const expectedIn = ({ message }: Frame): readonly IdKey[] => {
  switch (message.kind) {
    case 'request':
      return [message.key]
    case 'batch':
      return message.members.flatMap(expectedIn)
    case 'unusable':
      return message.keys.slice(0, 1)
    case 'notification':
    case 'result':
    case 'error':
    case 'page':
      return []
  }
}

export const requestsIn = ({ message }: Frame): readonly Request[] => {
  if (message.kind === 'batch') return message.members.flatMap(requestsIn)
  return message.kind === 'request' ? [message] : []
}

export const isInitialize = (frame: Frame): boolean =>
  requestsIn(frame).some(({ method }) => method === 'initialize')

/** A request names its revision in `_meta`, and so needs no session. */
export const isModernFrame = (frame: Frame): boolean =>
  requestsIn(frame).some(({ params }) => inMeta(params, 'protocolVersion') !== undefined)

/** Whether the `MCP-Protocol-Version` header names neither a known revision nor one of the modern kind. */
export const isUnknownRevision = (version: string | undefined): boolean =>
  version !== undefined && !isRevision(version) && !isModernVersion(version)

/** The names of the tools that a message calls. */
export const calledTools = (frame: Frame): readonly string[] =>
  requestsIn(frame).flatMap(({ method, params }) => {
    const name = method === 'tools/call' ? member(params, 'name') : undefined
    return isString(name) ? [name] : []
  })

/** The message with the headers of its HTTP request, and with a fault where they contradict its body. */
export const received = (
  { bytes, message, faults, facts, otherKeys }: Frame,
  headers: ReadonlyMap<string, string>,
  modern: boolean,
  scopes: readonly string[] | undefined,
  client: string,
): Frame => {
  const disagreement = modern && message.kind === 'request' ? compareHeaders(headers, message) : undefined
  const fault: Fault | undefined = disagreement === undefined
    ? undefined
    : { kind: 'http', path: '', message: disagreement }
  // No spread: V8 gives each object made by a spread a shape of its own, which makes its readers slow.
  return {
    bytes, message, faults: fault ? [...faults, fault] : faults, facts, otherKeys,
    envelope: { headers, scopes, client },
  }
}

/**
 * The HTTP status of the responses to `asked` when no upstream HTTP server has chosen one (2026-07-28,
 * Streamable HTTP: sending messages, protocol version header, server validation). Clients of older revisions
 * expect errors with 200.
 */
export const statusOf = (responses: readonly Frame[], asked: Frame, modern: boolean): number => {
  const codes = responses.flatMap(({ message }) => (message.kind === 'error' ? [message.error.code] : []))
  const [code] = codes
  if (code === undefined) return 200
  if (asked.message.kind === 'unusable' || asked.faults.length > 0) return isOfRequest(code) ? 400 : 200
  if (asked.message.kind === 'batch') {
    // Each request of a batch that is refused as a whole gets an error.
    const isRefused =
      codes.length === expectedIn(asked).length && codes.every(one => one === errorCode.blocked)
    return isRefused ? 400 : 200
  }
  if (!modern) return 200
  if (code === errorCode.methodNotFound) return 404
  if (code === errorCode.invalidParams) return lacksEnvelope(asked) ? 400 : 200
  return code !== errorCode.blocked && isOfRequest(code) ? 400 : 200
}

/** The fault is the request's (2026-07-28, error codes), or the relay refused the request. */
const isOfRequest = (code: number): boolean => modernErrors.has(code) || code === errorCode.blocked

/** A request lacks a key that every modern request carries (2026-07-28, `_meta`). */
const lacksEnvelope = (frame: Frame): boolean =>
  requestsIn(frame).some(({ params }) =>
    !isString(inMeta(params, 'protocolVersion')) || !isObject(inMeta(params, 'clientCapabilities')))

/**
 * Refuses a modern request that an HTTP server would refuse (2026-07-28, server validation). A stdio server
 * cannot: it would take a request without `_meta` for a legacy one, and its connection for a legacy one too.
 * @param version the header's
 */
export const checkModern = (version: string | undefined, frame: Frame): Refusal | undefined => {
  if (lacksEnvelope(frame)) return refusals.noEnvelope
  if (version === undefined || isModernVersion(version)) return undefined
  const named = requestsIn(frame).map(({ params }) => inMeta(params, 'protocolVersion'))
  if (!named.includes(version)) return undefined
  const data = { supported: modernRevisions, requested: version.slice(0, 80) }
  return { ...refusals.unsupportedVersion, data }
}
