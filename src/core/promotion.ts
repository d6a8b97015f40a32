import { onOneLine } from '../protocol/edit.js'
import { isArray, isObject, isString, member, parseJson, type Json, type JsonObject } from '../protocol/json.js'
import { parseFrame } from '../protocol/parse.js'

/** What a text can become: structured content, as it is read, and as it will be written. */
export interface Promotion {
  readonly value: JsonObject
  readonly text: string
}

const before = '{"jsonrpc":"2.0","id":0,"result":{"structuredContent":'
const limits = { messageBytes: Infinity, depth: 128 }

/** The JSON object that the one text block of a result holds; undefined where there is none, or where two parsers could read it differently. */
export const promotionOf = (result: JsonObject): Promotion | undefined => {
  const content = member(result, 'content')
  const [block, ...others] = isArray(content) ? content.filter(isText) : []
  const text = isObject(block) && others.length === 0 ? member(block, 'text') : undefined
  if (!isString(text) || !/^\s*\{/.test(text) || !isJson(text)) return undefined
  const { message, faults } = parseFrame(Buffer.from(`${before}${text}}}`), limits)
  const value = message.kind === 'result' && faults.length === 0 ? member(message.result, 'structuredContent') : undefined
  return isObject(value) ? { value, text: onOneLine(Buffer.from(text.trim())).toString() } : undefined
}

const isText = (block: Json): boolean => isObject(block) && member(block, 'type') === 'text'

/** By itself: in a message, a text could close that and go on. */
const isJson = (text: string): boolean => {
  try {
    parseJson(text)
    return true
  } catch {
    return false
  }
}
