/**
 * A life of something (a request, a list) as one function that reads from top to bottom: what it yields is what it waits for.
 * `yield* flow` goes through a part of it.
 */
export type Flow<Result = void> = Generator<Awaited, Result, void>

interface Awaited {
  add(flow: Flow): void
}

/** Something that is not known yet. Filled once; whoever waits for it goes on then. */
export class Slot<Value> implements Awaited {
  #filled: { readonly value: Value } | undefined
  #waiting: Flow[] = []

  /** @returns those who waited */
  fill(value: Value): readonly Flow[] {
    this.#filled ??= { value }
    return this.#waiting.splice(0)
  }

  add(flow: Flow): void {
    this.#waiting.push(flow)
  }

  /** Waits until it is filled. */
  *value(): Flow<Value> {
    while (this.#filled === undefined) yield this
    return this.#filled.value
  }
}

/** The one driver of all flows: each runs until it waits, and goes on when what it waits for is there. */
export class Driver {
  readonly #ready: Flow[] = []
  #isRunning = false

  run(...flows: readonly Flow[]): void {
    this.#ready.push(...flows)
    // A flow that makes another go on is not interrupted by it.
    if (this.#isRunning) return
    this.#isRunning = true
    try {
      for (let flow = this.#ready.shift(); flow !== undefined; flow = this.#ready.shift()) {
        const step = flow.next()
        if (step.done !== true) step.value.add(flow)
      }
    } finally {
      this.#isRunning = false
    }
  }

  fill<Value>(slot: Slot<Value>, value: Value): void {
    this.run(...slot.fill(value))
  }
}
