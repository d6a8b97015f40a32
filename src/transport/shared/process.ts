import { stdioExchange } from '#core/event.js'
import type { Transport, TransportEvent } from '../transport.js'

export interface SharedProcessOptions {
  /** Makes the server's process, not yet started: for the first request, and for the first after it ended. */
  readonly make: () => Transport
  /** A monotonic clock, in milliseconds. */
  readonly now: () => number
  /** From 0 to 1. */
  readonly random: () => number
  /** Whether what it says is not to be read. */
  readonly isHeld: () => boolean
  /** Told by the process that runs, and not by those that were told to end. */
  readonly heard: (event: TransportEvent) => void
}

/**
 * One process after the other: who has ended is started again, later and later where it never answers
 * anything.
 */
export class SharedProcess {
  readonly #options: SharedProcessOptions
  readonly #backOff: BackOff
  #child: Transport | undefined
  #hasAnswered = false
  /** Processes that were told to end. */
  readonly #ending = new Map<Transport, Promise<void>>()

  constructor(options: SharedProcessOptions) {
    this.#options = options
    this.#backOff = new BackOff(options.now, options.random)
  }

  /** The one that runs. */
  get child(): Transport | undefined {
    return this.#child
  }

  /** So long it may not be started, in milliseconds. */
  get waitMs(): number {
    return this.#backOff.waitMs
  }

  /** It works: should it end, it is started again at once. */
  answered(): void {
    this.#hasAnswered = true
  }

  /** @returns the one that runs, or is started now; undefined when it may not be yet */
  running(): Transport | undefined {
    if (this.#child || this.waitMs > 0) return this.#child
    const child = this.#options.make()
    this.#child = child
    this.#hasAnswered = false
    child.start(event => {
      if (this.#child !== child) return
      if (event.type === 'ended') {
        this.#child = undefined
        this.#backOff.ended(this.#hasAnswered)
      }
      this.#options.heard(event)
    })
    if (this.#options.isHeld()) child.pause(stdioExchange)
    return child
  }

  /** `isHeld` may say something else than before. */
  held(): void {
    if (this.#options.isHeld()) this.#child?.pause(stdioExchange)
    else this.#child?.resume(stdioExchange)
  }

  /** Tells the one that runs to end. @returns false when there is none */
  letGo(): boolean {
    const child = this.#child
    if (child === undefined) return false
    this.#child = undefined
    this.#ending.set(child, child.close().finally(() => this.#ending.delete(child)))
    return true
  }

  /** Resolves when nothing is left of those that were told to end. */
  async gone(): Promise<void> {
    await Promise.all(this.#ending.values())
  }

  /** Those that are ending are to end sooner. */
  hurry(urgency: number): void {
    if (urgency > 1) for (const child of this.#ending.keys()) void child.close(urgency)
  }
}

const firstMs = 500
const longestMs = 30_000

/**
 * When a process that ended may be started again. After it has done something, at once; when it has not, at
 * once the first time, then after longer and longer: by half a second at first, by half a minute at last, and
 * never by quite as long as others of its kind.
 */
export class BackOff {
  readonly #now: () => number
  readonly #random: () => number
  #failures = 0
  #until = 0

  /** @param now a monotonic clock, in milliseconds @param random from 0 to 1 */
  constructor(now: () => number, random: () => number) {
    this.#now = now
    this.#random = random
  }

  /** @param useful it had answered something */
  ended(useful: boolean): void {
    this.#failures = useful ? 0 : this.#failures + 1
    const ms = this.#failures < 2 ? 0 : Math.min(longestMs, firstMs * 2 ** (this.#failures - 2))
    this.#until = this.#now() + ms * (1 + this.#random()) / 2
  }

  /** How long it is still to be waited for, in milliseconds; 0 when it may be started. */
  get waitMs(): number {
    return Math.max(0, this.#until - this.#now())
  }
}
