import { ChurnMap } from './memory.js'
import type { Checked, Subject } from './check.js'
import type { Exchange } from './event.js'
import type { RelayOptions } from './options.js'
import type { Output } from './core.js'

/**
 * The life of a request, a list or a notification, as one function that reads from top to bottom. A flow yields the slot
 * that it waits for; `yield* flow` goes through a part of a flow.
 */
export type Flow<Result = void> = Generator<Slot<unknown>, Result, void>

/** A flow under way, and the net under it: `failed` is called once when the flow throws, and ends what the flow was for. */
interface Running {
  readonly flow: Flow
  readonly failed: (cause: unknown) => void
}

/** A value that is not known yet. It is filled once; the flows that wait for it go on then. */
export class Slot<out Value> {
  #filled: { readonly value: Value } | undefined
  #waiting: Running[] = []

  /** @returns the flows that waited */
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

/** The one driver of all flows: each flow runs until it waits, and goes on when its slot is filled. */
export class Driver {
  readonly #ready: Running[] = []
  #isRunning = false

  /** @param failed the net: what is done when the flow throws */
  run(flow: Flow, failed: (cause: unknown) => void): void {
    this.#resume({ flow, failed })
  }

  fill<Value>(slot: Slot<Value>, value: Value): void {
    for (const running of slot.fill(value)) this.#resume(running)
  }

  #resume(running: Running): void {
    // A flow that lets another one go on is not interrupted by it.
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

/** The schema checks that flows ask for. */
export class Checks {
  readonly #now: RelayOptions['checkNow']
  readonly #output: Output
  readonly #driver: Driver
  readonly #waiting = new ChurnMap<number, Slot<readonly Checked[]>>()
  #last = 0

  constructor({ checkNow }: RelayOptions, output: Output, driver: Driver) {
    this.#now = checkNow
    this.#output = output
    this.#driver = driver
  }

  /** One answer for each subject, at once where the engine finds the check cheap. @param exchange of the message that is judged */
  *check(subjects: readonly Subject[], exchange: Exchange): Flow<readonly Checked[]> {
    const now = subjects.map(this.#now)
    if (now.every(isDone)) return now
    const late = yield* this.#wait(subjects.filter((_, index) => now[index] === undefined), exchange)
    let next = 0
    return now.map((result, index) => result ?? late[next++] ?? unchecked(subjects[index]))
  }

  /** Gives other sessions a turn of the event loop. */
  *turn(exchange: Exchange): Flow {
    yield* this.#wait([], exchange)
  }

  done(check: number, results: readonly Checked[]): void {
    const slot = this.#waiting.get(check)
    this.#waiting.delete(check)
    if (slot !== undefined) this.#driver.fill(slot, results)
  }

  *#wait(subjects: readonly Subject[], exchange: Exchange): Flow<readonly Checked[]> {
    const check = ++this.#last
    const slot = new Slot<readonly Checked[]>()
    this.#waiting.set(check, slot)
    this.#output.emit({ type: 'check', check, subjects, exchange })
    return yield* slot.value()
  }
}

const isDone = (result: Checked | undefined): result is Checked => result !== undefined

/** An engine that answers nothing has found no verdict. */
const unchecked = (subject: Subject | undefined): Checked => [{ kind: 'unchecked', path: subject?.path ?? '', message: 'the engine gave no verdict' }]
