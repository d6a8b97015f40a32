import { isAscii, isUtf8 } from 'node:buffer'
import type { Fault, Frame, FrameLimits, Message } from './frame.js'
import { keyOf, keysAtEnds, keysIn } from './ids.js'
import { isArray, isObject, isString, member, parseJson, type Json, type JsonObject } from './json.js'
import type { Id } from './json-rpc.js'
import { caseVariants } from './protocol-keys.js'
import { afterContainer, afterSpace, byte, deepest, eachChild } from './scan.js'
import { noteShape } from './sole.js'
import { loneSurrogate, survey, tooDeep } from './survey.js'
import { tally } from './tally.js'

/** So many opening brackets `JSON.parse` may meet before their nesting is measured: each level costs it memory. */
const harmlessOpens = 100_000

/** Containers nested deeper than that are left to the survey, which needs no stack. */
const shallow = 1000

/** So much of the beginning and of the end is looked at of what is too long. */
const kept = 4096

/** More members than that are no batch that anybody sends. */
const mostMembers = 10_000

/**
 * Reads one message, strictly, and finds what is wrong with it as such (rules wire/json, wire/json-rpc,
 * wire/ambiguous, wire/size). Never throws. The members of a batch are frames with faults of their own, whose paths
 * start at the member; whether a batch is allowed is for the caller to say.
 * @param bytes one message, without the line end or the SSE dressing
 */
export const parseFrame = (bytes: Buffer, limits: FrameLimits): Frame => read(bytes, limits, true)

/**
 * A message over the limit, of which only the beginning and the end were kept.
 * @param size of the whole message, in bytes
 */
export const oversizedFrame = (head: Buffer, tail: Buffer, size: number, limits: FrameLimits): Frame => ({
  bytes: head,
  message: { kind: 'unusable', keys: keysAtEnds(head, tail) },
  faults: [fault('size', `${size} bytes long, over the limit of ${limits.messageBytes}`)],
})

const read = (bytes: Buffer, limits: FrameLimits, batches: boolean): Frame => {
  if (bytes.length > limits.messageBytes) {
    return oversizedFrame(bytes.subarray(0, kept), bytes.subarray(-kept), bytes.length, limits)
  }
  const ascii = isAscii(bytes)
  if (!ascii && !isUtf8(bytes)) return unusable(bytes, fault('json', 'not UTF-8'))
  const counts = tally(bytes)
  if (counts.opens > harmlessOpens && deepest(bytes) > limits.depth) return unusable(bytes, tooDeep(limits))
  let value: Json
  try {
    // Latin-1 is ASCII's cheapest way into a string.
    value = parseJson(bytes.toString(ascii ? 'latin1' : 'utf8'))
  } catch {
    return unusable(bytes, deepest(bytes) > limits.depth ? tooDeep(limits) : fault('json', whyNotJson(bytes)))
  }
  if (isArray(value)) {
    if (counts.opens > limits.depth && deepest(bytes) > limits.depth) return unusable(bytes, tooDeep(limits))
    return batches ? batch(bytes, value, limits) : unusable(bytes, fault('json-rpc', 'a batch inside a batch'))
  }

  const clear = 2 * strings(value, Math.min(limits.depth, shallow), counts.escapes) === counts.quotes
  const faults = clear ? [] : survey(bytes, limits)
  if (faults.some(({ kind }) => kind === 'size')) return unusable(bytes, ...faults)
  return single(bytes, value, [...faults, ...caseVariants(value)])
}

/**
 * The number of strings in a value, keys included. When two members of the text have the same key, one of them is
 * not in the value, and the text has more strings.
 * @returns NaN where something is to be looked into: a number beyond a double, half of a surrogate pair, deep nesting
 */
