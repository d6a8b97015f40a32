import { schema as schemaBefore } from './2024-11-05.js'
import { revision20250618 as before } from './2025-06-18.js'
import {
  client, either, fromServer, isLegacy, place, placeWhen, server, type Definition,
} from './definition.js'
import { oneOf, text } from './shape.js'

const { blocks, sampled } = before.traits

export const icons = [
  { src: text, 'mimeType?': text, 'sizes?': [text], 'theme?': oneOf('light', 'dark') },
] as const

const schema = { ...schemaBefore, '$schema?': text }
const outputSchema = { ...schema, type: oneOf('object') }

export const tool =
  { ...before.traits.tool, inputSchema: schema, 'outputSchema?': outputSchema, 'icons?': icons }

export const revision20251125: Definition = {
  traits: {
    ...before.traits,
    tool: { ...tool, 'execution?': { 'taskSupport?': oneOf('forbidden', 'optional', 'required') } },
    blocks: { ...blocks, resource_link: { ...blocks['resource_link'], 'icons?': icons } },
    sampled: {
      ...sampled,
      tool_use: ['id', 'name', 'input'],
      tool_result: ['toolUseId', 'structuredContent', 'isError', 'content'],
    },
  },
  methods: {
    initialize: { ...client, inResult: [place('implementation', 'serverInfo')] },
    'tools/call': { ...client, inResult: [placeWhen(isLegacy, 'task', 'task')] },
    'tasks/get': { ...client, inResult: [place('task')] },
    'tasks/result': { ...client, lasting: true, inResult: [place('toolResult')] },
    'tasks/cancel': { ...client, inResult: [place('task')] },
    'tasks/list': { ...either, final: ['tasks'], inResult: [place('task', 'tasks')] },
    'sampling/createMessage': { ...server, inParams: [place('tool', 'tools')] },
    'notifications/elicitation/complete': fromServer,
    'notifications/tasks/status': { ...fromServer, read: 'all', inParams: [place('task')] },
  },
  paramKeys:
    'task taskId tools toolChoice mode url elicitationId status statusMessage createdAt lastUpdatedAt ttl ' +
    'pollInterval',
  resultKeys: 'task tasks taskId status statusMessage createdAt lastUpdatedAt ttl pollInterval',
  // URLElicitationRequiredError. Any code, because some clients look for elicitations in every error.
  inEveryError: [place('elicitation', 'data', 'elicitations')],
}
