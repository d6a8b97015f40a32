import { compareHeaders } from '../protocol/headers.js'
import type { Frame } from '../protocol/frame.js'
import { isObject, isString, type JsonObject, member, weigh } from '../protocol/json.js'
import { hasFinalMember, metaPrefix, traitsOf } from '../protocol/revisions/index.js'
import { acceptedFor } from './accepted.js'
import type { Lookup } from './catalog.js'
import type { Subject } from './check.js'
import type { Core } from './core.js'
import type { Flow } from './flow.js'
import { toolOf } from './listing.js'
import { actionOf, isStop } from './findings.js'
import type { Called, PendingRequest, Terms } from './request.js'
import { headerMismatch, isMismatch, refusedCall, unknownTool } from './refusal.js'
import type { Rule } from './rule.js'
import type { ToolLists } from './tool-lists.js'
import { type Ledger, weights } from './memory.js'

/** `tools/call`, from its arrival until it goes to the server. */
export class ToolCalls {
  readonly #core: Core
  readonly #lists: ToolLists
  readonly #ofArguments: readonly Rule[]

  constructor(core: Core, lists: ToolLists) {
    this.#core = core
    this.#lists = lists
    this.#ofArguments = core.options.rules.filter(({ onArguments }) => onArguments !== undefined)
  }

  /** @returns the answer that refuses the call; undefined when it may go to the server */
  *judge(request: PendingRequest): Flow<Frame | undefined> {
    const params = request.request?.message.params
    const name = member(params, 'name')
    const called: Called = { name: isString(name) ? name : '', tool: undefined, listed: true }
    request.called = called
    const { options } = this.#core
    const isDenied = () => options.tools.get(called.name)?.denied === true
    if (!isDenied() || !isStop(actionOf(options.policy, 'call/denied'))) {
      const found = this.#frozen(called.name, request.terms) ?? this.#lists.catalog.lookup(called.name, this.#core.output.now) ?? (yield* this.#lists.find(called.name, request))
      called.tool = found === 'absent' ? undefined : found
      called.listed = found !== undefined
    }
    const given = member(params, 'arguments')
    const { revision } = request.terms
    const call = {
      name: called.name, arguments: isObject(given) ? given : undefined, tool: called.tool, denied: isDenied(), listed: called.listed, revision,
      mismatch: mismatchOf(request),
    }
    this.#core.ask('onCall', call, request.findings, '/params')
    if (this.checks === 'first') yield* this.check(request, params)
    return request.findings.isStop ? this.#refusal(request, called.name) : undefined
  }

  /** When the engine is asked about arguments: before the server has the call, where that can keep it from it; beside; or not at all. */
  get checks(): 'first' | 'beside' | 'never' {
    const { policy } = this.#core.options
    let found: 'first' | 'beside' | 'never' = 'never'
    for (const { name } of this.#ofArguments) {
      const action = actionOf(policy, name)
      if (isStop(action)) return 'first'
      if (action !== 'off') found = 'beside'
    }
    return found
  }

  *check(request: PendingRequest, params: JsonObject | undefined): Flow {
    const tool = request.called?.tool
    if (tool === undefined) return
    const value = member(params, 'arguments') ?? {}
    const subjects = tool.inputSchemas.map((schema): Subject => ({ kind: 'value', schema, value, path: '/params/arguments' }))
    const checked = yield* this.#core.checks.check(subjects, request.exchange)
    this.#core.ask('onArguments', { checked: checked.flat() }, request.findings, '/params/arguments')
  }

  /** By what was accepted, where that alone counts. */
  #frozen(name: string, terms: Terms): Lookup {
    const { accepted, tools } = this.#core.options
    if (accepted?.isFrozen !== true) return undefined
    const definition = acceptedFor(this.#core, terms)?.definitions.tools.get(name)
    return !isObject(definition) ? 'absent' : toolOf(name, definition, tools.get(name)?.outputSchema)
  }

