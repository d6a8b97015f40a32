import { slice } from '../protocol/edit.js'
import type { Frame } from '../protocol/frame.js'
import { isObject, isString, member, type JsonObject } from '../protocol/json.js'
import type { ErrorResponse, Id, IdKey, Request, Result } from '../protocol/json-rpc.js'
import type { ClientBatch } from './batch.js'
import type { Tool } from './catalog.js'
import { wholePipe, type Exchange } from './event.js'
import type { Findings } from './findings.js'
import { Slot, type Flow } from './flow.js'
import type { Terms } from './terms.js'

/** Something that was asked and not yet answered. */
export interface Pending {
  readonly exchange: Exchange
  readonly id: Id
  readonly key: IdKey
  /** What it keeps in memory. */
  readonly bytes: number
}

/** What came for a request. @property arrived where, which may be another stream than the one it was asked on */
export interface Arrived {
  readonly arrived: Exchange
  readonly frame: Frame
  /** Undefined when the frame cannot be used. */
  readonly message: Result | ErrorResponse | undefined
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
export type Stage = 'held' | 'sent' | 'cancelled' | 'answered' | 'over'

/** A request of the client's, from its arrival to its one answer (promise 3). */
export class PendingRequest implements Pending {
  readonly exchange: Exchange
  readonly id: Id
  readonly key: IdKey
  readonly method: string
  readonly terms: Terms
  readonly arrivedAt: number
  /** Of the request's frame. */
  readonly bytes: number
  /** What was found so far; its record is written with the answer. */
  readonly findings: Findings
  /** The batch of which it is a member. */
  readonly batch: ClientBatch | undefined
  readonly answer = new Slot<Arrived>()
  /** For `tools/call`: the JSON text of its arguments. */
  readonly arguments: Buffer | undefined
  /** What of its params its answer is judged by. */
  readonly cursor: string | undefined
  readonly taskId: string | undefined
  readonly wantsTask: boolean
  /** For a call, or what asks for the outcome of one: the declaration by which the result is judged. */
  called: Called | undefined
  flow: Flow | undefined
  /** The timer that limits how long its answer may take. */
  timer: string | undefined
  #request: { readonly frame: Frame; readonly message: Request } | undefined
  #stage: Stage = 'held'
  #sentAt: number | undefined
  #answeredAt: number | undefined

  constructor(
    given: Pick<PendingRequest, 'exchange' | 'terms' | 'arrivedAt' | 'findings' | 'batch'>,
    frame: Frame,
    message: Request,
  ) {
    this.exchange = given.exchange
    this.id = message.id
    this.key = message.key
    this.method = message.method
    this.terms = given.terms
    this.arrivedAt = given.arrivedAt
    this.bytes = frame.bytes.length
    this.findings = given.findings
    this.batch = given.batch
    this.arguments = message.method === 'tools/call' ? slice(frame, ['params', 'arguments']) : undefined
    this.cursor = text(message.params, 'cursor')
    this.taskId = text(message.params, 'taskId')
    this.wantsTask = isObject(member(message.params, 'task'))
    this.called = undefined
    this.flow = undefined
    this.timer = undefined
    this.#request = { frame, message }
  }

  get stage(): Stage {
    return this.#stage
  }

  /** The server has it, and has not answered. */
  get isAtServer(): boolean {
    return this.#stage === 'sent' || this.#stage === 'cancelled'
  }

  get sentAt(): number | undefined {
    return this.#sentAt
  }

  get answeredAt(): number | undefined {
    return this.#answeredAt
  }

  /** As it came; undefined once the server has it. */
  get request(): { readonly frame: Frame; readonly message: Request } | undefined {
    return this.#request
  }

  isSent(at: number): void {
    this.#stage = 'sent'
    this.#sentAt = at
    // From now on memory is kept for what its record and its answer need alone.
    this.#request = undefined
  }

  isCancelled(): void {
    this.#stage = 'cancelled'
  }

  isAnswered(at: number): void {
    this.#stage = 'answered'
    this.#answeredAt = at
  }

