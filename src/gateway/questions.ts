import type { Effect, Exchange } from '#core/event.js'
import type { SharedReply, SharedSession } from '#core/shared.js'
import type { HttpHeaders, TransportEvent } from '#transport/transport.js'
import { Holds } from './holds.js'

/** Questions to the shared state without a reply yet: later events of their exchange wait. */
export class Questions {
  readonly #shared: SharedSession | undefined
  /** The ends of exchanges wait for these. */
  readonly #ends: Holds<number | object>
  /** The server's frames wait for these. */
  readonly #frames = new Holds<object>()
  readonly #guarded: (act: () => void) => void
  /** Of the newest `initialize`. */
  #beginning: Exchange | undefined

  /**
   * @param shared undefined: there is no shared state, and nothing is found
   * @param guarded calls a function; an exception in it ends the session
   */
  constructor(
    shared: SharedSession | undefined, ends: Holds<number | object>, guarded: (act: () => void) => void,
  ) {
    this.#shared = shared
    this.#ends = ends
    this.#guarded = guarded
  }

  /** @param replied called with the reply, if the effect asks for a `shared` event */
  ask(effect: Extract<Effect, { readonly type: 'share' }>, replied: (reply: SharedReply) => void): void {
    const reply = this.#shared?.ask(effect.ask) ?? Promise.resolve('none' as const)
    if (effect.share === undefined) return
    this.#frames.hold(effect, effect.exchange)
    this.#ends.hold(effect, effect.exchange)
    void reply.then(found => this.#guarded(() => {
      // Another client's session has this session id now: nothing is kept for this session any more.
      replied(found === 'others' ? 'none' : found)
      this.#frames.release(effect)
      this.#ends.release(effect)
    }))
  }

  /** Runs an action when no event of the exchange before it waits for a reply, or at once. */
  after(exchange: Exchange, act: () => void): void {
    if (this.#shared === undefined) act()
    else this.#frames.after(exchange, act)
  }

  /** Runs an action when no event waits for a reply, or at once. */
  afterAll(act: () => void): void {
    this.#frames.afterAll(act)
  }

  /** The client uses the session. */
  touch(): void {
    this.#shared?.touch()
  }

  /** The client begins a session by `initialize`. */
  beginsOn(exchange: Exchange): void {
    this.#beginning = exchange
  }

  /** A server names the session in the response to `initialize` (2025-11-25, Session Management). */
  learnSessionId(event: TransportEvent, exchange: Exchange): void {
    if (exchange !== this.#beginning) return
    const [id] = headersIn(event)?.get('mcp-session-id') ?? []
    if (id !== undefined) this.#shared?.named(id)
  }

  /** True when the client gets an event id, and may resume the stream at another replica. */
  isResumable(event: TransportEvent): boolean {
    if (this.#shared === undefined) return false
    const lines = event.type === 'between' ? event.lines : event.type === 'frame' ? event.frame.envelope?.event : ''
    return lines !== undefined && /^id: ./m.test(lines)
  }
}

const headersIn = (event: TransportEvent): HttpHeaders | undefined =>
  event.type === 'head' ? event.headers : event.type === 'frame' ? event.frame.envelope?.response?.headers : undefined
