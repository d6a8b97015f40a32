import type { HttpEvent } from '#relay/core/vocabulary.js'
import { edit, type Edit } from '#relay/protocol/edit.js'
import type { Frame } from '#relay/protocol/frame.js'
import { isObject, isString, member, parseJson } from '#relay/protocol/json.js'
import {
  errorCode, type ErrorResponse, type IdKey, type Request, type Result,
} from '#relay/protocol/json-rpc.js'
import { idOf, notificationBytes, requestBytes } from '#relay/protocol/message.js'
import { quote } from '#relay/protocol/quote.js'
import { byte, eachChild, slice, sliceOf } from '#relay/protocol/scan.js'
import { type AskedRequest, type EraAsker, type Origin, type EraOutgoing, frameWithId } from './exchanges.js'
import { forClient, legacyResult, type Requester } from './results.js'
import type { ClientTerms } from './terms.js'
import type { EraOptions } from './translator.js'

/** The requests whose result may say `input_required` (2026-07-28, Multi Round-Trip Requests). */
const askingMethods: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read'])

/** What a server may ask (2026-07-28, InputRequest). Whether the client takes it is judged by the rules. */
const questions: ReadonlySet<string> = new Set(['elicitation/create', 'sampling/createMessage', 'roots/list'])

/** As the SDK of the protocol has it for its own legacy clients. */
const maxRounds = 8
const questionMs = 600_000
const pauseMs = 250
const maxQuestions = 64

/** Most bytes of calls, and of answers to questions, that a session keeps. */
const maxKept = 32 * 1024 * 1024

/** What the calls of a session share. */
export interface Calls {
  readonly out: EraOutgoing
  readonly options: EraOptions
  readonly client: ClientTerms
  readonly questions: Questions
  /** The call is over. */
  ended(call: LegacyCall): void
}

/** The questions that the client has not answered, over all calls of a session. */
export class Questions {
  readonly #open = new Map<IdKey, { readonly call: LegacyCall; readonly name: string }>()
  #last = 0
  /** Bytes that calls keep. */
  kept = 0

  add(call: LegacyCall, name: string): IdKey {
    const key = String(++this.#last)
    this.#open.set(key, { call, name })
    return key
  }

  close(key: IdKey): void {
    this.#open.delete(key)
  }

  /** An answer of the client. One to no open question goes nowhere. */
  answered(frame: Frame, message: Result | ErrorResponse): void {
    const question = this.#open.get(message.key)
    this.#open.delete(message.key)
    question?.call.told(message.key, question.name, frame, message)
  }
}

/** A request of the client from its arrival to its one answer, over all rounds in which the server asks. */
export class LegacyCall implements EraAsker {
  readonly requester: Requester
  readonly #calls: Calls
  readonly #method: string
  readonly #tool: string
  readonly #origin: Origin
  /** The request as the server got it, for further rounds; undefined where there is none, or no room. */
  readonly #request: Frame | undefined
  #asked: AskedRequest | undefined
  #round = 0
  #kept = 0
  #state: string | undefined
  /** The open questions of this round, and the answers so far: JSON texts by name. */
  readonly #questions = new Set<IdKey>()
  #answers: string[] = []
  #isOver = false

  constructor(
    calls: Calls, requester: Requester, origin: Origin, { method, params }: Pick<Request, 'method' | 'params'>,
    request: Frame, readonly timer: string,
  ) {
    this.#calls = calls
    this.requester = requester
    this.#origin = { ...origin, clientId: requester.id }
    this.#method = method
    const name = member(params, 'name')
    this.#tool = isString(name) ? name : ''
    this.#request = askingMethods.has(method) && this.#keep(request.bytes.length) ? request : undefined
  }

  begin(id: Requester['id'], bytes: Buffer): void {
    this.#asked = this.#calls.out.ask(this.#origin, id, bytes, this)
  }

  /** The server's answer, or one of the relay in its place. */
  answered(frame: Frame, head: HttpEvent | undefined): void {
    this.#asked = undefined
    const { message } = frame
    if (message.kind !== 'result') return this.#end(frame, [], head)
    if (member(message.result, 'resultType') === 'input_required') return this.#inputRequired(frame)
    const outputSchema = this.#method === 'tools/call' ? this.#calls.options.outputSchemaOf(this.#tool) : undefined
    this.#end(frame, legacyResult(frame, message.result, this.#method, outputSchema))
  }

  notified(frame: Frame): void {
    this.#calls.out.send(this.requester.exchange, forClient(frame, []))
  }

