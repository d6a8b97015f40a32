import type { Frame, Trace } from '../protocol/frame.js'
import type { IdKey } from '../protocol/json-rpc.js'
import type { Checked, Subject } from './check.js'
import type { Verdict } from './findings.js'
import type { Finding } from './rule.js'

export type Side = 'client' | 'server'

/**
 * What a transport mints (one HTTP request with its response; the whole pipe on stdio) and the core echoes. It is told from others
 * by its identity; what hangs on it is its transport's affair.
 */
export interface Exchange {
  /** For captures and logs: of its own within a session. */
  readonly name: string
  /** Equal on exchanges whose HTTP requests show the same credentials; absent on a pipe. */
  readonly context?: string
  /** The client asked for the rest of a cut stream (`Last-Event-ID`): what the server sends on it, it may have sent before. */
  readonly resumed?: boolean
}

export const exchangeNamed = (name: string): Exchange => Object.freeze({ name })

/** The exchange of a pipe: an answer that arrives by it belongs to whoever asked. */
export const stdioExchange = exchangeNamed('stdio')

export type Timer = string

/** What can happen. */
export type Event =
  | { readonly type: 'frame-received'; readonly from: Side; readonly exchange: Exchange; readonly frame: Frame }
  /** The check that was asked for is done; one entry per subject. */
  | { readonly type: 'checked'; readonly check: number; readonly results: readonly Checked[] }
  | { readonly type: 'timer-fired'; readonly timer: Timer }
  /** The transport knows that this request, sent to the server, will never be answered. */
  | { readonly type: 'request-lost'; readonly exchange: Exchange; readonly key: IdKey; readonly reason: string }
  /** It is not known that the client has got the answer to this request. */
  | { readonly type: 'undelivered'; readonly key: IdKey }
  /** A client's exchange ended from its side: nobody reads the answers. */
  | { readonly type: 'exchange-ended'; readonly exchange: Exchange }
  /** @property isFailure the relay's own: nobody else is to blame */
  | { readonly type: 'server-gone'; readonly reason: string; readonly isFailure?: boolean }
  /** The client is gone, or the relay is stopping: the session is over. */
  | { readonly type: 'session-ended'; readonly reason: string }

/** The same in writing, and for those who embed the relay: its exchange by name. */
export type Named<One> = One extends { readonly exchange: Exchange } ? Omit<One, 'exchange'> & { readonly exchange: string } : One

/** The exchanges of one session, by their names. */
export class NamedExchanges {
  /** Nobody says when the last is said of one: it is forgotten with the last who holds it. */
  readonly #known = new Map<string, WeakRef<Exchange>>()
  readonly #forgotten = new FinalizationRegistry<string>(name => {
    if (this.#known.get(name)?.deref() === undefined) this.#known.delete(name)
  })

  of(name: string): Exchange {
    const known = name === stdioExchange.name ? stdioExchange : this.#known.get(name)?.deref()
    if (known !== undefined) return known
    const exchange = exchangeNamed(name)
    this.#known.set(name, new WeakRef(exchange))
    this.#forgotten.register(exchange, name)
    return exchange
  }
}

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
  | { readonly type: 'complete'; readonly exchange: Exchange }
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
