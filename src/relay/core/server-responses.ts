import { type Edit, edited } from '#relay/protocol/edit.js'
import type { Frame } from '#relay/protocol/frame.js'
import { isObject, isString, type JsonObject, member, omit, parseJson } from '#relay/protocol/json.js'
import { errorCode, type HttpPage } from '#relay/protocol/json-rpc.js'
import { firstModern, hasFinalMember, methodOf, traitsOf } from '#relay/protocol/revisions/index.js'
import { type Collected, type Outcome, Places } from '#relay/protocol/places.js'
import { Drifts } from './accepted.js'
import type { Core } from './core.js'
import type { Exchange, Reading } from './vocabulary.js'
import type { Findings } from './findings.js'
import type { Flow } from './flow.js'
import { JoinedPages } from './joined-pages.js'
import { judgeList, judgeWhole } from './listing.js'
import type { Called, PendingRequest } from './request.js'
import type { Terms } from './terms.js'
import { settingOf } from './options.js'
import { blocked, demoted, errorFrame, inItsPlace, refusedResult, relaxCommand } from './refusal.js'
import { notShared, termsData } from './shared.js'
import { requestData } from './shared-requests.js'
import { judgeServerRequest } from './server-requests.js'
import { shortened } from './shortened.js'
import { type Task, Tasks } from './tasks.js'
import type { ToolLists } from './tool-lists.js'
import { type ToolResult, ToolResults } from './tool-results.js'

/** Judges the server's responses, by the method of their request, and its unsolicited messages. */
export class ServerResponses {
  readonly tasks: Tasks
  readonly drifts: Drifts
  readonly #core: Core
  readonly #lists: ToolLists
  readonly results: ToolResults
  readonly #pages: JoinedPages

  constructor(core: Core, lists: ToolLists) {
    this.#core = core
    this.tasks = new Tasks(core.ledger)
    this.drifts = new Drifts(core)
    this.#lists = lists
    this.results = new ToolResults(core, lists)
    this.#pages = new JoinedPages(core, lists.requests, (...page) => this.#judge(...page))
  }

  /** Judges a result. @param exchange on which it arrived @returns the frame for the client */
  *judge(request: PendingRequest, exchange: Exchange, frame: Frame, result: JsonObject): Flow<Frame> {
    try {
      const judged = yield* this.#judge(request, exchange, frame, result)
      return yield* this.#pages.join(request, judged, result)
    } catch (error) {
      request.findings.addOverBudget(error)
      return replacedIfStopped(request, frame)
    }
  }

