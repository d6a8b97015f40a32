import { isObject, member, type Json, type JsonObject } from './json.js'

/** Keys of `_meta` that the protocol itself gives a meaning begin so (2026-07-28, `_meta`). */
export const metaPrefix = 'io.modelcontextprotocol/'

/** What `_meta` of a request's params, or of a result, says of itself by the protocol. */
export const inMeta = (holder: JsonObject | undefined, key: string): Json | undefined => {
  const meta = member(holder, '_meta')
  return isObject(meta) ? member(meta, metaPrefix + key) : undefined
}
