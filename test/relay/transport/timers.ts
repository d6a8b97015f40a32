import type { Timers } from '#relay/transport/timers.js'

/** Clocks that stand still until a test moves them. */
export class ManualTimers implements Timers {
  readonly #running = new Set<{ readonly ms: number; readonly act: () => void; readonly again: boolean }>()

  after(ms: number, act: () => void): () => void {
    return this.#start({ ms, act, again: false })
  }

  every(ms: number, act: () => void): () => void {
    return this.#start({ ms, act, again: true })
  }

  /** Lets everything that waits for so many milliseconds happen. @returns how much that was */
  fire(ms: number): number {
    const due = [...this.#running].filter(timer => timer.ms === ms)
    for (const timer of due) {
      if (!timer.again) this.#running.delete(timer)
      timer.act()
    }
    return due.length
  }

  count(ms: number): number {
    return [...this.#running].filter(timer => timer.ms === ms).length
  }

  #start(timer: { readonly ms: number; readonly act: () => void; readonly again: boolean }): () => void {
    this.#running.add(timer)
    return () => this.#running.delete(timer)
  }
}
