import { type Edit, edited } from '../protocol/edit.js'
import type { Frame } from '../protocol/frame.js'
import { isObject, isString, type JsonObject, member, omit, parseJson } from '../protocol/json.js'
import type { Page } from '../protocol/json-rpc.js'
import { firstModern, hasFinalMember, methodOf, traitsOf } from '../protocol/revisions/index.js'
import { type Collected, type Outcome, Places } from '../protocol/places.js'
import { Drifts } from './accepted.js'
import type { Core } from './core.js'
import type { Exchange } from './event.js'
import type { Findings } from './findings.js'
import type { Flow } from './flow.js'
import { judgeList, judgeWhole } from './listing.js'
import type { Called, PendingRequest, Terms } from './request.js'
import { blocked, demoted, inItsPlace, refusedResult } from './refusal.js'
import type { Reading } from './rule.js'
import { judgeServerRequest } from './server-requests.js'
import { type Task, Tasks } from './tool-calls.js'
import type { ToolLists } from './tool-lists.js'
import { type ToolResult, ToolResults } from './tool-results.js'

/** Judges what the server says, by the method that was asked, or by which it says it. */
export class Answers {
  readonly tasks: Tasks
  readonly drifts: Drifts
  readonly #core: Core
  readonly #lists: ToolLists
  readonly #results: ToolResults

  constructor(core: Core, lists: ToolLists) {
    this.#core = core
    this.tasks = new Tasks(core.ledger)
    this.drifts = new Drifts(core)
    this.#lists = lists
    this.#results = new ToolResults(core)
  }

  /** @param exchange where it arrived @returns what the client gets */
  *judge(request: PendingRequest, exchange: Exchange, frame: Frame, result: JsonObject): Flow<Frame> {
    try {
      return yield* this.#judge(request, exchange, frame, result)
    } catch (error) {
      request.findings.spent(error)
      return replaced(request, frame)
    }
  }

  *#judge(request: PendingRequest, exchange: Exchange, frame: Frame, result: JsonObject): Flow<Frame> {
    const { method, terms, findings } = request
    this.tasks.told(request.taskId, method, result)
    if (method === 'initialize') this.#core.handshake.agreed(result)
    const isTools = method === 'tools/list' && !isInterim(terms, result)
    const about: About = { method, terms, exchange, at: 'result' }
    // Tools are judged one by one.
    const whole = isTools ? omit(result, 'tools') : result
    const found = yield* this.#found(about, whole, findings)
    if (isTools) {
      const edits = yield* this.#read(about, frame, whole, findings, found)
      return findings.stopping.length > 0 ? replaced(request, frame) : yield* this.#list(request, exchange, frame, result, edits)
    }
    const outcomes = this.#outcomes(request, result, found)
    const sole = found.outcomes.length === 1 ? found : undefined
    const judged = yield* this.#results.judge(outcomes, { terms, exchange, frame, found: sole, meter: findings.meter }, findings)
    const [first] = judged.outcomes
    if (first !== undefined && outcomes.some(outcome => outcome.result === result)) return instead(request, judged.frame, judged.outcomes)
    const drifted = yield* this.drifts.edits(method, terms, exchange, frame, result, findings)
    // What was accepted stands in the place of what is said now, and is mended as that would be.
    const held = edited(judged.frame, drifted.filter(edit => 'replace' in edit))
    const shown = held === judged.frame ? unjudged(result, outcomes) : resultIn(held)
    const read = yield* this.#read(about, held, shown, findings, shown === whole ? found : undefined)
    const listed = methodOf(method)?.list === undefined ? [] : yield* judgeList(this.#core, method, terms.revision, shown, exchange, findings)
    const changed = edited(held, [...read, ...listed, ...drifted.filter(edit => 'remove' in edit)])
    if (first !== undefined) return instead(request, changed, judged.outcomes)
    // Drift is mended by these, or concerns what is not there; whatever else stops it stops all of it.
    return findings.stopping.every(rule => rule === 'tool/drift') ? changed : replaced(request, frame)
  }

