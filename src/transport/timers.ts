/** The clocks of the rim, so that tests need not wait for them. */
export interface Timers {
  /** @returns what stops it */
  after(ms: number, act: () => void): () => void
  every(ms: number, act: () => void): () => void
}

export const realTimers: Timers = {
  after(ms, act) {
    const timer = setTimeout(act, ms)
    return () => clearTimeout(timer)
  },
  every(ms, act) {
    // It is for what is open, which keeps the process alive itself.
    const timer = setInterval(act, ms).unref()
    return () => clearInterval(timer)
  },
}

/** Holds readers back while it is closed. */
export class Latch {
  #opened: Promise<void> | undefined
  #open: (() => void) | undefined

  close(): void {
    this.#opened ??= new Promise(resolve => (this.#open = resolve))
  }

  open(): void {
    this.#opened = undefined
    this.#open?.()
  }

  get isClosed(): boolean {
    return this.#opened !== undefined
  }

  /** Resolves at once while it is open; never rejects. */
  async passed(): Promise<void> {
    // It may have been closed again by the time that the reader goes on.
    while (this.#opened !== undefined) await this.#opened
  }
}
