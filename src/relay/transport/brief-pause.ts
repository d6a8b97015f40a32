import type { Timers } from './timers.js'

/**
 * Longest time, in milliseconds, for which a client that does not read may stop the reading of what it shares
 * with others. After that it is read for as long as it was paused.
 */
const maxPauseMs = 1000

interface BriefPauseOptions {
  readonly timers: Pick<Timers, 'after'>
  /** A monotonic clock, in milliseconds. */
  readonly now: () => number
  /** Called when `isPausing` has changed. */
  readonly changed: () => void
}

/** Pauses what several clients share, for one of them that does not read: never for long. */
export class BriefPause {
  #pausedSince: number | undefined
  #stopTimer: () => void = () => undefined
  #mayPauseAt = 0

  constructor(private readonly options: BriefPauseOptions) {}

  get isPausing(): boolean {
    return this.#pausedSince !== undefined
  }

  /** A client does not read. */
  pause(): void {
    const { timers, now, changed } = this.options
    const at = now()
    if (this.isPausing || at < this.#mayPauseAt) return
    this.#pausedSince = at
    this.#stopTimer = timers.after(maxPauseMs, () => {
      this.#release()
      this.#mayPauseAt = Infinity
    })
    changed()
  }

  /** The client reads again. */
  resume(): void {
    if (this.isPausing) this.#release()
    else if (this.#mayPauseAt === Infinity) this.#mayPauseAt = this.options.now() + maxPauseMs
  }

  #release(): void {
    const { now, changed } = this.options
    const at = now()
    this.#mayPauseAt = at + (at - (this.#pausedSince ?? at))
    this.#pausedSince = undefined
    this.#stopTimer()
    changed()
  }
}