  /** An error of the server's. @returns what the client gets */
  *judgeError(request: PendingRequest, exchange: Exchange, frame: Frame, error: JsonObject): Flow<Frame> {
    const { method, terms, findings } = request
    const about: About = { method, terms, exchange, at: 'error' }
    let edits: readonly Edit[] = []
    try {
      edits = yield* this.#read(about, frame, error, findings, yield* this.#found(about, error, findings))
    } catch (cause) {
      findings.spent(cause)
    }
    return replaced(request, edited(frame, edits))
  }

  /** The body of an HTTP error that is no message. @returns what the client gets */
  judgePage(request: PendingRequest, frame: Frame, { text }: Page): Frame {
    this.readPage(frame, text, request.findings)
    return replaced(request, frame)
  }

  /** Whoever shows it to a model shows its text. */
  readPage({ facts }: Frame, text: string, findings: Findings): void {
    const { revision } = this.#core.handshake.terms
    const page = { method: '', value: { text }, path: '', parts: [], links: [], revision, plain: facts?.plain === true }
    this.#core.ask('onReading', page, findings, '')
  }

  /** What a model reads of a message that the server sends unasked; with the outcome of a task, that as well. @returns what the client gets, where it passes */
  *judgeUnasked(method: string, exchange: Exchange, frame: Frame, params: JsonObject | undefined, findings: Findings): Flow<Frame> {
    const read = methodOf(method)?.read
    if (params === undefined || read === undefined) return frame
    try {
      return yield* this.#unasked(method, exchange, frame, params, read, findings)
    } catch (error) {
      findings.spent(error)
      return frame
    }
  }

  *#unasked(method: string, exchange: Exchange, frame: Frame, params: JsonObject, read: readonly string[] | 'all', findings: Findings): Flow<Frame> {
    const task = this.#taskIn(params)
    const terms = task?.terms ?? (method === 'notifications/tasks' ? unknownTask : this.#core.handshake.terms)
    const about: About = { method, terms, exchange, at: 'params' }
    const found = yield* this.#found(about, params, findings)
    const outcomes: ToolResult[] = []
    for (const outcome of found.outcomes) this.#addResults(outcome, 'params', undefined, outcomes)
    const judged = yield* this.#results.judge(outcomes, { terms, exchange, frame, found: undefined, meter: findings.meter }, findings)
    const value = read === 'all' ? unjudged(params, outcomes) : Object.fromEntries(read.map(key => [key, member(params, key)]))
    return edited(judged.frame, yield* this.#read(about, frame, value, findings, value === params ? found : undefined))
  }

  #taskIn(state: JsonObject): Task | undefined {
    const id = member(state, 'taskId')
    return isString(id) ? this.tasks.find(id) : undefined
  }

