import type { Checked, Subject } from './check.js'
import { ChurnMap } from './churn.js'
import type { Exchange } from './event.js'
import { Slot, type Driver, type Flow } from './flow.js'
import type { RelayOptions } from './options.js'
import type { Output } from './output.js'

/** What flows ask of the engine. */
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

  /** One answer per subject: at once where the engine finds them cheap. @param exchange of the message that is judged */
  *check(subjects: readonly Subject[], exchange: Exchange): Flow<readonly Checked[]> {
    const now = subjects.map(this.#now)
    if (now.every(isDone)) return now
    const late = yield* this.#wait(subjects.filter((_, index) => now[index] === undefined), exchange)
    let next = 0
    return now.map((result, index) => result ?? late[next++] ?? unchecked(subjects[index]))
  }

  /** Lets others have their turn: work on one message must not hold up all else. */
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

/** An engine that says nothing has found nothing out. */
const unchecked = (subject: Subject | undefined): Checked => [{ kind: 'unchecked', path: subject?.path ?? '', message: 'the engine gave no verdict' }]
