import { isObject, member, type Json, type JsonObject } from './json.js'

/**
 * What may stand in a message and is judged there: a ContentBlock and a SamplingMessageContentBlock; the contents of a
 * resource; a Resource or ResourceTemplate as it is listed; an Icon, a website, another URI that a client may follow; a
 * request in another message, and the params of an elicitation; the result of a tool, and the state of a task, which may
 * have one; a Tool, a Prompt, an Implementation (schema.json).
 */
export type Kind =
  | 'block' | 'sampled' | 'resource' | 'listed' | 'icon' | 'website' | 'uri' | 'request' | 'elicitation' | 'outcome' | 'task'
  | 'tool' | 'prompt' | 'implementation'

/** Where things of a kind may stand, seen from what holds them. */
export interface Place {
  readonly kind: Kind
  /** Members. An array on the way, or at its end, stands for each of its elements: clients read one and several alike. */
  readonly way: readonly string[]
  /** True of the holders in which it stands there. */
  readonly when?: (holder: JsonObject, modern: boolean) => boolean
}

/** A step to every member of an object, or element of an array. */
export const every = '*'

export const place = (kind: Kind, ...way: readonly string[]): Place => ({ kind, way })

export const placeWhen = (when: NonNullable<Place['when']>, kind: Kind, ...way: readonly string[]): Place => ({ kind, way, when })

/** What is known of one method of the protocol, of whatever revision. */
export interface Method {
  readonly from: 'client' | 'server' | 'either'
  readonly kind: 'request' | 'notification'
  /** The members of its `params`, and of its result, that the protocol gives a meaning, beside `_meta`. */
  readonly params?: string
  readonly result?: string
  /** The member of `params` that is repeated in `Mcp-Name` (2026-07-28, Standard Request Headers; SEP-2663). */
  readonly names?: { readonly key: string; readonly required: boolean }
  /** Where things that are judged stand in its params and in its result. */
  readonly inParams?: readonly Place[]
  readonly inResult?: readonly Place[]
  /** Members of a final result alone. A result with any of them is judged as final: a lenient client reads it as that. */
  readonly final?: readonly string[]
  /** The member of its result that holds a list, with what an element must have, each a string. */
  readonly list?: { readonly key: string; readonly needs: readonly string[] }
  /** What a model reads of its `params`: these members, or all. A result is read whole, whatever the method. */
  readonly read?: readonly string[] | 'all'
  /** What ends it is not the server's answer to it, or may be hours away: no limit of time applies. */
  readonly lasting?: true
}

const client = { from: 'client', kind: 'request' } as const
const server = { from: 'server', kind: 'request' } as const
const either = { from: 'either', kind: 'request' } as const
const told = { from: 'server', kind: 'notification' } as const
const tells = { from: 'client', kind: 'notification' } as const

const name = { key: 'name', required: true } as const
const taskId = { key: 'taskId', required: false } as const
const taskKeys = 'taskId status statusMessage createdAt lastUpdatedAt ttl pollInterval requestState'
const stateKeys = `result error inputRequests ${taskKeys}`
const page = 'nextCursor ttlMs cacheScope'
const retried = 'inputResponses requestState'

/** True of a task that ended without its outcome (SEP-2663, CompletedTask: `result` is required). */
const isWithoutOutcome = (state: JsonObject, modern: boolean): boolean =>
  modern && member(state, 'status') === 'completed' && (member(state, 'result') ?? null) === null && !hasToolMember(state)

const isLegacy = (_: JsonObject, modern: boolean): boolean => !modern

const task = [place('task')]
const taskWithOutcome = [place('task'), placeWhen(isWithoutOutcome, 'outcome')]

/** A method that lists something. */
const lists = (key: string, kind: Kind, ...needs: readonly string[]): Method => ({
  ...client, params: 'cursor', result: `${key} ${page}`, final: [key], list: { key, needs }, inResult: [place(kind, key)],
})

