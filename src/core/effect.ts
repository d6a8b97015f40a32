import type { Frame, Trace } from '../protocol/frame.js'
import type { IdKey } from '../protocol/json-rpc.js'
import type { Subject } from './check.js'
import type { Exchange, Side, Timer } from './event.js'
import type { Verdict } from './policy.js'
import type { Finding } from './rule.js'

/** What can be asked for. */
export type Effect =
  /** @property cause whose message led to it: it is held back when `to` does not read */
  | { readonly type: 'send'; readonly to: Side; readonly exchange: Exchange; readonly frame: Frame; readonly cause: Side }
  /** The client went away from this request: the server's transport may stop waiting for its answer. */
  | { readonly type: 'abandon'; readonly exchange: Exchange; readonly key: IdKey }
  /** To be answered by `checked`. @property exchange of the message that is judged: its end must not overtake it */
  | { readonly type: 'check'; readonly check: number; readonly subjects: readonly Subject[]; readonly exchange: Exchange }
  | { readonly type: 'audit'; readonly entry: Entry }
  /** A request of the client's is over: asked for only where somebody looks on (`observed`). */
  | { readonly type: 'observe'; readonly operation: Operation }
  | { readonly type: 'start-timer'; readonly timer: Timer; readonly ms: number }
  | { readonly type: 'stop-timer'; readonly timer: Timer }
  /** Nothing more is sent on the exchange because of the message that came by it. */
  | { readonly type: 'settle'; readonly exchange: Exchange }
  /** An exception was contained: who waited was answered, and the session goes on. */
  | { readonly type: 'failed'; readonly cause: unknown }
  /** The core has failed: who waited was answered, and the session can only end. @property cause the exception */
  | { readonly type: 'close'; readonly reason: string; readonly cause: unknown }

/** One decision, for the audit log; `audit/` adds time, sequence, digests and chain (contract section 8). */
export interface Entry {
  /** A method that MCP knows of whoever asked, `method:NAME` for any other; or `session/start`, `session/end`, `wire`, `http/refused`. */
  readonly event: string
  /** Who asked for it, or sent what it is about. */
  readonly from: Side | 'relay'
  /** Of a call that is about to leave; its record proper follows with the answer. */
  readonly phase?: 'sent' | undefined
  readonly server: string
  readonly session: string
  readonly client: { readonly name: string; readonly version: string } | undefined
  /** Who began the session, or was refused, as far as a network tells: an address, and which of our tokens was shown, counted from 0. */
  readonly peer?: { readonly address: string; readonly token: number | undefined } | undefined
  readonly revision: string | undefined
  readonly tool?: string | undefined
  readonly id?: string | number | undefined
  readonly verdict: Verdict
  readonly findings: readonly Finding[]
  /** How many findings there were beyond these. */
  readonly more?: number | undefined
  /** From the request's arrival to the answer's departure; the core knows when the answer arrived, and who writes it down adds what it took since. */
  ms?: number | undefined
  /** Of these, the time that the server had it; undefined when it was not asked. */
  readonly serverMs?: number | undefined
  readonly bytes?: { readonly request?: number | undefined; readonly response?: number | undefined } | undefined
  /** The JSON text of `params.arguments` and of `result`, as they crossed the wire: for digests and payloads. */
  readonly arguments?: Buffer | undefined
  readonly result?: Buffer | undefined
  /** The code of the JSON-RPC error that answered. */
  readonly error?: number | undefined
  /** Why a session ended. */
  readonly reason?: string | undefined
  /** Where its request belongs; no part of the record. */
  readonly trace?: Trace | undefined
}

/** A request of the client's from its arrival to its end, for metrics and traces. */
export interface Operation {
  /** As it is on record, or would be: without findings, most methods are not. */
  readonly entry: Entry & { readonly ms: number }
  /** Whether the tool is one of the server's list: any other name may be the client's invention. */
  readonly isListed: boolean
  /** In milliseconds: how long after its arrival the server got it, and how long it had it; undefined when it never did. */
  readonly atServer: { readonly afterMs: number; readonly ms: number } | undefined
  /** The server's answer; undefined when there was none. */
  readonly response: Frame | undefined
  /** What the client gets; undefined when it waits for nothing. */
  readonly sent: Frame | undefined
}
