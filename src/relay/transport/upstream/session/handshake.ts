import type { Frame } from '#relay/protocol/frame.js'
import { isString, member } from '#relay/protocol/json.js'
import { isModernRequest, metadataOf, only, type InputSchemaOf } from '../../http/headers.js'
import { bodyKind, type MaybeStop } from '../messages.js'
import type { Patience } from './patience.js'
import { discard, HttpFailure, type HttpAsk, type HttpReply, type HttpRequests } from '../pool.js'

/** A session with the server, from the response to `initialize` on. */
export interface Agreed {
  readonly initialize: Frame
  /** `Mcp-Session-Id`; undefined when the server keeps no sessions. */
  readonly id: string | undefined
  /** The negotiated revision; undefined before the answer to `initialize`. */
  version: string | undefined
  initialized: Frame | undefined
  /** The stream of unsolicited messages: `refused` when the server does not offer it. */
  stream: 'closed' | 'open' | 'refused'
  /** Aborted when the session is over. */
  readonly over: AbortController
}

/** The session negotiated by `initialize`, and the HTTP requests of that session. */
export class HttpHandshake {
  /** Headers of every request. */
  readonly #always: Headers
  #agreed: Agreed | undefined
  /** The last headers of a POST in a legacy session, for further POSTs with the same. */
  #repeated: Repeated | undefined

  /** @param headers the operator's headers, by lower-case name, for every request */
  constructor(
    private readonly upstream: HttpRequests,
    headers: ReadonlyMap<string, string>,
    private readonly inputSchemaOf: InputSchemaOf,
  ) {
    this.#always = new Map([['user-agent', 'mcp-customs'], ...headers])
  }

  /** Undefined before `initialize`, and always with a modern client. */
  get agreed(): Agreed | undefined {
    return this.#agreed
  }

  /** Replaces the session. */
  enter(agreed: Agreed): void {
    this.#agreed?.over.abort()
    this.#agreed = agreed
  }

  post(frame: Frame, signal: HttpAsk['signal'], agreed = this.#agreed): Promise<HttpReply> {
    const headers = this.#headersOf(frame, agreed)
    return this.upstream.request({ method: 'POST', headers, body: frame.bytes, signal })
  }

  #headersOf(frame: Frame, agreed: Agreed | undefined): Headers {
    const own = isModernRequest(frame) ? metadataOf(frame, this.inputSchemaOf) : []
    const session = isModernRequest(frame) || beginsHandshake(frame) ? undefined : agreed
    const trace = frame.envelope?.trace?.headers()
    const make = () =>
      new Map([...postHeaders, ...own, ...sessionHeaders(session), ...(trace ?? []), ...this.#always])
    if (session === undefined || trace !== undefined) return make()
    if (this.#repeated?.session !== session || this.#repeated.version !== session.version) {
      this.#repeated = { session, version: session.version, headers: make() }
    }
    return this.#repeated.headers
  }

  /**
   * Opens or resumes a stream of the session.
   * @param lastEventId of the stream to be resumed; undefined opens the stream of unsolicited messages
   * @returns a stream, or an error response
   */
  async get(lastEventId: string | undefined, signal: AbortSignal): Promise<HttpReply> {
    const headers = new Map([
      ['accept', 'text/event-stream'],
      ...sessionHeaders(this.#agreed),
    ])
    if (lastEventId !== undefined) headers.set('last-event-id', Buffer.from(lastEventId).toString('latin1'))
    for (const [name, value] of this.#always) headers.set(name, value)
    const reply = await this.upstream.request({ method: 'GET', headers, signal })
    if (reply.status >= 400 || bodyKind(reply) === 'sse') return reply
    discard(reply)
    throw new HttpFailure('the server does not answer a GET with an event stream')
  }

  /** Ends the session by DELETE, so that the server can free its state. Never fails. */
  async leave(signal: AbortSignal): Promise<void> {
    const agreed = this.#agreed
    agreed?.over.abort()
    if (agreed?.id === undefined) return
    const headers = new Map([...sessionHeaders(agreed), ...this.#always])
    await this.upstream.request({ method: 'DELETE', headers, signal }).then(discard, () => {})
  }
}

type Headers = ReadonlyMap<string, string>

interface Repeated {
  readonly session: Agreed
  readonly version: string | undefined
  readonly headers: Headers
}

const postHeaders: readonly (readonly [string, string])[] = [
  ['accept', 'application/json, text/event-stream'], ['content-type', 'application/json'],
]

const sessionHeaders = (agreed: Agreed | undefined): readonly (readonly [string, string])[] => [
  ...(agreed?.id === undefined ? [] : [['mcp-session-id', agreed.id] as const]),
  ...(agreed?.version === undefined ? [] : [['mcp-protocol-version', agreed.version] as const]),
]

/** The session that the response to an `initialize` begins. */
export const agreedBy = (initialize: Frame, { headers }: HttpReply): Agreed => {
  const id = only(headers, 'mcp-session-id')
  return {
    initialize,
    // Ids are visible ASCII (2025-11-25, session management); others could not be sent back.
    id: id !== undefined && /^[\x21-\x7e]+$/.test(id) ? id : undefined,
    version: undefined,
    initialized: undefined,
    stream: 'closed',
    over: new AbortController(),
  }
}

/** @returns the revision, when the frame is the result of the session's `initialize` */
export const versionBy = ({ initialize }: Agreed, { message }: Frame): string | undefined => {
  const request = initialize.message
  if (message.kind !== 'result' || request.kind !== 'request' || message.key !== request.key) return undefined
  const version = member(message.result, 'protocolVersion')
  return isString(version) && /^[\x21-\x7e]{1,64}$/.test(version) ? version : undefined
}

export const beginsHandshake = ({ message }: Frame): boolean =>
  message.kind === 'request' && message.method === 'initialize'

export const isInitialized = ({ message }: Frame): boolean =>
  message.kind === 'notification' && message.method === 'notifications/initialized'

interface Renewal {
  readonly handshake: HttpHandshake
  readonly lost: Agreed
  /** Aborted when nobody waits for the new session any more. */
  readonly signal: AbortSignal
  readonly patience: (frame: Frame, signal: AbortSignal) => Patience
  readonly read: (reply: HttpReply, onMessage: (received: Frame) => MaybeStop) => Promise<unknown>
  /** Gets the notifications and requests that come with the answer. */
  readonly onMessage: (frame: Frame) => void
}

/**
 * Repeats the client's `initialize` and `notifications/initialized` after the server has lost the session
 * (2025-11-25, session management). The client does not get this second answer.
 * @returns false when there is no new session, or the client could not continue in it
 */
export const renew = async (
  { handshake, lost, signal, patience, read, onMessage }: Renewal,
): Promise<boolean> => {
  const { initialize, initialized, version } = lost
  const waiting = patience(initialize, signal)
  let reply = await waiting.send(() => handshake.post(initialize, signal))
  while (await waiting.after(reply)) {
    discard(reply)
    reply = await waiting.send(() => handshake.post(initialize, signal))
  }
  if (reply.status >= 300 || bodyKind(reply) === 'other') {
    discard(reply)
    return false
  }
  const agreed = agreedBy(initialize, reply)
  await read(reply, received => {
    agreed.version = versionBy(agreed, received)
    if (agreed.version !== undefined) return 'enough'
    if (received.message.kind === 'notification' || received.message.kind === 'request') onMessage(received)
    return undefined
  })
  // The client continues in the revision that it negotiated.
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
