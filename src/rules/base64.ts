import { Buffer } from 'node:buffer'
import { isString, member } from '../protocol/json.js'
import type { Part } from '../protocol/places.js'
import { nothing, one, partRule } from './problem.js'

// In characters; a multiple of four, and small enough that a piece and its bytes stay in the processor's cache.
const piece = 16384
const bytes = Buffer.allocUnsafe((piece / 4) * 3)

/**
 * Is this base64 as RFC 4648 section 4 has it: the standard alphabet, padded, no line ends? The decoder of node:buffer
 * forgives everything, so what it read is written again and compared: several times faster than a regular expression.
 */
export const isBase64 = (text: string): boolean => {
  if (text.length % 4 !== 0) return false
  for (let from = 0; from < text.length; from += piece) {
    const last = from + piece >= text.length
    const part = text.slice(from, from + piece)
    if (!last && part.endsWith('=')) return false
    const length = bytes.write(part, 'base64')
    // Bits that no byte needs may be set in the last character; decoders ignore them.
    if (bytes.toString('base64', 0, length) !== part && !(last && loosely.test(part))) return false
  }
  return true
}

const loosely = /^[A-Za-z0-9+/]*={0,2}$/

/** The base64 that a part carries, and under which name. */
export const payloadOf = ({ kind, value }: Part): { readonly key: string; readonly data: string } | undefined => {
  const type = member(value, 'type')
  const key = kind === 'resource' ? 'blob' : type === 'image' || type === 'audio' ? 'data' : undefined
  const data = key === undefined ? undefined : member(value, key)
  return key !== undefined && isString(data) ? { key, data } : undefined
}

export const base64 = partRule(part => {
  const payload = payloadOf(part)
  return payload === undefined || isBase64(payload.data)
    ? nothing
    : one(`${part.path}/${payload.key}`, 'is not base64 (standard alphabet, padded, one line)')
})
