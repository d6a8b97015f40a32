import type { Frame, Message } from './frame.js'
import { isObject, isString, member, parseJson, type Json, type JsonObject } from './json.js'
import type { ErrorResponse, Id, IdKey, Notification, Result } from './json-rpc.js'
import { fold } from './case-variants.js'
import {
  afterSpace, afterValue, byte, type Child, eachChild, eachLastMember, slice, stringOf, type Path,
} from './scan.js'
import { unmetered } from './unmetered.js'

// Reads and writes messages and their ids. Ids are compared by their keys (`IdKey`), in core/pending.ts.

/** The members and bytes of an unusable text that are searched for ids. */
const maxMembers = 10_000
const maxBytes = 1024 * 1024

/** Bytes at the end of a long text in which ids are searched for. */
const tailBytes = 256

/** JSON-RPC 2.0, section 4. Readers disagree on the value of a number beyond a double. */
export const isId = (value: Json | undefined): value is Id =>
  isString(value) || (typeof value === 'number' && Number.isFinite(value))

/** The key of an id that we write. */
export const written = (id: Id): IdKey => JSON.stringify(id)

/**
 * A response of ours.
 * @param key the id as spelt; `null` if none could be read (JSON-RPC 2.0, section 5)
 * @param value or its JSON text
 */
export const responseBytes = (
  key: IdKey, member: 'result' | 'error', value: object | string | Buffer,
): Buffer => Buffer.concat([
  Buffer.from(`{"jsonrpc":"2.0","id":${key},"${member}":`),
  Buffer.isBuffer(value) ? value : Buffer.from(isString(value) ? value : JSON.stringify(value)), closing,
])
const closing = Buffer.from('}')

/** A request of ours. @param params JSON text */
export const requestBytes = (key: IdKey, method: string, params = '{}'): Buffer =>
  Buffer.from(`{"jsonrpc":"2.0","id":${key},"method":${JSON.stringify(method)},"params":${params}}`)

/** A notification of ours. */
export const notificationBytes = (method: string, params?: object): Buffer =>
  Buffer.from(JSON.stringify({ jsonrpc: '2.0', method, params }))

/** The key of an id's JSON text. @returns undefined for a text that is not an id: `01`, `1.`, `null` */
export const readKey = (text: string): IdKey | undefined => {
  const id = parseJson(text)
  if (!isId(id)) return undefined
  return isString(id) ? written(id) : text
}

export const idOf = (key: IdKey): Id => {
  const id = parseJson(key)
  return isId(id) ? id : 0
}

/** A key that equals no request's key. It marks a response whose id is spelt unlike the request's id. */
export const misspelt = (key: IdKey): IdKey => ` ${key}`

/**
 * The value that a lenient reader gives an id: `Number(id)`, if that is a number. It is the same for `1`,
 * `1.0` and `"1"`. Only used if no request has the id of a response: the response is then matched to the
 * request whose id has the same value.
 */
export const meaningOf = (key: IdKey): string => {
  // Most clients use small integers.
  if (/^(?:0|[1-9]\d{0,14})$/.test(key)) return key
  const id = idOf(key)
  const number = isString(id) && id.trim() === '' ? NaN : Number(id)
  return String(Number.isNaN(number) ? id : number)
}

/** The number that a lenient reader gives an id. */
export const numberOf = (key: IdKey): number => Number(meaningOf(key))

/** The key of the id or progress token at a path of a message. */
export const keyAt = (frame: Frame, path: Path): IdKey | undefined => {
  const text = slice(frame, path)
  return text === undefined || !mayBeId(text[0]) ? undefined : readKey(text.toString())
}

/** Where most peers write an integer id: after `jsonrpc` and before the only container, or at the end. */
const firstId = /^\{"jsonrpc":"2\.0","id":(0|[1-9]\d{0,14}),/
const lastId = /,"id":(0|[1-9]\d{0,14})\}$/

/** The key of an id at a usual place, where no other member can be another id. */
export const usualKey = (bytes: Buffer): IdKey | undefined => {
  const { length } = bytes
  if (bytes[length - 1] !== byte.closeObject) return undefined
  return bytes[length - 2] === byte.closeObject
    ? firstId.exec(bytes.toString('latin1', 0, 48))?.[1]
    : lastId.exec(bytes.toString('latin1', Math.max(0, length - 32)))?.[1]
}

/** The key of a message's id. @param id the parsed id @param bytes the message */
export const keyOf = (id: Id, bytes: Buffer): IdKey => {
  if (isString(id)) return written(id)
  const numeral = String(id)
  if (usualKey(bytes) === numeral) return numeral
  let found: IdKey | undefined
  const look = (name: string | undefined, value: number, to: number): boolean => {
    const text = name === 'id' ? bytes.toString('latin1', value, to) : undefined
    // Nearly every id is spelt as JSON.stringify spells it.
    if (text !== undefined && (text === numeral || parseJson(text) === id)) found ??= text
    return found !== undefined
  }
  // Most messages have the id at the end or at the beginning, where no object has to be skipped.
  eachLastMember(bytes, (from, keyEnd, value, to) => look(stringOf(bytes, from, keyEnd), value, to))
  if (found === undefined) {
    eachChild(bytes, afterSpace(bytes, 0), ({ key, value, to }) => look(key, value, to))
  }
  return found ?? written(id)
}

