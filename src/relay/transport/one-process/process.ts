import { stdioExchange } from '#relay/core/event.js'
import type { Expected, Transport, TransportEvent } from '../transport.js'

interface SharedProcessOptions {
  /** Makes a process, without starting it. Called for the first request, and for the first after an end. */
  readonly make: () => Transport
  /** A monotonic clock, in milliseconds. */
  readonly now: () => number
  /** A random number from 0 to 1. */
  readonly random: () => number
  /** True while the server's output must not be read. */
  readonly isPaused: () => boolean
  /** Gets the events of the running process. Events of processes that were told to end are ignored. */
  readonly onEvent: (event: TransportEvent) => void
  readonly expected: Expected
}

/** The server's process. When it has ended, the next request starts a new one (see `BackOff`). */
export class SharedProcess {
  readonly #backOff: BackOff
  #child: Transport | undefined
  #hasAnswered = false
  /** Processes that were told to end. */
  readonly #ending = new Map<Transport, Promise<void>>()

  constructor(private readonly options: SharedProcessOptions) {
    this.#backOff = new BackOff(options.now, options.random)
  }

  /** The running process. */
  get child(): Transport | undefined {
    return this.#child
  }

  /** Milliseconds until a process may be started. */
  get waitMs(): number {
    return this.#backOff.waitMs
  }

  /** Call when the process has answered a request: if it ends, it is then started again at once. */
  answered(): void {
    this.#hasAnswered = true
  }

  /** @returns the process, started now if necessary; undefined when it must not be started yet */
  running(): Transport | undefined {
    if (this.#child || this.waitMs > 0) return this.#child
    const child = this.options.make()
    this.#child = child
    this.#hasAnswered = false
    child.start(event => {
      if (this.#child !== child) return
      if (event.type === 'ended') {
        this.#child = undefined
        this.#backOff.ended(this.#hasAnswered)
      }
      this.options.onEvent(event)
    }, this.options.expected)
    if (this.options.isPaused()) child.pause(stdioExchange)
    return child
  }

  /** Call when `isPaused` may have changed. */
  pauseOrResume(): void {
    if (this.options.isPaused()) this.#child?.pause(stdioExchange)
    else this.#child?.resume(stdioExchange)
  }

  /** Tells the running process to end. @returns false when there is none */
  endRunning(): boolean {
    const child = this.#child
    if (child === undefined) return false
    this.#child = undefined
    this.#ending.set(child, child.close().finally(() => this.#ending.delete(child)))
    return true
  }

  /** Resolves when all processes that were told to end have ended. */
  async gone(): Promise<void> {
    await Promise.all(this.#ending.values())
  }

  /** Makes the processes that were told to end stop sooner. @param urgency as for `Transport.close` */
  hurry(urgency: number): void {
    if (urgency > 1) for (const child of this.#ending.keys()) void child.close(urgency)
  }
}

const firstWaitMs = 500
const longestWaitMs = 30_000

/**
 * When a process that ended may be started again: at once if it had answered a request, or at its first
 * failure since. After that the wait begins at half a second, and doubles up to half a minute. A random part
 * of up to one half is taken off, so that many relays do not start their servers at the same time.
 */
export class BackOff {
  #failures = 0
  #until = 0

  /** @param now a monotonic clock, in milliseconds @param random from 0 to 1 */
  constructor(private readonly now: () => number, private readonly random: () => number) {}

  /** @param hasAnswered true when the process had answered a request */
  ended(hasAnswered: boolean): void {
    this.#failures = hasAnswered ? 0 : this.#failures + 1
    const ms = this.#failures < 2 ? 0 : Math.min(longestWaitMs, firstWaitMs * 2 ** (this.#failures - 2))
    this.#until = this.now() + ms * (1 + this.random()) / 2
  }

  /** Remaining wait in milliseconds; 0 when the process may be started. */
  get waitMs(): number {
    return Math.max(0, this.#until - this.now())
  }
}
