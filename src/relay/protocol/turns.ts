/** A queue in which sessions take turns, so that none waits for all items of another. */
export class FairQueue<Item> {
  /** By session, in the order of their turns; none is empty. */
  readonly #queues = new Map<string, Item[]>()

  /** @param share the most items of one session that may wait */
  constructor(private readonly share = Infinity) {}

  get isEmpty(): boolean {
    return this.#queues.size === 0
  }

  /** @returns false when there is no room for it */
  push(who: string, item: Item): boolean {
    const queue = this.#queues.get(who)
    if (queue === undefined) this.#queues.set(who, [item])
    else if (queue.length < this.share) queue.push(item)
    else return false
    return true
  }

  shift(): Item | undefined {
    for (const [who, queue] of this.#queues) {
      const item = queue.shift()
      this.#queues.delete(who)
      if (queue.length > 0) this.#queues.set(who, queue)
      return item
    }
    return undefined
  }
}

/** Steps of a turn of the event loop, about 5 ms, after which no other reading or check begins in it. */
const stepsPerTurn = 500_000
/** Fewer steps in a turn are ignored, which saves a callback. */
const fewSteps = stepsPerTurn / 10

/** Spreads readings and checks over turns of the event loop, so that together they do not hold it up. */
export class Turns {
  readonly #waiting = new FairQueue<() => void>()
  #spent = 0
  #scheduled = false

  /** Whether this turn has steps left, and no check waits for them. */
  get isOpen(): boolean {
    return this.#spent < stepsPerTurn && this.#waiting.isEmpty
  }

  /** @param who the checker and its session */
  later<Result>(who: string, work: () => Result | Promise<Result>): Promise<Result> {
    return new Promise(resolve => this.#waiting.push(who, () => resolve(work())))
  }

  spend(steps: number): void {
    this.#spent += steps
    if (this.#spent > fewSteps) this.#schedule()
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      // Steps beyond the share of this turn count against the next ones.
      this.#spent = Math.max(0, this.#spent - stepsPerTurn)
      while (this.#spent < stepsPerTurn) {
        const next = this.#waiting.shift()
        if (next === undefined) break
        next()
      }
      if (this.#spent > fewSteps || !this.#waiting.isEmpty) this.#schedule()
    })
  }
}

/** All readers and checkers of an event loop share its turns; in a simulation, those of a process. */
export const turns = new Turns()
