import type { Exchange } from '../core/event.js'
import type { Frame } from '../protocol/frame.js'
import type { IdKey } from '../protocol/json-rpc.js'

/** What a transport tells the gateway, one thing at a time. */
export type TransportEvent =
  | { readonly type: 'frame'; readonly exchange: Exchange; readonly frame: Frame }
  /** The peer reads again, after `send` said false. */
  | { readonly type: 'drained' }
  /** This request, sent with `send`, will never be answered (server-facing transports). */
  | { readonly type: 'lost'; readonly exchange: Exchange; readonly key: IdKey; readonly reason: string }
  /** The peer went away from one exchange (client-facing transports). */
  | { readonly type: 'exchange-ended'; readonly exchange: Exchange }
  /** The whole connection is over; for a process, with its exit. */
  | { readonly type: 'ended'; readonly reason: string; readonly exit?: Exit }

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** Bytes on one side, frames on the other. Every transport is one of these; there is no file per pair of them. */
export interface Transport {
  /** Begins; nothing is heard before. */
  start(hear: (event: TransportEvent) => void): void
  /** @returns false when the peer is not reading: hold back until `drained` */
  send(exchange: Exchange, frame: Frame): boolean
  /** Nobody waits any more for the answer to this request. */
  abandon?(exchange: Exchange, key: IdKey): void
  /** Stops and resumes reading, so that a slow reader on the other side does not grow memory here. */
  pause(): void
  resume(): void
  /** Ends politely, then by force; resolves when nothing is left behind. */
  close(): Promise<void>
}
