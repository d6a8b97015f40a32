import type { Entry, Operation } from '#relay/core/vocabulary.js'
import type { Frame } from '#relay/protocol/frame.js'
import { isString, member } from '#relay/protocol/json.js'
import { errorCode, type Request } from '#relay/protocol/json-rpc.js'
import { methodOf } from '#relay/protocol/revisions/index.js'
import type { Connection, MeasuredPlace } from './place.js'
import { shown } from '#relay/protocol/text/secrets.js'

/** Attributes by OpenTelemetry's conventions for MCP (semantic-conventions-genai, docs/gen-ai/mcp.md). */
export type Attributes = Readonly<Record<string, string | number | string[]>>

/** The role of the relay: `server` towards the client, `client` towards the server. */
export type Role = 'server' | 'client'

/** Replaces values that a client or server may choose freely, so that the number of series is bounded. */
export const other = '_OTHER'

/** The outcome of a request, for the side that sent it. */
export interface CallOutcome {
  /** The code of a JSON-RPC error. */
  readonly code?: number
  /** `error.type`; undefined when the request did not fail. */
  readonly failure?: string
  /** The message of the JSON-RPC error. */
  readonly message?: string
}

/** The attributes of a request that are known when it arrives, for spans. */
export const requestAttributes = ({ method, params, id }: Request): Attributes => {
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

/** `METHOD TOOL`, `METHOD PROMPT` or `METHOD`. */
export const spanName = (attributes: Attributes): string =>
  [
    attributes['mcp.method.name'], attributes['gen_ai.tool.name'] ?? attributes['gen_ai.prompt.name'],
  ].filter(part => part !== undefined).join(' ')

/**
 * The attributes of a request for metrics. All methods that MCP does not have share one value, and so do
 * all tools that the server does not list.
 */
const counted = ({ entry: { event, tool, shown: merged }, isListed }: Operation): Attributes => ({
  'mcp.method.name': methodOf(event) === undefined ? other : event,
  ...(event === 'tools/call' && {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': tool !== undefined && isListed ? shown(tool) : other,
    ...(merged !== undefined && { 'mcp_customs.shown_tool': isListed ? shown(merged) : other }),
  }),
})

/** All attributes of an answered request, for metrics. */
export const measured = (operation: Operation, role: Role, place: MeasuredPlace): Attributes => ({
  ...counted(operation),
  ...outcome(role === 'server' ? toClient(operation) : ofServer(operation)),
  ...placeAttributes(role, place),
  ...revisionAttributes(operation.entry, role),
})

/** Attributes that do not depend on the request. */
export const placeAttributes = (role: Role, { server, toClient, toServer }: MeasuredPlace): Attributes => ({
  'mcp_customs.server': server,
  ...connected(role === 'server' ? toClient : toServer),
})

/** Where messages are translated, the relay speaks another revision towards the client. */
export const revisionAttributes = (
  { revision, clientRevision = revision }: Pick<Entry, 'revision' | 'clientRevision'>, role: Role,
): Attributes => {
  const spoken = role === 'server' ? clientRevision : revision
  return spoken === undefined ? {} : { 'mcp.protocol.version': spoken }
}

/** The relay's verdict and findings. */
export const judged = ({ verdict, findings, ...spoken }: Entry, role: Role): Attributes => ({
  'mcp_customs.verdict': verdict,
  ...(findings.length > 0 && { 'mcp_customs.rule': [...new Set(findings.map(({ rule }) => rule))] }),
  ...revisionAttributes(spoken, role),
})

export const outcome = ({ code, failure }: CallOutcome): Attributes => ({
  ...(code !== undefined && { 'rpc.response.status_code': String(code) }),
  ...(failure !== undefined && { 'error.type': failure }),
})

const connected = ({ transport, address, port }: Connection): Attributes => ({
  'network.transport': transport,
  ...(transport === 'tcp' && { 'network.protocol.name': 'http' }),
  ...(address !== undefined && { 'server.address': address }),
  ...(port !== undefined && { 'server.port': port }),
})

/** Codes of errors that the client made: the server has not failed. */
const clientErrors: ReadonlySet<number> = new Set([-32700, -32600, -32601, -32602, -32002])

export const toClient = ({ sent }: Operation): CallOutcome => {
  const { code, failure, ...rest } = sent === undefined ? cancelled : outcomeOf(sent)
  return {
    ...rest, ...(code !== undefined && { code }),
    ...(failure !== undefined && (code === undefined || !clientErrors.has(code)) && { failure }),
  }
}

/** The outcome of the server's own response. */
export const ofServer = ({ response, sent }: Operation): CallOutcome => {
  if (response !== undefined) return outcomeOf(response)
  if (sent === undefined) return cancelled
  return { failure: outcomeOf(sent).code === errorCode.late ? 'timeout' : 'no_answer' }
}

const cancelled: CallOutcome = { failure: 'cancelled' }

const outcomeOf = ({ message }: Frame): CallOutcome => {
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
