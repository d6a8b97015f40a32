import type { Fault } from './frame.js'
import { isArray, isObject, member, pointer, type Json } from './json.js'
import { clip } from './quote.js'

/**
 * The keys that the protocol gives a meaning, by position (schema.json of every revision, and the tasks extension),
 * each as it is, and under the form in which readers that ignore case look it up.
 */
const position = (...keys: readonly string[]): ReadonlyMap<string, string> =>
  new Map([...keys.map(key => [key.toLowerCase(), key] as const), ...keys.map(key => [key, key] as const)])

const message = position('jsonrpc', 'id', 'method', 'params', 'result', 'error')

const error = position('code', 'message', 'data')

const tool = position(
  'name', 'title', 'description', 'inputSchema', 'outputSchema', 'annotations', 'icons', 'execution', '_meta',
)

const block = position(
  'type', 'text', 'data', 'mimeType', 'resource', 'uri', 'name', 'title', 'description', 'size', 'icons',
  'annotations', '_meta', 'id', 'input', 'toolUseId', 'content', 'structuredContent', 'isError',
)

const params = position(
  '_meta', 'argument', 'arguments', 'capabilities', 'clientInfo', 'context', 'createdAt', 'cursor', 'data',
  'elicitationId', 'includeContext', 'inputResponses', 'lastUpdatedAt', 'level', 'logger', 'maxTokens', 'message',
  'messages', 'metadata', 'mode', 'modelPreferences', 'name', 'notifications', 'pollInterval', 'progress',
  'progressToken', 'protocolVersion', 'reason', 'ref', 'requestId', 'requestState', 'requestedSchema', 'status',
  'statusMessage', 'stopSequences', 'systemPrompt', 'task', 'taskId', 'temperature', 'toolChoice', 'tools', 'total',
  'ttl', 'uri', 'url',
)

const result = position(
  '_meta', 'action', 'cacheScope', 'capabilities', 'completion', 'content', 'contents', 'createdAt', 'description',
  'error', 'inputRequests', 'instructions', 'isError', 'lastUpdatedAt', 'messages', 'model', 'nextCursor',
  'pollInterval', 'prompts', 'protocolVersion', 'requestState', 'resourceTemplates', 'resources', 'result',
  'resultType', 'role', 'roots', 'serverInfo', 'status', 'statusMessage', 'stopReason', 'structuredContent',
  'supportedVersions', 'task', 'taskId', 'tasks', 'tools', 'toolResult', 'ttl', 'ttlMs',
)

const mostFaults = 20

/** The keys of a message that differ from a protocol key only in case: readers that ignore case take them for it. */
export const caseVariants = (value: Json): readonly Fault[] => {
  if (!isObject(value)) return []
  const faults: Fault[] = []
  const look = (at: Json | undefined, keys: ReadonlyMap<string, string>, ...path: readonly (string | number)[]) => {
    if (!isObject(at)) return
    for (const key of Object.keys(at)) {
      const meant = keys.get(key) ?? keys.get(fold(key))
      if (meant === undefined || meant === key || faults.length >= mostFaults) continue
      faults.push({
        kind: 'ambiguous',
        path: pointer(...path, clip(key)),
        message: `a key that differs from "${meant}" only in case`,
      })
    }
  }

  look(value, message)
  look(member(value, 'params'), params, 'params')
  look(member(value, 'error'), error, 'error')
  const answer = member(value, 'result')
  if (!isObject(answer)) return faults
  look(answer, result, 'result')
  const tools = member(answer, 'tools')
  if (isArray(tools)) tools.forEach((one, index) => look(one, tool, 'result', 'tools', index))
  const content = member(answer, 'content')
  if (isArray(content)) content.forEach((one, index) => look(one, block, 'result', 'content', index))
  // The result of sampling holds one block by itself.
  else look(content, block, 'result', 'content')
  return faults
}

/**
 * As readers fold that ignore case, by one of the two cases or by both: the long s is an s to them, the Kelvin sign a k, and an i
 * is one with its dot or without.
 */
export const fold = (key: string): string => key.toLowerCase().toUpperCase().toLowerCase().replaceAll('i\u0307', 'i')
