import { difference } from '../protocol/difference.js'
import { edited, slice, type Edit } from '../protocol/edit.js'
import type { Frame } from '../protocol/frame.js'
import { isObject, isString, member, omit, pointer, type Json, type JsonObject } from '../protocol/json.js'
import { partsOf, type Part } from '../protocol/mcp.js'
import type { Page } from '../protocol/json-rpc.js'
import { hasFinalMember, methodOf } from '../protocol/methods.js'
import { traitsOf } from '../protocol/revision.js'
import type { Checked, Subject } from './check.js'
import { driftEdits } from './accepted.js'
import type { Core } from './core.js'
import type { Exchange } from './event.js'
import type { Findings } from './findings.js'
import type { Flow } from './flow.js'
import { judgeList, toolOf } from './listing.js'
import { mended, type Judged } from './mend.js'
import { actionOf } from './policy.js'
import type { Called, PendingRequest } from './request.js'
import { blocked, demoted, inItsPlace, refusedResult } from './refusal.js'
import type { Reading, Rule } from './rule.js'
import { judgeServerRequest } from './server-requests.js'
import { Tasks } from './tasks.js'
import type { Terms } from './terms.js'
import type { ToolLists } from './tool-lists.js'

/** The result of a tool, and where it stands: that of a task stands deeper in its frame. */
interface ToolResult {
  readonly called: Called | undefined
  readonly at: readonly string[]
  readonly result: JsonObject
}

interface JudgedTools {
  /** As it was, or mended. */
  readonly frame: Frame
  readonly outcomes: readonly ToolResult[]
}

/** Judges what the server says, by the method that was asked, or by which it says it. */
export class Answers {
  readonly tasks = new Tasks()
  readonly #core: Core
  readonly #lists: ToolLists
  /** Who asks what the engine says of results. */
  readonly #checking: readonly Rule[]

  constructor(core: Core, lists: ToolLists) {
    this.#core = core
    this.#lists = lists
    this.#checking = core.options.rules.filter(({ needsCheck }) => needsCheck === true)
  }

