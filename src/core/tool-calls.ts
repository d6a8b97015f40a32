import { compareHeaders } from '#protocol/headers.js'
import type { Frame } from '#protocol/frame.js'
import { isObject, isString, type JsonObject, member } from '#protocol/json.js'
import { traitsOf } from '#protocol/revisions/index.js'
import { acceptedFor } from './accepted.js'
import type { Lookup } from './catalog.js'
import type { Subject } from './check.js'
import type { Core } from './core.js'
import type { Flow } from './flow.js'
import { isDenied } from './options.js'
import { toolOf } from './listing.js'
import { actionOf, isStop } from './findings.js'
import type { Called, PendingRequest } from './request.js'
import type { Terms } from './terms.js'
import { headerMismatch, isMismatch, refusedCall, unknownTool } from './refusal.js'
import type { Rule } from './rule.js'
import type { ToolLists } from './tool-lists.js'

/** `tools/call`, from its arrival until it is sent. */
export class ToolCalls {
  readonly #core: Core
  readonly #lists: ToolLists
  readonly #argumentRules: readonly Rule[]

  constructor(core: Core, lists: ToolLists) {
    this.#core = core
    this.#lists = lists
    this.#argumentRules = core.options.rules.filter(({ onArguments }) => onArguments !== undefined)
  }

  /** @returns the refusal of the call; undefined when it may be sent */
  *judge(request: PendingRequest): Flow<Frame | undefined> {
    const params = request.request?.message.params
    const name = member(params, 'name')
    const called: Called = { name: isString(name) ? name : '', tool: undefined, listed: true }
    request.called = called
    const { options } = this.#core
    if (!isDenied(options, called.name) || !isStop(actionOf(options.policy, 'call/denied'))) {
      const found =
        this.#frozen(called.name, request.terms) ??
        this.#lists.catalog.lookup(called.name, this.#core.output.now) ??
        (yield* this.#lists.find(called.name, request))
      called.tool = found === 'absent' ? undefined : found
      called.listed = found !== undefined
    }
    const given = member(params, 'arguments')
    const { revision } = request.terms
    const call = {
      name: called.name,
      arguments: isObject(given) ? given : undefined,
      tool: called.tool,
      denied: isDenied(options, called.name),
      listed: called.listed,
      revision,
      mismatch: mismatchOf(request),
    }
    this.#core.ask('onCall', call, request.findings, '/params')
    if (this.checks === 'before') yield* this.check(request, params)
    return request.findings.isStop ? this.#refusal(request, called.name) : undefined
  }

  /** When arguments are validated: before the call is sent if that can stop it, after, or never. */
  get checks(): 'before' | 'after' | 'never' {
    const { policy } = this.#core.options
    let found: 'before' | 'after' | 'never' = 'never'
    for (const { name } of this.#argumentRules) {
      const action = actionOf(policy, name)
      if (isStop(action)) return 'before'
      if (action !== 'off') found = 'after'
    }
    return found
  }

  *check(request: PendingRequest, params: JsonObject | undefined): Flow {
    const tool = request.called?.tool
    if (tool === undefined) return
    const value = member(params, 'arguments') ?? {}
    const subjects = tool.inputSchemas.map((schema): Subject => ({
      kind: 'value', schema, value, path: '/params/arguments',
    }))
    const checked = yield* this.#core.checks.check(subjects, request.exchange)
    this.#core.ask('onArguments', { checked: checked.flat() }, request.findings, '/params/arguments')
  }

  /** The tool by a frozen lock; undefined without one. */
  #frozen(name: string, terms: Terms): Lookup {
    const { accepted, tools } = this.#core.options
    if (accepted?.isFrozen !== true) return undefined
    const definition = acceptedFor(this.#core, terms)?.definitions.tools.get(name)
    return !isObject(definition) ? 'absent' : toolOf(name, definition, tools.get(name)?.outputSchema)
  }

  #refusal(request: PendingRequest, name: string): Frame {
    const { findings, terms } = request
    if (isMismatch(findings)) return headerMismatch(request, findings)
    if (findings.stopping.includes('call/unlisted'))
      return unknownTool(
        request, name, nearest(name, this.#lists.catalog.names()),
        acceptedFor(this.#core, terms)?.definitions.tools.has(name) === true,
      )
    return refusedCall(request, name, findings, traitsOf(terms.revision).modern)
  }
}

/** Compares `Mcp-Param-*` headers, which repeat arguments that the input schema names, with the call. */
const mismatchOf = ({ called, request, terms }: PendingRequest): string | undefined => {
  const headers = request?.frame.envelope?.headers
  const schema = called?.tool?.inputSchemas[0]
  if (
    request === undefined ||
    headers === undefined ||
    schema === undefined ||
    !traitsOf(terms.revision).modern
  )
    return undefined
  return compareHeaders(headers, request.message, schema)
}

/** Names that are compared with an unknown one. */
const maxCompared = 500

/** A listed name that differs only in case and punctuation. */
const nearest = (name: string, names: Iterable<string>): string | undefined => {
  const wanted = lettersOf(name)
  if (wanted === '') return undefined
  let left = maxCompared
  for (const listed of names) {
    if (lettersOf(listed) === wanted) return listed
    if (--left <= 0) return undefined
  }
  return undefined
}

const lettersOf = (name: string): string => name.slice(0, 128).toLowerCase().replace(/[^\p{L}\p{N}]/gu, '')
