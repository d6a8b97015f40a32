import { edit, type Edit } from '#relay/protocol/edit.js'
import type { Frame } from '#relay/protocol/frame.js'
import { isObject, member, Meter, type Json, type JsonObject, withMembers } from '#relay/protocol/json.js'
import type { ErrorResponse, IdKey, Notification, Request, Result } from '#relay/protocol/json-rpc.js'
import { idOf, notificationBytes, responseBytes } from '#relay/protocol/message.js'
import { madeFrame } from '#relay/protocol/parse.js'

export type RequestFrame = Frame & { readonly message: Request }
export type ResponseFrame = Frame & { readonly message: Result | ErrorResponse }
export type NotificationFrame = Frame & { readonly message: Notification }

/** A value that is put into a message; all other bytes stay. */
export interface MemberChange {
  /** From the message's params on. */
  readonly path: readonly [string, ...string[]]
  readonly value: Json
  /** The JSON text of the value as it was received; undefined: made here. */
  readonly text?: Buffer | undefined
}

/** Where a request's `params` have its progress token. */
export const tokenPath = ['_meta', 'progressToken'] as const

export const notification = (method: string, params?: object): Frame =>
  madeFrame(notificationBytes(method, params))

/** @param params JSON text */
export const request = (
  number: number, method: string, params: string | undefined, envelope?: Frame['envelope'],
): Frame => {
  const idText = String(number)
  const text = params === undefined ? '' : `,"params":${params}`
  const frame = madeFrame(`{"jsonrpc":"2.0","id":${idText},"method":${JSON.stringify(method)}${text}}`)
  return envelope === undefined ? frame : { ...frame, envelope }
}

/** A response of ours. @param result its JSON text where it is long: nobody reads it here */
export const responseOf = ({ key }: { readonly key: IdKey }, result: JsonObject | Buffer): Frame => ({
  bytes: responseBytes(key, 'result', result),
  message: { kind: 'result', id: idOf(key), key, result: Buffer.isBuffer(result) ? {} : result },
  faults: [],
})

/** The client's answer under the id that the server knows. */
export const answerUnder = (frame: ResponseFrame, id: Buffer): Frame => {
  const key = id.toString()
  return {
    bytes: edit(frame.bytes, [{ path: ['id'], replace: id }]),
    message: { ...frame.message, id: idOf(key), key }, faults: [],
    ...(frame.envelope && { envelope: frame.envelope }),
  }
}

/** The result in place of a tool's, with a text that a model can act on. */
export const failedCall = (call: { readonly key: IdKey }, text: string, isModern: boolean): Frame =>
  responseOf(call, {
    content: [{ type: 'text', text }], isError: true, ...(isModern && { resultType: 'complete' }),
  })

/** The request under another id, with changes in its params. */
export const changedRequest = (
  { bytes, message: { params, method }, envelope }: RequestFrame,
  id: number, changes: readonly MemberChange[],
): Frame => {
  const replace = String(id)
  const made = madeParams(params, changes)
  return {
    bytes: edit(bytes, [{ path: ['id'], replace }, ...made.edits]),
    message: { kind: 'request', id, key: replace, method, params: made.params },
    faults: [],
    ...(envelope && { envelope }),
  }
}

export const changedNotification = (
  { bytes, message: { params, method }, envelope }: NotificationFrame, changes: readonly MemberChange[],
): NotificationFrame => {
  const made = madeParams(params, changes)
  return {
    bytes: edit(bytes, made.edits),
    message: { kind: 'notification', method, params: made.params },
    faults: [],
    ...(envelope && { envelope }),
  }
}

const madeParams = (params: JsonObject | undefined, changes: readonly MemberChange[]) => {
  let holder: JsonObject = params === undefined ? {} : { params }
  const edits: Edit[] = []
  for (const { path, value, text } of changes) {
    const whole = ['params', ...path]
    edits.push(editFor(holder, whole, text ?? JSON.stringify(value)))
    holder = put(holder, whole, value)
  }
  const made = member(holder, 'params')
  return { edits, params: isObject(made) ? made : undefined }
}

/** Puts a JSON text at a path. Objects that are missing on the way are made. */
const editFor = (holder: JsonObject, path: readonly string[], text: Buffer | string): Edit => {
  let inner: Json | undefined = holder
  for (const [index, key] of path.entries()) {
    const child: Json | undefined = isObject(inner) ? member(inner, key) : undefined
    if (isObject(child) && index < path.length - 1) {
      inner = child
      continue
    }
    const missing = path.slice(index + 1)
    const replace = missing.length === 0
      ? text
      : missing.reduceRight((made, one) => `{${JSON.stringify(one)}:${made}}`, text.toString())
    return { path: path.slice(0, index + 1), replace }
  }
  return { path, replace: text }
}

const put = (object: JsonObject, [key = '', ...rest]: readonly string[], value: Json): JsonObject => {
  const child = member(object, key)
  const made = rest.length === 0 ? value : put(isObject(child) ? child : {}, rest, value)
  return withMembers(object, { [key]: made }, new Meter())
}
