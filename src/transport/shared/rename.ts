import { edit, type Edit } from '#protocol/edit.js'
import { afterSpace, eachChild, slice, onlyContainer } from '#protocol/scan.js'
import type { Frame } from '#protocol/frame.js'
import { idOf, misspelt } from '#protocol/message.js'
import { isObject, isString, member, type Json, type JsonObject } from '#protocol/json.js'
import type { ErrorResponse, IdKey, Notification, Request, Result } from '#protocol/json-rpc.js'
import { unmetered } from '#protocol/unmetered.js'
import { inMeta, metaPrefix } from '#protocol/revisions/index.js'

/**
 * How messages are renamed between clients who do not know of each other and the one server that they share:
 * to the server each request is a number of ours, which is its id and its progress token. Of a message's
 * bytes only the names change.
 */

/** What a client calls its request. */
export interface Names {
  /** JSON text, as the client spells it. */
  readonly id: Buffer
  readonly key: IdKey
  /** The progress token, as the client spells it. */
  readonly token: Buffer | undefined
}

const tokenPath = ['params', '_meta', 'progressToken']
const subscriptionPath = ['_meta', `${metaPrefix}subscriptionId`]

export const namesOf = (frame: Frame, { key, params }: Request): Names => {
  const token = at(params, ['_meta', 'progressToken'])
  return {
    id: slice(frame, ['id']) ?? Buffer.from(key),
    key,
    token: isString(token) || typeof token === 'number' ? slice(frame, tokenPath) : undefined,
  }
}

/** A client's request, as the server gets it. */
export const renamed = (frame: Frame, message: Request, { token }: Names, number: number): Frame => {
  const replace = String(number)
  const edits: Edit[] = [{ path: ['id'], replace }, ...(token ? [{ path: tokenPath, replace }] : [])]
  const params =
    token && message.params ? put(message.params, ['_meta', 'progressToken'], number) : message.params
  const request: Request = { kind: 'request', id: number, key: replace, method: message.method, params }
  return { bytes: edit(frame.bytes, edits), message: request, faults: frame.faults, facts: frame.facts }
}

/**
 * The server's answer, as the client that asked gets it. Of an answer by another spelling of the number
 * (`"7"` or `7.0` for 7) the client's id has another spelling as well.
 */
export const restoredAnswer = (
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
  if (at(result, subscriptionPath) !== number) {
    return { bytes, message: { kind: 'result', id, key, result }, faults, facts }
  }
  // The end of a subscription names it a second time.
  const named = edit(bytes, [{ path: ['result', ...subscriptionPath], replace: names.id }])
  return {
    bytes: named, message: { kind: 'result', id, key, result: put(result, subscriptionPath, id) }, faults,
    facts,
  }
}

/**
 * Answers can be large, and nearly all of one is its result: that is stepped over, where it is known to be
 * the only object.
 */
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

/** What the server says of a request, as the client that asked gets it. */
export const restoredNotification = (
  frame: Frame, message: Notification, names: Names, number: number,
): Frame => {
  let { params } = message
  const edits: Edit[] = []
  const restore = (path: readonly string[], text: Buffer | undefined) => {
    if (text === undefined || params === undefined || at(params, path) !== number) return
    params = put(params, path, idOf(text.toString()))
    edits.push({ path: ['params', ...path], replace: text })
  }
  restore(subscriptionPath, names.id)
  if (message.method === 'notifications/progress') restore(['progressToken'], names.token)
  if (message.method === 'notifications/cancelled') restore(['requestId'], names.id)
  return framed(frame, edits, { ...message, params })
}

/** What cannot be used, and yet names a request: for the client that waits for an answer to it. */
export const restoredUnusable = (frame: Frame, names: Names): Frame => {
  // The bytes of what could be read so far are renamed; nobody knows where anything is in those of what is no
  // JSON.
  const readable = frame.faults.every(({ kind }) => kind === 'json-rpc' || kind === 'ambiguous')
  return framed(
    frame, readable ? [{ path: ['id'], replace: names.id }] : [], { kind: 'unusable', keys: [names.key] },
  )
}

/** What names the request that a notification belongs to; undefined when nothing does. */
export const nameIn = ({ method, params }: Notification): Json | undefined => {
  if (method === 'notifications/progress') return member(params, 'progressToken')
  return at(params, subscriptionPath)
    ?? (method === 'notifications/cancelled' ? member(params, 'requestId') : undefined)
}

/** A server decides by the first message that says nothing of its revision that all of them are legacy. */
export const namesRevision = ({ params }: Request | Notification): boolean =>
  isString(inMeta(params, 'protocolVersion'))

/** Tells the server that nobody waits for a request any more; by the revision that the request named. */
export const cancellation = (number: number, request: Request): Frame => {
  const theirs = at(request.params, ['_meta'])
  const terms = isObject(theirs) ? [
    ...repeated
  ].flatMap(key => [[key, member(theirs, key)] as const].filter(([, value]) => value !== undefined)) : []
  const params = {
    _meta: Object.fromEntries(terms), requestId: number, reason: 'the client does not wait for it any more',
  }
  const method = 'notifications/cancelled'
  return {
    bytes: Buffer.from(JSON.stringify({ jsonrpc: '2.0', method, params })),
    message: { kind: 'notification', method, params },
    faults: [],
  }
}

const repeated: ReadonlySet<string> =
  new Set(['protocolVersion', 'clientInfo', 'clientCapabilities'].map(key => metaPrefix + key))

/** A frame without further keys: those are the server's names, and mean nothing to a client. */
const framed = (
  { bytes, faults, facts }: Frame, edits: readonly Edit[], message: Frame['message'],
): Frame => ({
  bytes: edits.length > 0 ? edit(bytes, edits) : bytes,
  message,
  faults,
  facts,
})

const at = (value: Json | undefined, path: readonly string[]): Json | undefined =>
  path.reduce<Json | undefined>((inner, key) => (isObject(inner) ? member(inner, key) : undefined), value)

const put = (object: JsonObject, [key = '', ...rest]: readonly string[], value: Json): JsonObject => {
  const inner = member(object, key)
  return { ...unmetered(object), [key]: rest.length > 0 && isObject(inner) ? put(inner, rest, value) : value }
}
