import { slice } from '../protocol/scan.js'
import type { Frame, Trace } from '../protocol/frame.js'
import { isObject, isString, type Json, type JsonObject, member, weigh } from '../protocol/json.js'
import type { ErrorResponse, Id, IdKey, Page, Request, Result } from '../protocol/json-rpc.js'
import type { Tool } from './catalog.js'
import type { Exchange } from './event.js'
import type { Findings } from './findings.js'
import { type Flow, Slot } from './flow.js'
import { weights } from './memory.js'
import type { Pending } from './pending.js'
import { clip } from '../protocol/quote.js'
import { inMeta, metaPrefix, nearest, newestLegacy, type Revision, traitsOf } from '../protocol/revisions/index.js'

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
    this.#parsed = parsedWeight(frame)
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
const maxParsed = 24

/** About the memory that a frame takes beside its bytes. */
export const parsedWeight = ({ bytes, message }: Frame): number =>
  bytes.length < small ? maxParsed * bytes.length : 'params' in message ? weigh(message.params ?? null) : 0

export const text = (params: JsonObject | undefined, key: string): string | undefined => {
  const value = member(params, key)
  return isString(value) ? value : undefined
}

/** Who asks, and by which revision and capabilities one request is to be judged. */
export interface Terms {
  readonly revision: Revision
  /** What the client declared; undefined where that was not seen. */
  readonly capabilities: JsonObject | undefined
  readonly client: Implementation | undefined
}

export interface Implementation {
  readonly name: string
  readonly version: string
}

/** Before any handshake a session is read by the newest legacy revision: a modern request says itself what it is. */

/** What the handshake of a legacy session agreed on; a modern request carries its own terms. */
export class Handshake {
  #agreed = false
  #terms: Terms
  readonly #stateless: boolean

  /**
   * @param seen false where a handshake may have taken place elsewhere
   * @param stateless true where many clients speak, each with a handshake of its own or none: nothing is kept of one
   */
  constructor(seen: boolean, stateless: boolean) {
    this.#terms = { revision: newestLegacy, capabilities: seen ? {} : undefined, client: undefined }
    this.#stateless = stateless
  }

  get terms(): Terms {
    return this.#terms
  }

  /** @param headers of the HTTP request that carried it: without a session, they alone name a legacy revision */
  termsOf(request: Request, headers?: ReadonlyMap<string, string>): Terms {
    const { method, params } = request
    const version = inMeta(params, 'protocolVersion')
    if (isString(version)) {
      return {
        revision: nearest(version),
        capabilities: declaredIn(inMeta(params, 'clientCapabilities')),
        client: implementation(inMeta(params, 'clientInfo')),
      }
    }
    return method === 'initialize' ? this.#offered(params) : this.legacyTerms(headers)
  }

  /** The terms of what does not carry its own. */
  legacyTerms(headers?: ReadonlyMap<string, string>): Terms {
    const named = headers?.get('mcp-protocol-version')
    return this.#agreed || named === undefined ? this.#terms : { ...this.#terms, revision: legacy(named) }
  }

  /** The server's answer to `initialize`: the revision that both speak from now on. */
  agreed(result: JsonObject): void {
    const version = member(result, 'protocolVersion')
    if (!isString(version) || this.#stateless) return
    this.#agreed = true
    this.#terms = { ...this.#terms, revision: legacy(version) }
  }

  /** The client's `initialize`: who it is and what it can do. */
  #offered(params: JsonObject | undefined): Terms {
    const asked = member(params, 'protocolVersion')
    const offered = {
      // Until the server says what it speaks, by what the client asked for.
      revision: isString(asked) ? legacy(asked) : this.#terms.revision,
      capabilities: declaredIn(member(params, 'capabilities')),
      client: implementation(member(params, 'clientInfo')),
    }
    if (!this.#stateless) this.#terms = offered
    return offered
  }
}

/** The capabilities that anything is judged by; of what a client declares nothing else is kept. */
interface Known {
  readonly [capability: string]: Known
}

const knownCapabilities: Known = {
  sampling: { tools: {}, context: {} },
  elicitation: { form: {}, url: {} },
  roots: {},
  tasks: { requests: { sampling: { createMessage: {} }, elicitation: { create: {} } } },
  extensions: { [`${metaPrefix}tasks`]: {} },
}

const declaredIn = (value: Json | undefined): JsonObject => (isObject(value) ? kept(value, knownCapabilities) : {})

const kept = (declared: JsonObject, known: Known): JsonObject =>
  Object.fromEntries(Object.entries(known).flatMap(([name, inner]) => {
    const value = member(declared, name)
    return value === undefined ? [] : [[name, isObject(value) ? kept(value, inner) : null]]
  }))

/** A handshake never agrees on a revision that has none. */
const legacy = (version: string): Revision => {
  const revision = nearest(version)
  return traitsOf(revision).modern ? newestLegacy : revision
}

const implementation = (value: unknown): Implementation | undefined => {
  if (!isObject(value)) return undefined
  const name = member(value, 'name')
  const version = member(value, 'version')
  return { name: isString(name) ? clip(name) : '', version: isString(version) ? clip(version) : '' }
}
