import { isObject, isString, member, type JsonObject } from '#relay/protocol/json.js'
import { quote } from '#relay/protocol/quote.js'
import type { Powers, ServerRequest } from '#relay/core/vocabulary.js'
import { nothing, one } from './problem.js'

const sampling = 'sampling/createMessage'
const elicitation = 'elicitation/create'
const roots = 'roots/list'

/** Other requests (`ping`, those of extensions) need no capability that is checked here. */
export const undeclaredServer: Powers = {
  onServerRequest(request) {
    switch (request.method) {
      case sampling:
        return lacking(request, samplingNeeds(request))
      case elicitation:
        return lacking(request, elicitationNeeds(request))
      case roots:
        return lacking(request, [need(request.methodPath, 'roots')])
      default:
        return nothing
    }
  },
}

/** A capability that a request needs. @param at JSON Pointer into the frame, of the member that needs it */
interface Need {
  readonly at: string
  readonly capability: readonly string[]
}

const need = (at: string, ...capability: readonly string[]): Need => ({ at, capability })

const has = ({ params }: ServerRequest, key: string): boolean => member(params, key) !== undefined

const taskNeed = (request: ServerRequest, ...method: readonly string[]): readonly Need[] =>
  has(request, 'task') ? [need(`${request.paramsPath}/task`, 'tasks', 'requests', ...method)] : []

const samplingNeeds = (request: ServerRequest): readonly Need[] => [
  need(request.methodPath, 'sampling'),
  ...(has(request, 'tools') ? [need(`${request.paramsPath}/tools`, 'sampling', 'tools')] : []),
  ...(has(request, 'toolChoice') ? [need(`${request.paramsPath}/toolChoice`, 'sampling', 'tools')] : []),
  ...taskNeed(request, 'sampling', 'createMessage'),
]

const elicitationNeeds = (request: ServerRequest): readonly Need[] => {
  const mode = member(request.params, 'mode') ?? 'form'
  const at = has(request, 'mode') ? `${request.paramsPath}/mode` : request.methodPath
  return [
    need(request.methodPath, 'elicitation'),
    ...(mode === 'form' && isFormImplied(request.clientCapabilities ?? {})
      ? []
      : [need(at, 'elicitation', isString(mode) ? mode : '')]),
    ...taskNeed(request, 'elicitation', 'create'),
  ]
}

/** A client that declares `elicitation` without modes takes forms (2025-11-25, Elicitation, Capabilities). */
const isFormImplied = (capabilities: JsonObject): boolean => {
  const declared = member(capabilities, 'elicitation')
  return isObject(declared) && member(declared, 'form') === undefined && member(declared, 'url') === undefined
}

const lacking = ({ clientCapabilities }: ServerRequest, needs: readonly Need[]) => {
  // The capabilities of a session that began at another relay are not known.
  if (clientCapabilities === undefined) return nothing
  const lacked = needs.find(({ capability }) => !isDeclared(clientCapabilities, capability))
  return lacked === undefined
    ? nothing
    : one(lacked.at, `the client did not declare ${quote(lacked.capability.join('.'))}`)
}

const isDeclared = (capabilities: JsonObject, way: readonly string[]): boolean => {
  let at: JsonObject | undefined = capabilities
  for (const key of way) {
    const next: unknown = member(at, key)
    if (!isObject(next)) return false
    at = next
  }
  return true
}

const asking: ReadonlySet<string> = new Set([sampling, elicitation, roots])

/** In a session that began elsewhere, the client's capabilities and the server's requests are not known. */
export const uncheckedServer: Powers = {
  onServerRequest: ({ method, methodPath, clientCapabilities }) =>
    clientCapabilities === undefined && asking.has(method)
      ? one(methodPath, 'what the client declared is not known here')
      : nothing,
  onId: ({ use }) =>
    use === 'unknown' ? one('/id', 'answers a request of the server that is not known here') : nothing,
}

/** For operators who forbid a server to ask, whatever the client declared. */
const asks = (method: string): Powers => ({
  onServerRequest: request =>
    request.method === method ? one(request.methodPath, `the server sends ${method}`) : nothing,
})

export const asksForSampling = asks(sampling)
export const asksForElicitation = asks(elicitation)
export const asksForRoots = asks(roots)
