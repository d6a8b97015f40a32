import type { Frame } from '../../../protocol/frame.js'
import { isString, member } from '../../../protocol/json.js'
import { isModernRequest, metadataOf, only, type InputSchemaOf } from '../../http/headers.js'
import { bodyKind, type Between, type Told } from '../messages.js'
import { discard, HttpFailure, type HttpAsk, type HttpReply, type HttpUpstream } from '../pool.js'

/** One session with the server, from the response to `initialize` on. */
export interface Agreed {
  readonly initialize: Frame
  /** `Mcp-Session-Id`; undefined where the server keeps no sessions. */
  readonly id: string | undefined
  /** The revision, once the answer has named it. */
  version: string | undefined
  initialized: Frame | undefined
  /** The stream of what the server says unasked: `refused` where it offers none. */
  stream: 'closed' | 'open' | 'refused'
  /** Aborted when the session is over. */
  readonly over: AbortController
}

/** What a client and a server have agreed on by `initialize`, and our requests as they follow from it. */
export class HttpHandshake {
  readonly #upstream: HttpUpstream
  /** Of every request. */
  readonly #always: ReadonlyMap<string, string>
  readonly #inputSchemaOf: InputSchemaOf
  #agreed: Agreed | undefined

  /** @param headers the operator's, by lower-case name, on every request */
  constructor(upstream: HttpUpstream, headers: ReadonlyMap<string, string>, inputSchemaOf: InputSchemaOf) {
    this.#upstream = upstream
    this.#always = new Map([['user-agent', 'mcp-customs'], ...headers])
    this.#inputSchemaOf = inputSchemaOf
  }

  /** Undefined before `initialize`, and for good with a modern client. */
  get agreed(): Agreed | undefined {
    return this.#agreed
  }

  /** From now on this session is the one. */
  enter(agreed: Agreed): void {
    this.#agreed?.over.abort()
    this.#agreed = agreed
  }

  post(frame: Frame, signal: HttpAsk['signal'], agreed = this.#agreed): Promise<HttpReply> {
    const headers = new Map([['accept', 'application/json, text/event-stream'], ['content-type', 'application/json']])
    const add = (more: Iterable<readonly [string, string]>) => {
      for (const [name, value] of more) headers.set(name, value)
    }
    if (isModernRequest(frame)) add(metadataOf(frame, this.#inputSchemaOf))
    else if (!isInitialize(frame)) add(sessionHeaders(agreed))
    if (frame.envelope?.trace !== undefined) add(frame.envelope.trace.headers())
    add(this.#always)
    return this.#upstream.request({ method: 'POST', headers, body: frame.bytes, signal })
  }

  /**
   * A stream of the session.
   * @param lastEventId of the stream to be resumed; undefined for that of what the server says unasked
   * @returns a stream, or an error response
   */
  async get(lastEventId: string | undefined, signal: AbortSignal): Promise<HttpReply> {
    const headers = new Map([
      ['accept', 'text/event-stream'],
      ...sessionHeaders(this.#agreed),
      ...(lastEventId === undefined ? [] : [['last-event-id', Buffer.from(lastEventId).toString('latin1')] as const]),
      ...this.#always,
    ])
    const reply = await this.#upstream.request({ method: 'GET', headers, signal })
    if (reply.status >= 400 || bodyKind(reply) === 'sse') return reply
    discard(reply)
    throw new HttpFailure('the server does not answer a GET with an event stream')
  }

  /** Ends the session politely, so that the server frees what it holds for it. Never fails. */
  async leave(signal: AbortSignal): Promise<void> {
    const agreed = this.#agreed
    agreed?.over.abort()
    if (agreed?.id === undefined) return
    const headers = new Map([...sessionHeaders(agreed), ...this.#always])
    await this.#upstream.request({ method: 'DELETE', headers, signal }).then(discard, () => {})
  }
}

const sessionHeaders = (agreed: Agreed | undefined): readonly (readonly [string, string])[] => [
  ...(agreed?.id === undefined ? [] : [['mcp-session-id', agreed.id] as const]),
  ...(agreed?.version === undefined ? [] : [['mcp-protocol-version', agreed.version] as const]),
]

/** What follows from the response to an `initialize`. */
export const agreedBy = (initialize: Frame, { headers }: HttpReply): Agreed => {
  const id = only(headers, 'mcp-session-id')
  return {
    initialize,
    // Anything else could not be sent back (2025-11-25, session management).
    id: id !== undefined && /^[\x21-\x7e]+$/.test(id) ? id : undefined,
    version: undefined,
    initialized: undefined,
    stream: 'closed',
    over: new AbortController(),
  }
}

/** @returns the revision, when the frame is the good answer to the session's `initialize` */
export const versionBy = ({ initialize }: Agreed, { message }: Frame): string | undefined => {
  if (message.kind !== 'result' || initialize.message.kind !== 'request' || message.key !== initialize.message.key) return undefined
  const version = member(message.result, 'protocolVersion')
  return isString(version) && /^[\x21-\x7e]{1,64}$/.test(version) ? version : undefined
}

export const isInitialize = ({ message }: Frame): boolean => message.kind === 'request' && message.method === 'initialize'

export const isInitialized = ({ message }: Frame): boolean =>
  message.kind === 'notification' && message.method === 'notifications/initialized'

/** Longest wait for a new session, in milliseconds. */
const renewMs = 30_000

export interface Renewal {
  readonly handshake: HttpHandshake
  readonly lost: Agreed
  readonly closing: AbortSignal
  readonly read: (reply: HttpReply, told: (heard: Frame | Between) => Told) => Promise<void>
  /** Whatever else than the answer comes with it. */
  readonly told: (frame: Frame) => void
}

/**
 * Begins a new session by the client's own `initialize` and `notifications/initialized`, after the server has lost the one before
 * (2025-11-25, session management). The client has its answer already, and does not get this one.
 * @returns false when there is no new session, or not one that the client could go on in
 */
export const renew = async ({ handshake, lost, closing, read, told }: Renewal): Promise<boolean> => {
  const { initialize, initialized, version } = lost
  const signal = AbortSignal.any([closing, AbortSignal.timeout(renewMs)])
  const reply = await handshake.post(initialize, signal)
  if (reply.status >= 300 || bodyKind(reply) === 'other') {
    discard(reply)
    return false
  }
  const agreed = agreedBy(initialize, reply)
  await read(reply, heard => {
    if (!('bytes' in heard)) return undefined
    agreed.version = versionBy(agreed, heard)
    if (agreed.version !== undefined) return 'enough'
    if (heard.message.kind === 'notification' || heard.message.kind === 'request') told(heard)
    return undefined
  })
  // The client goes on in the revision that was agreed on with it, and in no other.
  if (agreed.version === undefined || agreed.version !== version) return false
  if (initialized) {
    const accepted = await handshake.post(initialized, signal, agreed)
    discard(accepted)
    if (accepted.status >= 300) return false
    agreed.initialized = initialized
  }
  handshake.enter(agreed)
  return true
}
