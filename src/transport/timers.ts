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
