import type { Exchange } from '#relay/core/vocabulary.js'
import { edit, type Edit } from '#relay/protocol/edit.js'
import type { Frame } from '#relay/protocol/frame.js'
import {
  isObject, type Json, type JsonObject, keysOf, member, Meter, parseJson,
} from '#relay/protocol/json.js'
import type { Id, IdKey } from '#relay/protocol/json-rpc.js'
import { metaPrefix } from '#relay/protocol/revisions/index.js'
import { byte, slice } from '#relay/protocol/scan.js'
import { isWrappedSchema, wrappedSchemas } from './schemas.js'

/** A request of the client: a response goes to its exchange, under its id. */
export interface Requester {
  readonly exchange: Exchange
  readonly id: Id
  readonly key: IdKey
}

/**
 * The edits that take out of a result what only 2026-07-28 knows.
 * @param outputSchema of the called tool
 */
export const legacyResult = (
  frame: Frame, result: JsonObject, method: string, outputSchema: Json | undefined,
): readonly Edit[] => {
  const content = method === 'tools/call' ? slice(frame, ['result', 'structuredContent']) : undefined
  const isOfObject = content?.[0] === byte.openObject && !isWrappedSchema(outputSchema)
  return [
    ...modernMembers, ...withoutMeta(frame, 'result', 'serverInfo'),
    ...(method === 'tools/list' ? wrappedSchemas(frame, result) : []),
    ...(content === undefined || isOfObject
      ? [] : [{ path: ['result', 'structuredContent'], replace: `{"result":${content.toString()}}` }]),
  ]
}

const modernMembers: readonly Edit[] =
  ['resultType', 'ttlMs', 'cacheScope'].map(key => ({ path: ['result', key], remove: true }))

/** Removes a reserved key of `_meta`, and a `_meta` that is then empty. */
export const withoutMeta = (frame: Frame, holder: 'result' | 'params', name: string): readonly Edit[] => {
  const text = slice(frame, [holder, '_meta'])
  const meta = text === undefined ? undefined : parseJson(text.toString())
  const key = metaPrefix + name
  if (!isObject(meta) || member(meta, key) === undefined) return []
  const isOnly = keysOf(meta, new Meter()).length === 1
  return [{ path: isOnly ? [holder, '_meta'] : [holder, '_meta', key], remove: true }]
}

/** The server's frame as the client gets it: without its event id, for no stream can be resumed. */
export const forClient = (frame: Frame, edits: readonly Edit[], requester?: Requester): Frame => {
  const { message, faults, envelope, relayMade } = frame
  const isAnswer = message.kind === 'result' || message.kind === 'error'
  const isOther = requester !== undefined && isAnswer && message.key !== requester.key
  const all = isOther ? [{ path: ['id'], replace: requester.key }, ...edits] : edits
  const { neededScopes } = envelope ?? {}
  return {
    bytes: all.length === 0 ? frame.bytes : edit(frame.bytes, all),
    message: isOther ? { ...message, id: requester.id, key: requester.key } : message,
    faults,
    ...(relayMade && { relayMade }), ...(neededScopes && { envelope: { neededScopes } }),
  }
}
