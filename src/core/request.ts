import { slice } from '../protocol/edit.js'
import type { Frame, Trace } from '../protocol/frame.js'
import { isObject, isString, member, type JsonObject } from '../protocol/json.js'
import type { ErrorResponse, Id, IdKey, Page, Request, Result } from '../protocol/json-rpc.js'
import type { ClientBatch } from './batch.js'
import type { Tool } from './catalog.js'
import type { Exchange } from './event.js'
import type { Findings } from './findings.js'
import { Slot, type Flow } from './flow.js'
import type { Pending } from './pending.js'
import type { Terms } from './terms.js'

/** What came for a request. */
export interface Arrived {
  /** Where it came, which may be another stream than the one it was asked on. */
  readonly exchange: Exchange
  readonly frame: Frame
  /** Undefined when the frame cannot be used. */
  readonly message: Result | ErrorResponse | Page | undefined
  /** The batch of the server's in which it came. */
  readonly batch: Frame | undefined
}

/** Which tool is called, and what is known of it. */
export interface Called {
  readonly name: string
  tool: Tool | undefined
  /** False when no list could be had, so that `tool` being undefined says nothing. */
  listed: boolean
}

/**
 * held: not yet at the server. sent: the server has it. cancelled: so it has, but the client waits no longer. answered: its answer is
 * being judged. over: it was answered, or never will be.
 */
type Stage = 'held' | 'sent' | 'cancelled' | 'answered' | 'over'

/** A request of the client's, from its arrival to its one answer (promise 3). Its stages are changed here alone. */
export class PendingRequest implements Pending {
  readonly id: Id
  readonly key: IdKey
  readonly method: string
  /** Of the request's frame. */
  readonly bytes: number
  readonly answer = new Slot<Arrived>()
  /** For `tools/call`: the JSON text of its arguments. */
  readonly arguments: Buffer | undefined
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
  /** As it came; undefined once the server has it. */
  request: { readonly frame: Frame; readonly message: Request } | undefined

  /**
   * @param findings what was found so far; its record is written with the answer
   * @param batch of which it is a member, until it is answered or given up
   */
  constructor(
    readonly exchange: Exchange,
    frame: Frame,
    message: Request,
    readonly terms: Terms,
    readonly arrivedAt: number,
    readonly findings: Findings,
    public batch: ClientBatch | undefined,
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
  }

  /** The server has it, and has not answered. */
  get isAtServer(): boolean {
    return this.stage === 'sent' || this.stage === 'cancelled'
  }

  sent(at: number): void {
    this.stage = 'sent'
    this.sentAt = at
    // From now on memory is kept for what its record and its answer need alone.
    this.request = undefined
  }

  cancel(): void {
    this.stage = 'cancelled'
  }

  answered(at: number): void {
    this.stage = 'answered'
    this.answeredAt = at
  }

  end(): void {
    this.stage = 'over'
    this.request = undefined
  }
}

export const text = (params: JsonObject | undefined, key: string): string | undefined => {
  const value = member(params, key)
  return isString(value) ? value : undefined
}