  *#judge(request: PendingRequest, exchange: Exchange, frame: Frame, result: JsonObject): Flow<Frame> {
    const { method, terms, findings } = request
    const { shared } = this.#core
    this.tasks.onState(request.taskId, method, result)
    if (method === 'initialize') {
      this.#core.judgeRevision('server', this.#core.handshake.agreed(result), findings)
      // The terms are kept before the client can send the next request to another replica.
      const value = termsData(this.#core.handshake.terms)
      const kept = yield* shared.ask({ kind: 'keep', part: 'session', name: '', value }, exchange)
      if (kept === 'unreachable') return sharedStateError(request, frame)
    }
    const isTools = method === 'tools/list' && !isInterim(terms, result)
    const about: JudgedPart = { method, terms, exchange, at: 'result' }
    // Tools are judged one by one, in tool-page.ts.
    const withoutTools = isTools ? omit(result, 'tools') : result
    const found = yield* this.#collect(about, withoutTools, findings)
    if (isTools) {
      const edits = yield* this.#judgeText(about, frame, withoutTools, findings, found)
      return findings.stopping.length > 0
        ? replacedIfStopped(request, frame)
        : yield* this.#list(request, exchange, frame, result, edits)
    }
    const outcomes = this.#toolResults(request, result, found)
    const begun = method === 'tools/call' && shared.isOn ? this.#begunTaskId(request, result) : undefined
    if (begun !== undefined)
      yield* shared.keep('task', begun, requestData(request, shared.digestOf), exchange)
    const only = found.outcomes.length === 1 ? found : undefined
    const judged = yield* this.results.judge(
      outcomes, { terms, exchange, frame, found: only, meter: findings.meter }, findings,
    )
    const [first] = judged.outcomes
    const isWhole = outcomes.some(outcome => outcome.result === result)
    if (first !== undefined && isWhole)
      return this.#inPlaceOfResult(request, judged.frame, judged.outcomes)
    const drifted = yield* this.drifts.edits(method, terms, exchange, frame, result, findings)
    // First, accepted definitions replace changed ones. They are then mended like the server's own.
    const locked = edited(judged.frame, drifted.filter(edit => 'replace' in edit))
    const shown = locked === judged.frame ? withoutOutcome(result, outcomes) : resultIn(locked)
    const known = shown === withoutTools ? found : undefined
    const read = yield* this.#judgeText(about, locked, shown, findings, known)
    const listed =
      methodOf(method)?.list === undefined
        ? []
        : yield* judgeList(this.#core, method, terms, cursorsOf(request), shown, exchange, findings)
    const changed = edited(locked, [...read, ...listed, ...drifted.filter(edit => 'remove' in edit)])
    if (first !== undefined) return this.#inPlaceOfResult(request, changed, judged.outcomes)
    // `changed` deals with drift. A finding of any other stopping rule replaces the whole response.
    return findings.stopping.every(rule => rule === 'tool/drift')
      ? changed
      : replacedIfStopped(request, frame)
  }

  /** Judges a JSON-RPC error of the server. @returns the frame for the client */
  *judgeError(request: PendingRequest, exchange: Exchange, frame: Frame, error: JsonObject): Flow<Frame> {
    const { method, terms, findings } = request
    const about: JudgedPart = { method, terms, exchange, at: 'error' }
    let edits: readonly Edit[] = []
    try {
      const found = yield* this.#collect(about, error, findings)
      edits = yield* this.#judgeText(about, frame, error, findings, found)
    } catch (cause) {
      findings.addOverBudget(cause)
    }
    return replacedIfStopped(request, edited(frame, edits))
  }

  /** Judges the body of an HTTP error that is no JSON-RPC message. @returns the frame for the client */
  judgeHttpPage(request: PendingRequest, frame: Frame, { text }: HttpPage): Frame {
    this.judgeHttpText(frame, text, request.findings)
    return replacedIfStopped(request, frame)
  }

  /** Applies the rules for text that models read: clients show the text of an HTTP error to the model. */
  judgeHttpText({ facts }: Frame, text: string, findings: Findings): void {
    const { revision } = this.#core.handshake.terms
    const page = {
      method: '', value: { text }, path: '', parts: [], links: [], revision, plain: facts?.plain === true,
    }
    this.#core.ask('onReading', page, findings, '')
  }

  /**
   * Judges a server notification or request: its text for models, and the outcome of a task in it, if any.
   * @returns the frame for the client, unless a finding stops the frame
   */
  *judgeUnsolicited(
    method: string, exchange: Exchange, frame: Frame, params: JsonObject | undefined, findings: Findings,
  ): Flow<Frame> {
    const read = methodOf(method)?.read
    if (params === undefined || read === undefined) return frame
    try {
      return yield* this.#unsolicited(method, exchange, frame, params, read, findings)
    } catch (error) {
      findings.addOverBudget(error)
      return frame
    }
  }

  *#unsolicited(
    method: string, exchange: Exchange, frame: Frame, params: JsonObject, read: readonly string[] | 'all',
    findings: Findings,
  ): Flow<Frame> {
    const task = this.#taskIn(params)
    const isOfTask = method === 'notifications/tasks'
    const terms = task?.terms ?? (isOfTask ? termsOfUnknownTask : this.#core.handshake.terms)
    const about: JudgedPart = { method, terms, exchange, at: 'params' }
    const found = yield* this.#collect(about, params, findings)
    const outcomes: ToolResult[] = []
    for (const outcome of found.outcomes) this.#addResults(outcome, 'params', undefined, outcomes)
    const judged = yield* this.results.judge(
      outcomes, { terms, exchange, frame, found: undefined, meter: findings.meter }, findings,
    )
    const value =
      read === 'all'
        ? withoutOutcome(params, outcomes)
        : Object.fromEntries(read.map(key => [key, member(params, key)]))
    const known = value === params ? found : undefined
    return edited(judged.frame, yield* this.#judgeText(about, frame, value, findings, known))
  }

  #taskIn(state: JsonObject): Task | undefined {
    const id = member(state, 'taskId')
    return isString(id) ? this.tasks.find(id) : undefined
  }

  /** The id of the task that a call began. */
  #begunTaskId(request: PendingRequest, result: JsonObject): string | undefined {
    const handle = member(result, 'task')
    const id = member(isObject(handle) ? handle : result, 'taskId')
    return isString(id) && this.tasks.find(id)?.called.name === request.called?.name ? id : undefined
  }