const strings = (value: Json, depth: number, escapes: boolean): number => {
  if (typeof value === 'string') return escapes && loneSurrogate.test(value) ? NaN : 1
  if (typeof value === 'number') return Number.isFinite(value) ? 0 : NaN
  if (typeof value !== 'object' || value === null) return 0
  if (depth === 0) return NaN
  let count = 0
  if (isArray(value)) {
    for (let index = 0; index < value.length; index++) count += leaf(value[index], depth, escapes)
  } else {
    for (const key in value) {
      count += 1 + leaf(value[key], depth, escapes)
      if (escapes && loneSurrogate.test(key)) return NaN
    }
  }
  return count
}

// Most values are strings and numbers: not to call for those halves the cost of the walk.
const leaf = (value: Json | undefined, depth: number, escapes: boolean): number => {
  if (typeof value === 'string' && !escapes) return 1
  if (typeof value === 'number' && Number.isFinite(value)) return 0
  return strings(value ?? null, depth - 1, escapes)
}

const single = (bytes: Buffer, value: Json, ambiguities: readonly Fault[]): Frame => {
  const read = messageOf(bytes, value)
  if (isString(read)) return unusable(bytes, ...ambiguities, fault('json-rpc', read))
  if (ambiguities.length === 0) {
    if (isObject(value)) noteShape(bytes, value)
    return { bytes, message: read, faults: ambiguities }
  }
  const own = 'key' in read ? read.key : undefined
  const otherKeys = keysIn(bytes).filter(key => key !== own)
  return { bytes, message: read, faults: ambiguities, ...(otherKeys.length > 0 && { otherKeys }) }
}

/** The message, or what keeps the value from being one (JSON-RPC 2.0, sections 4 and 5, and what MCP narrows). */
const messageOf = (bytes: Buffer, value: Json): Message | string => {
  if (!isObject(value)) return 'not an object'
  if (member(value, 'jsonrpc') !== '2.0') return '"jsonrpc" is not "2.0"'
  const id = member(value, 'id')
  if (id !== undefined && !isId(id)) return '"id" is neither a string nor an integer'
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
  const code = member(error, 'code')
  const message = member(error, 'message')
  if (typeof code !== 'number' || !Number.isInteger(code)) return '"error" has no integer "code"'
  if (!isString(message)) return '"error" has no string "message"'
  return { kind: 'error', id, key: keyOf(id, bytes), error: { code, message, ...data(error) } }
}

const data = (error: JsonObject): { data?: Json } => {
  const value = member(error, 'data')
  return value === undefined ? {} : { data: value }
}

const isId = (value: Json): value is Id => isString(value) || (typeof value === 'number' && Number.isInteger(value))

const batch = (bytes: Buffer, elements: readonly Json[], limits: FrameLimits): Frame => {
  if (elements.length === 0) return unusable(bytes, fault('json-rpc', 'an empty batch'))
  if (elements.length > mostMembers) {
    return unusable(bytes, fault('size', `a batch of more than ${mostMembers} messages`))
  }
  const members: Frame[] = []
  eachChild(bytes, afterSpace(bytes, 0), ({ value, to }) => {
    members.push(read(bytes.subarray(value, to), limits, false))
    return false
  })
  return { bytes, message: { kind: 'batch', members }, faults: [] }
}

const unusable = (bytes: Buffer, ...faults: readonly Fault[]): Frame => ({
  bytes,
  message: { kind: 'unusable', keys: keysIn(bytes) },
  faults,
})

const fault = (kind: Fault['kind'], message: string): Fault => ({ kind, path: '', message })

const whyNotJson = (bytes: Buffer): string => {
  if (bytes.toString('latin1', 0, 3) === '\u00ef\u00bb\u00bf') return 'not JSON: a byte order mark at the beginning'
  if (bytes.includes(0)) return 'not JSON: a NUL byte'
  const start = afterSpace(bytes, 0)
  const opens = bytes[start] === byte.openObject || bytes[start] === byte.openArray
  if (!opens) return bytes.includes(byte.openObject) ? 'not JSON: something before the message' : 'not JSON'
  const end = afterContainer(bytes, start)
  if (end === undefined) return 'not JSON: cut off'
  return afterSpace(bytes, end) < bytes.length ? 'not JSON: something after the message' : 'not JSON'
}
