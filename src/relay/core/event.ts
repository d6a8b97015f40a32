import type { Frame, ResponseHead, Trace } from '#relay/protocol/frame.js'
import type { IdKey } from '#relay/protocol/json-rpc.js'
import type { Tool } from './catalog.js'
import type { Checked, Subject } from './check.js'
import type { Verdict } from './findings.js'
import type { Finding } from './rule.js'
import type { CountAsk, SharedAsk, SharedReply } from './shared.js'

export type Side = 'client' | 'server'

/**
 * Made by a transport for one HTTP request with its response, or for a whole stdio connection; the core
 * echoes it. Exchanges are compared by identity.
 */
export interface Exchange {
  /** For captures and logs; unique within a session. */
  readonly name: string
  /** Equal for exchanges whose HTTP requests have the same credentials; absent on stdio. */
  readonly context?: string | undefined
  /** The client resumes a stream (`Last-Event-ID`): the server may send messages again. */
  readonly resumed?: boolean
}

export const exchangeNamed = (name: string): Exchange => Object.freeze({ name })

/** The one exchange of a stdio connection. */
export const stdioExchange = exchangeNamed('stdio')

export type Timer = string

/** The input of the relay. */
export type Event =
  | {
    readonly type: 'frame-received'; readonly from: Side; readonly exchange: Exchange
    readonly frame: Frame
  }
  /** The results of a `check` effect; one for each subject. */
  | { readonly type: 'checked'; readonly check: number; readonly results: readonly Checked[] }
  /** The response to a `share` effect. */
  | { readonly type: 'shared'; readonly share: number; readonly reply: SharedReply }
  /** The client has an event id of this exchange, and may fetch its responses at another replica. */
  | { readonly type: 'resumable'; readonly exchange: Exchange }
  | { readonly type: 'timer-fired'; readonly timer: Timer }
  /**
   * The transport knows that this request will get no response from the server on this exchange.
   * @property isElsewhere the response may come on another stream of the session
   */
  | {
    readonly type: 'request-lost'; readonly exchange: Exchange; readonly key: IdKey
    readonly reason: string; readonly isElsewhere?: boolean | undefined
  }
  /** The client closed the exchange, and reads no more responses on it. */
  | { readonly type: 'exchange-ended'; readonly exchange: Exchange }
  | HttpEvent
  /** The frame before was the complete HTTP response, without `head` or `stream-ended`. */
  | { readonly type: 'whole'; readonly exchange: Exchange }
  /** Another process or session of the server answers from now on. */
  | { readonly type: 'server-renewed' }
  /** @property isFailure true when the relay failed, and not the server */
  | { readonly type: 'server-gone'; readonly reason: string; readonly isFailure?: boolean }
  /** The client is gone, or the relay is stopping: the session is over. */
  | { readonly type: 'session-ended'; readonly reason: string }

/** The events that the core decides about. The others only keep their place among them. */
export type DecidedEvent = Exclude<Event, HttpEvent | { readonly type: 'whole' }>

/** The part of an HTTP server's response that is no message. It keeps its place among the messages. */
export type HttpEvent =
  /**
   * The server's HTTP response has begun (server-facing): its status and end-to-end headers, without those
   * about the length or the encoding of its body. Reported before its frames, unless no response may pass:
   * then the client's transport chooses the status.
   */
  | {
    readonly type: 'head'; readonly exchange: Exchange; readonly status: number
    readonly headers: ResponseHead['headers']
  }
  /** An event without a message (`id` and `retry`) or a comment, encoded anew. */
  | { readonly type: 'between'; readonly exchange: Exchange; readonly lines: string }
  /**
   * The server's HTTP response is over (server-facing).
   * @property resumable the client can fetch the rest with `Last-Event-ID`: unanswered requests are not lost
   */
  | { readonly type: 'stream-ended'; readonly exchange: Exchange; readonly resumable: boolean }

/** The same with the exchange's name in its place, for captures and embedders. */
export type Named<One> = One extends { readonly exchange: Exchange }
  ? Omit<One, 'exchange'> & { readonly exchange: string }
  : One