  #toolResults(request: PendingRequest, result: JsonObject, { outcomes }: Collected): readonly ToolResult[] {
    const results: ToolResult[] = []
    if (isInterim(request.terms, result)) return results
    const isTaskHandle = request.method === 'tools/call' && this.tasks.creates(request, result)
    for (const outcome of outcomes) {
      const { steps } = outcome
      // A client that has not asked for a task does not read `result.task`.
      const isRead = steps.length === 0 ? !isTaskHandle : steps[0] !== 'task' || request.wantsTask
      if (isRead) this.#addResults(outcome, 'result', request.called, results)
    }
    return results
  }

  /** Adds a result for the tool that was called, and again for the tool of the task that the result names. */
  #addResults(
    { value, holder, steps }: Outcome, at: string, asked: Called | undefined, into: ToolResult[],
  ): void {
    const taskTool = this.#taskIn(holder)?.called
    const [place, result] = [[at, ...steps], isObject(value) ? value : {}]
    const add = (called: Called | undefined) =>
      into.push({ called, at: place, result, isObject: result === value })
    if (taskTool === undefined || asked !== undefined) add(asked)
    if (taskTool !== undefined && taskTool.name !== asked?.name) add(taskTool)
  }

  /** Collects content, links, tool results and requests in a part of a frame, and judges the requests. */
  *#collect(about: JudgedPart, value: JsonObject, findings: Findings): Flow<Collected> {
    const { terms, exchange } = about
    const found = yield* this.#search(about, value, findings)
    for (const { kind, value, path } of found.requests) {
      findings.meter.pay(perRequest)
      if (kind === 'request') judgeServerRequest(this.#core, value, terms, path, findings)
      else {
        const asked = {
          method: 'elicitation/create', params: value, clientCapabilities: terms.capabilities,
          methodPath: path, paramsPath: path,
        }
        this.#core.ask('onServerRequest', asked, findings, path)
      }
      if (findings.meter.isTurnSpent) yield* this.#core.yieldToLoop(findings.meter, exchange)
    }
    return found
  }

  #search(
    { method, at, terms, exchange }: JudgedPart, value: JsonObject, { meter }: Findings,
  ): Flow<Collected> {
    return this.#core.found(
      new Places(`/${at}`, traitsOf(terms.revision).modern, meter).addPart(at, method, value), exchange,
    )
  }

  /** Judges text that a model reads. @param known the collected content of the value @returns the mends */
  #judgeText(
    about: JudgedPart, { facts }: Frame, value: JsonObject, findings: Findings, known: Collected | undefined,
  ): Flow<readonly Edit[]> {
    const { method, terms: { revision }, exchange, at } = about
    const walked = (read: JsonObject) => this.#search(about, read, findings)
    const subjectOf = function* (read: JsonObject): Flow<Reading> {
      const { parts, links } = known !== undefined && read === value ? known : yield* walked(read)
      return { method, value: read, path: `/${at}`, parts, links, revision, plain: facts?.plain === true }
    }
    return judgeWhole(this.#core, 'onReading', value, [at], subjectOf, exchange, findings)
  }

  /** The client's frame in place of a tool result. Only a single result that is an object is demoted. */
  #inPlaceOfResult(request: PendingRequest, frame: Frame, outcomes: readonly ToolResult[]): Frame {
    const { findings, terms } = request
    const [first] = outcomes
    if (!findings.isStop || first === undefined) return frame
    const { called, at, result } = first
    const name = called?.shown ?? ''
    if (findings.verdict === 'demote' && outcomes.length === 1 && first.isObject) {
      if (!findings.stopping.includes('result/size')) return demoted(frame, at, result, name, findings, this.#remedy(called, findings))
      const limit = settingOf(this.#core.ruling, called?.name ?? '')?.resultBytes ?? 0
      return shortened(frame, at, result, name, findings, limit)
    }
    const { modern } = traitsOf(terms.revision)
    return inItsPlace(
      frame, at.length === 1
        ? refusedResult(request, name, findings, modern, this.#remedy(called, findings))
        : blocked(request, findings),
    )
  }

  /** How the user gets such results, where the policy alone stops them. */
  #remedy(called: Called | undefined, { stopping }: Findings): string {
    const { judgement: { rules, server } } = this.#core
    const { name = '' } = called ?? {}
    const { mends } = this.#core.mendingOf(name)
    const isPolicy = stopping.every(rule =>
      !mends.has(rule) && rules.some(one => one.name === rule && one.relaxed === true))
    return isPolicy ? ` To get such results all the same, the user can run: ${relaxCommand(server, name)}` : ''
  }

  *#list(
    request: PendingRequest, exchange: Exchange, frame: Frame, result: JsonObject, edits: readonly Edit[],
  ): Flow<Frame> {
    const page = yield* this.#lists.page(request, exchange, frame, result)
    // Findings about single tools are dealt with in the page. Only a result that is no list gets an error.
    return page === undefined ? replacedIfStopped(request, frame) : edited(page, edits)
  }
}

