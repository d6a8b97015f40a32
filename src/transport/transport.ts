import type { Exchange } from '../core/event.js'
import type { Frame, ResponseHead } from '../protocol/frame.js'
import type { IdKey } from '../protocol/json-rpc.js'

/** What a transport tells the gateway, one thing at a time. */
export type TransportEvent =
  /** @property whole with its `envelope.response` it is all of the server's HTTP response: neither head nor end of it are told besides */
  | { readonly type: 'frame'; readonly exchange: Exchange; readonly frame: Frame; readonly whole?: true }
  /** The peer reads again, after `send` or `hand` said false. @property exchange where it was said; by a pipe, the whole of it */
  | { readonly type: 'drained'; readonly exchange: Exchange }
  /** This request, sent with `send`, will never be answered (server-facing transports). */
  | { readonly type: 'lost'; readonly exchange: Exchange; readonly key: IdKey; readonly reason: string }
  /**
   * It is not known that the client has got this answer: its exchange was gone when the answer was sent, or its connection closed
   * before the response was whole or before another request came on it. Told once for each answer, also after `exchange-ended`,
   * and only of sessions that the server keeps: only there can the client ask for it again with `Last-Event-ID`, on an exchange
   * that is `resumed` (client-facing HTTP).
   */
  | { readonly type: 'undelivered'; readonly key: IdKey }
  /** An exchange is over: answered, or left by the peer; nobody reads what is sent to it (client-facing transports). */
  | { readonly type: 'exchange-ended'; readonly exchange: Exchange }
  /**
   * An HTTP request without a message, for a server that speaks HTTP as well: GET asks for a stream, DELETE ends the
   * session (client-facing HTTP).
   */
  | {
      readonly type: 'bare-request'
      readonly exchange: Exchange
      readonly method: 'GET' | 'DELETE'
      readonly headers: ReadonlyMap<string, string>
    }
  /**
   * The whole connection is over; for a process, with its exit.
   * @property graceMs so long, in milliseconds, the client reads on, for the answers to what it has asked. Said again without, it reads no more
   */
  | { readonly type: 'ended'; readonly reason: string; readonly exit?: Exit; readonly graceMs?: number }
  | HttpEvent

/**
 * What only a server that speaks HTTP says; handed to the client's transport (`hand`) past the core: no message is in it.
 * A client's HTTP request goes the other way by `open`: of a `bare-request`, and of each frame before the core sees it.
 */
export type HttpEvent =
  /**
   * The server's HTTP response to the exchange has begun (server-facing): its status and end-to-end headers, without those that
   * describe the length or the encoding of its body. Told before its frames, and not at all when there is no response that may
   * pass; the client's transport then chooses the status.
   */
  | { readonly type: 'head'; readonly exchange: Exchange; readonly status: number; readonly headers: HttpHeaders }
  /** What an event stream says between its messages, written anew: an event of `id` and `retry` alone, or a comment of ours. */
  | { readonly type: 'between'; readonly exchange: Exchange; readonly lines: string }
  /**
   * The server's HTTP response is over (server-facing); whatever of it is still being judged follows.
   * @property resumable the client can fetch the rest with `Last-Event-ID`: requests without an answer are not lost
   */
  | { readonly type: 'stream-ended'; readonly exchange: Exchange; readonly resumable: boolean }

/** By lower-case name; a header that was sent more than once has more than one value. */
export type HttpHeaders = ResponseHead['headers']

/** A client's HTTP request, as far as it is handed on. */
export interface HttpRequest {
  readonly method: 'POST' | 'GET' | 'DELETE'
  /** The client's own (`envelope.headers` of its frame), by lower-case name, without credentials that were meant for us. */
  readonly headers: ReadonlyMap<string, string>
  /**
   * The very `bytes` of the frame that follows, for a POST: by them the client's frame is told from what the relay sends on the
   * same exchange of its own accord, which the headers do not describe and whose response the client does not see.
   */
  readonly body?: Buffer
}

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** Bytes on one side, frames on the other. Every transport is one of these; there is no file per pair of them. */
export interface Transport {
  /** Begins; nothing is heard before. */
  start(hear: (event: TransportEvent) => void): void
  /** A client's HTTP request is to be handed on: told before its frame; a GET or DELETE goes out at once (server-facing HTTP). */
  open?(exchange: Exchange, request: HttpRequest): void
  /** The client's HTTP request is over, answered or not: nothing of it is wanted any more (server-facing HTTP). */
  shut?(exchange: Exchange): void
  /** What the server's HTTP response said, for the client's (client-facing HTTP). @returns as `send` */
  hand?(event: HttpEvent): boolean
  /**
   * Nothing will be sent to this exchange that was not sent before: its message needs no answer, or was blocked
   * and had no id to answer to (client-facing HTTP).
   */
  complete?(exchange: Exchange): void
  /** @returns false when the peer is not reading: hold back until `drained` */
  send(exchange: Exchange, frame: Frame): boolean
  /** Nobody waits any more for the answer to this request. */
  abandon?(exchange: Exchange, key: IdKey): void
  /**
   * Stops and resumes reading, so that a slow reader on the other side does not grow memory here.
   * @param exchange where a server that speaks HTTP is not to be read; a pipe, and a client, are held as a whole
   */
  pause(exchange: Exchange): void
  resume(exchange: Exchange): void
  /**
   * Ends politely, then by force; resolves when nothing is left behind.
   * @param urgency 1 (the default) is polite; each more takes the next step at once. Of several calls the
   * greatest holds
   */
  close(urgency?: number): Promise<void>
}
