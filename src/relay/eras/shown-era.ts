import type { Frame } from '#relay/protocol/frame.js'
import { each, isArray, isObject, type Json, member, Meter } from '#relay/protocol/json.js'
import { errorCode, type ErrorResponse } from '#relay/protocol/json-rpc.js'
import { firstModern } from '#relay/protocol/revisions/index.js'
import { modernErrors } from '#relay/transport/http/headers.js'

// What a server's answer shows of its era (2026-07-28, Versioning).

/** Whether a list of versions has 2026-07-28. */
export const namesModern = (versions: Json | undefined): boolean => {
  if (!isArray(versions)) return false
  for (const [, version] of each(versions, new Meter())) if (version === firstModern) return true
  return false
}

/**
 * Whether the refusal of a legacy request shows that the server speaks 2026-07-28 only; `perhaps` where
 * `server/discover` has to tell (2026-07-28, Versioning).
 */
export const showsModernOnly = ({ code, data }: ErrorResponse['error']): 'yes' | 'perhaps' | 'no' => {
  if (code === errorCode.unsupportedVersion) {
    return isObject(data) && namesModern(member(data, 'supported')) ? 'yes' : 'no'
  }
  return code === errorCode.methodNotFound || code === errorCode.invalidParams ? 'perhaps' : 'no'
}

/** A status with which a server refuses a request for what it is: not for its credentials, time or number. */
const refusedByHttp = /^mcp-customs: the server answered HTTP 4(?!01|03|07|08|29)\d\d/

/** The era of a server, by its answer to `server/discover`; undefined: the answer proves nothing. */
export const eraShownBy = ({ message, relayMade }: Frame): 'legacy' | 'modern' | undefined => {
  if (message.kind === 'result') {
    return namesModern(member(message.result, 'supportedVersions')) ? 'modern' : undefined
  }
  if (message.kind !== 'error') return undefined
  const { code, message: text } = message.error
  if (relayMade === true) return refusedByHttp.test(text) ? 'legacy' : undefined
  return modernErrors.has(code) ? 'modern' : 'legacy'
}
