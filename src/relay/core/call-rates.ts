import { processLedger } from './memory.js'

const minute = 60_000

/** Most bytes of the times of calls; the clients that called longest ago are forgotten first. */
const maxBytes = 16 * 1024 * 1024

/** Bytes of a window beside its key and its times. */
const perWindow = 250

/**
 * Counts the calls of each tool by each client in a sliding window of one minute. The memory is bounded: if
 * a client uses very many identities, the windows of other clients may be forgotten. A forgotten window
 * only lets its client make more calls, never fewer.
 */
export class CallRates {
  /** The times of the newest calls, by client and tool; the window that was used longest ago comes first. */
  readonly #windows = new Map<string, number[]>()
  readonly #ledger = processLedger.account(maxBytes)

  /**
   * Counts a call.
   * @param client a key for the client
   * @param now a monotonic clock, in milliseconds
   * @param isHeld a call over the limit is not made, and so does not count
   * @returns the milliseconds until the client may make the call; 0 when it is within the limit
   */
  count(client: string, tool: string, perMinute: number, now: number, isHeld: boolean): number {
    const key = JSON.stringify([client, tool])
    const times = this.#windows.get(key) ?? []
    this.#forget(key, times)
    const first = times.findIndex(time => time + minute > now)
    times.splice(0, first < 0 ? times.length : first)
    const blocking = times.at(-perMinute)
    const waitMs = blocking === undefined ? 0 : blocking + minute - now
    if (waitMs === 0 || !isHeld) times.push(now)
    times.splice(0, times.length - perMinute)
    this.#windows.set(key, times)
    this.#ledger.add(weightOf(key, times))
    this.#forgetOld(now)
    return waitMs
  }

  #forgetOld(now: number): void {
    for (const [key, times] of this.#windows) {
      const isOver = (times.at(-1) ?? 0) + minute <= now
      if (!isOver && this.#ledger.kept <= maxBytes) return
      this.#forget(key, times)
    }
  }

  #forget(key: string, times: readonly number[]): void {
    if (this.#windows.delete(key)) this.#ledger.add(-weightOf(key, times))
  }
}

const weightOf = (key: string, times: readonly number[]): number =>
  perWindow + 2 * key.length + 8 * times.length