  /** The client's answer to a question of this round. */
  told(key: IdKey, name: string, frame: Frame, message: Result | ErrorResponse): void {
    this.#questions.delete(key)
    if (message.kind === 'error')
      return this.#fail(`the client refused what the server asked for: ${quote(message.error.message)}`)
    const text = slice(frame, ['result'])?.toString() ?? '{}'
    if (!this.#keep(text.length)) return this.#fail('the answers to the server\'s questions are too long')
    this.#answers.push(`${JSON.stringify(name)}:${text}`)
    if (this.#questions.size === 0) this.#again()
  }

  /** The pause of a round without questions is over, or the time for answers. */
  timerFired(): void {
    if (this.#questions.size === 0) this.#again()
    else this.#fail('the client did not answer what the server asked for')
  }

  /** The client does not want the answer any more. */
  cancel(): void {
    if (this.#asked !== undefined) this.#calls.out.cancel(this.#asked)
    this.#over()
  }

  /** Between two rounds the relay knows nothing of the call. */
  serverGone(): void {
    if (this.#asked === undefined && !this.#isOver) this.#fail('the server has ended before it answered')
  }

  /** The client cannot answer questions any more. */
  clientLeft(): void {
    if (this.#questions.size > 0) this.#fail('the client has left before it answered what the server asked for')
    else if (this.#asked === undefined) this.#again()
  }

  #inputRequired(frame: Frame): void {
    if (this.#request === undefined) return this.#fail('the server asks for input where the relay cannot carry it')
    if (++this.#round > maxRounds) return this.#fail(`the server still asks for input after ${maxRounds} rounds`)
    const state = slice(frame, ['result', 'requestState'])
    this.#state = state?.[0] === byte.quote ? state.toString() : undefined
    this.#release()
    if (!this.#keep(this.#request.bytes.length + (this.#state?.length ?? 0)))
      return this.#fail('the server\'s state is too long')
    const wanted = this.#wantedBy(frame)
    if (isString(wanted)) return this.#fail(wanted)
    if (wanted.length === 0 && this.#state === undefined)
      return this.#fail('the server asks for input, and says not for which')
    this.#answers = []
    for (const { name, method, params } of wanted) {
      const key = this.#calls.questions.add(this, name)
      this.#questions.add(key)
      this.#calls.out.say(this.requester.exchange, requestBytes(key, method, params))
    }
    this.#calls.out.act({ type: 'start-timer', timer: this.timer, ms: wanted.length === 0 ? pauseMs : questionMs })
  }

  /** @returns the questions of a round in their order, or why none of them is asked */
  #wantedBy(frame: Frame): readonly Wanted[] | string {
    const requests = slice(frame, ['result', 'inputRequests'])
    const wanted: Wanted[] = []
    let problem: string | undefined
    if (requests?.[0] !== byte.openObject) return wanted
    eachChild(requests, 0, ({ key, value, to }) => {
      const one = this.#read(key ?? '', requests.subarray(value, to))
      if (isString(one)) problem = one
      else wanted.push(one)
      if (wanted.length > maxQuestions) problem = 'the server asks for too much at once'
      return problem !== undefined
    })
    return problem ?? wanted
  }

  #read(name: string, text: Buffer): Wanted | string {
    const method = parseJson(sliceOf(text, ['method'])?.toString() ?? '')
    const written = sliceOf(text, ['params'])
    const params = written && parseJson(written.toString())
    if (!isString(method) || !isObject(params ?? {})) return 'the server asks for something that is no request'
    if (!questions.has(method)) return `the server asks for ${quote(method)}, which is no question`
    if (method !== 'elicitation/create' || !isObject(params) || written === undefined)
      return { name, method, params: written?.toString() }
    const mode = member(params, 'mode')
    const added: Edit[] = []
    // The client's revision requires what 2026-07-28 does not have (2025-11-25, Elicitation).
    if (mode === 'url' && member(params, 'elicitationId') === undefined)
      added.push({ path: ['elicitationId'], replace: JSON.stringify(this.#calls.options.newId()) })
    if (mode === undefined && this.#calls.client.revision === '2025-11-25')
      added.push({ path: ['mode'], replace: '"form"' })
    return { name, method, params: edit(written, added).toString() }
  }

  /** Sends the request again, with the answers of the client and the state of the server. */
  #again(): void {
    const { out, options } = this.#calls
    if (this.#request === undefined || this.#isOver) return
    out.act({ type: 'stop-timer', timer: this.timer })
    const id = options.newId()
    const edits: Edit[] = []
    if (this.#answers.length > 0)
      edits.push({ path: ['params', 'inputResponses'], replace: `{${this.#answers.join()}}` })
    if (this.#state !== undefined) edits.push({ path: ['params', 'requestState'], replace: this.#state })
    this.#asked = out.ask(this.#origin, id, frameWithId(this.#request, id, edits), this)
  }

  #end(frame: Frame, edits: readonly Edit[], head?: HttpEvent): void {
    const { out } = this.#calls
    const { exchange } = this.requester
    if (head !== undefined) out.act({ type: 'hand', event: { ...head, exchange } })
    out.send(exchange, forClient(frame, edits, this.requester))
    this.#over()
  }

  /** Ends the call: a model can read the result of a tool, the other methods have errors. */
  #fail(reason: string): void {
    const text = `mcp-customs: ${reason}`
    const { out } = this.#calls
    const failed = { content: [{ type: 'text', text }], isError: true }
    this.#closeQuestions()
    if (this.#method === 'tools/call') out.answer(this.requester, 'result', failed)
    else out.answer(this.requester, 'error', { code: errorCode.blocked, message: text })
    this.#over()
  }

  #over(): void {
    this.#isOver = true
    this.#calls.out.act({ type: 'stop-timer', timer: this.timer })
    this.#closeQuestions()
    this.#release()
    this.#calls.ended(this)
  }

  #closeQuestions(): void {
    const { out, questions } = this.#calls
    for (const key of this.#questions) {
      questions.close(key)
      const params = { requestId: idOf(key), reason: 'the call is over' }
      out.say(this.requester.exchange, notificationBytes('notifications/cancelled', params))
    }
    this.#questions.clear()
  }

  #keep(bytes: number): boolean {
    const { questions } = this.#calls
    if (questions.kept + bytes > maxKept) return false
    questions.kept += bytes
    this.#kept += bytes
    return true
  }

  #release(): void {
    this.#calls.questions.kept -= this.#kept
    this.#kept = 0
  }
}

/** A question of the server. @property params JSON text */
interface Wanted {
  readonly name: string
  readonly method: string
  readonly params: string | undefined
}