/**
 * Every id in a text that may be malformed, cut off or ambiguous, likeliest first: the values of `id` in the
 * message, in the elements of a batch and in further messages, the last one first, because `JSON.parse` keeps
 * the last; then those of members that a reader which ignores case takes for `id`.
 */
export const keysIn = (bytes: Buffer): readonly IdKey[] => {
  if (bytes.length > maxBytes) return keysAtEnds(bytes.subarray(0, maxBytes), bytes.subarray(-tailBytes))
  // Perhaps UTF-16: without the zero bytes its ASCII characters can be read.
  if (bytes.includes(0)) return keysIn(Buffer.from(bytes.filter(one => one !== 0)))
  const exact: IdKey[] = []
  const folded: IdKey[] = []
  eachMember(bytes, ({ key, value, to }) => {
    // A value at the very end may be cut off.
    const isKey = key?.length === 2 && to < bytes.length && fold(key) === 'id'
    if (isKey) note(key === 'id' ? exact : folded, bytes, value, to)
  })
  return unique([...exact.reverse(), ...folded.reverse()])
}

/** Visits the members of each message in a text that may be malformed, and of the elements of a batch. */
const eachMember = (bytes: Buffer, visit: (member: Child) => void): void => {
  let left = maxMembers
  const read = (at: number) =>
    eachChild(bytes, at, child => {
      visit(child)
      return --left <= 0
    })
  let next = 0
  for (let at = opening(bytes, 0); at < bytes.length && left > 0; at = opening(bytes, next)) {
    next = afterValue(bytes, at)
    left--
    if (bytes[at] !== byte.openArray) read(at)
    else {
      eachChild(bytes, at, ({ value }) => {
        if (bytes[value] === byte.openObject) read(value)
        return --left <= 0
      })
    }
  }
}

/** Like `keysIn`, for a text of which only the beginning and the end are kept. */
export const keysAtEnds = (head: Buffer, tail: Buffer): readonly IdKey[] => {
  const last: IdKey[] = []
  eachLastMember(tail, (from, keyEnd, value, to) => {
    if (stringOf(tail, from, keyEnd) === 'id') note(last, tail, value, to)
  })
  return unique([...keysIn(head), ...last])
}

const note = (keys: IdKey[], bytes: Buffer, value: number, to: number): void => {
  const key = mayBeId(bytes[value]) ? readKey(bytes.toString('utf8', value, to)) : undefined
  if (key !== undefined) keys.push(key)
}

/** Objects and arrays are not read, because they may be long. */
const mayBeId = (first: number | undefined): boolean => first !== byte.openObject && first !== byte.openArray

/** Where the next message begins; noise before it is skipped. */
const opening = (bytes: Buffer, at: number): number => {
  const first = afterSpace(bytes, at)
  if (bytes[first] === byte.openArray) return first
  const found = bytes.indexOf(byte.openObject, first)
  return found < 0 ? bytes.length : found
}

const unique = (keys: readonly IdKey[]): readonly IdKey[] => [...new Set(keys)]

/** The message, or the reason why the value is not one (JSON-RPC 2.0, sections 4 and 5, narrowed by MCP). */
export const errorMessageOf = (bytes: Buffer, value: Json): Message | string =>
  isObject(value) ? withId(bytes, value, member(value, 'id')) : 'not an object'

const withId = (bytes: Buffer, value: JsonObject, id: Json | undefined): Message | string => {
  if (member(value, 'jsonrpc') !== '2.0') return '"jsonrpc" is not "2.0"'
  if (id !== undefined && !(isId(id) && (isString(id) || Number.isInteger(id)))) {
    return '"id" is neither a string nor an integer'
  }
  const method = member(value, 'method')
  const result = member(value, 'result')
  const error = member(value, 'error')
  if (method !== undefined && (result !== undefined || error !== undefined)) {
    return 'a request and a response in one'
  }
  if (result !== undefined && error !== undefined) return 'both "result" and "error"'
  if (method !== undefined) return request(bytes, id, method, member(value, 'params'))
  if (result === undefined && error === undefined) return 'neither "method" nor "result" nor "error"'
  if (id === undefined) return 'a response without "id"'
  if (error !== undefined) return errorResponse(bytes, id, error)
  return isObject(result)
    ? { kind: 'result', id, key: keyOf(id, bytes), result }
    : '"result" is not an object'
}

const request = (
  bytes: Buffer, id: Id | undefined, method: Json, params: Json | undefined,
): Message | string => {
  if (!isString(method)) return '"method" is not a string'
  if (params !== undefined && !isObject(params)) return '"params" is not an object'
  if (id === undefined) return { kind: 'notification', method, params }
  return { kind: 'request', id, key: keyOf(id, bytes), method, params }
}

