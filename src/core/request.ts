import { slice } from '../protocol/scan.js'
import type { Frame, Trace } from '../protocol/frame.js'
import { isObject, isString, type JsonObject, member, weigh } from '../protocol/json.js'
import type { ErrorResponse, Id, IdKey, Page, Request, Result } from '../protocol/json-rpc.js'
import type { Tool } from './catalog.js'
import type { Exchange } from './event.js'
import type { Findings } from './findings.js'
import { type Flow, Slot } from './flow.js'
import { weights } from './memory.js'
import type { Pending } from './pending.js'
import type { Terms } from './terms.js'

/** What came for a request. */
export interface Arrived {
  /** Where it came, which may be another stream than the one it was asked on. */
  readonly exchange: Exchange
  readonly frame: Frame
  /** Undefined when the frame cannot be used. */
  readonly message: Result | ErrorResponse | Page | undefined
}

/** Which tool is called, and what is known of it. */
export interface Called {
  readonly name: string
  tool: Tool | undefined
  /** False when no list could be had, so that `tool` being undefined says nothing. */
  listed: boolean
}

/**
 * held: not yet at the server. sent: the server has the request. cancelled: the server has it, and the client waits no longer.
 * answered: the answer is being judged. over: the request was answered, or never will be.
 */
type Stage = 'held' | 'sent' | 'cancelled' | 'answered' | 'over'

/** A request of the client's, from its arrival to its one answer (promise 3). Its stages are changed here alone. */
export class PendingRequest implements Pending {
  readonly id: Id
  readonly key: IdKey
  readonly method: string
  /** Of the request's frame. */
  readonly bytes: number
  answer = new Slot<Arrived>()
  /** For `tools/call`: the JSON text of its arguments. */
  arguments: Buffer | undefined
  /** What of its params its answer is judged by. */
  readonly cursor: string | undefined
  readonly taskId: string | undefined
  readonly wantsTask: boolean
  readonly trace: Trace | undefined
  /** For a call, or what asks for the outcome of one: the declaration by which the result is judged. */
  called: Called | undefined = undefined
  flow: Flow | undefined = undefined
  /** The timer that limits how long its answer may take. */
  timer: string | undefined = undefined
  stage: Stage = 'held'
  sentAt: number | undefined = undefined
  answeredAt: number | undefined = undefined
  kept = 0
  /** Why the relay failed on it. */
  failure: string | undefined = undefined
  /** Of its params as parsed, in bytes. */
  readonly #parsed: number
  /** As it came; undefined once the server has it. */
  request: { readonly frame: Frame; readonly message: Request } | undefined

  /** @param findings what was found so far; its record is written with the answer */
  constructor(
    readonly exchange: Exchange,
    frame: Frame,
    message: Request,
    readonly terms: Terms,
    readonly arrivedAt: number,
    public findings: Findings,
  ) {
    this.id = message.id
    this.key = message.key
    this.method = message.method
    this.bytes = frame.bytes.length
    this.arguments = message.method === 'tools/call' ? slice(frame, ['params', 'arguments']) : undefined
    this.cursor = text(message.params, 'cursor')
    this.taskId = text(message.params, 'taskId')
    this.wantsTask = isObject(member(message.params, 'task'))
    this.trace = frame.envelope?.trace
    this.request = { frame, message }
    this.#parsed = this.bytes < small ? mostParsed * this.bytes : weigh(message.params ?? null)
  }

  /** The memory that it keeps, in bytes. A slice of a frame keeps all of the frame's bytes. */
  get weight(): number {
    const own = weights.clientRequest + 2 * (this.key.length + this.method.length) + this.findings.weight
    if (this.request !== undefined) return own + weights.heldRequest + this.bytes + this.#parsed
    return own + (this.arguments === undefined ? 0 : this.bytes) + 2 * ((this.cursor?.length ?? 0) + (this.taskId?.length ?? 0))
  }

  /** The server has it, and has not answered. */
  get isAtServer(): boolean {
    return this.stage === 'sent' || this.stage === 'cancelled'
  }

  sent(at: number): void {
    this.stage = 'sent'
    this.sentAt = at
    // From now on memory is kept only for the record and the answer.
    this.request = undefined
  }

  cancel(): void {
    this.stage = 'cancelled'
  }

  answered(at: number): void {
    this.stage = 'answered'
    this.answeredAt = at
  }

  /** Its answer was given, and comes again. */
  askedAgain(findings: Findings): void {
    this.stage = 'sent'
    this.answer = new Slot()
    this.findings = findings
  }

  end(): void {
    this.stage = 'over'
    this.flow = undefined
    this.request = undefined
  }
}

/** In bytes: params of less are not weighed one by one; parsed JSON takes at most so many times its text (`{}`, `[0]`). */
const small = 4096
const mostParsed = 24

export const text = (params: JsonObject | undefined, key: string): string | undefined => {
  const value = member(params, key)
  return isString(value) ? value : undefined
}
