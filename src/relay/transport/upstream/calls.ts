import { ChurnGroups } from '#relay/core/memory.js'
import type { Exchange } from '#relay/core/vocabulary.js'
import type { Frame, FrameLimits } from '#relay/protocol/frame.js'
import type { Id, IdKey } from '#relay/protocol/json-rpc.js'
import { responseKeys, requestKeys } from '../frames.js'
import { realTimers, type Latch } from '../timers.js'
import type { Expected, Transport, TransportEvent } from '../transport.js'
import type { Abortable } from './pool.js'

/** One POST of a frame: from `send` until nothing more of its response can come. */
export class UpstreamCall implements Abortable {
  aborted = false
  onAbort: (() => void) | undefined
  /** Its HTTP response is over, and the answer may come on another stream of this session. */
  elsewhere: string | undefined
  #controller: AbortController | undefined
  /** The requests of the frame that have no answer yet. */
  readonly unanswered: Set<IdKey>
  #isSettled = false
  #settled: Promise<void> | undefined
  #settle: (() => void) | undefined
  #lingerMs: number | undefined
  #lingering: (() => void) | undefined

  constructor(
    readonly exchange: Exchange,
    readonly frame: Frame,
  ) {
    this.unanswered = new Set(requestKeys(frame))
  }

  /**
   * Resolves when every request of the frame is answered, or the call is over. A frame without requests
   * settles when the server accepts it.
   */
  get settled(): Promise<void> {
    this.#settled ??= new Promise<void>(resolve => {
      if (this.#isSettled) resolve()
      else this.#settle = resolve
    })
    return this.#settled
  }

  /** Cancels waits and the requests that resume the stream; made on demand, because most calls need none. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.aborted) this.#controller.abort()
    return this.#controller.signal
  }

  /** Closes the connection to the server. */
  abort(): void {
    if (this.aborted) return
    this.aborted = true
    this.onAbort?.()
    this.#controller?.abort()
    this.settle()
  }

  /** Aborts the call after `ms` milliseconds, unless it is settled by then. */
  limit(ms: number): void {
    void this.settled.then(realTimers.after(ms, () => this.abort()))
  }

  /** Aborts the call `ms` milliseconds after it is settled, unless it is over by then. */
  linger(ms: number): void {
    this.#lingerMs = ms
    if (this.#isSettled) this.settle()
  }

  get hasRequests(): boolean {
    return requestKeys(this.frame).length > 0
  }

  get isAnswered(): boolean {
    return this.unanswered.size === 0
  }

  settle(): void {
    this.#isSettled = true
    this.#settle?.()
    if (this.#lingerMs !== undefined) this.#lingering ??= realTimers.after(this.#lingerMs, () => this.abort())
  }

  /** The response is over. */
  end(): void {
    this.#lingerMs = undefined
    this.#lingering?.()
    this.settle()
  }

  answered(key: IdKey): void {
    if (this.unanswered.delete(key) && this.isAnswered) this.settle()
  }

  /** The client does not wait for the answers any more. */
  forget(): void {
    this.unanswered.clear()
    this.settle()
  }
}

/** The POSTs that are not over. */
export class UpstreamCalls {
  readonly #calls = new ChurnGroups<Exchange, UpstreamCall>()
  readonly #noRest = new AbortController()

  start(exchange: Exchange, frame: Frame): UpstreamCall {
    const call = new UpstreamCall(exchange, frame)
    this.#calls.add(exchange, call)
    return call
  }

  end(call: UpstreamCall): void {
    this.#calls.delete(call.exchange, call)
    call.end()
  }

  /** An answer came on any stream of the exchange: the relay need not report its request as lost. */
  answered(exchange: Exchange, frame: Frame): void {
    const keys = responseKeys(frame)
    if (keys.length === 0) return
    for (const call of this.on(exchange)) for (const key of keys) call.answered(key)
  }

  /** The client does not wait for this answer any more. A batch goes on for its other requests. */
  abandon(exchange: Exchange, key: IdKey): void {
    for (const call of this.on(exchange)) {
      if (!call.unanswered.has(key)) continue
      call.answered(key)
      if (call.isAnswered) call.abort()
    }
  }

  /** The request with this id; undefined when there are two, with ids spelt differently (1 and 1.0). */
  find(exchange: Exchange, id: Id): UpstreamCall | undefined {
    const found = this.on(exchange).filter(({ frame: { message }, unanswered }) =>
      message.kind === 'request' && message.id === id && unanswered.has(message.key))
    return found.length === 1 ? found[0] : undefined
  }

  on(exchange: Exchange): readonly UpstreamCall[] {
    return this.#calls.of(exchange)
  }

  all(): readonly UpstreamCall[] {
    return this.#calls.all()
  }

  /**
   * Resolves when every pending answer has come, after `ms` milliseconds, or on `endRest`. A subscription is
   * not waited for: its answer comes only when it ends.
   */
  async rest(ms: number): Promise<void> {
    const waiting = this.all().filter(({ frame: { message } }) =>
      message.kind !== 'request' || message.method !== 'subscriptions/listen')
    if (waiting.length === 0) return
    const { signal } = this.#noRest
    const late = new Promise<void>(resolve => {
      if (signal.aborted) return resolve()
      const stop = realTimers.after(ms, resolve)
      signal.addEventListener('abort', () => resolve(stop()))
    })
    await Promise.race([late, Promise.all(waiting.map(({ settled }) => settled))])
    this.#noRest.abort()
  }

  endRest(): void {
    this.#noRest.abort()
  }
}

/** What both transports to HTTP servers do, wherever the heads of their requests come from. */
export abstract class HttpSide implements Transport {
  protected readonly calls = new UpstreamCalls()
  /** How long `close` waits for pending answers, in milliseconds. */
  protected readonly stopMs: number
  #onEvent: (event: TransportEvent) => void = () => {}
  #expected: Expected | undefined
  #hasEnded = false
  #closed: Promise<void> | undefined

  constructor(private readonly limits: FrameLimits, stopMs = 1500) {
    this.stopMs = stopMs
  }

  start(onEvent: (event: TransportEvent) => void, expected?: Expected): void {
    this.#onEvent = onEvent
    this.#expected = expected
  }

  abstract send(exchange: Exchange, frame: Frame): boolean

  /** The last step of `close`: no further answer is waited for. */
  protected abstract finish(): void | Promise<void>

  abandon(exchange: Exchange, key: IdKey): void {
    this.calls.abandon(exchange, key)
  }

  pause(exchange: Exchange): void {
    this.latchOf(exchange)?.close()
  }

  resume(exchange: Exchange): void {
    this.latchOf(exchange)?.open()
  }

  /** Closed while the client does not read what comes on this exchange. */
  protected abstract latchOf(exchange: Exchange): Latch | undefined

  /** Ends the backpressure on every exchange. */
  protected abstract resumeAll(): void

  /** @param urgency from 2 on, pending answers are not waited for */
  close(urgency = 1): Promise<void> {
    if (urgency > 1) this.calls.endRest()
    this.#closed ??= this.#close()
    return this.#closed
  }

  protected limitsFor(exchange: Exchange): FrameLimits {
    return { ...this.limits, expected: (key, length) => this.#expected?.(exchange, key, length) }
  }

  protected report(event: TransportEvent): void {
    if (!this.#hasEnded) this.#onEvent(event)
  }

  protected reportFrame(exchange: Exchange, frame: Frame): void {
    this.calls.answered(exchange, frame)
    this.report({ type: 'frame', exchange, frame })
  }

  protected lose(call: UpstreamCall, reason: string, exchange = call.exchange): void {
    const { unanswered, elsewhere } = call
    for (const key of unanswered)
      this.report({ type: 'lost', exchange, key, reason, ...(elsewhere !== undefined && { isElsewhere: true }) })
  }

  /** The last event. */
  protected end(reason: string): void {
    this.report({ type: 'ended', reason })
    this.#hasEnded = true
    for (const call of this.calls.all()) call.abort()
  }

  async #close(): Promise<void> {
    this.resumeAll()
    await this.calls.rest(this.stopMs)
    await this.finish()
  }
}
