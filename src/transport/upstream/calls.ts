import { setTimeout as delay } from 'node:timers/promises'
import { ChurnGroups } from '../../core/memory.js'
import type { Exchange } from '../../core/event.js'
import type { Frame } from '../../protocol/frame.js'
import type { Id, IdKey } from '../../protocol/json-rpc.js'
import { answerKeys, requestKeys } from '../frames.js'
import type { Transport, TransportEvent } from '../transport.js'
import type { Abortable } from './pool.js'

/** One POST of a frame: from `send` until nothing more of it can come. */
export class Call implements Abortable {
  aborted = false
  onAbort: (() => void) | undefined
  #controller: AbortController | undefined
  /** The requests in it that have no answer yet. */
  readonly unanswered: Set<IdKey>
  #isSettled = false
  #settled: Promise<void> | undefined
  #settle: (() => void) | undefined
  #lingerMs: number | undefined
  #lingering: NodeJS.Timeout | undefined

  constructor(
    readonly exchange: Exchange,
    readonly frame: Frame,
  ) {
    this.unanswered = new Set(requestKeys(frame))
  }

  /** Resolves when every request in it is answered; when the server has taken it, where there is none; or when it is over. */
  get settled(): Promise<void> {
    this.#settled ??= this.#isSettled ? Promise.resolve() : new Promise<void>(resolve => (this.#settle = resolve))
    return this.#settled
  }

  /** For waits and for requests that resume its stream; most calls need none. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.aborted) this.#controller.abort()
    return this.#controller.signal
  }

  /** The server sees the connection go. */
  abort(): void {
    if (this.aborted) return
    this.aborted = true
    this.onAbort?.()
    this.#controller?.abort()
    this.settle()
  }

  /** Aborted after so many milliseconds, unless it is settled by then. */
  limit(ms: number): void {
    const timer = setTimeout(() => this.abort(), ms)
    void this.settled.then(() => clearTimeout(timer))
  }

  /** Aborted so many milliseconds after it is settled, unless it is over by then. */
  linger(ms: number): void {
    this.#lingerMs = ms
    if (this.#isSettled) this.settle()
  }

  /** Whether answers to it are to come, or were. */
  get asks(): boolean {
    return requestKeys(this.frame).length > 0
  }

  get isAnswered(): boolean {
    return this.unanswered.size === 0
  }

  settle(): void {
    this.#isSettled = true
    this.#settle?.()
    if (this.#lingerMs !== undefined) this.#lingering ??= setTimeout(() => this.abort(), this.#lingerMs)
  }

  /** Nothing more of it can come. */
  end(): void {
    this.#lingerMs = undefined
    clearTimeout(this.#lingering)
    this.settle()
  }

  answered(key: IdKey): void {
    if (this.unanswered.delete(key) && this.isAnswered) this.settle()
  }

  /** Nobody waits for its answers any more. */
  forget(): void {
    this.unanswered.clear()
    this.settle()
  }
}

/** The POSTs that are under way. */
export class Calls {
  readonly #calls = new ChurnGroups<Exchange, Call>()
  readonly #hurry = new AbortController()

  start(exchange: Exchange, frame: Frame): Call {
    const call = new Call(exchange, frame)
    this.#calls.add(exchange, call)
    return call
  }

  end(call: Call): void {
    this.#calls.delete(call.exchange, call)
    call.end()
  }

  /** An answer came, by whichever stream of the exchange: nobody need answer in the server's place. */
  answered(exchange: Exchange, frame: Frame): void {
    const keys = answerKeys(frame)
    if (keys.length === 0) return
    for (const call of this.on(exchange)) for (const key of keys) call.answered(key)
  }

  /** Nobody waits for this answer any more. A batch goes on for the sake of its other requests. */
  abandon(exchange: Exchange, key: IdKey): void {
    for (const call of this.on(exchange)) {
      if (!call.unanswered.has(key)) continue
      call.answered(key)
      if (call.isAnswered) call.abort()
    }
  }

  /** The one request with this id; undefined when there are two, whose ids differ in spelling only. */
  find(exchange: Exchange, id: Id): Call | undefined {
    const found = this.on(exchange).filter(({ frame: { message }, unanswered }) =>
      message.kind === 'request' && message.id === id && unanswered.has(message.key))
    return found.length === 1 ? found[0] : undefined
  }

  on(exchange: Exchange): readonly Call[] {
    return this.#calls.of(exchange)
  }

  all(): readonly Call[] {
    return this.#calls.all()
  }

  /**
   * Resolves when every answer under way has come, after so many milliseconds, or on `hurry`. A subscription has no answer to
   * wait for.
   */
  async rest(ms: number): Promise<void> {
    const waiting = this.all().filter(({ frame: { message } }) => message.kind !== 'request' || message.method !== 'subscriptions/listen')
    if (waiting.length === 0) return
    const late = delay(ms, undefined, { signal: this.#hurry.signal }).catch(() => {})
    await Promise.race([late, Promise.all(waiting.map(({ settled }) => settled))])
    this.#hurry.abort()
  }

  /** Ends `rest` at once. */
  hurry(): void {
    this.#hurry.abort()
  }
}

/** What all have in common who face a server over HTTP: the calls that are under way, readers that can be held back, one end. */
export abstract class HttpSide implements Transport {
  protected readonly calls = new Calls()
  /** How long `close` waits for answers that are under way, in milliseconds. */
  protected readonly stopMs: number
  #closed: Promise<void> | undefined

  constructor(stopMs = 1500) {
    this.stopMs = stopMs
  }

  abstract start(hear: (event: TransportEvent) => void): void

  abstract send(exchange: Exchange, frame: Frame): boolean

  /** The last of `close`: everything is answered that will be. */
  protected abstract finish(): void | Promise<void>

  abandon(exchange: Exchange, key: IdKey): void {
    this.calls.abandon(exchange, key)
  }

  abstract pause(exchange: Exchange): void

  abstract resume(exchange: Exchange): void

  /** Whatever was held back may go on. */
  protected abstract resumeAll(): void

  /** @param urgency from 2 on it waits for no answer */
  close(urgency = 1): Promise<void> {
    if (urgency > 1) this.calls.hurry()
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    this.resumeAll()
    await this.calls.rest(this.stopMs)
    await this.finish()
  }
}
