import type { Refused } from '../transport/front/front.js'
import { realTimers, type Timers } from '../transport/timers.js'

/** A refusal, and how many more of its kind there were since the last was told. */
export interface ToldRefusal extends Refused {
  readonly times: number
}

/** How often one kind is told, in milliseconds; and how many kinds are counted apart at a time. */
const everyMs = 60_000
const mostKinds = 1000

/**
 * Tells refusals, but each kind (one client, one reason, one path) once a minute at most: at once for the first, with their number for those
 * that follow. Nobody can fill a log by being refused.
 */
export class Refusals {
  readonly #tell: (refusal: ToldRefusal) => void
  readonly #timers: Timers
  readonly #kinds = new Map<string, { times: number; last: Refused }>()

  constructor(tell: (refusal: ToldRefusal) => void, timers: Timers = realTimers) {
    this.#tell = tell
    this.#timers = timers
  }

  note(refused: Refused): void {
    // Beyond that, clients are not told apart.
    const address = this.#kinds.size < mostKinds ? refused.address : 'others'
    const { status, message, path } = refused
    const key = JSON.stringify([address, status, message, path])
    const kind = this.#kinds.get(key)
    if (kind) {
      kind.times++
      kind.last = { ...refused, address }
      return
    }
    this.#kinds.set(key, { times: 0, last: { ...refused, address } })
    this.#tell({ ...refused, address, times: 1 })
    this.#timers.after(everyMs, () => this.#again(key))
  }

  /** Tells what is not told yet: at the end. */
  flush(): void {
    for (const key of [...this.#kinds.keys()]) this.#again(key)
  }

  #again(key: string): void {
    const kind = this.#kinds.get(key)
    this.#kinds.delete(key)
    if (kind === undefined || kind.times === 0) return
    this.#tell({ ...kind.last, times: kind.times })
  }
}
