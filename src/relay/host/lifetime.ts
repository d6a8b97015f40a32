import { asError } from '#relay/base/errors.js'
import { realTimers, type Timers } from '#relay/transport/timers.js'

/**
 * Ends one resource.
 * @param urgency 1 at first, and one more for each `hurry`
 * @returns a promise is awaited; of several calls, the first promise that settles counts
 */
type End = (urgency: number) => unknown

/** How long a resource may take to end, in milliseconds, unless given. */
const usualMs = 10_000
/** Longest delay of a Node timer; a longer one fires after 1 ms. */
const longestMs = 2 ** 31 - 1

/** Ends the resources of a command once, in reverse order; a failure does not stop the rest. */
export class Lifetime {
  readonly #timers: Timers
  readonly #members: { readonly end: End; readonly maxMs: number }[] = []
  readonly #failures: unknown[] = []
  #urgency = 0
  /** Calls `end` of the resource that is ending again, with a greater urgency. */
  #ask: (urgency: number) => void = () => undefined
  #settle: () => void = () => undefined
  /** Resolves when all resources have ended; rejects then with the first failure. */
  readonly ended = new Promise<void>((resolve, reject) => {
    this.#settle = () => (this.#failures.length === 0 ? resolve() : reject(asError(this.#failures[0])))
  })

  constructor(timers: Timers = realTimers) {
    this.#timers = timers
  }

  /** @param maxMs the longest wait for its end, in milliseconds */
  add(end: End, maxMs = usualMs): void {
    this.#members.push({ end, maxMs: Math.min(maxMs, longestMs) })
  }

  /** Begins to end the resources. */
  end(): void {
    if (this.#urgency === 0) this.hurry()
  }

  /** Begins to end the resources, or raises the urgency: the resource that is ending is asked again. */
  hurry(): void {
    this.#urgency += 1
    if (this.#urgency === 1) void this.#run()
    else this.#ask(this.#urgency)
  }

  /** Ends with a failure, which `ended` reports. */
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

  #over({ end, maxMs }: { readonly end: End; readonly maxMs: number }): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const stop = this.#timers.after(maxMs, () => resolve(undefined))
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

/**
 * Ends a lifetime at a signal or an uncaught error; each further signal raises the urgency. From now on these
 * signals do not end the process by themselves.
 * @param urgency by how much each signal raises the urgency
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
