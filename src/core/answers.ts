import { edited } from '../protocol/edit.js'
import type { Frame } from '../protocol/frame.js'
import { isObject, isString, member, omit, parseJson, type Json, type JsonObject } from '../protocol/json.js'
import { partsOf, type Part } from '../protocol/mcp.js'
import type { Page } from '../protocol/json-rpc.js'
import { hasFinalMember, methodOf } from '../protocol/methods.js'
import { traitsOf } from '../protocol/revision.js'
import { driftEdits } from './accepted.js'
import type { Core } from './core.js'
import type { Exchange } from './event.js'
import type { Findings } from './findings.js'
import type { Flow } from './flow.js'
import { judgeList } from './listing.js'
import type { PendingRequest } from './request.js'
import { blocked, demoted, inItsPlace, refusedResult } from './refusal.js'
import type { Reading } from './rule.js'
import { judgeServerRequest } from './server-requests.js'
import { Tasks } from './tasks.js'
import type { Terms } from './terms.js'
import type { ToolLists } from './tool-lists.js'
import { outcomesIn, ToolResults, type ToolResult } from './tool-results.js'

/** Judges what the server says, by the method that was asked, or by which it says it. */
export class Answers {
  readonly tasks = new Tasks()
  readonly #core: Core
  readonly #lists: ToolLists
  readonly #results: ToolResults

  constructor(core: Core, lists: ToolLists) {
    this.#core = core
    this.#lists = lists
    this.#results = new ToolResults(core)
  }

  /** @param exchange where it arrived @returns what the client gets */
  *judge(request: PendingRequest, exchange: Exchange, frame: Frame, result: JsonObject): Flow<Frame> {
    const { method, terms, findings } = request
    // Whatever the result says it is: a client that looks for requests of the server's will find them.
    if (traitsOf(terms.revision).modern) this.#embeddedRequests(result, terms, ['result'], findings)
    if (method === 'initialize') this.#core.handshake.agreed(result)
    const outcomes = this.#toolResults(request, result)
    if (method === 'tools/list' && !isInterim(terms, result)) return yield* this.#list(request, exchange, frame, result)
    const judged = yield* this.#results.judge(outcomes, { terms, exchange, frame }, findings)
    const [first] = judged.outcomes
    if (outcomes.every(outcome => outcome.result !== result)) this.#read(method, frame, unjudged(result, outcomes), terms, findings)
    if (first !== undefined) return instead(request, judged.frame, first, outcomes.length > 1)
    const drifted = driftEdits(this.#core, method, result, findings)
    // What was accepted stands in the place of what is said now, and is mended as that would be.
    const held = edited(frame, drifted.filter(edit => 'replace' in edit))
    const edits = methodOf(method)?.list === undefined ? [] : yield* judgeList(this.#core, method, terms.revision, held === frame ? result : resultIn(held), findings)
    // Drift is mended by these, or concerns what is not there; whatever else stops it stops all of it.
    if (!findings.stopping.every(rule => rule === 'tool/drift')) return replaced(request, frame)
    return edited(held, [...edits, ...drifted.filter(edit => 'remove' in edit)])
  }

  /** An error of the server's. @returns what the client gets */
  judgeError(request: PendingRequest, frame: Frame, error: JsonObject): Frame {
    this.#core.ask('onReading', reading(request.method, frame, error, request.terms, '/error', []), request.findings, '/error')
    return replaced(request, frame)
  }

  /** The body of an HTTP error that is no message. @returns what the client gets */
  judgePage(request: PendingRequest, frame: Frame, { text }: Page): Frame {
    this.readPage(frame, text, request.findings)
    return replaced(request, frame)
  }

  /** Whoever shows it to a model shows its text. */
  readPage(frame: Frame, text: string, findings: Findings): void {
    this.#core.ask('onReading', reading('', frame, { text }, this.#core.handshake.terms, '', []), findings, '')
  }

  /** What a model reads of a message that the server sends unasked; with the outcome of a task, that as well. @returns what the client gets, where it passes */
  *judgeUnasked(method: string, exchange: Exchange, frame: Frame, params: JsonObject | undefined, findings: Findings): Flow<Frame> {
    const read = methodOf(method)?.read
    if (params === undefined || read === undefined) return frame
    const id = member(params, 'taskId')
    const task = this.tasks.find(isString(id) ? id : undefined)
    const terms = task?.terms ?? (method === 'notifications/tasks' ? unknownTask : this.#core.handshake.terms)
    const outcomes = method === 'notifications/tasks' ? outcomesIn(params, task?.called, ['params']) : []
    if (method === 'notifications/tasks') this.#embeddedRequests(params, terms, ['params'], findings)
    const judged = yield* this.#results.judge(outcomes, { terms, exchange, frame }, findings)
    const value = read === 'all' ? unjudged(params, outcomes) : Object.fromEntries(read.map(key => [key, member(params, key)]))
    this.#core.ask('onReading', reading(method, frame, value, terms, '/params', []), findings, '/params')
    return judged.frame
  }

  /** The results of tools in an answer. */
  #toolResults(request: PendingRequest, result: JsonObject): readonly ToolResult[] {
    const { method, called, terms } = request
    if (isInterim(terms, result)) return []
    switch (method) {
      case 'tools/call':
        return this.tasks.creates(request, result) ? [] : [{ called, at: ['result'], result }]
      case 'tasks/result':
        return [{ called, at: ['result'], result }]
      case 'tasks/get':
        return outcomesIn(result, called, ['result'])
      default:
        return []
    }
  }

  *#list(request: PendingRequest, exchange: Exchange, frame: Frame, result: JsonObject): Flow<Frame> {
    const page = yield* this.#lists.page(request, exchange, frame, result)
    // A list's findings concern its tools, and are seen to in the page; only a page that is none is answered by an error.
    return page ?? replaced(request, frame)
  }

  /** The requests in an `input_required` result, or in the state of a task that waits for input. */
  #embeddedRequests(holder: JsonObject, terms: Terms, at: readonly string[], findings: Findings): void {
    const requests = member(holder, 'inputRequests')
    if (typeof requests !== 'object' || requests === null) return
    // An array is none that the revision knows, but a client that walks it finds requests all the same.
    for (const [key, request] of Object.entries<Json | undefined>(requests)) {
      judgeServerRequest(this.#core, isObject(request) ? request : {}, terms, [...at, 'inputRequests', key], findings)
    }
  }

  #read(method: string, frame: Frame, result: JsonObject, terms: Terms, findings: Findings): void {
    this.#core.ask('onReading', reading(method, frame, result, terms, '/result', partsOf(method, result, '/result')), findings, '/result')
  }
}

const reading = (method: string, { facts }: Frame, value: JsonObject, { revision }: Terms, path: string, parts: readonly Part[]): Reading => ({
  method, value, path, parts, revision, plain: facts?.plain === true,
})

/** A task of which nothing is known: its client declared nothing, as far as anybody can say. */
const unknownTask: Terms = { revision: '2026-07-28', capabilities: {}, client: undefined }

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

/** What the client gets of a tool's result. @param several the frame has more than one of them: then there is no one to demote */
const instead = (request: PendingRequest, frame: Frame, { called, at, result }: ToolResult, several: boolean): Frame => {
  const { findings, terms } = request
  if (!findings.isStop) return frame
  const name = called?.name ?? ''
  if (findings.verdict === 'demote' && !several) return demoted(frame, at, result, name, findings)
  const { modern } = traitsOf(terms.revision)
  return inItsPlace(frame, at.length === 1 ? refusedResult(request, name, findings, modern) : blocked(request, findings))
}
