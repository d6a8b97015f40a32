import type { Exchange } from '#relay/core/vocabulary.js'
import { hash } from 'node:crypto'
import { stdioExchange } from '#relay/core/event.js'
import { errorFrame } from '#relay/core/refusal.js'
import type { Frame } from '#relay/protocol/frame.js'
import {
  each, isArray, isObject, isString, lengthOf, member, Meter, type JsonObject,
} from '#relay/protocol/json.js'
import { errorCode, type ErrorResponse, type IdKey, type Request } from '#relay/protocol/json-rpc.js'
import { byte, slice } from '#relay/protocol/scan.js'
import { inputRequest, objectOf, resultOf } from './modern-frames.js'
import type { OpenCall, OpenCalls, Waiter } from './open-calls.js'

/** How long the questions of one moment are collected, and how long a retry may take, in milliseconds. */
const collectMs = 10
const parkedMs = 600_000
/** Bounds of a call: questions at once, and how often its client is asked. */
const maxQuestions = 32
const maxRounds = 100
/** Bounds of a session: parked calls, and the bytes of questions, and of answers that came too early. */
const maxParked = 100
const maxBytes = 16 * 1024 * 1024

/** Error codes: 2026-07-28, MissingRequiredClientCapabilityError; 2025-11-25, URLElicitationRequiredError. */
const missingCapability = -32021
const urlRequired = -32042

interface Hands {
  /** Makes an unguessable handle, of at least 128 random bits. */
  readonly newHandle: () => string
  send(exchange: Exchange, frame: Frame): void
  /** Sends the client's response to a request of the server. @param members JSON texts */
  respond(exchange: Exchange, key: IdKey, members: { readonly [one in 'result' | 'error']?: string }): void
  /** Answers a call in place of the server, which is told that nobody waits for it. */
  fail(call: OpenCall, code: number, message: string, data: JsonObject): void
  /** Ends a call without an answer. */
  drop(call: OpenCall): void
  after(ms: number, act: () => void): () => void
}

/**
 * What the server asks during a call (2025-11-25: requests of its own; 2026-07-28: `input_required` and a
 * retry). The call stays open at the server while its client is asked, so that nothing runs twice.
 */
export class ParkedCalls {
  readonly #calls: OpenCalls
  readonly #hands: Hands
  /** By handle, the oldest first. */
  readonly #parked = new Map<string, OpenCall>()
  #bytes = 0

  constructor(calls: OpenCalls, hands: Hands) {
    this.#calls = calls
    this.#hands = hands
  }

  /** A request of the server. @param frame undefined: the relay has refused it, as it was not declared */
  asked(exchange: Exchange, request: Request, frame: Frame | undefined): void {
    const needed = capabilityFor(request)
    const call = this.#callOf(exchange)
    const isMeant = needed !== undefined && call !== undefined
    if (isMeant && !declares(call.capabilities, needed)) {
      if (frame !== undefined) this.#refuse(exchange, request.key, 'the client does not support it')
      return this.#lacks(call, needed)
    }
    if (frame === undefined) return
    if (!isMeant) return this.#refuse(exchange, request.key, 'mcp-customs: it belongs to no call of one client')
    const text = inputRequest(frame, request)
    const isFull = call.questions.size >= maxQuestions || this.#bytes + text.length > maxBytes
    if (isFull || call.rounds >= maxRounds || call.questions.has(request.key))
      return this.#refuse(exchange, request.key, 'mcp-customs: the call has asked too much')
    call.questions.set(request.key, { exchange, text })
    this.#bytes += text.length
    this.#collect(call)
  }