  /** @param exchange where it arrived @returns what the client gets */
  *judge(request: PendingRequest, exchange: Exchange, frame: Frame, result: JsonObject): Flow<Frame> {
    const { method, terms, findings } = request
    // Whatever the result says it is: a client that looks for requests of the server's will find them.
    if (traitsOf(terms.revision).modern) this.#embeddedRequests(result, terms, ['result'], findings)
    if (method === 'initialize') this.#core.handshake.agreed(result)
    const outcomes = this.#toolResults(request, result)
    if (method === 'tools/list' && !isInterim(terms, result)) return yield* this.#list(request, exchange, frame, result)
    const judged = yield* this.#judgeTools(outcomes, terms, exchange, frame, findings)
    const edits = outcomes.every(outcome => outcome.result !== result) ? yield* this.#read(method, frame, unjudged(result, outcomes), terms, findings) : []
    const [first] = judged.outcomes
    if (first !== undefined) return instead(request, edited(judged.frame, edits), first, outcomes.length > 1)
    if (findings.isStop) return replaced(request, frame)
    const drifted = driftEdits(this.#core, method, result, findings)
    return drifted.length === 0 ? replaced(request, edited(frame, edits)) : edited(frame, [...edits, ...drifted])
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
    const judged = yield* this.#judgeTools(outcomes, terms, exchange, frame, findings)
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

  /** Every finding about the tool results of a frame. Of several none is mended: each may be a part of another. */
  *#judgeTools(outcomes: readonly ToolResult[], terms: Terms, exchange: Exchange, frame: Frame, findings: Findings): Flow<JudgedTools> {
    const [only, ...others] = outcomes
    if (only === undefined) return { frame, outcomes }
    const first = yield* this.#judgeTool(only, terms, exchange, frame)
    if (others.length > 0) {
      findings.include(first.findings)
      for (const other of others) findings.include((yield* this.#judgeTool(other, terms, exchange, frame)).findings)
      return { frame, outcomes }
    }
    const last = yield* mended(this.#core.mends, 'onResult', pointer(...only.at), first, result => this.#judgeTool({ ...only, result }, terms, exchange, frame, only.result))
    findings.include(last.findings)
    const edits = difference(only.result, last.value) ?? []
    return { frame: edited(frame, edits.map(one => ({ ...one, path: [...only.at, ...one.path] }))), outcomes: [{ ...only, result: last.value }] }
  }

  *#judgeTool({ called, at, result }: ToolResult, { revision }: Terms, exchange: Exchange, frame: Frame, sent = result): Flow<Judged<'onResult'>> {
    const { options, ask, findings: none } = this.#core
    const { name, listed } = called ?? { name: '', listed: false }
    const operators = options.tools.get(name)?.outputSchema
    // The operator's schema stands, whether or not a list could be had.
    const tool = operators === undefined ? called?.tool : toolOf(name, called?.tool?.definition ?? {}, operators)
    const path = pointer(...at)
    const structured = member(result, 'structuredContent')
    let checked: Checked | undefined
    if (tool === undefined && !listed) checked = [{ kind: 'unchecked', path, message: 'the declaration of its tool could not be had' }]
    else if (tool !== undefined && structured !== undefined && this.#checking.some(rule => actionOf(options.policy, rule.name) !== 'off')) {
      const subjects = tool.outputSchemas.map((schema): Subject => ({ kind: 'value', schema, value: structured, path: `${path}/structuredContent` }))
      checked = (yield* this.#core.checks.check(subjects, exchange)).flat()
    }
    // A mend that puts it in makes its text.
    const isSent = structured === member(sent, 'structuredContent')
    const structuredText = () => (isSent ? slice(frame, [...at, 'structuredContent'])?.toString() : JSON.stringify(structured))
    const parts = partsOf('tools/call', result, path)
    // Spelt out: V8 gives every object that another was spread into a shape of its own, and makes all that reads it slow.
    const answer = {
      method: 'tools/call', value: result, path, parts, revision, plain: frame.facts?.plain === true, name, tool, checked, structuredText,
    }
    const findings = none()
    ask('onResult', answer, findings, path)
    return { value: result, subject: answer, findings }
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

  *#read(method: string, frame: Frame, result: JsonObject, terms: Terms, findings: Findings): Flow<readonly Edit[]> {
    const { ask } = this.#core
    const edits = methodOf(method)?.list === undefined ? [] : yield* judgeList(this.#core, method, terms.revision, result, findings)
    ask('onReading', reading(method, frame, result, terms, '/result', partsOf(method, result, '/result')), findings, '/result')
    return edits
  }
}

const reading = (method: string, { facts }: Frame, value: JsonObject, { revision }: Terms, path: string, parts: readonly Part[]): Reading => ({
  method, value, path, parts, revision, plain: facts?.plain === true,
})

/** A task of which nothing is known: its client declared nothing, as far as anybody can say. */
const unknownTask: Terms = { revision: '2026-07-28', capabilities: {}, client: undefined }

/** What the state of a task holds of its outcome: a result by itself, or itself where it looks like one. */
const outcomesIn = (state: JsonObject, called: Called | undefined, at: readonly string[]): readonly ToolResult[] => {
  const inner = member(state, 'result')
  const looks = methodOf('tools/call')?.final?.some(key => member(state, key) !== undefined) === true
  return [
    ...(isObject(inner) ? [{ called, at: [...at, 'result'], result: inner }] : []),
    ...(looks ? [{ called, at, result: state }] : []),
  ]
}

/** The state without the result in it that was judged as one. */
const unjudged = (state: JsonObject, outcomes: readonly ToolResult[]): JsonObject =>
  outcomes.some(({ result }) => result === member(state, 'result')) ? omit(state, 'result') : state

// A legacy client reads any result as the final one, whatever it says of itself.
const isInterim = ({ revision }: Terms, result: JsonObject): boolean =>
  traitsOf(revision).modern && member(result, 'resultType') === 'input_required' && !hasFinalMember(result)

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
