import { edit, type Edit } from '#relay/protocol/edit.js'
import type { Frame } from '#relay/protocol/frame.js'
import {
  isArray, isObject, isString, type Json, lengthOf, member, parseJson, pointer,
} from '#relay/protocol/json.js'
import { parseFrame } from '#relay/protocol/parse.js'

const limits = { messageBytes: Infinity, depth: 128 }

/** Methods whose `arguments` are an object. */
const withArguments: ReadonlySet<string> = new Set(['tools/call', 'prompts/get'])

/**
 * The message with the object that PHP writes as `[]`, and without the null that serialisers
 * write for nothing, at `params`, and in them at `arguments` and `_meta`. Its faults say so.
 */
export const tidiedParams = (frame: Frame): Frame => {
  const { message, bytes, envelope, faults } = frame
  const isRequest = message.kind === 'request' || message.kind === 'notification'
  const isReadable = message.kind === 'unusable' && faults.every(({ kind }) => kind === 'json-rpc')
  // A message that has another fault is judged as it is.
  const hasOther = faults.some(({ kind, isMinor }) => kind !== 'json-rpc' && isMinor !== true)
  if ((!isRequest && !isReadable) || hasOther) return frame
  const value = isRequest ? { method: message.method, params: message.params } : parseJson(bytes.toString())
  if (!isObject(value)) return frame
  const [method, params] = [member(value, 'method'), member(value, 'params')]
  const hasArguments = isString(method) && withArguments.has(method)
  const inParams = ['_meta', ...(hasArguments ? ['arguments'] : [])]
  const edits = isObject(params)
    ? inParams.flatMap(key => editOf(member(params, key), 'params', key))
    : editOf(params, 'params')
  if (edits.length === 0) return frame
  const made = parseFrame(edit(bytes, edits), limits)
  const told = edits.map(({ path, ...change }) => ({
    kind: 'json-rpc', path: pointer(...path), isMinor: true,
    message: 'remove' in change ? 'null was removed' : 'an empty array was written as an empty object',
  } as const))
  const kept = faults.filter(({ isMinor }) => isMinor)
  return { ...made, faults: [...made.faults, ...kept, ...told], ...(envelope && { envelope }) }
}

const editOf = (value: Json | undefined, ...path: readonly string[]): readonly Edit[] => {
  if (value === null) return [{ path, remove: true }]
  return isArray(value) && lengthOf(value) === 0 ? [{ path, replace: '{}' }] : []
}
