import { edit, type Edit } from '#relay/protocol/edit.js'
import { afterSpace, eachChild, slice, onlyContainer } from '#relay/protocol/scan.js'
import type { Frame } from '#relay/protocol/frame.js'
import { idOf, misspelt, notificationBytes } from '#relay/protocol/message.js'
import { isObject, isString, member, type Json, type JsonObject, valueAt } from '#relay/protocol/json.js'
import type { ErrorResponse, IdKey, Notification, Request, Result } from '#relay/protocol/json-rpc.js'
import { unmetered } from '#relay/protocol/unmetered.js'
import { inMeta, metaPrefix } from '#relay/protocol/revisions/index.js'

/**
 * The names that a client gave to a request. The server gets a number of ours instead, as the request's id
 * and as its progress token, because other clients may use the same names. All other bytes stay as they are.
 */
export interface Names {
  /** The id as JSON text, spelt as the client spelt it. */
  readonly id: Buffer
  readonly key: IdKey
  /** The progress token, likewise. */
  readonly token: Buffer | undefined
}

const tokenPath = ['params', '_meta', 'progressToken']
const subscriptionPath = ['_meta', `${metaPrefix}subscriptionId`]

export const renamedNames = (frame: Frame, { key, params }: Request): Names => {
  const token = valueAt(params, ['_meta', 'progressToken'])
  return {
    id: slice(frame, ['id']) ?? Buffer.from(key),
    key,
    token: isString(token) || typeof token === 'number' ? slice(frame, tokenPath) : undefined,
  }
}

/** The client's request with our names. */
export const renamed = (frame: Frame, message: Request, { token }: Names, number: number): Frame => {
  const replace = String(number)
  const edits: Edit[] = [{ path: ['id'], replace }, ...(token ? [{ path: tokenPath, replace }] : [])]
  const params =
    token && message.params ? put(message.params, ['_meta', 'progressToken'], number) : message.params
  const request: Request = { kind: 'request', id: number, key: replace, method: message.method, params }
  return { bytes: edit(frame.bytes, edits), message: request, faults: frame.faults, facts: frame.facts }
}

/**
 * The server's response with the client's names. When the server spells our number differently (`"7"` or
 * `7.0` for 7), the client's id is misspelt as well, so that the relay finds the fault.
 */
export const restoredResponse = (
  frame: Frame, message: Result | ErrorResponse, names: Names, number: number,
): Frame => {
  const id = idOf(names.key)
  const key = message.key === String(number) ? names.key : misspelt(names.key)
  const { faults, facts } = frame
  const bytes = withId(frame, names.id)
  if (message.kind === 'error') {
    return { bytes, message: { kind: 'error', id, key, error: message.error }, faults, facts }
  }
  const { result } = message
  if (valueAt(result, subscriptionPath) !== number) {
    return { bytes, message: { kind: 'result', id, key, result }, faults, facts }
  }
  // The response that ends a subscription names the request in its _meta as well.
  const named = edit(bytes, [{ path: ['result', ...subscriptionPath], replace: names.id }])
  return {
    bytes: named, message: { kind: 'result', id, key, result: put(result, subscriptionPath, id) }, faults,
    facts,
  }
}

/** Replaces the id. The scan for it skips the result, which is nearly all of a large response. */
const withId = (frame: Frame, id: Buffer): Buffer => {
  const { bytes } = frame
  const container = onlyContainer(frame)
  if (container === undefined) return edit(bytes, [{ path: ['id'], replace: id }])
  const [before, after] = [bytes.subarray(0, container.value), bytes.subarray(container.to)]
  const rest = Buffer.concat([before, placeholder, after])
  let renamed = bytes
  eachChild(rest, afterSpace(rest, 0), ({ key, value, to }) => {
    if (key !== 'id') return false
    const shift = value < before.length ? 0 : bytes.length - rest.length
    renamed = Buffer.concat([bytes.subarray(0, value + shift), id, bytes.subarray(to + shift)])
    return true
  })
  return renamed
}

const placeholder = Buffer.from('0')

/** The server's notification about a request, with the client's names. */
export const restoredNotification = (
  frame: Frame, message: Notification, names: Names, number: number,
): Frame => {
  let { params } = message
  const edits: Edit[] = []
  const restore = (path: readonly string[], text: Buffer | undefined) => {
    if (text === undefined || params === undefined || valueAt(params, path) !== number) return
    params = put(params, path, idOf(text.toString()))
    edits.push({ path: ['params', ...path], replace: text })
  }
  restore(subscriptionPath, names.id)
  if (message.method === 'notifications/progress') restore(['progressToken'], names.token)
  if (message.method === 'notifications/cancelled') restore(['requestId'], names.id)
  return framed(frame, edits, { ...message, params })
}

/** An unusable frame that names a request, with the client's names. */
export const restoredUnusable = (frame: Frame, names: Names): Frame => {
  // Only in JSON does the id have a known place.
  const readable = frame.faults.every(({ kind }) => kind === 'json-rpc' || kind === 'ambiguous')
  return framed(
    frame, readable ? [{ path: ['id'], replace: names.id }] : [], { kind: 'unusable', keys: [names.key] },
  )
}

/** The name of the request that a notification belongs to; undefined when it names none. */
export const nameIn = ({ method, params }: Notification): Json | undefined => {
  if (method === 'notifications/progress') return member(params, 'progressToken')
  return valueAt(params, subscriptionPath)
    ?? (method === 'notifications/cancelled' ? member(params, 'requestId') : undefined)
}

/** A server takes all clients for legacy ones after one message that does not name its revision. */
export const namesRevision = ({ params }: Request | Notification): boolean =>
  isString(inMeta(params, 'protocolVersion'))

/** Cancels a request, by the revision that the request names. */
export const cancellation = (number: number, request: Request): Frame => {
  const terms = repeated.flatMap(key => {
    const value = valueAt(request.params, ['_meta', key])
    return value === undefined ? [] : [[key, value] as const]
  })
  const params = {
    _meta: Object.fromEntries(terms), requestId: number, reason: 'the client does not wait for it any more',
  }
  const method = 'notifications/cancelled'
  return {
    bytes: notificationBytes(method, params),
    message: { kind: 'notification', method, params },
    faults: [],
  }
}

const repeated = ['protocolVersion', 'clientInfo', 'clientCapabilities'].map(key => metaPrefix + key)

/** The frame with its edits, without `otherKeys`: those are our names, which mean nothing to a client. */
const framed = (
  { bytes, faults, facts }: Frame, edits: readonly Edit[], message: Frame['message'],
): Frame => ({
  bytes: edits.length > 0 ? edit(bytes, edits) : bytes,
  message,
  faults,
  facts,
})

const put = (object: JsonObject, [key = '', ...rest]: readonly string[], value: Json): JsonObject => {
  const inner = member(object, key)
  return { ...unmetered(object), [key]: rest.length > 0 && isObject(inner) ? put(inner, rest, value) : value }
}
