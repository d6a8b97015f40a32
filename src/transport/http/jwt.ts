import { isObject, isString, member, parseJson, type JsonObject } from '#protocol/unmetered.js'

/** Longest part of a token that is read without a check of its signature, in characters. */
const longest = 16 * 1024

/**
 * The claims of a JWT in compact form (RFC 7515, section 7.1), without a check of its signature.
 * @returns undefined for any other token: a token of three parts may be opaque as well
 */
export const unverifiedClaims = (token: string): JsonObject | undefined => {
  const [, header, payload] = /^([\w-]+)\.([\w-]+)\.[\w-]*$/.exec(token) ?? []
  const isSigned = isString(member(objectIn(header), 'alg'))
  return isSigned ? objectIn(payload) : undefined
}

const objectIn = (part = ''): JsonObject | undefined => {
  if (part.length > longest) return undefined
  const value = parseJson(Buffer.from(part, 'base64url').toString())
  return isObject(value) ? value : undefined
}
