import type { Frame, Message } from './frame.js'
import { idOf, isId, keyOf } from './ids.js'
import { isObject, isString, member, parseJson, type Json, type JsonObject } from './json.js'
import type { ErrorResponse, Id, IdKey, Notification, Result } from './json-rpc.js'
import { unmetered } from './unmetered.js'
import { afterSpace, byte, eachChild } from './scan.js'

/** The message, or what keeps the value from being one (JSON-RPC 2.0, sections 4 and 5, and what MCP narrows). */
export const messageOf = (bytes: Buffer, value: Json): Message | string =>
  isObject(value) ? withId(bytes, value, member(value, 'id')) : 'not an object'

const withId = (bytes: Buffer, value: JsonObject, id: Json | undefined): Message | string => {
  if (member(value, 'jsonrpc') !== '2.0') return '"jsonrpc" is not "2.0"'
  if (id !== undefined && !(isId(id) && (isString(id) || Number.isInteger(id)))) return '"id" is neither a string nor an integer'
  const method = member(value, 'method')
  const result = member(value, 'result')
  const error = member(value, 'error')
  if (method !== undefined && (result !== undefined || error !== undefined)) return 'a request and a response in one'
  if (result !== undefined && error !== undefined) return 'both "result" and "error"'
  if (method !== undefined) return request(bytes, id, method, member(value, 'params'))
  if (result === undefined && error === undefined) return 'neither "method" nor "result" nor "error"'
  if (id === undefined) return 'a response without "id"'
  if (error !== undefined) return errorResponse(bytes, id, error)
  return isObject(result) ? { kind: 'result', id, key: keyOf(id, bytes), result } : '"result" is not an object'
}

const request = (bytes: Buffer, id: Id | undefined, method: Json, params: Json | undefined): Message | string => {
  if (!isString(method)) return '"method" is not a string'
  if (params !== undefined && !isObject(params)) return '"params" is not an object'
  if (id === undefined) return { kind: 'notification', method, params }
  return { kind: 'request', id, key: keyOf(id, bytes), method, params }
}

const errorResponse = (bytes: Buffer, id: Id, error: Json): Message | string => {
  if (!isObject(error)) return '"error" is not an object'
  if (!hasInteger(error, 'code')) return '"error" has no integer "code"'
  if (!hasText(error, 'message')) return '"error" has no string "message"'
  return { kind: 'error', id, key: keyOf(id, bytes), error }
}

const hasInteger = <Key extends string>(object: JsonObject, key: Key): object is JsonObject & Readonly<Record<Key, number>> =>
  Number.isInteger(member(object, key))

const hasText = <Key extends string>(object: JsonObject, key: Key): object is JsonObject & Readonly<Record<Key, string>> =>
  isString(member(object, key))

/** Takes back a request, by its id (MCP, basic/utilities/cancellation). */
export const isCancellation = (message: Message): message is Notification =>
  message.kind === 'notification' && message.method === 'notifications/cancelled'

/** Every id that a frame names, likeliest first. */
export const keysOf = ({ message, otherKeys }: Frame): readonly IdKey[] => {
  switch (message.kind) {
    case 'unusable':
      return message.keys
    case 'batch':
      return message.members.flatMap(keysOf)
    case 'notification':
      return []
    case 'page':
      return message.key === undefined ? [] : [message.key]
    case 'request':
    case 'result':
    case 'error':
      return [message.key, ...(otherKeys ?? [])]
  }
}

/** True of a response that JSON-RPC allows where the id could not be read (`id` is null), and of one that is cut off before its id. */
export const isAnonymousAnswer = (frame: Frame): boolean => {
  if (frame.faults.some(({ kind }) => kind === 'json')) return beginsAsAnswer(frame)
  const value = lenientValue(frame)
  return (member(value, 'id') ?? null) === null && (member(value, 'error') ?? member(value, 'result')) !== undefined
}

/** The error in a response whose `id` is null or left out, which is else as it should be. */
export const anonymousError = (frame: Frame): ErrorResponse['error'] | undefined => {
  if (frame.faults.some(({ kind }) => kind !== 'json-rpc')) return undefined
  const value = lenientValue(frame)
  if (value === undefined || (member(value, 'id') ?? null) !== null) return undefined
  const message = withId(frame.bytes, value, 0)
  return !isString(message) && message.kind === 'error' ? message.error : undefined
}

/** What a lenient reader takes a frame for that is no message: the answer that it holds, whatever else it holds. */
export const lenientAnswer = (frame: Frame): Result | ErrorResponse | undefined => {
  const { message } = frame
  if (message.kind === 'result' || message.kind === 'error') return message
  const value = lenientValue(frame)
  const result = member(value, 'result')
  const error = member(value, 'error')
  const [key = 'null'] = keysOf(frame)
  if (isObject(result)) return { kind: 'result', id: idOf(key), key, result }
  return isObject(error) ? { kind: 'error', id: idOf(key), key, error: { code: 0, message: '', ...unmetered(error) } } : undefined
}

/** Noise has no such names; a piece of a log may look like JSON. */
const beginsAsAnswer = ({ bytes }: Frame): boolean => {
  const names = new Set<string | undefined>()
  const at = afterSpace(bytes, 0)
  if (bytes[at] === byte.openObject) {
    eachChild(bytes, at, ({ key }) => {
      names.add(key)
      return names.size > mostNames
    })
  }
  return names.has('jsonrpc') && (names.has('result') || names.has('error'))
}
const mostNames = 16

const lenientValue = ({ message, faults, bytes }: Frame): JsonObject | undefined => {
  // Of what is no JSON, or too long, there is nothing to be read.
  if (message.kind !== 'unusable' || !faults.every(({ kind }) => kind === 'json-rpc' || kind === 'ambiguous')) return undefined
  const value = parseJson(bytes.toString())
  return isObject(value) ? value : undefined
}
