import type { Entry, Operation } from '#core/event.js'
import type { Frame } from '#protocol/frame.js'
import { isString, member } from '#protocol/json.js'
import { errorCode, type Request } from '#protocol/json-rpc.js'
import { methodOf } from '#protocol/revisions/index.js'
import type { Connection, Place } from './place.js'
import { shown } from '#audit/secrets.js'

/** By the names of OpenTelemetry's conventions for MCP (semantic-conventions-genai, docs/gen-ai/mcp.md). */
export type Attributes = Readonly<Record<string, string | number | string[]>>

/** The relay is a server to the client, and a client to the server. */
export type Role = 'server' | 'client'

/** What stands for a value that a stranger could make anew for ever. */
export const other = '_OTHER'

/** How something went, for one who asked. */
export interface Outcome {
  /** Of a JSON-RPC error. */
  readonly code?: number
  /** `error.type`; undefined: nothing failed. */
  readonly failure?: string
  /** The error's own words, as told. */
  readonly message?: string
}

/** What a request asks for, known when it comes: for spans. */
export const asked = ({ method, params, id }: Request): Attributes => {
  const name = member(params, 'name')
  const uri = member(params, 'uri')
  return {
    'mcp.method.name': shown(method),
    'jsonrpc.request.id': shown(String(id)),
    ...(method === 'tools/call' && { 'gen_ai.operation.name': 'execute_tool' }),
    ...(method === 'tools/call' && isString(name) && { 'gen_ai.tool.name': shown(name) }),
    ...(method === 'prompts/get' && isString(name) && { 'gen_ai.prompt.name': shown(name) }),
    ...(method.startsWith('resources/') && isString(uri) && { 'mcp.resource.uri': shown(uri) }),
  }
}

/** `METHOD TOOL`, `METHOD PROMPT`, or the method alone. */
export const spanName = (attributes: Attributes): string =>
  [
    attributes['mcp.method.name'], attributes['gen_ai.tool.name'] ?? attributes['gen_ai.prompt.name'],
  ].filter(part => part !== undefined).join(' ')

/**
 * The same for metrics, where a stranger's inventions are one: a tool has a name when the server lists it.
 */
const counted = ({ entry: { event, tool }, isListed }: Operation): Attributes => ({
  'mcp.method.name': methodOf(event) === undefined ? other : event,
  ...(event === 'tools/call' && {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': tool !== undefined && isListed ? shown(tool) : other,
  }),
})

/** Of one request, for metrics. */
export const measured = (operation: Operation, role: Role, place: Place): Attributes => ({
  ...counted(operation),
  ...outcome(role === 'server' ? toClient(operation) : ofServer(operation)),
  ...where(role, place),
  ...spoken(operation.entry.revision),
})

/** What is the same of all that happens in one place. */
export const where = (role: Role, { server, toClient, toServer }: Place): Attributes => ({
  'mcp_customs.server': server,
  ...connected(role === 'server' ? toClient : toServer),
})

export const spoken = (revision: string | undefined): Attributes =>
  (revision === undefined ? {} : { 'mcp.protocol.version': revision })

/** What the relay made of it. */
export const judged = ({ verdict, findings, revision }: Entry): Attributes => ({
  'mcp_customs.verdict': verdict,
  ...(findings.length > 0 && { 'mcp_customs.rule': [...new Set(findings.map(({ rule }) => rule))] }),
  ...spoken(revision),
})

export const outcome = ({ code, failure }: Outcome): Attributes => ({
  ...(code !== undefined && { 'rpc.response.status_code': String(code) }),
  ...(failure !== undefined && { 'error.type': failure }),
})

const connected = ({ transport, address, port }: Connection): Attributes => ({
  'network.transport': transport,
  ...(transport === 'tcp' && { 'network.protocol.name': 'http' }),
  ...(address !== undefined && { 'server.address': address }),
  ...(port !== undefined && { 'server.port': port }),
})

/** Errors that are the asker's own: a server that says so has not failed. */
const blameless: ReadonlySet<number> = new Set([-32700, -32600, -32601, -32602, -32002])

/** What the client gets. */
export const toClient = ({ sent }: Operation): Outcome => {
  const { code, failure, ...rest } = sent === undefined ? cancelled : outcomeOf(sent)
  return {
    ...rest, ...(code !== undefined && { code }),
    ...(failure !== undefined && (code === undefined || !blameless.has(code)) && { failure }),
  }
}

/** What the server has answered, of its own. */
export const ofServer = ({ response, sent }: Operation): Outcome => {
  if (response !== undefined) return outcomeOf(response)
  if (sent === undefined) return cancelled
  return { failure: outcomeOf(sent).code === errorCode.late ? 'timeout' : 'no_answer' }
}

const cancelled: Outcome = { failure: 'cancelled' }

const outcomeOf = ({ message }: Frame): Outcome => {
  switch (message.kind) {
    case 'result':
      return member(message.result, 'isError') === true ? { failure: 'tool_error' } : {}
    case 'error': {
      const { code, message: said } = message.error
      return { code, failure: String(code), message: shown(said) }
    }
    case 'page':
      return { failure: 'http_error' }
    case 'request':
    case 'notification':
    case 'batch':
    case 'unusable':
      return { failure: 'unusable' }
  }
}
