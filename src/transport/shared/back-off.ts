const firstMs = 500
const longestMs = 30_000

/**
 * When a process that ended may be started again. After it has done something, at once; when it has not, at once the first time, then
 * after longer and longer: by half a second at first, by half a minute at last, and never by quite as long as others of its kind.
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
