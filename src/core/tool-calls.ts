import { compareHeaders } from '../protocol/headers.js'
import type { Frame } from '../protocol/frame.js'
import { isObject, isString, member, type JsonObject } from '../protocol/json.js'
import { traitsOf } from '../protocol/revision.js'
import type { Subject } from './check.js'
import type { Core } from './core.js'
import type { Flow } from './flow.js'
import { actionOf, isStop } from './policy.js'
import type { Called, PendingRequest } from './pending.js'
import { headerMismatch, isMismatch, refusedCall, unknownTool } from './refusal.js'
import type { ToolLists } from './tool-lists.js'

/** Lists of the relay's own for one call: a server whose list changes faster than it can be read is not waited for. */
const mostLists = 3

/** `tools/call`, from its arrival until it goes to the server. */
export class ToolCalls {
  readonly #core: Core
  readonly #lists: ToolLists
  /** Whether anybody asks what the engine says of arguments, and whether that can keep a call from the server. */
  readonly #checks: boolean
  readonly #checkStops: boolean

  constructor(core: Core, lists: ToolLists) {
    this.#core = core
    this.#lists = lists
    const { rules, policy } = core.options
    const actions = rules.filter(({ onArguments }) => onArguments !== undefined).map(({ name }) => actionOf(policy, name))
    this.#checks = actions.some(action => action !== 'off')
    this.#checkStops = actions.some(isStop)
  }

  /** @returns the answer that refuses the call; undefined when it may go to the server */
  *judge(request: PendingRequest, params: JsonObject | undefined): Flow<Frame | undefined> {
    const name = member(params, 'name')
    const called: Called = { name: isString(name) ? name : '', tool: undefined, listed: true }
    request.called = called
    const { tools, policy } = this.#core.options
    const denied = tools.get(called.name)?.denied === true
    if (!denied || !isStop(actionOf(policy, 'call/denied'))) yield* this.#declare(request, called)
    const given = member(params, 'arguments')
    const { revision } = request.terms
    const call = {
      name: called.name, arguments: isObject(given) ? given : undefined, tool: called.tool, denied, listed: called.listed, revision,
      mismatch: mismatchOf(request),
    }
    this.#core.ask('onCall', call, request.findings, '/params')
    if (this.#checkStops) yield* this.#check(request, params)
    return request.findings.isStop ? this.#refusal(request, called.name) : undefined
  }

  /** What can be judged while the server is at work. */
  *judgeBeside(request: PendingRequest, params: JsonObject | undefined): Flow {
    if (!this.#checkStops) yield* this.#check(request, params)
  }

  *#declare(request: PendingRequest, called: Called): Flow {
    const { catalog } = this.#lists
    const look = () => catalog.lookup(called.name, this.#core.output.now)
    let found = look()
    let isListed = true
    for (let lists = 0; lists < mostLists && isListed && found.state === 'unknown'; lists++) {
      isListed = yield* this.#lists.listAll(request)
      found = look()
    }
    this.#lists.passChanges()
    // After the last try the last list counts.
    if (found.state === 'unknown' && isListed) found = catalog.lookupLast(called.name)
    if (found.state === 'known') called.tool = found.tool
    called.listed = found.state !== 'unknown'
  }

  *#check(request: PendingRequest, params: JsonObject | undefined): Flow {
    const tool = request.called?.tool
    if (tool === undefined || !this.#checks) return
    const value = member(params, 'arguments') ?? {}
    const subjects = tool.inputSchemas.map((schema): Subject => ({ kind: 'value', schema, value, path: '/params/arguments' }))
    const checked = yield* this.#core.checks.check(subjects, request.exchange)
    this.#core.ask('onArguments', { checked: checked.flat() }, request.findings, '/params/arguments')
  }

  #refusal(request: PendingRequest, name: string): Frame {
    const { findings, terms } = request
    if (isMismatch(findings)) return headerMismatch(request, findings)
    if (findings.stopping.includes('call/unlisted')) return unknownTool(request, name, nearest(name, this.#lists.catalog.names()))
    return refusedCall(request, name, findings, traitsOf(terms.revision).modern)
  }
}

/** `Mcp-Param-*` headers repeat arguments that the tool's schema names: only here are both known. */
const mismatchOf = ({ called, request, terms }: PendingRequest): string | undefined => {
  const headers = request?.frame.envelope?.headers
  const schema = called?.tool?.inputSchemas[0]
  if (request === undefined || headers === undefined || schema === undefined || !traitsOf(terms.revision).modern) return undefined
  return compareHeaders(headers, request.message, schema)
}

/** The listed name that was meant, as far as can be told: the same but for case and punctuation. */
const nearest = (name: string, names: Iterable<string>): string | undefined => {
  const wanted = lettersOf(name)
  if (wanted === '') return undefined
  for (const listed of names) if (lettersOf(listed) === wanted) return listed
  return undefined
}

const lettersOf = (name: string): string => name.slice(0, 128).toLowerCase().replace(/[^\p{L}\p{N}]/gu, '')
