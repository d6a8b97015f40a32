import { member, type JsonObject } from '../json.js'
import { revision20251125 as before, icons, tool } from './2025-11-25.js'
import {
  client, every, fromServer, hasToolMember, isModern, place, placeWhen, type Definition,
} from './definition.js'
import { anything, text } from './shape.js'

const name = { key: 'name', required: true } as const
const taskId = { key: 'taskId', required: false } as const

/** True of a task that ended without its result (SEP-2663, CompletedTask: `result` is required). */
const isWithoutOutcome = (state: JsonObject, modern: boolean): boolean =>
  modern && member(state, 'status') === 'completed' && (member(state, 'result') ?? null) === null
  && !hasToolMember(state)

const missingOutcome = placeWhen(isWithoutOutcome, 'toolResult')

const schema = { '$schema?': text }

const implementation = {
  name: text, version: text, 'title?': text, 'description?': text, 'websiteUrl?': text, 'icons?': icons,
}

/** With the extension io.modelcontextprotocol/tasks (SEP-2663). */
export const revision20260728: Definition = {
  traits: {
    ...before.traits,
    modern: true,
    tool: { ...tool, inputSchema: schema, 'outputSchema?': schema },
    result: {
      ...before.traits.result, 'structuredContent?': anything,
      '_meta?': { 'io.modelcontextprotocol/serverInfo?': implementation }, 'resultType?': text,
    },
  },
  methods: {
    'server/discover': client,
    'subscriptions/listen': { ...client, lasting: true },
    'tools/call': { ...client, names: name },
    'resources/read': { ...client, names: { key: 'uri', required: true } },
    'prompts/get': { ...client, names: name },
    'tasks/get': { ...client, names: taskId, final: ['result'], inResult: [missingOutcome] },
    'tasks/update': { ...client, names: taskId, inResult: [place('task')] },
    'tasks/cancel': { ...client, names: taskId },
    'notifications/subscriptions/acknowledged': fromServer,
    'notifications/tasks': { ...fromServer, read: 'all', inParams: [place('task'), missingOutcome] },
  },
  paramKeys: 'notifications inputResponses requestState result error inputRequests',
  resultKeys: 'supportedVersions ttlMs cacheScope result error inputRequests requestState resultType',
  // InputRequiredResult, ResultMetaObject.
  inEveryResult: [
    placeWhen(isModern, 'request', 'inputRequests', every),
    placeWhen(isModern, 'implementation', '_meta', 'io.modelcontextprotocol/serverInfo'),
  ],
}
