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

const endOfTurn: (() => void)[] = []

/**
 * Calls `act` once all input that has arrived with the current one is handled (after the poll phase of the
 * event loop). What is written together then costs one system call. An act that is added by another one runs
 * behind it in the same turn: first audit records are written, then frames, then the channel is flushed.
 */
export const atEndOfTurn = (act: () => void): void => {
  if (endOfTurn.push(act) === 1) setImmediate(runEndOfTurn)
}

const runEndOfTurn = (): void => {
  let at = 0
  try {
    for (let act = endOfTurn[at]; act !== undefined; act = endOfTurn[at]) {
      at += 1
      act()
    }
  } finally {
    // One that threw is not called again, and the others are not lost.
    endOfTurn.splice(0, at)
    if (endOfTurn.length > 0) setImmediate(runEndOfTurn)
  }
}