  #refusal(request: PendingRequest, name: string): Frame {
    const { findings, terms } = request
    if (isMismatch(findings)) return headerMismatch(request, findings)
    if (findings.stopping.includes('call/unlisted')) return unknownTool(request, name, nearest(name, this.#lists.catalog.names()), acceptedFor(this.#core, terms)?.definitions.tools.has(name) === true)
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

/** So many names are compared to find the one that was meant. */
const maxCompared = 500

/** The listed name that was meant, as far as can be told: the same but for case and punctuation. */
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

/** Tasks remembered, and what they may weigh; the oldest is forgotten first, and its result is then result/unchecked. So is one whose id is no id. */
const maxTasks = 10_000
const maxBytes = 16 * 1024 * 1024
const longestId = 1000

const extension = `${metaPrefix}tasks`

/** A call that runs as a task: by what its result is judged, and by which terms. */
export interface Task {
  readonly called: Called
  readonly terms: Terms
  readonly weight: number
  /** Its outcome was told: the server may use its id again. */
  isOver: boolean
}

/**
 * Which tool a task runs, so that its final result is judged like a direct one: 2025-11-25 (`params.task`,
 * `tasks/result`) and the extension `io.modelcontextprotocol/tasks` (`resultType: "task"`, `tasks/get`).
 */
export class Tasks {
  readonly #tasks = new Map<string, Task>()
  readonly #ledger: Ledger

  constructor(session: Ledger) {
    this.#ledger = session.account(maxBytes)
  }

  /**
   * True when the result is a task's handle, asked for by the client, and nothing else: a result that has content as
   * well is judged as a result, for a lenient client would read it as one.
   */
  creates(request: PendingRequest, result: JsonObject): boolean {
    const { terms, called } = request
    const handle = traitsOf(terms.revision).modern ? modernHandle(terms, result) : legacyHandle(request, result)
    const id = member(handle, 'taskId')
    if (!isString(id) || called === undefined || hasFinalMember(result)) return false
    // A running task cannot be given another tool: what says so is judged as the result that it then is not.
    const known = this.#tasks.get(id)
    if (known !== undefined && !known.isOver && known.called.name !== called.name) return false
    this.#remember(id, called, terms)
    return true
  }

  find(id: string | undefined): Task | undefined {
    return id === undefined ? undefined : this.#tasks.get(id)
  }

  /** What the server says of a task. @param method that was asked */
  told(id: string | undefined, method: string, state: JsonObject): void {
    const task = this.find(id)
    if (task !== undefined && (method === 'tasks/result' || outcomes.includes(member(state, 'status') ?? null))) task.isOver = true
  }

  #remember(id: string, { name, tool, listed }: Called, terms: Terms): void {
    if (id.length > longestId) return
    const weight = weights.task + 2 * id.length + (tool?.outputSchemas.reduce((sum, schema) => sum + weigh(schema), 0) ?? 0)
    this.#ledger.add(weight - (this.#tasks.get(id)?.weight ?? 0))
    // Of the declaration only that by which the result is judged.
    this.#tasks.set(id, { called: { name, tool: tool && { ...tool, definition: {}, inputSchemas: [] }, listed }, terms, weight, isOver: false })
    for (const [oldest, task] of this.#tasks) {
      if (this.#tasks.size <= maxTasks && this.#ledger.kept <= maxBytes) return
      this.#tasks.delete(oldest)
      this.#ledger.add(-task.weight)
    }
  }
}

/** Statuses after which nothing more comes (2025-11-25, Tasks, Task Status Lifecycle). */
const outcomes: readonly unknown[] = ['completed', 'failed', 'cancelled']

const legacyHandle = ({ wantsTask }: PendingRequest, result: JsonObject): JsonObject | undefined => {
  const task = member(result, 'task')
  return wantsTask && isObject(task) ? task : undefined
}

const modernHandle = ({ capabilities }: Terms, result: JsonObject): JsonObject | undefined => {
  const extensions = member(capabilities, 'extensions')
  const declared = isObject(extensions) && isObject(member(extensions, extension))
  return declared && member(result, 'resultType') === 'task' ? result : undefined
}
