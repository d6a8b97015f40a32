import type { Frame } from '../protocol/frame.js'
import type { IdKey } from '../protocol/json-rpc.js'
import type { Checked } from './check.js'

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
export const wholePipe = exchangeNamed('stdio')

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
    const known = name === wholePipe.name ? wholePipe : this.#known.get(name)?.deref()
    if (known !== undefined) return known
    const exchange = exchangeNamed(name)
    this.#known.set(name, new WeakRef(exchange))
    this.#forgotten.register(exchange, name)
    return exchange
  }
}
