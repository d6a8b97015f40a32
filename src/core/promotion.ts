import { onOneLine } from '../protocol/scan.js'
import { isArray, isObject, member, parseJson, type Json, type JsonObject } from '../protocol/json.js'
import type { Meter } from '../protocol/meter.js'
import { parseFrame } from '../protocol/parse.js'
import { textsOf } from '../protocol/places.js'

/** What a text can become: structured content, as it is read, and as it will be written. */
export interface Promotion {
  readonly value: Json
  readonly text: string
}

const before = '{"jsonrpc":"2.0","id":0,"result":{"structuredContent":'
const limits = { messageBytes: Infinity, depth: 128 }

/** Of a result with more texts that look like JSON, nobody would take one for its data. */
const mostCandidates = 20

/** The JSON object or array that one text block of a result holds; undefined where none does or several do, or where two parsers could read it differently. */
export const promotionOf = (result: JsonObject, meter: Meter): Promotion | undefined => {
  const candidates = textsOf(result, meter).flatMap(({ json }) => json ?? [])
  if (candidates.length > mostCandidates) return undefined
  // Each by itself: in a message, a text could close that and go on.
  const [only, ...others] = candidates.filter(json => parseJson(json) !== undefined)
  if (only === undefined || others.length > 0) return undefined
  const { message, faults } = parseFrame(Buffer.from(`${before}${only}}}`), limits)
  const value = message.kind === 'result' && faults.length === 0 ? member(message.result, 'structuredContent') : undefined
  return isObject(value) || isArray(value) ? { value, text: onOneLine(Buffer.from(only)).toString() } : undefined
}
