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
    const waiting = this.#waiting
    this.#waiting = []
    return waiting
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

  run(flow: Flow): void {
    // A flow that makes another go on is not interrupted by it.
    if (this.#isRunning) {
      this.#ready.push(flow)
      return
    }
    this.#isRunning = true
    try {
      for (let next: Flow | undefined = flow; next !== undefined; next = this.#ready.shift()) {
        const step = next.next()
        if (step.done !== true) step.value.add(next)
      }
    } finally {
      this.#isRunning = false
    }
  }

  fill<Value>(slot: Slot<Value>, value: Value): void {
    for (const flow of slot.fill(value)) this.run(flow)
  }
}