/** Every method that something is known of (schema.json of every revision, and the extension io.modelcontextprotocol/tasks). */
const table: Readonly<Record<string, Method>> = {
  initialize: {
    ...client, params: 'protocolVersion capabilities clientInfo', result: 'protocolVersion capabilities serverInfo instructions',
    inResult: [place('implementation', 'serverInfo')],
  },
  ping: either,
  'server/discover': { ...client, result: `supportedVersions capabilities instructions ${page}` },
  'subscriptions/listen': { ...client, params: 'notifications', lasting: true },
  'tools/list': lists('tools', 'tool'),
  'tools/call': {
    ...client, params: `name arguments task ${retried}`, result: 'content structuredContent isError toolResult task', names: name,
    inResult: [place('outcome'), placeWhen(isLegacy, 'task', 'task')], final: ['content', 'structuredContent', 'toolResult'],
  },
  'resources/list': lists('resources', 'listed', 'name', 'uri'),
  'resources/templates/list': lists('resourceTemplates', 'listed', 'name', 'uriTemplate'),
  'resources/read': {
    ...client, params: `uri ${retried}`, result: 'contents ttlMs cacheScope', names: { key: 'uri', required: true },
    inResult: [place('resource', 'contents')], final: ['contents'],
  },
  'resources/subscribe': { ...client, params: 'uri' },
  'resources/unsubscribe': { ...client, params: 'uri' },
  'prompts/list': lists('prompts', 'prompt', 'name'),
  'prompts/get': {
    ...client, params: `name arguments ${retried}`, result: 'description messages', names: name,
    inResult: [place('block', 'messages', 'content')], final: ['messages'],
  },
  'completion/complete': { ...client, params: 'ref argument context', result: 'completion', final: ['completion'] },
  'logging/setLevel': { ...client, params: 'level' },
  'tasks/get': {
    ...client, params: 'taskId', result: stateKeys, names: taskId, final: ['result'], inResult: taskWithOutcome,
  },
  'tasks/result': { ...client, params: 'taskId', lasting: true, inResult: [place('outcome')] },
  'tasks/update': {
    ...client, params: 'taskId inputResponses requestState', result: taskKeys, names: taskId, inResult: task,
  },
  'tasks/cancel': { ...client, params: 'taskId', result: taskKeys, names: taskId, inResult: task },
  'tasks/list': { ...either, params: 'cursor', result: 'tasks nextCursor', final: ['tasks'], inResult: [place('task', 'tasks')] },
  'sampling/createMessage': {
    ...server, result: 'role content model stopReason', read: 'all',
    params: 'messages modelPreferences systemPrompt includeContext temperature maxTokens stopSequences metadata task tools toolChoice',
    inParams: [place('sampled', 'messages', 'content'), place('tool', 'tools')],
  },
  'elicitation/create': {
    ...server, params: 'message requestedSchema mode url elicitationId task', result: 'action content', read: 'all',
    inParams: [place('uri', 'url')],
  },
  'roots/list': { ...server, result: 'roots' },
  'notifications/cancelled': { from: 'either', kind: 'notification', params: 'requestId reason', read: ['reason'] },
  'notifications/initialized': tells,
  'notifications/roots/list_changed': tells,
  'notifications/message': { ...told, params: 'level logger data', read: ['logger', 'data'] },
  'notifications/progress': {
    from: 'either', kind: 'notification', params: 'progressToken progress total message', read: ['message'],
  },
  'notifications/resources/updated': { ...told, params: 'uri', read: ['uri'], inParams: [place('uri', 'uri')] },
  'notifications/elicitation/complete': { ...told, params: 'elicitationId' },
  'notifications/subscriptions/acknowledged': { ...told, params: 'notifications' },
  'notifications/tasks': { ...told, params: stateKeys, read: 'all', inParams: taskWithOutcome },
  'notifications/tasks/status': { ...told, params: taskKeys, read: 'all', inParams: task },
}

const methods: ReadonlyMap<string, Method> = new Map(Object.entries(table))

export const methodOf = (name: string): Method | undefined => methods.get(name)

/** The methods that list something. */
export const listMethods: ReadonlyMap<string, NonNullable<Method['list']>> = new Map(
  [...methods].flatMap(([name, { list }]) => (list === undefined ? [] : [[name, list]])),
)

const keysOf = (of: 'params' | 'result'): readonly string[] =>
  [...new Set([...methods.values()].flatMap(method => method[of]?.split(' ') ?? []))]

/** The members of any method's params that the protocol gives a meaning. */
export const paramKeys = keysOf('params')

/** The same of any result: which method it answers is not known where it is read. */
export const resultKeys: readonly string[] = [...keysOf('result'), 'resultType', 'inputRequests', 'requestState']

const finals: readonly string[] = [...new Set([...methods.values()].flatMap(({ final = [] }) => final))]

/** True of a result that has a member of some final result: whatever it says of itself, a client may read it as that. */
export const hasFinalMember = (result: JsonObject): boolean => finals.some(name => Object.hasOwn(result, name))

/** The same of the result of a tool. */
export const hasToolMember = (result: JsonObject): boolean =>
  methods.get('tools/call')?.final?.some(name => Object.hasOwn(result, name)) === true

/** Keys of `_meta` that the protocol itself gives a meaning begin so (2026-07-28, `_meta`). */
export const metaPrefix = 'io.modelcontextprotocol/'

/** What `_meta` of a request's params, or of a result, says of itself by the protocol. */
export const inMeta = (holder: JsonObject | undefined, key: string): Json | undefined => {
  const meta = member(holder, '_meta')
  return isObject(meta) ? member(meta, metaPrefix + key) : undefined
}
