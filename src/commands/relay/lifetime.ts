import { realTimers, type Timers } from '../../transport/timers.js'

/**
 * Ends one thing that was started.
 * @param urgency 1 when it is asked the first time; one more for each hurry
 * @returns what is waited for, when it is a promise: of the first that settles, where it was asked more than
 * once
 */
type End = (urgency: number) => unknown

/** So long a thing may take to end, in milliseconds, unless it says otherwise. */
const usualMs = 10_000
/** The longest that a clock of Node's can count; beyond, it counts one millisecond. */
const longestMs = 2 ** 31 - 1

/** What a command has started: ended once, in order, the last first, whatever one of them does. */
export class Lifetime {
  readonly #timers: Timers
  readonly #members: { readonly end: End; readonly mostMs: number }[] = []
  readonly #failures: unknown[] = []
  #urgency = 0
  /** Asks what is ending now once more. */
  #ask: (urgency: number) => void = () => undefined
  #settle: () => void = () => undefined
  /** Resolves when nothing is left. Rejects then, with what was the first to fail. */
  readonly ended = new Promise<void>((resolve, reject) => {
    this.#settle = () => (this.#failures.length === 0 ? resolve() : reject(asError(this.#failures[0])))
  })

  constructor(timers: Timers = realTimers) {
    this.#timers = timers
  }

  /** @param mostMs is waited for its end, at most */
  add(end: End, mostMs = usualMs): void {
    this.#members.push({ end, mostMs: Math.min(mostMs, longestMs) })
  }

  /** Begins the end, if it has not begun. */
  end(): void {
    if (this.#urgency === 0) this.hurry()
  }

  /**
   * Begins the end, or presses on with it: what is ending now, and what comes after it, is asked once more.
   */
  hurry(): void {
    this.#urgency += 1
    if (this.#urgency === 1) void this.#run()
    else this.#ask(this.#urgency)
  }

  /** Ends all the same, and is told by `ended`. */
  fail(error: unknown): void {
    this.#failures.push(error)
    this.hurry()
  }

  async #run(): Promise<void> {
    for (let member = this.#members.pop(); member; member = this.#members.pop()) {
      await this.#over(member).catch((error: unknown) => this.#failures.push(error))
    }
    this.#settle()
  }

  #over({ end, mostMs }: { readonly end: End; readonly mostMs: number }): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const stop = this.#timers.after(mostMs, () => resolve(undefined))
      this.#ask = urgency => {
        try {
          Promise.resolve(end(urgency)).then(resolve, reject).finally(stop)
        } catch (error) {
          stop()
          reject(asError(error))
        }
      }
      for (let urgency = 1; urgency <= this.#urgency; urgency += 1) this.#ask(urgency)
    })
  }
}

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)))

/**
 * Ends a lifetime at a signal, or at an error that nobody caught; each further one is in more of a hurry.
 * From now on none of them
 * ends the process by itself.
 * @param urgency how much of a hurry each signal is in
 */
export const endAt = (
  urgency: Readonly<Partial<Record<NodeJS.Signals, number>>>, lifetime: Lifetime,
): void => {
  for (const [signal, times] of Object.entries(urgency)) {
    process.on(signal, () => {
      for (let time = 0; time < times; time += 1) lifetime.hurry()
    })
  }
  process.on('uncaughtException', error => lifetime.fail(error))
}
