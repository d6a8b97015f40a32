import { asError } from '#relay/base/errors.js'

/** Timers. Tests replace them, so that they need not wait. */
export interface Timers {
  /** @returns a function that stops the timer */
  after(ms: number, act: () => void): () => void
  every(ms: number, act: () => void): () => void
}

/** A simulation replaces its functions. */
export interface Clock extends Timers {
  /** The monotonic clock, in milliseconds. */
  now(): number
  /**
   * Calls `act` when all input that arrived together with the current input is handled (after the poll phase
   * of the event loop). Writes that are collected until then cost one system call. A callback that another
   * callback adds runs after it in the same turn: first audit records are written, then frames, then the
   * channel is flushed.
   */
  endOfTurn(act: () => void): void
}

export const realTimers: Clock = {
  now: () => performance.now(),
  after(ms, act) {
    const timer = setTimeout(act, ms)
    return () => clearTimeout(timer)
  },
  every(ms, act) {
    // The timer looks after open connections. These keep the process alive, so the timer need not.
    const timer = setInterval(act, ms).unref()
    return () => clearInterval(timer)
  },
  endOfTurn(act) {
    if (endOfTurn.push(act) === 1) setImmediate(runEndOfTurn)
  },
}

/** Resolves after a number of milliseconds. @throws when the signal is aborted first */
export const pause = (ms: number, signal: AbortSignal): Promise<void> => new Promise((resolve, reject) => {
  const aborted = () => {
    stop()
    reject(asError(signal.reason))
  }
  const stop = realTimers.after(ms, () => {
    signal.removeEventListener('abort', aborted)
    resolve()
  })
  if (signal.aborted) aborted()
  else signal.addEventListener('abort', aborted, { once: true })
})

/** A signal that is aborted after a number of milliseconds, unless it is stopped. */
export const limited = (ms: number): { readonly signal: AbortSignal; readonly stop: () => void } => {
  const controller = new AbortController()
  return { signal: controller.signal, stop: realTimers.after(ms, () => controller.abort()) }
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
    // The latch may be closed again before the reader goes on.
    while (this.#opened !== undefined) await this.#opened
  }
}

const endOfTurn: (() => void)[] = []

const runEndOfTurn = (): void => {
  let at = 0
  try {
    for (let act = endOfTurn[at]; act !== undefined; act = endOfTurn[at]) {
      at += 1
      act()
    }
  } finally {
    // A callback that threw is removed. The remaining ones run in the next turn.
    endOfTurn.splice(0, at)
    if (endOfTurn.length > 0) setImmediate(runEndOfTurn)
  }
}
