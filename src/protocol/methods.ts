/** Where pieces of content stand: the members that lead there, and what is found at the end of the way. */
export interface ContentPlace {
  /** Members; an array on the way, or at its end, stands for each of its elements. */
  readonly way: readonly string[]
  readonly kind: 'block' | 'resource'
}

/** What is known of one method of the protocol, of whatever revision. */
export interface Method {
  readonly from: 'client' | 'server' | 'either'
  readonly kind: 'request' | 'notification'
  /** The member of `params` that names what is asked for, repeated in `Mcp-Name` (2026-07-28, Standard Request Headers; SEP-2663). */
  readonly names?: { readonly key: string; readonly required: boolean }
  /** The pieces of content in its result. */
  readonly content?: readonly ContentPlace[]
  /** Members that only the final result has: one that has any of them is judged as final, for a lenient client reads it as final. */
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
const told = { from: 'server', kind: 'notification' } as const

const taskId = { key: 'taskId', required: false } as const

/** Every method that something is known of (schema.json of every revision, and the extension io.modelcontextprotocol/tasks). */
const methods: ReadonlyMap<string, Method> = new Map<string, Method>([
  ['initialize', client],
  ['ping', { from: 'either', kind: 'request' }],
  ['server/discover', client],
  ['subscriptions/listen', { ...client, lasting: true }],
  ['tools/list', { ...client, final: ['tools'], list: { key: 'tools', needs: [] } }],
  [
    'tools/call',
    {
      ...client,
      names: { key: 'name', required: true },
      content: [{ way: ['content'], kind: 'block' }],
      final: ['content', 'structuredContent', 'toolResult'],
    },
  ],
  ['resources/list', { ...client, final: ['resources'], list: { key: 'resources', needs: ['name', 'uri'] } }],
  [
    'resources/templates/list',
    { ...client, final: ['resourceTemplates'], list: { key: 'resourceTemplates', needs: ['name', 'uriTemplate'] } },
  ],
  [
    'resources/read',
    {
      ...client,
      names: { key: 'uri', required: true },
      content: [{ way: ['contents'], kind: 'resource' }],
      final: ['contents'],
    },
  ],
  ['resources/subscribe', client],
  ['resources/unsubscribe', client],
  ['prompts/list', { ...client, final: ['prompts'], list: { key: 'prompts', needs: ['name'] } }],
  [
    'prompts/get',
    {
      ...client,
      names: { key: 'name', required: true },
      content: [{ way: ['messages', 'content'], kind: 'block' }],
      final: ['messages'],
    },
  ],
  ['completion/complete', { ...client, final: ['completion'] }],
  ['logging/setLevel', client],
  ['tasks/get', { ...client, names: taskId, final: ['result'] }],
  ['tasks/result', { ...client, lasting: true }],
  ['tasks/update', { ...client, names: taskId }],
  ['tasks/cancel', { ...client, names: taskId }],
  ['tasks/list', { from: 'either', kind: 'request', final: ['tasks'] }],
  ['sampling/createMessage', { ...server, read: 'all' }],
  ['elicitation/create', { ...server, read: 'all' }],
  ['roots/list', server],
  ['notifications/message', { ...told, read: ['data'] }],
  ['notifications/progress', { ...told, read: ['message'] }],
  ['notifications/tasks', { ...told, read: 'all' }],
  ['notifications/tasks/status', { ...told, read: 'all' }],
])

export const methodOf = (name: string): Method | undefined => methods.get(name)

/** The methods that list something. */
export const listMethods: ReadonlyMap<string, NonNullable<Method['list']>> = new Map(
  [...methods].flatMap(([name, { list }]) => (list === undefined ? [] : [[name, list]])),
)

/** Whether a message of this method needs an id: without one a lenient reader carries it out all the same. */
export const isRequestMethod = (name: string): boolean => methods.get(name)?.kind === 'request'

const finals: ReadonlySet<string> = new Set([...methods.values()].flatMap(({ final = [] }) => final))

/** True of a result that has a member of some final result: whatever it says of itself, a client may read it as that. */
export const hasFinalMember = (result: object): boolean => {
  for (const name of finals) if (Object.hasOwn(result, name)) return true
  return false
}
