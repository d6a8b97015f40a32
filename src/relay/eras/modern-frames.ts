import type { RequestId } from '#relay/core/refusal.js'
import { edit, type Edit, edited, textWithout } from '#relay/protocol/edit.js'
import type { Envelope, Frame } from '#relay/protocol/frame.js'
import {
  each, isArray, isObject, isString, member, Meter, type Json, type JsonObject,
} from '#relay/protocol/json.js'
import type { IdKey, Request, Result } from '#relay/protocol/json-rpc.js'
import { madeFrame } from '#relay/protocol/parse.js'
import { firstModern, metaPrefix } from '#relay/protocol/revisions/index.js'

// Messages of a modern client (2026-07-28) as a legacy server knows them, and back. Only what differs is
// edited: all other bytes stay, so that no number loses a digit.

/** Members of a request's `_meta` that legacy revisions do not have (2026-07-28, RequestMetaObject). */
const reserved = ['protocolVersion', 'clientInfo', 'clientCapabilities', 'logLevel', 'subscriptionId', 'serverInfo']
/** Members of a retry (2026-07-28, InputResponseRequestParams). */
const ofRetry = ['inputResponses', 'requestState']

/** JSON texts by name; those that are undefined are left out. */
export type FrameTexts = Readonly<Record<string, string | undefined>>

/** The JSON text of an object. */
export const objectOf = (members: FrameTexts): string => {
  const texts = Object.entries(members).filter(([, text]) => text !== undefined)
  return `{${texts.map(([name, text]) => `${JSON.stringify(name)}:${text ?? ''}`).join()}}`
}

/** A message of ours. */
export const made = (members: FrameTexts): Frame => madeFrame(objectOf({ jsonrpc: '"2.0"', ...members }))

export const resultOf = ({ key }: RequestId, members: FrameTexts): Frame =>
  made({ id: key, result: objectOf(members) })

/**
 * A modern request as the server gets it.
 * @param key the id by which the server knows it @param token its progress token there, if it is another one
 * @param known whether another request of the client has its id, and that id where the server gets another
 */
export const legacyRequest = (
  frame: Frame, key: IdKey, token: IdKey | undefined, known: Pick<Envelope, 'isRepeated' | 'clientId'>,
): Frame => {
  const { bytes } = edited(frame, [
    { path: ['id'], replace: key },
    ...ofRetry.map(name => ({ path: ['params', name], remove: true } as const)),
    ...reserved.map(name => ({ path: ['params', '_meta', metaPrefix + name], remove: true } as const)),
    ...(token === undefined ? [] : [{ path: ['params', '_meta', 'progressToken'], replace: token }]),
  ])
  const { faults, envelope: { scopes, client, trace, headers } = {} } = frame
  const envelope = { scopes, client, trace, ...known, modernHeaders: headers, translatedFrom: firstModern }
  return { ...madeFrame(bytes), faults, envelope }
}

/** A response under the id of the request that waits for it. */
export const renamedFrame = (frame: Frame, { id, key }: RequestId, edits: readonly Edit[] = []): Frame => {
  const { message } = frame
  if (message.kind !== 'result' && message.kind !== 'error') return frame
  return { ...edited(frame, [...edits, { path: ['id'], replace: key }]), message: { ...message, id, key } }
}

/** Results that a client may cache (2026-07-28, CacheableResult). */
const cacheable: ReadonlySet<string> = new Set([
  'tools/list', 'prompts/list', 'resources/list', 'resources/templates/list', 'resources/read',
])

/**
 * A legacy result for the modern client that asked for it.
 * @param serverInfo JSON text @param leftOut called for each tool that the client does not get
 */
export const modernResult = (
  frame: Frame, { result }: Result, asker: RequestId & { readonly method: string },
  serverInfo: string | undefined, leftOut: (tool: string) => void,
): Frame => renamedFrame(frame, asker, [
  { path: ['result', 'resultType'], replace: '"complete"' },
  ...(cacheable.has(asker.method)
    ? [{ path: ['result', 'ttlMs'], replace: '0' }, { path: ['result', 'cacheScope'], replace: '"private"' }] : []),
  ...(serverInfo === undefined ? [] : [inFrameMeta('result', result, 'serverInfo', serverInfo)]),
  ...(asker.method === 'tools/list' ? withoutTasks(member(result, 'tools'), leftOut) : []),
])

/** Puts a member into `_meta`, which may be missing. @param holder of `_meta`: `params` or `result` */
export const inFrameMeta = (
  holder: string, value: JsonObject | undefined, name: string, text: string,
): Edit => {
  const meta = objectOf({ [metaPrefix + name]: text })
  if (value === undefined) return { path: [holder], replace: objectOf({ _meta: meta }) }
  return isObject(member(value, '_meta'))
    ? { path: [holder, '_meta', metaPrefix + name], replace: text }
    : { path: [holder, '_meta'], replace: meta }
}

/** 2026-07-28 has no `execution`; a tool that only runs as a task cannot be called. */
const withoutTasks = (tools: Json | undefined, leftOut: (tool: string) => void): readonly Edit[] => {
  const edits: Edit[] = []
  for (const [index, tool] of isArray(tools) ? each(tools, new Meter()) : []) {
    const execution = isObject(tool) ? member(tool, 'execution') : undefined
    if (!isObject(tool) || execution === undefined) continue
    const name = member(tool, 'name')
    const isTask = isObject(execution) && member(execution, 'taskSupport') === 'required'
    if (isTask) leftOut(isString(name) ? name : '')
    edits.push({ path: ['result', 'tools', index, ...(isTask ? [] : ['execution'])], remove: true })
  }
  return edits
}

/** The result of `server/discover`, from that of `initialize`. What is not carried is not announced. */
export const discovered = (asker: RequestId, initialized: Frame): Frame => {
  const serverInfo = textWithout(initialized, ['result', 'serverInfo'])
  const result = resultOf(asker, {
    resultType: '"complete"', supportedVersions: JSON.stringify([firstModern]),
    capabilities: textWithout(initialized, ['result', 'capabilities'], ['tasks', 'experimental', 'extensions']) ?? '{}',
    instructions: textWithout(initialized, ['result', 'instructions']), ttlMs: '0', cacheScope: '"private"',
    _meta: serverInfo && objectOf({ [`${metaPrefix}serverInfo`]: serverInfo }),
  })
  return { ...result, relayMade: true }
}

/** A question of the server as an entry of `inputRequests`, as JSON text (2026-07-28, InputRequest). */
export const inputRequest = (frame: Frame, { method, params }: Request): string => {
  const text = textWithout(frame, ['params'], ['_meta', 'elicitationId', 'task'])
  const isForm = method === 'elicitation/create' && member(params, 'mode') === undefined
  const withMode = (given: string) =>
    edit(Buffer.from(given), [{ path: ['mode'], replace: '"form"' }]).toString()
  return objectOf({ method: JSON.stringify(method), params: text && isForm ? withMode(text) : text })
}
