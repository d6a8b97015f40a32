import type { Exchange, HttpEvent } from '#relay/core/vocabulary.js'
import type { Frame, ResponseHead } from '#relay/protocol/frame.js'
import type { IdKey, Request } from '#relay/protocol/json-rpc.js'

/** An event that a transport reports to the gateway. */
export type TransportEvent =
  /** @property whole the frame is the complete HTTP response, without `head` or `stream-ended` */
  | { readonly type: 'frame'; readonly exchange: Exchange; readonly frame: Frame; readonly whole?: true }
  /** The peer reads again, after `send` or `hand` returned false for this exchange (stdio: for any). */
  | { readonly type: 'drained'; readonly exchange: Exchange }
  /**
   * This request, sent with `send`, will never be answered (server-facing transports).
   * @property isElsewhere its HTTP response is over, and the answer may come on another stream of the
   *   session; when that stream is over, this is reported again without it, on the exchange of that stream
   */
  | {
    readonly type: 'lost'; readonly exchange: Exchange; readonly key: IdKey; readonly reason: string
    readonly isElsewhere?: true
  }
  /** Requests go to another process or session of the server from now on, which may list other tools. */
  | { readonly type: 'renewed' }
  /** An exchange was answered, or abandoned by the client: its frames are dropped (client-facing). */
  | { readonly type: 'exchange-ended'; readonly exchange: Exchange }
  /** An HTTP request without a message: GET wants a stream, DELETE ends the session (client-facing HTTP). */
  | {
    readonly type: 'bare-request'
    readonly exchange: Exchange
    readonly method: 'GET' | 'DELETE'
    readonly headers: ReadonlyMap<string, string>
  }
  /**
   * The connection is over; for a process, with its exit.
   * @property graceMs for how many milliseconds a client that has closed its output still reads pending
   * answers. A second event without `graceMs` says that it does not read any more
   */
  | { readonly type: 'ended'; readonly reason: string; readonly exit?: Exit; readonly graceMs?: number }
  | HttpEvent

/** By lower-case name; a repeated header has several values. */
export type HttpHeaders = ResponseHead['headers']

/** The part of a client's HTTP request that is forwarded. */
export interface HttpRequest {
  readonly method: 'POST' | 'GET' | 'DELETE'
  /** The client's headers, by lower-case name, without credentials for the relay (see `envelope.headers`). */
  readonly headers: ReadonlyMap<string, string>
  /**
   * For a POST, the same buffer as `bytes` of the frame that follows: it distinguishes the client's frame
   * from relay-made frames of the same exchange, which have other headers and whose response the client does
   * not get.
   */
  readonly body?: Buffer
}

/** The table by which the response to a request of this exchange will be checked; see `FrameLimits`. */
export type Expected = (exchange: Exchange, key: IdKey, length: number) => Buffer | undefined

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** Converts between a peer's bytes and frames. Client- and server-facing transports combine freely. */
export interface Transport {
  /**
   * Begins; no event is reported before.
   * @param expected see `FrameLimits` (server-facing)
   */
  start(onEvent: (event: TransportEvent) => void, expected?: Expected): void
  /** Forwards a client's HTTP request: GET or DELETE at once, POST with its frame (server-facing HTTP). */
  open?(exchange: Exchange, request: HttpRequest): void
  /** The client's HTTP request is over: the rest of the response is dropped (server-facing HTTP). */
  shut?(exchange: Exchange): void
  /** Forwards a part of the server's HTTP response (client-facing HTTP). @returns as `send` */
  hand?(event: HttpEvent): boolean
  /** Nothing more will be sent: the message needs no answer, or is blocked and has no id (client-facing). */
  complete?(exchange: Exchange): void
  /** @returns false for backpressure: the peer is not reading, so wait for `drained` */
  send(exchange: Exchange, frame: Frame): boolean
  /** The relay has refused a request of the server, which the client does not get (client-facing). */
  refused?(exchange: Exchange, request: Request): void
  /** The client does not wait for the answer to this request any more. */
  abandon?(exchange: Exchange, key: IdKey): void
  /**
   * Backpressure: stops and resumes reading, because the peer on the other side is slow.
   * @param exchange applies to HTTP servers; stdio servers and clients are paused as a whole
   */
  pause(exchange: Exchange): void
  resume(exchange: Exchange): void
  /**
   * Takes no more requests: the session has ended. Its last responses are sent before `close`, when their
   * audit records are written (client-facing HTTP).
   */
  leave?(): void
  /**
   * Ends politely, then by force; resolves when no process or connection is left.
   * @param urgency 1 (the default) is polite; each further number skips one step. Of several calls, the
   * greatest applies
   */
  close(urgency?: number): Promise<void>
}