  isOver(): void {
    this.#stage = 'over'
    this.#request = undefined
  }
}

export const text = (params: JsonObject | undefined, key: string): string | undefined => {
  const value = member(params, key)
  return isString(value) ? value : undefined
}

/**
 * What one side asked and the other has not yet answered. Each is taken out by its one answer.
 *
 * In a session an id is in flight once, whichever stream its answer comes by (a resumed stream is another exchange).
 * Without a session each exchange has ids of its own: two clients that both ask with 1 never meet.
 */
export class PendingRequests<Kind extends Pending> {
  readonly #scopes = new Map<Exchange, Map<IdKey, Kind>>()
  readonly #exchanges = new Map<Exchange, Set<Kind>>()
  /** By what a lenient reader takes their ids for, those that are not spelt as it would spell them. */
  readonly #odd = new Map<string, Set<Kind>>()
  readonly #stateless: boolean
  #size = 0
  #bytes = 0

  constructor(stateless: boolean) {
    this.#stateless = stateless
  }

  get size(): number {
    return this.#size
  }

  get bytes(): number {
    return this.#bytes
  }

  /** @returns false when a request of this id is in flight: the first lives, this one is not taken in */
  open(pending: Kind): boolean {
    const scope = this.#scope(pending.exchange)
    const those = this.#scopes.get(scope)
    if (those === undefined) this.#scopes.set(scope, new Map([[pending.key, pending]]))
    else if (those.has(pending.key)) return false
    else those.set(pending.key, pending)
    add(this.#exchanges, pending.exchange, pending)
    const meaning = meaningOf(pending.key)
    if (pending.key !== meaning && pending.key !== JSON.stringify(meaning)) add(this.#odd, scope + meaning, pending)
    this.#size++
    this.#bytes += pending.bytes
    return true
  }

  find(exchange: Exchange, key: IdKey): Kind | undefined {
    return this.#scopes.get(this.#scope(exchange))?.get(key)
  }

  /**
   * The request that an answer with another type or spelling of its id must have meant: `"1"` or `1.0` for 1.
   * Such an answer never passes, but its request must not wait for ever.
   */
  findMeant(exchange: Exchange, key: IdKey): Kind | undefined {
    const meaning = meaningOf(key)
    const [odd] = this.#odd.get(this.#scope(exchange) + meaning) ?? []
    return this.find(exchange, meaning) ?? this.find(exchange, JSON.stringify(meaning)) ?? odd
  }

  /** The only request in flight, where there is no other: an answer without a usable id can mean nothing else. */
  findOnly(exchange: Exchange): Kind | undefined {
    const those = this.#scopes.get(this.#scope(exchange))
    if (those?.size !== 1) return undefined
    const [only] = those.values()
    return only
  }

  /** @returns false when the request was answered before */
  close(pending: Kind): boolean {
    const scope = this.#scope(pending.exchange)
    const those = this.#scopes.get(scope)
    if (those?.get(pending.key) !== pending) return false
    those.delete(pending.key)
    // The pipe's stays: one request after the other would make it anew.
    if (those.size === 0 && scope !== wholePipe) this.#scopes.delete(scope)
    remove(this.#exchanges, pending.exchange, pending)
    if (this.#odd.size > 0) remove(this.#odd, scope + meaningOf(pending.key), pending)
    this.#size--
    this.#bytes -= pending.bytes
    return true
  }

  /** The one that came first. */
  oldest(): Kind | undefined {
    for (const those of this.#exchanges.values()) for (const pending of those) return pending
    return undefined
  }

  all(): readonly Kind[] {
    return [...this.#exchanges.values()].flatMap(those => [...those])
  }

  on(exchange: Exchange): readonly Kind[] {
    return [...(this.#exchanges.get(exchange) ?? [])]
  }

  #scope(exchange: Exchange): Exchange {
    return this.#stateless ? exchange : wholePipe
  }
}

const add = <Key, Kind>(map: Map<Key, Set<Kind>>, key: Key, pending: Kind): void => {
  const those = map.get(key)
  if (those === undefined) map.set(key, new Set([pending]))
  else those.add(pending)
}

const remove = <Key, Kind>(map: Map<Key, Set<Kind>>, key: Key, pending: Kind): void => {
  const those = map.get(key)
  if (those?.delete(pending) === true && those.size === 0 && key !== wholePipe) map.delete(key)
}

/** What a lenient reader (`Number(id)`) makes of an id. */
const meaningOf = (key: IdKey): string => {
  // What most clients use: it means itself.
  if (/^(?:0|[1-9]\d{0,14})$/.test(key)) return key
  const value: unknown = JSON.parse(key)
  const number = isString(value) && value.trim() === '' ? NaN : Number(value)
  return Number.isNaN(number) ? String(value) : String(number)
}
