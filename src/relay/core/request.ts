import { slice } from '#relay/protocol/scan.js'
import type { Frame, Trace } from '#relay/protocol/frame.js'
import { isObject, isString, type JsonObject, member, weigh } from '#relay/protocol/json.js'
import type { ErrorResponse, Id, IdKey, HttpPage, Request, Result } from '#relay/protocol/json-rpc.js'
import type { Exchange, Tool } from './vocabulary.js'
import type { Findings } from './findings.js'
import { type Flow, Slot } from './flow.js'
import { weights } from './memory.js'
import type { Pending } from './pending.js'
import type { Terms } from './terms.js'

/** A server frame for a request. */
export interface Arrived {
  /** The exchange on which it arrived; it may differ from the request's. */
  readonly exchange: Exchange
  readonly frame: Frame
  /** Undefined when the frame is unusable. */
  readonly message: Result | ErrorResponse | HttpPage | undefined
}

/** The tool of a request. */
export interface Called {
  readonly name: string
  /** The name by which the client called it: another one where its profile refuses the server's. */
  readonly shown: string
  tool: Tool | undefined
  /** False when the relay could not get a list, so that an undefined `tool` may exist. */
  listed: boolean
  /** The generation of the list in which the tool was looked up; undefined: it does not matter. */
  generation?: number
}

/**
 * queued: not sent yet. sent: the server has it. cancelled: the server has it, and the client has cancelled
 * it. answered: its response is being judged. over: answered or given up.
 */
type Stage = 'queued' | 'sent' | 'cancelled' | 'answered' | 'over'

/** A client request, from its arrival to its one response (promise 3). Only this class changes its stage. */
export class PendingRequest implements Pending {
  readonly id: Id
  readonly key: IdKey
  /** The client's id, for records. */
  readonly clientId: Id
  readonly method: string
  /** The length of its frame. */
  bytes: number
  readonly response = new Slot<Arrived>()
  /** The JSON text of the arguments of `tools/call`. */
  arguments: Buffer | undefined
  /** The params that its response is judged by. */
  readonly cursor: string | undefined
  readonly taskId: string | undefined
  readonly wantsTask: boolean
  readonly trace: Trace | undefined
  /** The generation of the catalogue when it was sent, for `tools/list`; -1: not known, so the oldest. */
  generation = -1
  /** The tools that the client gets, for `tools/list`. */
  tools: readonly string[] | undefined
  /** Their names for the client. */
  shownTools: readonly string[] | undefined
  /** See `Envelope`. */
  readonly scopes: readonly string[] | undefined
  readonly client: string
  /** The called tool, for `tools/call` and for requests about its task. */
  called: Called | undefined = undefined
  flow: Flow | undefined = undefined
  timer: string | undefined = undefined
  /** A blocked frame that may have been its response, and the timer after which it counts as the response. */
  suspect: { readonly findings: Findings; readonly timer: string } | undefined = undefined
  /** Longest wait for its response, in milliseconds; 0: no limit. */
  waitMs = 0
  stage: Stage = 'queued'
  /** Called behind its end. Set for what waits for it. */
  ended: (() => void) | undefined
  sentAt: number | undefined = undefined
  answeredAt: number | undefined = undefined
  kept = 0
  /** Other replicas know of it. */
  isShared = false
  /** The reason when the relay failed on it. */
  failure: string | undefined = undefined
  /** Memory of its parsed params, in bytes. */
  readonly #parsed: number
  /** The frame and its message; undefined once sent. */
  request: { readonly frame: Frame; readonly message: Request } | undefined

  /** @param findings those about the frame; recorded with the response */
  constructor(
    readonly exchange: Exchange,
    frame: Frame,
    message: Request,
    readonly terms: Terms,
    readonly arrivedAt: number,
    readonly findings: Findings,
  ) {
    this.id = message.id
    this.key = message.key
    this.clientId = frame.envelope?.clientId ?? message.id
    this.method = message.method
    this.bytes = frame.bytes.length
    this.arguments = message.method === 'tools/call' ? slice(frame, ['params', 'arguments']) : undefined
    this.cursor = requestText(message.params, 'cursor')
    this.taskId = requestText(message.params, 'taskId')
    this.wantsTask = isObject(member(message.params, 'task'))
    this.trace = frame.envelope?.trace
    this.scopes = frame.envelope?.scopes
    this.client = frame.envelope?.client ?? ''
    this.request = { frame, message }
    this.#parsed = parsedWeight(frame)
  }

  /** Its memory, in bytes. A slice of a frame keeps the whole frame. */
  get weight(): number {
    const own = weights.clientRequest + 2 * (this.key.length + this.method.length) + this.findings.weight
    if (this.request !== undefined) return own + weights.queuedRequest + this.bytes + this.#parsed
    return (
      own +
      (this.suspect?.findings.weight ?? 0) +
      (this.arguments === undefined ? 0 : this.bytes) +
      2 * ((this.cursor?.length ?? 0) + (this.taskId?.length ?? 0))
    )
  }

  /** True while the server has it and has not responded. */
  get isAtServer(): boolean {
    return this.stage === 'sent' || this.stage === 'cancelled'
  }

  sent(at: number): void {
    this.stage = 'sent'
    this.sentAt = at
    // Only the data for the record and the response is kept.
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
    this.flow = undefined
    this.request = undefined
  }
}

/** The part of a called tool by which its result is judged, and its memory in bytes. */
export const toJudgeResult = (
  { name, shown, tool, listed }: Called,
): { readonly called: Called; readonly weight: number } => ({
  called: { name, shown, tool: tool && { ...tool, definition: {}, inputSchemas: [] }, listed },
  weight: tool?.outputSchemas.reduce((sum, schema) => sum + weigh(schema), 0) ?? 0,
})

/** Frames below `small` bytes are estimated: parsed JSON takes at most `maxParsed` times its text (`[0]`). */
const small = 4096
const maxParsed = 24

/** Estimated memory of a frame beside its bytes. */
export const parsedWeight = ({ bytes, message }: Frame): number =>
  bytes.length < small ? maxParsed * bytes.length : 'params' in message ? weigh(message.params ?? null) : 0

export const requestText = (params: JsonObject | undefined, key: string): string | undefined => {
  const value = member(params, key)
  return isString(value) ? value : undefined
}