/** Meter steps for an embedded request. */
const perRequest = 64

/** The part of a frame that is judged, with the method and terms that decide how. */
interface JudgedPart {
  readonly method: string
  readonly terms: Terms
  readonly exchange: Exchange
  readonly at: 'params' | 'result' | 'error'
}

/** The terms for an unknown task: no capability is known to be declared. */
const termsOfUnknownTask: Terms = { revision: firstModern, capabilities: {}, client: undefined }

/** The state of a task without its result, which was judged as a tool result. */
const withoutOutcome = (state: JsonObject, outcomes: readonly ToolResult[]): JsonObject =>
  outcomes.some(({ result }) => result === member(state, 'result')) ? omit(state, 'result') : state

// True when the result asks the client for input, so that a final result follows. Legacy clients do not know
// `resultType`, and read any result as the final one.
const isInterim = ({ revision }: Terms, result: JsonObject): boolean =>
  traitsOf(revision).modern && member(result, 'resultType') === 'input_required' && !hasFinalMember(result)

const cursorsOf = ({ cursor }: PendingRequest): ReadonlySet<string> =>
  new Set(cursor === undefined ? [] : [cursor])

const resultIn = ({ bytes }: Frame): JsonObject => {
  const message = parseJson(bytes.toString())
  const result = isObject(message) ? member(message, 'result') : undefined
  return isObject(result) ? result : {}
}

const replacedIfStopped = (request: PendingRequest, frame: Frame): Frame =>
  request.findings.isStop ? inItsPlace(frame, blocked(request, request.findings)) : frame

/** The error for a request that needs the shared state. */
const sharedStateError = (request: PendingRequest, frame: Frame): Frame => {
  request.findings.block()
  request.failure = notShared
  return inItsPlace(frame, errorFrame(request, errorCode.gone, `mcp-customs: ${notShared}`))
}