  /** The server takes a question back. */
  withdrawn(key: IdKey | undefined): void {
    if (key !== undefined) for (const call of this.#calls.all()) this.#forget(call, key)
  }

  /**
   * Takes the answers of a retry to the server. The retry waits for the answer to the call from now on.
   * @returns undefined when the handle is of another client or call, or its time is over
   */
  retried(
    handle: string, waiter: Waiter, request: Request, frame: Frame,
  ): { readonly call: OpenCall; readonly answer: Frame | undefined } | undefined {
    const call = this.#parked.get(handle)
    if (call?.context !== waiter.exchange.context || call?.subject !== callSubject(request)) return undefined
    const { answer } = call
    this.#release(call)
    this.#calls.setWaiter(call, waiter)
    for (const [key, { exchange }] of [...call.questions]) {
      const text = slice(frame, ['params', 'inputResponses', nameOf(key)])
      // Anything but an object is no answer: the client is asked again.
      if (text?.[0] !== byte.openObject) continue
      this.#forget(call, key)
      this.#hands.respond(exchange, key, { result: text.toString() })
    }
    this.#collect(call)
    return { call, answer }
  }

  /**
   * Asks for the URLs that a server names in an error (2025-11-25, URLElicitationRequiredError). The call was
   * refused, so that its retry is a new call.
   * @returns false for any other error
   */
  askedByError(call: OpenCall, { error }: ErrorResponse): boolean {
    const entries = error.code === urlRequired && asking.has(call.method) ? urlsIn(member(error, 'data')) : {}
    if (Object.keys(entries).length === 0) return false
    if (declares(call.capabilities, byUrl)) this.#park(call, entries)
    else this.#lacks(call, byUrl)
    return true
  }

  /** Keeps the answer to a parked call for its retry. */
  keep(call: OpenCall, answer: Frame): void {
    const fits = this.#bytes + answer.bytes.length <= maxBytes
    call.answer = fits ? answer : errorFrame(call, errorCode.blocked, 'mcp-customs: too many answers wait')
    this.#bytes += call.answer.bytes.length
    this.#endQuestions(call)
  }

  /** The call is over. Its questions get an error, for no answer can come any more. */
  ended(call: OpenCall): void {
    this.#release(call)
    this.#endQuestions(call)
  }

  /** The client is gone, and will send no retry. */
  abandon(): void {
    for (const call of [...this.#parked.values()]) this.#hands.drop(call)
  }

  /**
   * The call that a request of the server belongs to: that of its HTTP response, else the only one. On a pipe
   * all calls are of one client, and any of them can carry the question. Calls of several HTTP clients cannot
   * be told apart at a process, and a question must not reach the wrong client.
   */
  #callOf(exchange: Exchange): OpenCall | undefined {
    const open = this.#calls.all().filter(({ method, isAtServer }) => isAtServer && asking.has(method))
    const own = open.filter(call => call.exchange === exchange)
    const [first, ...others] = own.length > 0 ? own : open
    if (others.length > 0 && first?.exchange !== stdioExchange) return undefined
    return first?.waiter === undefined ? others.find(({ waiter }) => waiter !== undefined) ?? first : first
  }

  #collect(call: OpenCall): void {
    if (call.waiter === undefined || call.questions.size === 0) return
    call.stop()
    call.stop = this.#hands.after(collectMs, () => {
      const entries = [...call.questions].map(([key, { text }]) => [nameOf(key), text] as const)
      if (entries.length > 0) this.#park(call, Object.fromEntries(entries))
    })
  }

  /** Answers by `input_required`. @param entries JSON texts by name */
  #park(call: OpenCall, entries: Readonly<Record<string, string>>): void {
    const { waiter } = call
    if (waiter === undefined) return
    const [oldest] = this.#parked.values()
    if (this.#parked.size >= maxParked && oldest !== undefined) this.#hands.drop(oldest)
    const handle = this.#hands.newHandle()
    this.#calls.setWaiter(call, undefined)
    this.#parked.set(handle, call)
    call.handle = handle
    call.rounds++
    call.stop()
    call.stop = this.#hands.after(parkedMs, () => this.#hands.drop(call))
    this.#hands.send(waiter.exchange, resultOf(waiter, {
      resultType: '"input_required"', inputRequests: objectOf(entries), requestState: JSON.stringify(handle),
    }))
  }

  #release(call: OpenCall): void {
    call.stop()
    if (call.handle !== undefined) this.#parked.delete(call.handle)
    this.#bytes -= call.answer?.bytes.length ?? 0
    call.handle = call.answer = undefined
  }

  #endQuestions(call: OpenCall): void {
    for (const [key, { exchange }] of [...call.questions]) {
      this.#forget(call, key)
      this.#refuse(exchange, key, 'the call is over')
    }
  }

  #forget({ questions }: OpenCall, key: IdKey): void {
    this.#bytes -= questions.get(key)?.text.length ?? 0
    questions.delete(key)
  }

  #lacks(call: OpenCall, { name, part }: Capability): void {
    const requiredCapabilities = { [name]: part === undefined ? {} : { [part]: {} } }
    this.#hands.fail(call, missingCapability, 'Missing required client capability', { requiredCapabilities })
  }

  #refuse(exchange: Exchange, key: IdKey, message: string): void {
    this.#hands.respond(exchange, key, { error: JSON.stringify({ code: errorCode.methodNotFound, message }) })
  }
}

/** The methods that may be answered by `input_required` (2026-07-28, Multi Round-Trip Requests). */
const asking: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read'])

/** The name of a question: its id at the server, `1` and `"1"` apart. */
const nameOf = (key: IdKey): string => `q${key}`

/** A capability of clients, and the part of it that is needed (2026-07-28, ClientCapabilities). */
interface Capability {
  readonly name: 'elicitation' | 'roots' | 'sampling'
  readonly part?: 'form' | 'tools' | 'url'
}

const byUrl: Capability = { name: 'elicitation', part: 'url' }

/** What a question needs; undefined for a request that is no question. */
const capabilityFor = ({ method, params }: Request): Capability | undefined => {
  if (method === 'roots/list') return { name: 'roots' }
  if (method === 'elicitation/create')
    return member(params, 'mode') === 'url' ? byUrl : { name: 'elicitation', part: 'form' }
  if (method !== 'sampling/createMessage') return undefined
  return { name: 'sampling', ...(member(params, 'tools') !== undefined && { part: 'tools' }) }
}

const declares = (declared: JsonObject, { name, part }: Capability): boolean => {
  const capability = member(declared, name)
  if (!isObject(capability)) return false
  // An empty `elicitation` means forms (2026-07-28, Elicitation, Capabilities).
  const isForms = part === 'form' && member(capability, 'url') === undefined
  return part === undefined || isForms || member(capability, part) !== undefined
}

/** The URLs in the data of an error, as entries of `inputRequests`. */
const urlsIn = (data: JsonObject[string]): Readonly<Record<string, string>> => {
  const list = isObject(data) ? member(data, 'elicitations') : undefined
  if (!isArray(list) || lengthOf(list) > maxQuestions) return {}
  return Object.fromEntries([...each(list, new Meter())].flatMap(([index, one]) => {
    const [url, message] = isObject(one) ? [member(one, 'url'), member(one, 'message')] : []
    if (!isString(url) || !isString(message)) return []
    const params = { mode: 'url', url, message }
    return [[`url${index}`, JSON.stringify({ method: 'elicitation/create', params })]]
  }))
}

export const callSubject = ({ method, params }: Request): string => {
  const repeated = ['name', 'uri', 'arguments'].map(key => member(params, key) ?? null)
  return hash('sha256', JSON.stringify([method, ...repeated]), 'base64url')
}