/** Maps names back to the exchanges of one session. */
export class NamedExchanges {
  /** Weak, because no event marks the last use of an exchange. */
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

/** The output of the relay, to be performed in order. */
export type Effect =
  /** @property cause the side whose message led to this, which is paused when `to` does not read */
  | {
    readonly type: 'send'; readonly to: Side; readonly exchange: Exchange; readonly frame: Frame
    readonly cause: Side
  }
  /** The client gave up this request: the transport need not wait for the response. */
  | { readonly type: 'abandon'; readonly exchange: Exchange; readonly key: IdKey }
  /** To be followed by `checked`. */
  | { readonly type: 'check'; readonly check: number; readonly subjects: readonly Subject[] }
  /** A question to the shared state. @property share undefined: no `shared` has to follow */
  | { readonly type: 'share'; readonly share: number | undefined; readonly ask: SharedAsk | CountAsk }
  | { readonly type: 'audit'; readonly entry: Entry }
  /** A client request is over; only with the option `observed`. */
  | { readonly type: 'observe'; readonly operation: Operation }
  | { readonly type: 'start-timer'; readonly timer: Timer; readonly ms: number }
  | { readonly type: 'stop-timer'; readonly timer: Timer }
  /** A part of the server's HTTP response, for the client. */
  | { readonly type: 'hand'; readonly exchange: Exchange; readonly event: HttpEvent }
  /**
   * No message follows on this exchange.
   * @property failed its message, without an id, had no effect
   * @property isAtServer the server has its message: a server over HTTP ends the response by itself
   */
  | {
    readonly type: 'complete'; readonly exchange: Exchange; readonly failed?: true
    readonly isAtServer?: true | undefined
  }
  /** An exception was contained: its requests got an error, and the session goes on. */
  | { readonly type: 'failed'; readonly cause: unknown }
  /** The core failed: all requests got an error, and the session must end. @property cause the exception */
  | { readonly type: 'close'; readonly reason: string; readonly cause: unknown }
  /** The session is over. */
  | { readonly type: 'end'; readonly reason: string }

/**
 * What happened to a server. `exit`: its process ended by itself; `refusal`: it could not be started or
 * reached; `silence`: it gave no response in time; `relay`: its relay process failed and was replaced;
 * `restored`: it answers again.
 */
export const healthKinds = ['exit', 'refusal', 'silence', 'relay', 'restored'] as const

export type Health = (typeof healthKinds)[number]

/**
 * Who a client is, by the token that it presented: the claims of a JWT (RFC 9068, section 2.2) or of an
 * introspected token, or the name of a configured token. Never the token itself.
 */
export interface Identity {
  readonly issuer?: string | undefined
  readonly subject?: string | undefined
  readonly client?: string | undefined
  /** Of a configured token. */
  readonly name?: string | undefined
  readonly scopes: readonly string[]
}

/** The reason in the record of a line on stdout that is no message and that concerns no request. */
export const noise = 'noise on stdout'

/** One decision, for the audit log; `audit/` adds time, sequence, digests and chain (docs/audit.md). */
export interface Entry {
  /** An MCP method, `method:NAME` for any other, `session/start`, `session/end`, `wire` or `http/refused`. */
  readonly event: string
  /** The sender of the request or frame. */
  readonly from: Side | 'relay'
  /** `sent`: written before the call is sent; the full record follows with the response. */
  readonly phase?: 'sent' | undefined
  readonly server: string
  readonly session: string
  readonly client: { readonly name: string; readonly version: string } | undefined
  /** The network peer that began the session or was refused, and the index of its token. */
  readonly peer?: {
    readonly address: string
    readonly token: number | undefined
    readonly subject?: Identity | undefined
  } | undefined
  /** Who the client is, where its token says so. */
  readonly subject?: Identity | undefined
  readonly revision: string | undefined
  /** The client's revision, where the relay translates between it and `revision`. */
  readonly clientRevision?: string | undefined
  readonly tool?: string | undefined
  /** The name of the called tool at the merged endpoint, where there is one. */
  readonly shown?: string | undefined
  /** The tools that the client gets, of `tools/list`. */
  readonly tools?: readonly string[] | undefined
  /** Name and version that the server gives itself, of `tools/list`. */
  readonly serverInfo?: { readonly name: string; readonly version: string } | undefined
  readonly id?: string | number | undefined
  readonly verdict: Verdict
  readonly findings: readonly Finding[]
  /** The number of findings that were not kept. */
  readonly more?: number | undefined
  /** From arrival to the response's departure. The session adds the time after the core's handling. */
  ms?: number | undefined
  /** The server's part of `ms`; undefined when the request was not sent. */
  readonly serverMs?: number | undefined
  readonly bytes?:
    { readonly request?: number | undefined; readonly response?: number | undefined } | undefined
  /** The JSON texts of `params.arguments` and `result` on the wire, for digests and payloads. */
  readonly arguments?: Buffer | undefined
  readonly result?: Buffer | undefined
  /** The called tool. What it declares stays in redacted payloads; not part of the record. */
  readonly called?: Pick<Tool, 'inputSchemas' | 'outputSchemas'> | undefined
  /** The code of the JSON-RPC error that the client got. */
  readonly error?: number | undefined
  /** Why a session ended, or what happened to the server. */
  readonly reason?: string | undefined
  /** Of `server/health` only. */
  readonly health?: Health | undefined
  /** The last lines that the server wrote to stderr before its process ended. */
  readonly stderr?: readonly string[] | undefined
  /** The trace of its request; not part of the record. */
  readonly trace?: Trace | undefined
}

/** A finished client request, for metrics and traces. */
export interface Operation {
  /** Its record, even if none is written: most methods have one only with findings. */
  readonly entry: Entry & { readonly ms: number }
  /** True when the server lists the tool; any other name is the client's free choice. */
  readonly isListed: boolean
  /** Milliseconds from arrival to sending, and from sending to the response; undefined when not sent. */
  readonly atServer: { readonly afterMs: number; readonly ms: number } | undefined
  /** The server's response, if there was one. */
  readonly response: Frame | undefined
  /** The client's response; undefined when it got none. */
  readonly sent: Frame | undefined
}