  /** The results of tools in an answer. */
  #outcomes(request: PendingRequest, result: JsonObject, { outcomes }: Collected): readonly ToolResult[] {
    const results: ToolResult[] = []
    if (isInterim(request.terms, result)) return results
    const isHandle = request.method === 'tools/call' && this.tasks.creates(request, result)
    for (const outcome of outcomes) {
      const { way } = outcome
      // Who has not asked for a task does not look for one.
      const isLooked = way.length === 0 ? !isHandle : way[0] !== 'task' || request.wantsTask
      if (isLooked) this.#addResults(outcome, 'result', request.called, results)
    }
    return results
  }

  /** By the tool that was asked for, and by that of the task that the result is said to be of. */
  #addResults({ value, holder, way }: Outcome, at: string, asked: Called | undefined, into: ToolResult[]): void {
    const own = this.#taskIn(holder)?.called
    const [place, result] = [[at, ...way], isObject(value) ? value : {}]
    const add = (called: Called | undefined) => into.push({ called, at: place, result, isObject: result === value })
    if (own === undefined || asked !== undefined) add(asked)
    if (own !== undefined && own.name !== asked?.name) add(own)
  }

  /** What stands in a part of a frame; of that, requests are judged by themselves. */
  *#found(about: About, value: JsonObject, findings: Findings): Flow<Collected> {
    const { terms, exchange } = about
    const found = yield* this.#walked(about, value, findings)
    for (const { kind, value, path } of found.requests) {
      findings.meter.pay(perRequest)
      if (kind === 'request') judgeServerRequest(this.#core, value, terms, path, findings)
      else {
        const asked = { method: 'elicitation/create', params: value, clientCapabilities: terms.capabilities, methodPath: path, paramsPath: path }
        this.#core.ask('onServerRequest', asked, findings, path)
      }
      if (findings.meter.isTurnSpent) yield* this.#core.turn(findings.meter, exchange)
    }
    return found
  }

  #walked({ method, at, terms, exchange }: About, value: JsonObject, { meter }: Findings): Flow<Collected> {
    return this.#core.found(new Places(`/${at}`, traitsOf(terms.revision).modern, meter).in(at, method, value), exchange)
  }

  /** What a model reads. @param known what stands in the value, where that was looked for @returns what mends it */
  #read(about: About, { facts }: Frame, value: JsonObject, findings: Findings, known: Collected | undefined): Flow<readonly Edit[]> {
    const { method, terms: { revision }, exchange, at } = about
    const walked = (read: JsonObject) => this.#walked(about, read, findings)
    const subjectOf = function* (read: JsonObject): Flow<Reading> {
      const { parts, links } = known !== undefined && read === value ? known : yield* walked(read)
      return { method, value: read, path: `/${at}`, parts, links, revision, plain: facts?.plain === true }
    }
    return judgeWhole(this.#core, 'onReading', value, [at], subjectOf, exchange, findings)
  }

  *#list(request: PendingRequest, exchange: Exchange, frame: Frame, result: JsonObject, edits: readonly Edit[]): Flow<Frame> {
    const page = yield* this.#lists.page(request, exchange, frame, result)
    // A list's findings concern its tools, and are seen to in the page; only a page that is none is answered by an error.
    return page === undefined ? replaced(request, frame) : edited(page, edits)
  }
}

/** Steps for a request in a message, as all rules about it take. */
const perRequest = 64

/** A part of a frame that is judged. */
interface About {
  readonly method: string
  readonly terms: Terms
  readonly exchange: Exchange
  readonly at: 'params' | 'result' | 'error'
}

/** A task of which nothing is known: its client declared nothing, as far as anybody can say. */
const unknownTask: Terms = { revision: firstModern, capabilities: {}, client: undefined }

/** The state without the result in it that was judged as one. */
const unjudged = (state: JsonObject, outcomes: readonly ToolResult[]): JsonObject =>
  outcomes.some(({ result }) => result === member(state, 'result')) ? omit(state, 'result') : state

// A legacy client reads any result as the final one, whatever it says of itself.
const isInterim = ({ revision }: Terms, result: JsonObject): boolean =>
  traitsOf(revision).modern && member(result, 'resultType') === 'input_required' && !hasFinalMember(result)

const resultIn = ({ bytes }: Frame): JsonObject => {
  const message = parseJson(bytes.toString())
  const result = isObject(message) ? member(message, 'result') : undefined
  return isObject(result) ? result : {}
}

const replaced = (request: PendingRequest, frame: Frame): Frame =>
  request.findings.isStop ? inItsPlace(frame, blocked(request, request.findings)) : frame

/** What the client gets of a tool's result. Of more than one in a frame there is none to demote, nor of what is no object. */
const instead = (request: PendingRequest, frame: Frame, outcomes: readonly ToolResult[]): Frame => {
  const { findings, terms } = request
  const [first] = outcomes
  if (!findings.isStop || first === undefined) return frame
  const { called, at, result } = first
  const name = called?.name ?? ''
  if (findings.verdict === 'demote' && outcomes.length === 1 && first.isObject) return demoted(frame, at, result, name, findings)
  const { modern } = traitsOf(terms.revision)
  return inItsPlace(frame, at.length === 1 ? refusedResult(request, name, findings, modern) : blocked(request, findings))
}
