/** The handling of a request, list or notification: a generator that yields the slot that it waits for. */
export type Flow<Result = void> = Generator<Slot<unknown>, Result, void>

/** A running flow. `failed` is called once when it throws. */
interface Running {
  readonly flow: Flow
  readonly failed: (cause: unknown) => void
}

/** A value that is filled once; then the flows that wait for it resume. */
export class Slot<out Value> {
  #filled: { readonly value: Value } | undefined
  #waiting: Running[] = []

  /** @returns the flows to resume */
  fill(value: NoInfer<Value>): readonly Running[] {
    this.#filled ??= { value }
    const waiting = this.#waiting
    this.#waiting = []
    return waiting
  }

  add(running: Running): void {
    this.#waiting.push(running)
  }

  /** Waits until the slot is filled. */
  *value(): Flow<Value> {
    while (this.#filled === undefined) yield this
    return this.#filled.value
  }
}

/** Runs flows: each runs until it waits for a slot, and resumes when the slot is filled. */
export class Driver {
  readonly #ready: Running[] = []
  #isRunning = false

  /** @param failed called when the flow throws */
  run(flow: Flow, failed: (cause: unknown) => void): void {
    this.#resume({ flow, failed })
  }

  fill<Value>(slot: Slot<Value>, value: Value): void {
    for (const running of slot.fill(value)) this.#resume(running)
  }

  #resume(running: Running): void {
    // A flow that resumes another one runs to its own next wait first.
    this.#ready.push(running)
    if (this.#isRunning) return
    this.#isRunning = true
    try {
      for (let next = this.#ready.shift(); next !== undefined; next = this.#ready.shift()) this.#step(next)
    } finally {
      this.#isRunning = false
    }
  }

  #step(running: Running): void {
    try {
      const step = running.flow.next()
      if (step.done !== true) step.value.add(running)
    } catch (cause) {
      running.failed(cause)
    }
  }
}
