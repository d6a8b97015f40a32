import type { Exchange } from '#relay/core/event.js'
import { edit, type Edit } from '#relay/protocol/edit.js'
import type { Frame } from '#relay/protocol/frame.js'
import { isObject, type JsonObject, keysOf, member, Meter, parseJson } from '#relay/protocol/json.js'
import type { Id, IdKey } from '#relay/protocol/json-rpc.js'
import { metaPrefix } from '#relay/protocol/revisions/index.js'
import { byte, slice } from '#relay/protocol/scan.js'
import { isWrapped, wrappedSchemas } from './schemas.js'
import type { EraOptions } from './translator.js'

/** A request of the client: a response goes to its exchange, under its id. */
export interface Requester {
  readonly exchange: Exchange
  readonly id: Id
  readonly key: IdKey
}

/** The edits that take out of a result what only 2026-07-28 knows. */
export const legacyResult = (
  frame: Frame, result: JsonObject, { method, tool }: { readonly method: string; readonly tool: string },
  outputSchemaOf: EraOptions['outputSchemaOf'],
): readonly Edit[] => {
  const edits: Edit[] = [...modernMembers, ...metaEdits(frame, 'result', 'serverInfo')]
  if (method === 'tools/list') edits.push(...wrappedSchemas(frame, result))
  const content = method === 'tools/call' ? slice(frame, ['result', 'structuredContent']) : undefined
  if (content !== undefined && (content[0] !== byte.openObject || isWrapped(outputSchemaOf(tool))))
    edits.push({ path: ['result', 'structuredContent'], replace: `{"result":${content.toString()}}` })
  return edits
}

const modernMembers: readonly Edit[] =
  ['resultType', 'ttlMs', 'cacheScope'].map(key => ({ path: ['result', key], remove: true }))

/** Removes a reserved key of `_meta`, and a `_meta` that is then empty. */
export const metaEdits = (frame: Frame, holder: 'result' | 'params', name: string): readonly Edit[] => {
  const text = slice(frame, [holder, '_meta'])
  const meta = text === undefined ? undefined : parseJson(text.toString())
  const key = metaPrefix + name
  if (!isObject(meta) || member(meta, key) === undefined) return []
  const isOnly = keysOf(meta, new Meter()).length === 1
  return [{ path: isOnly ? [holder, '_meta'] : [holder, '_meta', key], remove: true }]
}

/** The server's frame as the client gets it. Its event ids mean nothing to a client that cannot resume a stream. */
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
