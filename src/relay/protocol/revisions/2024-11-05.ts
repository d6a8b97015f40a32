import { isObject } from '../json.js'
import {
  client, either, fromClient, fromEither, fromServer, place, server, toolMembers, type Definition, type Kind,
  type Method,
} from './definition.js'
import { anyObject, contentsOf, flag, number, of, recordShape, text } from './shape.js'

const lists = (key: string, kind: Kind, ...needs: readonly string[]): Method =>
  ({ ...client, final: [key], list: { key, needs }, inResult: [place(kind, key)] })

/** A boolean is judged by tool/input-type, which mends it. */
const propertySchema = of(value => isObject(value) || typeof value === 'boolean', 'an object')

/** The legacy revisions spell out a part of JSON Schema. `type` is judged by tool/input-type. */
export const schema = { 'properties?': recordShape(propertySchema), 'required?': [text] } as const

export const contents = { uri: text, 'mimeType?': text }

/** Which values annotations may have is judged by content/annotations. */
export const annotations = { 'audience?': [text], 'priority?': number } as const

export const data = { data: text, mimeType: text }

export const revision20241105: Definition = {
  traits: {
    modern: false,
    batches: false,
    // Servers of a draft before this revision sent it, and clients of this revision still take it.
    toolResult: true,
    tool: { name: text, inputSchema: schema, 'description?': text },
    result: { 'isError?': flag, 'structuredContent?': anyObject, '_meta?': anyObject },
    block: { 'annotations?': annotations },
    blocks: { text: { text }, image: data, resource: { resource: contentsOf(contents) } },
    sampled: { text: [], image: [] },
  },
  methods: {
    initialize: client,
    ping: either,
    'tools/list': lists('tools', 'tool'),
    'tools/call': { ...client, inResult: [place('toolResult')], final: toolMembers },
    'resources/list': lists('resources', 'listedResource', 'name', 'uri'),
    'resources/templates/list': lists('resourceTemplates', 'listedResource', 'name', 'uriTemplate'),
    'resources/read': { ...client, inResult: [place('resource', 'contents')], final: ['contents'] },
    'resources/subscribe': client,
    'resources/unsubscribe': client,
    'prompts/list': lists('prompts', 'prompt', 'name'),
    'prompts/get': { ...client, inResult: [place('block', 'messages', 'content')], final: ['messages'] },
    'completion/complete': { ...client, final: ['completion'] },
    'logging/setLevel': client,
    'sampling/createMessage': {
      ...server, read: 'all', inParams: [place('samplingContent', 'messages', 'content')],
    },
    'roots/list': server,
    'notifications/cancelled': { ...fromEither, read: ['reason'] },
    'notifications/initialized': fromClient,
    'notifications/roots/list_changed': fromClient,
    'notifications/message': { ...fromServer, read: ['logger', 'data'] },
    'notifications/progress': { ...fromEither, read: ['message'] },
    'notifications/resources/updated':
      { ...fromServer, read: ['uri'], inParams: [place('uri', 'uri')] },
  },
  paramKeys:
    'protocolVersion capabilities clientInfo cursor name arguments uri ref argument level messages ' +
    'modelPreferences systemPrompt includeContext temperature maxTokens stopSequences metadata requestId ' +
    'reason logger data progressToken progress total message',
  resultKeys:
    'protocolVersion capabilities serverInfo instructions nextCursor tools content structuredContent ' +
    'isError toolResult resources resourceTemplates contents prompts description messages completion role ' +
    'model stopReason roots',
}
