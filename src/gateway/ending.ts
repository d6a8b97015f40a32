import type { Batches } from '#core/batches.js'
import type { Side } from '#core/event.js'
import { asError } from '#errors.js'
import { realTimers } from '#transport/timers.js'
import type { Exit, Transport } from '#transport/transport.js'
import type { Outbox } from './outbox.js'

export interface SessionOutcome {
  readonly reason: string
  /** How the server's process ended; undefined when the server is no process of ours. */
  readonly exit: Exit | undefined
  /** The error that stopped the session, if any. */
  readonly failure: Error | undefined
  /** True when the audit log failed, and not the relay. */
  readonly isAuditFailure: boolean
}

export const brokenRelay = 'the relay failed on a message, so it ended this session'
export const noAudit = 'the audit log cannot be written, so no message is forwarded'

/** The end of a session: by its client, its server, the operator, or a failure. */
export class Ending {
  readonly outcome: Promise<SessionOutcome>
  readonly #ends: Readonly<Record<Side, Transport>>
  readonly #core: Pick<Batches, 'hasQueuedFrames' | 'hasAwaitedRequest'>
  readonly #outbox: Outbox
  #isClientGone = false
  /** Runs while a client that closed its input still waits for responses. */
  #grace: (() => void) | undefined
  #urgency = 0
  /** Resolves when the server is closed. */
  #serverClosed: Promise<void> | undefined
  #failure: Error | undefined
  /** Set when records cannot be written: the reason that waiting requests get. */
  #auditFailure: string | undefined
  /** How the server's process ended. */
  exit: Exit | undefined
  #resolve: (outcome: SessionOutcome) => void = () => undefined

  constructor(
    ends: Readonly<Record<Side, Transport>>, core: Pick<Batches, 'hasQueuedFrames' | 'hasAwaitedRequest'>,
    outbox: Outbox,
  ) {
    this.#ends = ends
    this.#core = core
    this.#outbox = outbox
    this.outcome = new Promise(resolve => {
      this.#resolve = resolve
    })
  }

  /** True once the server was asked to end. */
  get isStopping(): boolean {
    return this.#urgency > 0
  }

  get hasFailed(): boolean {
    return this.#failure !== undefined
  }

  get auditFailure(): string | undefined {
    return this.#auditFailure
  }

  /**
   * Asks the server to end; its last responses are forwarded.
   * @param urgency from 1; each step ends the server faster
   */
  stop(urgency = 1): void {
    if (urgency <= this.#urgency) return
    this.#urgency = urgency
    this.#outbox.do(() => {
      this.#serverClosed = this.#ends.server.close(urgency)
    })
  }

  /** @param graceMs how long the client still waits for responses */
  clientEnded(graceMs = 0): void {
    this.#isClientGone = true
    this.#grace?.()
    this.#grace = undefined
    if (graceMs > 0) this.#grace = realTimers.after(graceMs, () => this.clientEnded())
    this.stopWithoutClient()
  }

  /** Stops once nothing is left to do for a client that is gone. */
  stopWithoutClient(): void {
    // The server's input stays open for queued requests.
    if (!this.#isClientGone || this.#core.hasQueuedFrames) return
    if (this.#grace === undefined || !this.#core.hasAwaitedRequest) this.stop()
  }

  /** Ends the session by its first failure. @returns false when there was one before */
  fail(failure: unknown, reason: string): boolean {
    if (this.#failure !== undefined) return false
    this.#failure = asError(failure)
    if (reason === noAudit) this.#auditFailure = reason
    this.stop()
    return true
  }

  /** Closes both transports after the session's last event, then resolves the outcome. */
  finish(reason: string): void {
    this.#grace?.()
    // The outbox may wait for records. A request that arrives meanwhile would have no session to judge it.
    this.#ends.client.leave?.()
    this.stop()
    this.#outbox.do(() => {
      const clientClosed = this.#ends.client.close()
      // A server transport may report `ended` inside its `close`, before `stop` has set `#serverClosed`. The
      // promise is therefore read one microtask later.
      void Promise.resolve()
        .then(() => Promise.all([clientClosed, this.#serverClosed]))
        .then(() =>
          this.#resolve({
            reason, exit: this.exit, failure: this.#failure, isAuditFailure: this.#auditFailure !== undefined,
          }),
        )
    })
  }
}