const errorResponse = (bytes: Buffer, id: Id, error: Json): Message | string => {
  if (!isObject(error)) return '"error" is not an object'
  if (!Number.isInteger(member(error, 'code'))) return '"error" has no integer "code"'
  return isError(error)
    ? { kind: 'error', id, key: keyOf(id, bytes), error }
    : '"error" has no string "message"'
}

const isError = (error: JsonObject): error is ErrorResponse['error'] =>
  Number.isInteger(member(error, 'code')) && isString(member(error, 'message'))

/** MCP, basic/utilities/cancellation. */
export const isCancellation = (message: Message): message is Notification =>
  message.kind === 'notification' && message.method === 'notifications/cancelled'

/** Every id that a frame names, likeliest first. */
export const idKeysOf = ({ message, otherKeys }: Frame): readonly IdKey[] => {
  if (message.kind === 'unusable') return message.keys
  if (message.kind === 'batch') return message.members.flatMap(idKeysOf)
  if (message.kind === 'notification' || message.key === undefined) return []
  return [message.key, ...(otherKeys ?? [])]
}

/** The id in a member of a notification's params, if there is one. */
export const keyIn = (frame: Frame, name: 'requestId' | 'progressToken'): IdKey | undefined =>
  frame.message.kind === 'notification' ? keyAt(frame, ['params', name]) : undefined

/** The messages in a frame. */
export const membersOf = (frame: Frame): readonly Frame[] =>
  frame.message.kind === 'batch' ? frame.message.members : [frame]

/**
 * The ids of the requests that a frame answers for certain, even if it is blocked: no better response
 * follows.
 * A text that is not JSON may be a line of a log, or may have one around it.
 */
export const answeredKeys = (frame: Frame): readonly IdKey[] =>
  membersOf(frame).filter(isCertainResponse).flatMap(idKeysOf)

const isCertainResponse = (frame: Frame): boolean => {
  const { message, faults } = frame
  if (message.kind === 'unusable' && message.isWholeResponse === true) return true
  return message.kind === 'page' || (isResponseShaped(frame) && faults.every(({ kind }) => kind !== 'json'))
}

/** Whether a frame has the members of a response: `jsonrpc`, `result` or `error`, and no `method`. */
export const isResponseShaped = (frame: Frame): boolean => {
  const { kind } = frame.message
  if (kind !== 'unusable') return kind === 'result' || kind === 'error'
  const names = firstNames(frame.bytes)
  return names.has('jsonrpc') && (names.has('result') || names.has('error')) && !names.has('method')
}

/** Whether a frame is a request with a fault. */
export const isBadRequest = ({ bytes, message }: Frame): boolean =>
  message.kind === 'unusable' && firstNames(bytes).has('method')

/** Whether a text names a method, and so is no response: perhaps a line of a log that repeats a request. */
export const namesMethod = ({ bytes }: Frame): boolean => {
  let isNamed = false
  eachMember(bytes.subarray(0, maxBytes), ({ key }) => { isNamed ||= key === 'method' })
  return isNamed
}

const isWithoutId = (value: JsonObject | undefined): boolean => (member(value, 'id') ?? null) === null

/** The error of a response whose only fault is that its `id` is null or missing. */
export const anonymousError = (frame: Frame): ErrorResponse['error'] | undefined => {
  if (frame.faults.some(({ kind }) => kind !== 'json-rpc')) return undefined
  const value = lenientValue(frame)
  if (value === undefined || !isWithoutId(value)) return undefined
  const message = withId(frame.bytes, value, 0)
  return !isString(message) && message.kind === 'error' ? message.error : undefined
}

/** The response that a lenient reader finds in a frame, even in one that is not a valid message. */
export const lenientResponse = (frame: Frame): Result | ErrorResponse | undefined => {
  const { message } = frame
  if (message.kind === 'result' || message.kind === 'error') return message
  const value = lenientValue(frame)
  const result = member(value, 'result')
  const error = member(value, 'error')
  const [key = 'null'] = idKeysOf(frame)
  if (isObject(result)) return { kind: 'result', id: idOf(key), key, result }
  if (!isObject(error)) return undefined
  return { kind: 'error', id: idOf(key), key, error: { code: 0, message: '', ...unmetered(error) } }
}

/** The names of the first members of the object with which a text begins. */
const firstNames = (bytes: Buffer): ReadonlySet<string | undefined> => {
  const names = new Set<string | undefined>()
  const at = afterSpace(bytes, 0)
  if (bytes[at] === byte.openObject) {
    eachChild(bytes, at, ({ key }) => {
      names.add(key)
      return names.size > maxNames
    })
  }
  return names
}
const maxNames = 16

const lenientValue = ({ message, faults, bytes }: Frame): JsonObject | undefined => {
  // A text that is not JSON, or too long, has no value.
  const isJson = faults.every(({ kind }) => kind === 'json-rpc' || kind === 'ambiguous')
  if (message.kind !== 'unusable' || !isJson) return undefined
  const value = parseJson(bytes.toString())
  return isObject(value) ? value : undefined
}
